// SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only)
/*
 * Westwood+ (Grieco and Mascolo, "Performance Evaluation and Comparison of Westwood+, New Reno
 * and Vegas TCP Congestion Control", Computer Communication Review 34(2), 2004): Reno's
 * growth. After congestion the window is the measured delivery rate times the smallest round
 * trip, so a loss without a queue costs little.
 *
 * As in Linux (tcp_westwood.c): the rate is measured over a round trip, at least 50 ms, and
 * passes a 7/8 filter twice; the first sample is used unfiltered. Recovery uses Reno's
 * ssthresh, and its end sets cwnd and ssthresh to rate * min RTT. A timeout sets ssthresh
 * only, and the smallest round trip is then measured anew.
 *
 * Differences from Linux: deliveries are the stack's count (delivered_pkts), not one derived
 * from duplicate ACKs; rates are in 1/256 packets per second, not in bytes per tick, which
 * rounds by 8 bytes per tick on slow paths; a measurement ends with an ACK of new data. Valid
 * up to 8 million packets per second.
 */
#include "../port/reno_law.h"

#define LEAST_WINDOW_US 50000
#define RATE_SHIFT	8
#define RATE_MAX	(1u << 31) /* keeps the rate times an RTT within 64 bits */
#define US_PER_S	1000000ull

struct westwood {
	u64 window_us; /* when the measurement of the next rate began */
	/* delivered_pkts when the measurement of the next rate began, modulo 2^32 */
	u32 window_pkts;
	/* delivery rate after the first of two filters, packets/s << 8; 0: none yet */
	u32 rate_filtered_1;
	u32 rate;	    /* delivery rate after both filters, packets per second << 8 */
	u32 rtt_us;	    /* the latest RTT sample; 0 before the first */
	u32 min_rtt_us;	    /* the smallest RTT sample; 0 before the first */
	u32 forget_min_rtt; /* set by a timeout: the next RTT sample replaces min_rtt_us */
};

static void westwood_init(void *state, const u32 *tun, struct hw_conn *c)
{
	struct westwood *s = state;

	(void)tun;
	s->window_us = c->now_us;
	s->window_pkts = (u32)c->delivered_pkts;
}

static u32 westwood_filter(u32 old, u32 sample)
{
	return (u32)((7ull * old + sample) / 8);
}

static void westwood_end_window(struct westwood *s, u64 now_us, u32 delivered_pkts)
{
	u64 elapsed_us = now_us - s->window_us;
	u64 pkts = delivered_pkts - s->window_pkts;
	u32 sample;

	if (!s->rtt_us || elapsed_us <= hw_max_u32(s->rtt_us, LEAST_WINDOW_US))
		return;
	sample =
		hw_min_u32(hw_saturate_u32((pkts << RATE_SHIFT) * US_PER_S / elapsed_us), RATE_MAX);
	if (!s->rate_filtered_1 && !s->rate) {
		s->rate_filtered_1 = sample;
		s->rate = sample;
	} else {
		s->rate_filtered_1 = westwood_filter(s->rate_filtered_1, sample);
		s->rate = westwood_filter(s->rate, s->rate_filtered_1);
	}
	s->window_us = now_us;
	s->window_pkts = delivered_pkts;
}

static void westwood_pkts_acked(void *state, const u32 *tun, struct hw_conn *c,
				const struct hw_ack *ack)
{
	struct westwood *s = state;

	(void)tun;
	westwood_end_window(s, c->now_us, (u32)c->delivered_pkts);
	if (ack->rtt_us <= 0)
		return;
	s->rtt_us = (u32)ack->rtt_us;
	if (!s->min_rtt_us || s->forget_min_rtt || s->min_rtt_us > s->rtt_us)
		s->min_rtt_us = s->rtt_us;
	s->forget_min_rtt = 0;
}

/* The number of packets that the measured delivery rate delivers in the smallest round trip. */
static u32 westwood_window(const struct westwood *s)
{
	u64 pkts = ((u64)s->rate * s->min_rtt_us / US_PER_S) >> RATE_SHIFT;

	return hw_max_u32(hw_saturate_u32(pkts), 2);
}

static void westwood_event(void *state, const u32 *tun, struct hw_conn *c, u8 event)
{
	struct westwood *s = state;

	(void)tun;
	switch (event) {
	case HW_EVENT_COMPLETE_CWR:
		c->ssthresh_pkts = westwood_window(s);
		c->cwnd_pkts = hw_min_u32(c->ssthresh_pkts, c->cwnd_clamp_pkts);
		break;
	case HW_EVENT_LOSS:
		c->ssthresh_pkts = westwood_window(s);
		s->forget_min_rtt = 1;
		break;
	}
}

/* The lowest cwnd to which rate halving may reduce: the delivery rate times the smallest RTT,
 * even if that is above Reno's ssthresh. */
static u32 westwood_min_cwnd(void *state, const u32 *tun, struct hw_conn *c)
{
	(void)tun;
	(void)c;
	return westwood_window(state);
}

HW_TABLE struct hw_cc_ops hw_cc_westwood = {
	.name = "westwood",
	.title = "Westwood+: congestion sets the window to delivery rate times min RTT",
	.source = "Grieco, Mascolo 2004; Linux tcp_westwood.c",
	.startup = "slow-start",
	.state_bytes = sizeof(struct westwood),
	.init = westwood_init,
	.pkts_acked = westwood_pkts_acked,
	.cong_avoid = hw_reno_cong_avoid,
	.ssthresh = hw_reno_ssthresh,
	.event = westwood_event,
	.min_cwnd = westwood_min_cwnd,
};
