// SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only)
/*
 * H-TCP (draft-leith-tcp-htcp-06; Shorten and Leith, PFLDnet 2004) as Linux 2.6.25 computes
 * it, with the correction of later kernels, which the published measurements used: on the
 * return to Open, H-TCP restarts the time since the last backoff only if there was a backoff,
 * not after a lone duplicate ACK.
 *
 * alpha, the growth per window of ACKed packets, rises with the time since the last backoff;
 * it is recomputed only when cwnd grows, so its steps are coarse at small windows. Linux's
 * quadratic term is 0.25 s^-2 per second squared, the draft's 0.5.
 *
 * Differences from Linux: adaptive backoff can be switched off; products saturate instead of
 * wrapping (after 130 s without loss); undo returns to the window before the reduction; the
 * first throughput sample begins with the connection. The clock is HZ = 1000. Valid for any
 * window.
 */
#include "../port/cc.h"

#define TICK_HZ	     1000
#define LOW_SPEED_MS TICK_HZ /* Delta_L: growth is Reno's in the first second */
#define SHIFT	     7	     /* alpha and beta are multiples of 2^-7 */
#define ONE	     (1u << SHIFT)
#define BETA_MIN     (1u << (SHIFT - 1)) /* 0.5 */
#define BETA_MAX     102u		 /* 0.8 */
#define SCALE_SHIFT  3			 /* RTT scaling computes 100 ms/RTT in multiples of 2^-3 */
#define SCALE_MIN    (1u << (SCALE_SHIFT - 1))
#define SCALE_MAX    (10u << SCALE_SHIFT)
#define FACTOR_MAX   (1u << 20) /* bounds alpha, so that it fits into 32 bits */
/* RTTs below 10 ms are too coarse in whole ms to compute beta from them */
#define BETA_MIN_RTT_MS 10
#define MAX_RTT_STEP_MS 20 /* a larger rise of the RTT is not counted as queueing */

enum { ADAPTIVE_BACKOFF, BANDWIDTH_SWITCH, RTT_SCALING, DRAFT_QUADRATIC };

static const struct hw_tunable htcp_tunables[] = {
	[ADAPTIVE_BACKOFF] = { "adaptive_backoff", "bool",
			       "a loss leaves min RTT/max RTT (0.5 to 0.8) of cwnd instead of half",
			       1, 0, 1 },
	[BANDWIDTH_SWITCH] = { "bandwidth_switch", "bool",
			       "a loss halves cwnd if the throughput changed by more than 20 %", 1,
			       0, 1 },
	[RTT_SCALING] = { "rtt_scaling", "bool", "make growth per second independent of the RTT", 1,
			  0, 1 },
	[DRAFT_QUADRATIC] = { "draft_quadratic", "bool",
			      "the draft's quadratic coefficient 0.5 instead of Linux's 0.25", 0, 0,
			      1 },
};

struct htcp {
	u32 alpha; /* << 7 */
	u32 beta;  /* << 7 */
	/* 1: the throughput was stable at the last backoff, so beta may adapt to the RTT */
	u32 modeswitch;
	u32 pkts_acked;	  /* packets ACKed by the latest ACK in Open; reset to 1 when cwnd grows */
	u32 packetcount;  /* packets ACKed since lasttime_ms */
	u32 min_rtt_ms;	  /* 0 before the first sample */
	u32 max_rtt_ms;	  /* every backoff moves it 5 % closer to min_rtt_ms */
	u32 last_cong_ms; /* time of the last backoff, or of the end of its recovery */
	u32 undo_available; /* 1: the three undo fields below are valid */
	u32 undo_last_cong_ms;
	u32 undo_max_rtt_ms;
	u32 undo_old_max_b;
	u32 min_b; /* min_b, max_b, b and old_max_b are throughputs in packets per second */
	u32 max_b;
	u32 old_max_b;
	u32 b;
	u32 lasttime_ms;
};

static void htcp_init(void *state, const u32 *tun, struct hw_conn *c)
{
	struct htcp *s = state;

	(void)tun;
	s->alpha = ONE;
	s->beta = BETA_MIN;
	s->pkts_acked = 1;
	s->last_cong_ms = hw_clock_ms(c->now_us);
	s->lasttime_ms = s->last_cong_ms;
}

