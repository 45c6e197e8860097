// SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only)
/*
 * For tests: a control that sends ECT(1) if ECN was negotiated. It owns its start. Its window
 * is 40 packets minus one for every marked packet in a sample, at least 10.
 */
#include "../port/cc.h"

struct ect1 {
	u32 marks;
};

static void ect1_init(void *state, const u32 *tun, struct hw_conn *c)
{
	(void)state;
	(void)tun;
	c->cwnd_pkts = 40;
}

static void ect1_control(void *state, const u32 *tun, struct hw_conn *c,
			 const struct hw_rate_sample *sample)
{
	struct ect1 *s = state;

	(void)tun;
	if (sample->delivered_pkts > 0 && sample->delivered_ce_pkts > 0)
		s->marks = hw_add_u32(s->marks, 1);
	c->cwnd_pkts = hw_max_u32(40 - hw_min_u32(s->marks, 40), 10);
}

static u32 ect1_ssthresh(void *state, const u32 *tun, struct hw_conn *c)
{
	(void)state;
	(void)tun;
	return c->cwnd_pkts;
}

HW_TABLE struct hw_cc_ops hw_cc_ect1 = {
	.name = "ect1",
	.title = "A test's: a window that counts marks, in packets of ECT(1)",
	.source = "tests/controls",
	.flags = HW_CC_OWN_START | HW_CC_ECT1,
	.state_bytes = sizeof(struct ect1),
	.init = ect1_init,
	.control = ect1_control,
	.ssthresh = ect1_ssthresh,
};
