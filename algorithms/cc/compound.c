// SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only)
/*
 * Compound TCP: the sum of Reno's window and a delay window, which grows fast until delay shows a
 * queue (draft-sridharan-tcpm-ctcp-02; Tan, Song, Zhang, Sridharan, "A Compound TCP Approach for
 * High-speed and Long Distance Networks", IEEE Infocom 2006). The stack's cwnd is the sum W of both
 * windows. Reno's part grows by a packet per window of W. Once per round trip, W (1 - base RTT/RTT)
 * packets are in the queue, and the delay window
 *   grows by W^(3/4)/8 - 1 packets if fewer than gamma packets are queued,
 *   and otherwise shrinks by the number of queued packets.
 * Congestion halves both windows. Below low_window the law is Reno's alone.
 *
 * gamma adapts (the draft's auto-tuning): after each congestion gamma moves by a fifth of its
 * distance to 3/4 of the packets that Reno's part alone had in the queue. It stays between 5
 * packets and its first value.
 *
 * Without queueing, random loss p gives windows of 0.255/p^0.8 packets, as in the draft's
 * table; the 0.225 printed elsewhere is a misprint. low_window is 41, as in the Infocom paper;
 * the draft has 38. As in the paper and in its Linux port, W is raised to 3/4; the draft's
 * formula prints the delay window there. RTT is the mean of a round; the draft uses the
 * stack's smoothed RTT. With fewer than three samples in a round the delay window does not
 * change, as in the Linux port. If the delay window is given up below low_window, it stays in
 * W as part of Reno's.
 *
 * Valid for windows below 2^24 packets and round trips below 16.7 s.
 */
#include "../port/cc.h"
#include "../port/delay.h"
#include "../port/reno_law.h"

enum { GAMMA, GAMMA_TUNING, LOW_WINDOW };

static const struct hw_tunable compound_tunables[] = {
	[GAMMA] = { "gamma", "packets",
		    "queued packets from which on the delay window shrinks, at the start", 30, 1,
		    10000 },
	[GAMMA_TUNING] = { "gamma_tuning", "bool",
			   "adapt gamma to the packets that Reno's part alone would queue", 1, 0,
			   1 },
	[LOW_WINDOW] = { "low_window", "packets", "below this cwnd the law is Reno's", 41, 2,
			 1000000 },
};

#define GAMMA_LEAST   5
#define LEAST_SAMPLES 3
#define DELAY_MOST    ((1u << 24) - 1) /* packets */

struct compound {
	struct hw_round round;
	u32 delay_x256;	      /* the delay window, in packets << 8 */
	u32 gamma_x256;	      /* packets << 8 */
	u32 reno_queued_x256; /* packets of Reno's part queued in the last round, << 8 */
	u32 undo_delay_x256;  /* delay_x256 before the latest congestion, for undo */
	u32 undo_gamma_x256;
	/* a round has ended, and the delay window has not been updated with its RTT yet */
	u32 is_due;
	u32 rtt_us; /* mean RTT of the last round; 0 if the round had too few samples */
};

static void compound_init(void *state, const u32 *tun, struct hw_conn *c)
{
	struct compound *s = state;

	s->gamma_x256 = tun[GAMMA] << 8;
	hw_begin_round(&s->round, c);
}

static void compound_pkts_acked(void *state, const u32 *tun, struct hw_conn *c,
				const struct hw_ack *ack)
{
	struct compound *s = state;
	const struct hw_round *round = &s->round;

	(void)tun;
	hw_sample_rtt(&s->round, ack->rtt_us);
	if (!hw_round_is_over(round, c))
		return;
	s->is_due = 1;
	s->rtt_us = round->count >= LEAST_SAMPLES ? hw_round_mean_us(round) : 0;
	hw_begin_round(&s->round, c);
}

/* The part of cwnd that the delay window makes up: at most cwnd, which the stack may have
 * reduced below the delay window. */
static u32 compound_delay_pkts(const struct compound *s, const struct hw_conn *c)
{
	return hw_min_u32(s->delay_x256 >> 8, c->cwnd_pkts > 2 ? c->cwnd_pkts - 2 : 0);
}

/* W^(3/4)/8 - 1, at least 0, in 1/256 of packets. */
static u32 compound_growth_x256(u32 window)
{
	u64 w = hw_min_u32(window, DELAY_MOST);
	u32 power_x256 = hw_sqrt_u64(w * hw_sqrt_u64(w << 32));

	return power_x256 / 8 > 256 ? power_x256 / 8 - 256 : 0;
}

