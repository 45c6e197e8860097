// SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only)
/*
 * For tests: a control that needs ECN. Its window shows whether both ends agreed on ECN, and
 * shrinks by one packet for every echoed mark.
 */
#include "../port/cc.h"

static void asks_ecn_init(void *state, const u32 *tun, struct hw_conn *c)
{
	(void)state;
	(void)tun;
	c->cwnd_pkts = c->ecn ? 40 : 4;
	c->ssthresh_pkts = c->cwnd_pkts - 1;
}

static void asks_ecn_cong_avoid(void *state, const u32 *tun, struct hw_conn *c, u32 acked_pkts)
{
	(void)state;
	(void)tun;
	(void)c;
	(void)acked_pkts;
}

static u32 asks_ecn_ssthresh(void *state, const u32 *tun, struct hw_conn *c)
{
	(void)state;
	(void)tun;
	return hw_max_u32(c->cwnd_pkts, 3) - 1;
}

HW_TABLE struct hw_cc_ops hw_cc_asks_ecn = {
	.name = "asks-ecn",
	.title = "A test's: a fixed window, with ECN whatever the host's default",
	.source = "tests/controls",
	.startup = "slow-start",
	.flags = HW_CC_ECT0 | HW_CC_NEEDS_ECN,
	.init = asks_ecn_init,
	.cong_avoid = asks_ecn_cong_avoid,
	.ssthresh = asks_ecn_ssthresh,
};
