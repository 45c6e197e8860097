// SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only)
/*
 * Paces at the rate of the level that came back, with a window that never limits it. Until a
 * router has written, its startup controls it.
 */
#include "../port/cc.h"
#include "../header/two_bits.h"

enum { RATE_2, RATE_3 };

static const struct hw_tunable two_bits_tunables[] = {
	[RATE_2] = { "rate_2_kbps", "kbit/s", "at level 2, IP bits", 8000, 8, 4000000 },
	[RATE_3] = { "rate_3_kbps", "kbit/s", "at level 3, IP bits", 2000, 8, 4000000 },
};

#define WINDOWS 2 /* of what the rate brings in a round trip */

static u32 two_bits_on_send(void *state, const u32 *tun, struct hw_conn *c, void *header)
{
	(void)state;
	(void)tun;
	(void)c;
	((struct tb_fields *)header)->level = TB_UNSAID;
	return 1;
}

static void two_bits_on_feedback(void *state, const u32 *tun, struct hw_conn *c, const void *header)
{
	u8 level = ((const struct tb_answer *)header)->level;
	u64 pkt_bytes = (u64)c->mss_bytes + c->header_bytes;
	u64 bytes;

	(void)state;
	if (level <= TB_UNSAID)
		return;
	c->pacing_rate_Bps = (u64)tun[level == 2 ? RATE_2 : RATE_3] * 125;
	bytes = c->pacing_rate_Bps * WINDOWS * (c->srtt_us ? c->srtt_us : 1000000) / 1000000;
	c->cwnd_pkts = hw_saturate_u32(hw_div_u64(bytes, pkt_bytes)) + 4;
	c->ssthresh_pkts = c->cwnd_pkts;
}

static void two_bits_cong_avoid(void *state, const u32 *tun, struct hw_conn *c, u32 acked_pkts)
{
	(void)state;
	(void)tun;
	(void)c;
	(void)acked_pkts;
}

static u32 two_bits_ssthresh(void *state, const u32 *tun, struct hw_conn *c)
{
	(void)state;
	(void)tun;
	return c->cwnd_pkts;
}

HW_TABLE struct hw_cc_ops hw_cc_two_bits = {
	.name = "two_bits",
	.title = "Sends at the rate of a level",
	.source = "an example",
	.startup = "slow-start",
	.flags = HW_CC_PACES,
	.n_tunables = HW_COUNT(two_bits_tunables),
	.tunables = two_bits_tunables,
	.header = &hw_header_two_bits,
	.cong_avoid = two_bits_cong_avoid,
	.ssthresh = two_bits_ssthresh,
	.on_send = two_bits_on_send,
	.on_feedback = two_bits_on_feedback,
};
