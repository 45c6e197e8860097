// SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only)
/*
 * Illinois: loss decides when the window shrinks; delay decides how fast it grows and by how
 * much it shrinks (Liu, Basar, Srikant, "TCP-Illinois: A Loss and Delay-Based Congestion
 * Control Algorithm for High-Speed Networks", VALUETOOLS 2006) as in Linux (tcp_illinois.c).
 *
 * Once per round trip the mean queueing delay da is compared with dm, the largest queueing delay
 * seen. Growth per window falls from 10 packets (da at most dm/100) along a hyperbola to 0.3 (da =
 * dm); the fraction by which congestion reduces the window rises from 1/8 (da at most dm/10)
 * linearly to 1/2 (from 0.8 dm on). Once da has been above dm/100, growth returns to 10 only after
 * theta rounds with da below dm/100. Below win_thresh the law is Reno's. Without queueing delay a
 * random loss p gives windows of sqrt(alpha (2 - beta)/(2 beta p)) = 8.66/sqrt(p) packets.
 *
 * Differences from Linux: rounds also end while the application does not use the whole window;
 * the curves are computed in 64 bits, so RTTs are not limited to 3.3 s.
 *
 * Valid for any window and round trips below 16.7 s.
 */
#include "../port/cc.h"
#include "../port/delay.h"
#include "../port/reno_law.h"

enum { WIN_THRESH, THETA };

static const struct hw_tunable illinois_tunables[] = {
	[WIN_THRESH] = { "win_thresh", "packets", "below this cwnd the law is Reno's", 15, 0,
			 1000000 },
	[THETA] = { "theta", "rounds",
		    "rounds with little delay until growth returns to its maximum", 5, 1, 255 },
};

#define ALPHA_SHIFT 7
#define ALPHA_ONE   (1u << ALPHA_SHIFT)
#define ALPHA_LEAST (3 * ALPHA_ONE / 10)
#define ALPHA_MOST  (10 * ALPHA_ONE)
#define BETA_SHIFT  6
#define BETA_LEAST  ((1u << BETA_SHIFT) / 8)
#define BETA_MOST   ((1u << BETA_SHIFT) / 2)

struct illinois {
	struct hw_round round;
	u32 rtt_max_us;
	u32 acked_pkts; /* packets ACKed by the latest ACK; reset to 1 when cwnd grows */
	u32 alpha;	/* packets per window << 7 */
	u32 beta;	/* part of cwnd << 6 */
	u32 rounds_low; /* rounds with da below dm/100 since alpha was last at its maximum */
	/* da was above dm/100, so alpha returns to 10 only after theta rounds with da below */
	u32 was_above;
};

static void illinois_init(void *state, const u32 *tun, struct hw_conn *c)
{
	struct illinois *s = state;

	(void)tun;
	s->alpha = ALPHA_MOST;
	s->beta = BETA_MOST;
	s->acked_pkts = 1;
	hw_begin_round(&s->round, c);
}

static u32 illinois_alpha(struct illinois *s, u32 da_us, u32 dm_us, u32 theta)
{
	u32 d1_us = dm_us / 100;

	if (da_us <= d1_us) {
		if (s->was_above && ++s->rounds_low < theta)
			return s->alpha;
		s->rounds_low = 0;
		s->was_above = 0;
		return ALPHA_MOST;
	}
	s->was_above = 1;
	dm_us -= d1_us;
	da_us -= d1_us;
	return (u32)((u64)dm_us * ALPHA_MOST /
		     (dm_us + (u64)da_us * (ALPHA_MOST - ALPHA_LEAST) / ALPHA_LEAST));
}

static u32 illinois_beta(u32 da_us, u32 dm_us)
{
	u32 d2_us = dm_us / 10;
	u32 d3_us = (u32)(8ull * dm_us / 10);

	if (da_us <= d2_us)
		return BETA_LEAST;
	if (da_us >= d3_us)
		return BETA_MOST;
	return BETA_LEAST +
	       (u32)((u64)(BETA_MOST - BETA_LEAST) * (da_us - d2_us) / (d3_us - d2_us));
}