static u32 compound_next_delay(const struct compound *s, const struct hw_conn *c)
{
	u32 queued = hw_queued_x256(c->cwnd_pkts, s->round.base_us, s->rtt_us);

	if (queued < s->gamma_x256)
		return hw_min_u32(hw_add_u32(s->delay_x256, compound_growth_x256(c->cwnd_pkts)),
				  DELAY_MOST << 8);
	return s->delay_x256 > queued ? s->delay_x256 - queued : 0;
}

/* The update once per round trip: changes the delay window by the queued packets. */
static void compound_adjust(struct compound *s, const u32 *tun, struct hw_conn *c)
{
	u32 before = compound_delay_pkts(s, c);
	u32 reno_pkts = c->cwnd_pkts - before;

	s->is_due = 0;
	if (c->cwnd_pkts < tun[LOW_WINDOW]) {
		s->delay_x256 = 0;
		return;
	}
	if (!s->rtt_us)
		return;
	s->reno_queued_x256 = hw_queued_x256(reno_pkts, s->round.base_us, s->rtt_us);
	if (before < s->delay_x256 >> 8)
		s->delay_x256 = before << 8;
	s->delay_x256 = compound_next_delay(s, c);
	hw_set_window(c, hw_add_u32(reno_pkts, s->delay_x256 >> 8));
}

static void compound_cong_avoid(void *state, const u32 *tun, struct hw_conn *c, u32 acked_pkts)
{
	struct compound *s = state;

	hw_additive_increase(c, c->cwnd_pkts, acked_pkts);
	if (s->is_due)
		compound_adjust(s, tun, c);
}

static void compound_tune_gamma(struct compound *s, u32 most_pkts)
{
	u32 wanted = (u32)(3ull * s->reno_queued_x256 / 4);
	u32 gamma = (u32)((4ull * s->gamma_x256 + wanted) / 5);

	s->gamma_x256 =
		hw_clamp_u32(gamma, hw_min_u32(GAMMA_LEAST, most_pkts) << 8, most_pkts << 8);
}

static u32 compound_ssthresh(void *state, const u32 *tun, struct hw_conn *c)
{
	struct compound *s = state;

	s->undo_delay_x256 = s->delay_x256;
	s->undo_gamma_x256 = s->gamma_x256;
	s->delay_x256 = hw_min_u32(s->delay_x256, compound_delay_pkts(s, c) << 8 | 255) / 2;
	if (tun[GAMMA_TUNING] && c->cwnd_pkts >= tun[LOW_WINDOW])
		compound_tune_gamma(s, tun[GAMMA]);
	return hw_reno_ssthresh(state, tun, c);
}

static void compound_set_state(void *state, const u32 *tun, struct hw_conn *c, u8 new_state)
{
	struct compound *s = state;

	(void)tun;
	if (new_state == HW_CA_LOSS)
		s->delay_x256 = 0;
	/* RTT samples from before or during a recovery do not apply to the window after it */
	s->is_due = 0;
	hw_begin_round(&s->round, c);
}

static u32 compound_undo_cwnd(void *state, const u32 *tun, struct hw_conn *c, u32 prior_cwnd_pkts)
{
	struct compound *s = state;

	(void)tun;
	s->delay_x256 = hw_max_u32(s->delay_x256, s->undo_delay_x256);
	s->gamma_x256 = hw_max_u32(s->gamma_x256, s->undo_gamma_x256);
	return hw_max_u32(c->cwnd_pkts, prior_cwnd_pkts);
}

HW_TABLE struct hw_cc_ops hw_cc_compound = {
	.name = "compound",
	.title = "Compound: the sum of Reno's window and a delay-based one",
	.source = "draft-sridharan-tcpm-ctcp-02; Tan et al., Infocom 2006",
	.startup = "slow-start",
	.state_bytes = sizeof(struct compound),
	.flags = HW_CC_RTT_STAMP,
	.n_tunables = HW_COUNT(compound_tunables),
	.tunables = compound_tunables,
	.init = compound_init,
	.pkts_acked = compound_pkts_acked,
	.cong_avoid = compound_cong_avoid,
	.ssthresh = compound_ssthresh,
	.set_state = compound_set_state,
	.undo_cwnd = compound_undo_cwnd,
	.min_cwnd = hw_reno_min_cwnd,
};
