// SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only)
/*
 * Scalable TCP (Kelly, "Scalable TCP: Improving Performance in Highspeed Wide Area Networks",
 * Computer Communication Review 33(2), 2003): every acknowledged packet adds 0.01, and a loss
 * takes an eighth. Recovering from a loss therefore takes the same number of round trips at
 * any window.
 *
 * Linux implements 0.01 in two ways. 2.6.24 counts ACKs and adds one packet per 50 ACKs, which
 * assumes an ACK for every second packet. 6.x counts packets and adds one per 100 packets. By
 * default ai_cnt fits what the stack counts. As in Linux, growth is Reno's if Reno grows
 * faster. Valid for any window.
 */
#include "../port/reno_law.h"

#define ACKS_PER_PKT 50	 /* default of ai_cnt on stacks that count ACKs */
#define PKTS_PER_PKT 100 /* where packets are */
#define LOSS_SHIFT   3	 /* an eighth */

enum { AI_CNT };

static const struct hw_tunable scalable_tunables[] = {
	[AI_CNT] = { "ai_cnt", "ACKs",
		     "ACKs per packet of growth; 0: 50 on stacks that count ACKs, otherwise 100", 0,
		     0, 65535 },
};

static void scalable_cong_avoid(void *state, const u32 *tun, struct hw_conn *c, u32 acked_pkts)
{
	u32 ai_cnt = tun[AI_CNT];

	(void)state;
	if (!ai_cnt)
		ai_cnt = c->counts_acks ? ACKS_PER_PKT : PKTS_PER_PKT;
	hw_additive_increase(c, hw_min_u32(c->cwnd_pkts, ai_cnt), acked_pkts);
}

static u32 scalable_ssthresh(void *state, const u32 *tun, struct hw_conn *c)
{
	(void)state;
	(void)tun;
	return hw_max_u32(c->cwnd_pkts - (c->cwnd_pkts >> LOSS_SHIFT), 2);
}

HW_TABLE struct hw_cc_ops hw_cc_scalable = {
	.name = "scalable",
	.title = "Scalable TCP: 1 % growth per window, an eighth less on loss",
	.source = "Kelly 2003; Linux tcp_scalable.c",
	.startup = "slow-start",
	.n_tunables = HW_COUNT(scalable_tunables),
	.tunables = scalable_tunables,
	.cong_avoid = scalable_cong_avoid,
	.ssthresh = scalable_ssthresh,
	.min_cwnd = hw_reno_min_cwnd,
};