static void illinois_end_round(struct illinois *s, const u32 *tun, const struct hw_conn *c)
{
	const struct hw_round *round = &s->round;

	if (c->cwnd_pkts < tun[WIN_THRESH]) {
		s->alpha = ALPHA_ONE;
		s->beta = BETA_MOST;
	} else if (round->count) {
		u32 dm_us = s->rtt_max_us - round->base_us;
		u32 da_us = hw_round_mean_us(round) - round->base_us;

		s->alpha = illinois_alpha(s, da_us, dm_us, tun[THETA]);
		s->beta = illinois_beta(da_us, dm_us);
	}
	hw_begin_round(&s->round, c);
}

static void illinois_pkts_acked(void *state, const u32 *tun, struct hw_conn *c,
				const struct hw_ack *ack)
{
	struct illinois *s = state;

	s->acked_pkts = ack->acked_pkts;
	hw_sample_rtt(&s->round, ack->rtt_us);
	if (ack->rtt_us >= 0)
		s->rtt_max_us = hw_max_u32(s->rtt_max_us,
					   hw_clamp_u32((u32)ack->rtt_us, 1, HW_RTT_MOST_US));
	/* while cwnd is being reduced, Linux does not end rounds */
	if (c->ca_state == HW_CA_CWR || c->ca_state == HW_CA_RECOVERY)
		return;
	if (hw_round_is_over(&s->round, c))
		illinois_end_round(s, tun, c);
}

static void illinois_cong_avoid(void *state, const u32 *tun, struct hw_conn *c, u32 acked_pkts)
{
	struct illinois *s = state;
	u32 cwnd = hw_max_u32(c->cwnd_pkts, 1);
	u64 grown;

	(void)tun;
	/* Illinois counts ACKed packets, even on stacks that count ACKs */
	c->cwnd_cnt = hw_add_u32(c->cwnd_cnt, c->counts_acks ? s->acked_pkts : acked_pkts);
	s->acked_pkts = 1;
	grown = (u64)c->cwnd_cnt * s->alpha >> ALPHA_SHIFT;
	if (grown < cwnd)
		return;
	c->cwnd_pkts =
		hw_min_u32(hw_add_u32(cwnd, hw_saturate_u32(grown / cwnd)), c->cwnd_clamp_pkts);
	c->cwnd_cnt = 0;
}

static u32 illinois_ssthresh(void *state, const u32 *tun, struct hw_conn *c)
{
	struct illinois *s = state;

	(void)tun;
	return hw_max_u32(c->cwnd_pkts - hw_scale_u32(c->cwnd_pkts, s->beta, 1u << BETA_SHIFT), 2);
}

static void illinois_set_state(void *state, const u32 *tun, struct hw_conn *c, u8 new_state)
{
	struct illinois *s = state;

	(void)tun;
	if (new_state != HW_CA_LOSS)
		return;
	s->alpha = ALPHA_ONE;
	s->beta = BETA_MOST;
	s->rounds_low = 0;
	s->was_above = 0;
	hw_begin_round(&s->round, c);
}

HW_TABLE struct hw_cc_ops hw_cc_illinois = {
	.name = "illinois",
	.title = "Illinois: loss shrinks the window, delay sets how fast it grows",
	.source = "Liu, Basar, Srikant, VALUETOOLS 2006; Linux tcp_illinois.c",
	.startup = "slow-start",
	.state_bytes = sizeof(struct illinois),
	.flags = HW_CC_RTT_STAMP,
	.n_tunables = HW_COUNT(illinois_tunables),
	.tunables = illinois_tunables,
	.init = illinois_init,
	.pkts_acked = illinois_pkts_acked,
	.cong_avoid = illinois_cong_avoid,
	.ssthresh = illinois_ssthresh,
	.set_state = illinois_set_state,
	.min_cwnd = hw_reno_min_cwnd,
};
