// SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only)
/*
 * Paces at the rate that routers wrote into its header, with a window that never limits it.
 * Before the first answer, its startup controls it. A loss changes nothing.
 */
#include "../port/cc.h"
#include "../header/explicit_rate.h"

#define WINDOWS 2 /* of what the rate brings in a round trip */

static u32 explicit_rate_on_send(void *state, const u32 *tun, struct hw_conn *c, void *header)
{
	struct er_fields *er = header;

	(void)state;
	(void)tun;
	(void)c;
	er->rate_Bps = HW_U32_MAX;
	return 1;
}

static void explicit_rate_on_feedback(void *state, const u32 *tun, struct hw_conn *c,
				      const void *header)
{
	const struct er_fields *er = header;
	u64 pkt_bytes = (u64)c->mss_bytes + c->header_bytes;
	u64 bytes;

	(void)state;
	(void)tun;
	if (!er->returned_Bps)
		return;
	c->pacing_rate_Bps = er->returned_Bps;
	bytes = (u64)er->returned_Bps * WINDOWS * (c->srtt_us ? c->srtt_us : 1000000) / 1000000;
	c->cwnd_pkts = hw_saturate_u32(hw_div_u64(bytes, pkt_bytes)) + 4;
	c->ssthresh_pkts = c->cwnd_pkts;
}

static void explicit_rate_cong_avoid(void *state, const u32 *tun, struct hw_conn *c, u32 acked_pkts)
{
	(void)state;
	(void)tun;
	(void)c;
	(void)acked_pkts;
}

static u32 explicit_rate_ssthresh(void *state, const u32 *tun, struct hw_conn *c)
{
	(void)state;
	(void)tun;
	return c->cwnd_pkts;
}

HW_TABLE struct hw_cc_ops hw_cc_explicit = {
	.name = "explicit",
	.title = "Sends at the rate that routers allow",
	.source = "an example",
	.startup = "slow-start",
	.flags = HW_CC_PACES,
	.header = &hw_header_explicit_rate,
	.cong_avoid = explicit_rate_cong_avoid,
	.ssthresh = explicit_rate_ssthresh,
	.on_send = explicit_rate_on_send,
	.on_feedback = explicit_rate_on_feedback,
};