static void htcp_measure_rtt(struct htcp *s, u32 rtt_ms, int open)
{
	if (!s->min_rtt_ms || s->min_rtt_ms > rtt_ms)
		s->min_rtt_ms = rtt_ms;
	if (!open)
		return;
	s->max_rtt_ms = hw_max_u32(s->max_rtt_ms, s->min_rtt_ms);
	if (s->max_rtt_ms < rtt_ms && rtt_ms <= s->max_rtt_ms + MAX_RTT_STEP_MS)
		s->max_rtt_ms = rtt_ms;
}

static void htcp_measure_throughput(struct htcp *s, u32 cwnd_pkts, u32 acked_pkts, u32 now_ms)
{
	u32 alpha_pkts = hw_max_u32(s->alpha >> SHIFT, 1);
	u32 elapsed_ms = now_ms - s->lasttime_ms;
	u32 b;

	s->packetcount = hw_add_u32(s->packetcount, acked_pkts);
	/* as in Linux, the difference wraps modulo 2^32: no throughput sample while alpha
	 * exceeds cwnd */
	if (s->packetcount < cwnd_pkts - alpha_pkts || !s->min_rtt_ms || elapsed_ms < s->min_rtt_ms)
		return;
	b = hw_scale_u32(s->packetcount, TICK_HZ, elapsed_ms);
	if ((now_ms - s->last_cong_ms) / s->min_rtt_ms <= 3) {
		/* in the first three round trips after a backoff, begin the measurement of the
		 * throughput anew */
		s->b = b;
		s->min_b = b;
		s->max_b = b;
	} else {
		s->b = (u32)((3ull * s->b + b) / 4);
		s->max_b = hw_max_u32(s->max_b, s->b);
		s->min_b = hw_min_u32(s->min_b, s->max_b);
	}
	s->packetcount = 0;
	s->lasttime_ms = now_ms;
}

static void htcp_pkts_acked(void *state, const u32 *tun, struct hw_conn *c,
			    const struct hw_ack *ack)
{
	struct htcp *s = state;
	u32 now_ms = hw_clock_ms(c->now_us);

	if (c->ca_state == HW_CA_OPEN)
		s->pkts_acked = ack->acked_pkts;
	if (ack->rtt_us > 0)
		htcp_measure_rtt(s, hw_duration_ms((u32)ack->rtt_us), c->ca_state == HW_CA_OPEN);
	if (!tun[BANDWIDTH_SWITCH])
		return;
	if (c->ca_state == HW_CA_OPEN || c->ca_state == HW_CA_DISORDER) {
		htcp_measure_throughput(s, c->cwnd_pkts, ack->acked_pkts, now_ms);
	} else {
		s->packetcount = 0;
		s->lasttime_ms = now_ms;
	}
}

/* The throughput is stable if max_b is within 20 % of old_max_b, the maximum before the last
 * backoff. */
static int htcp_throughput_is_stable(const struct htcp *s)
{
	return 5ull * s->max_b >= 4ull * s->old_max_b && 5ull * s->max_b <= 6ull * s->old_max_b;
}

static void htcp_update_beta(struct htcp *s, const u32 *tun)
{
	if (tun[BANDWIDTH_SWITCH]) {
		int stable = htcp_throughput_is_stable(s);

		s->old_max_b = s->max_b;
		if (!stable) {
			s->beta = BETA_MIN;
			s->modeswitch = 0;
			return;
		}
	}
	if (tun[ADAPTIVE_BACKOFF] && s->modeswitch && s->min_rtt_ms > BETA_MIN_RTT_MS &&
	    s->max_rtt_ms) {
		s->beta = hw_clamp_u32(hw_scale_u32(s->min_rtt_ms, ONE, s->max_rtt_ms), BETA_MIN,
				       BETA_MAX);
	} else {
		s->beta = BETA_MIN;
		s->modeswitch = 1;
	}
}

static void htcp_update_alpha(struct htcp *s, const u32 *tun, u32 now_ms)
{
	u32 since_ms = now_ms - s->last_cong_ms;
	u32 factor = 1;

	if (since_ms > LOW_SPEED_MS) {
		u64 x = since_ms - LOW_SPEED_MS;
		u64 square = (x / 2) * (x / 2) / TICK_HZ;

		if (tun[DRAFT_QUADRATIC])
			square *= 2;
		factor = hw_min_u32(hw_saturate_u32(1 + (10 * x + square) / TICK_HZ), FACTOR_MAX);
	}
	if (tun[RTT_SCALING] && s->min_rtt_ms) {
		/* 100 ms divided by the RTT, clamped to [0.5, 10] */
		u32 scale = (u32)((TICK_HZ << SCALE_SHIFT) / (10ull * s->min_rtt_ms));

		scale = hw_clamp_u32(scale, SCALE_MIN, SCALE_MAX);
		factor = hw_max_u32((factor << SCALE_SHIFT) / scale, 1);
	}
	/* multiplying alpha by 2 (1 - beta) makes a flow's share of the link independent of its
	 * beta */
	s->alpha = 2 * factor * (ONE - s->beta);
}

static void htcp_cong_avoid(void *state, const u32 *tun, struct hw_conn *c, u32 acked_pkts)
{
	struct htcp *s = state;

	(void)acked_pkts; /* htcp_pkts_acked counts them, in Open only */
	if (((u64)c->cwnd_cnt * s->alpha) >> SHIFT >= c->cwnd_pkts) {
		if (c->cwnd_pkts < c->cwnd_clamp_pkts)
			c->cwnd_pkts++;
		c->cwnd_cnt = 0;
		htcp_update_alpha(s, tun, hw_clock_ms(c->now_us));
	} else {
		c->cwnd_cnt = hw_add_u32(c->cwnd_cnt, s->pkts_acked);
	}
	s->pkts_acked = 1;
}

static u32 htcp_ssthresh(void *state, const u32 *tun, struct hw_conn *c)
{
	struct htcp *s = state;
	u32 min_ms = s->min_rtt_ms;
	u32 max_ms = s->max_rtt_ms;

	htcp_update_beta(s, tun);
	htcp_update_alpha(s, tun, hw_clock_ms(c->now_us));
	/* called on a backoff: lower the maximum RTT, so that the RTT of an earlier route is
	 * forgotten */
	if (min_ms && max_ms > min_ms)
		s->max_rtt_ms = min_ms + hw_scale_u32(max_ms - min_ms, 95, 100);
	return hw_max_u32(hw_scale_u32(c->cwnd_pkts, s->beta, ONE), 2);
}

static void htcp_set_state(void *state, const u32 *tun, struct hw_conn *c, u8 new_state)
{
	struct htcp *s = state;
	u32 now_ms = hw_clock_ms(c->now_us);

	(void)tun;
	switch (new_state) {
	case HW_CA_OPEN:
		if (s->undo_available) {
			s->last_cong_ms = now_ms;
			s->undo_available = 0;
		}
		break;
	case HW_CA_CWR:
	case HW_CA_RECOVERY:
	case HW_CA_LOSS:
		s->undo_available = 1;
		s->undo_last_cong_ms = s->last_cong_ms;
		s->undo_max_rtt_ms = s->max_rtt_ms;
		s->undo_old_max_b = s->old_max_b;
		s->last_cong_ms = now_ms;
		break;
	}
}

static u32 htcp_undo_cwnd(void *state, const u32 *tun, struct hw_conn *c, u32 prior_cwnd_pkts)
{
	struct htcp *s = state;

	(void)tun;
	if (s->undo_available) {
		s->last_cong_ms = s->undo_last_cong_ms;
		s->max_rtt_ms = s->undo_max_rtt_ms;
		s->old_max_b = s->undo_old_max_b;
		s->undo_available = 0;
	}
	return hw_max_u32(c->cwnd_pkts, prior_cwnd_pkts);
}

HW_TABLE struct hw_cc_ops hw_cc_htcp = {
	.name = "htcp",
	.title = "H-TCP: growth rises with the time since the last backoff",
	.source = "draft-leith-tcp-htcp-06; Linux 2.6.25 tcp_htcp.c with the last_cong correction",
	.startup = "slow-start",
	.state_bytes = sizeof(struct htcp),
	.n_tunables = HW_COUNT(htcp_tunables),
	.tunables = htcp_tunables,
	.init = htcp_init,
	.pkts_acked = htcp_pkts_acked,
	.cong_avoid = htcp_cong_avoid,
	.ssthresh = htcp_ssthresh,
	.set_state = htcp_set_state,
	.undo_cwnd = htcp_undo_cwnd,
};
