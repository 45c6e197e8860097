/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/*
 * Shared by delay-based controls: the RTT samples of a round, the smallest RTT of the
 * connection, the number of queued packets that follows from both, and windows that may shrink.
 */
#ifndef HEADWAY_PORT_DELAY_H
#define HEADWAY_PORT_DELAY_H

#include "cc.h"

/* Longer round trips than 16.7 s count as 16.7 s. */
#define HW_RTT_MOST_US ((1u << 24) - 1)

/* The RTT samples of a round; zeroed before the first use. A round ends when data is
 * acknowledged that was sent after the round began. */
struct hw_round {
	u64 sum_us;   /* sum of this round's samples */
	u32 count;    /* of them */
	u32 least_us; /* smallest of this round's samples; 0: none */
	u32 base_us;  /* smallest sample of the connection; 0 before the first */
	u32 end;      /* sequence number */
};

static inline void hw_begin_round(struct hw_round *r, const struct hw_conn *c)
{
	r->sum_us = 0;
	r->count = 0;
	r->least_us = 0;
	r->end = c->snd_nxt;
}

/* Adds an RTT sample; 0 counts as 1 us, and negative values are not samples. */
static inline void hw_sample_rtt(struct hw_round *r, s32 rtt_us)
{
	u32 us = hw_clamp_u32((u32)rtt_us, 1, HW_RTT_MOST_US);

	if (rtt_us < 0)
		return;
	if (!r->base_us || us < r->base_us)
		r->base_us = us;
	if (!r->least_us || us < r->least_us)
		r->least_us = us;
	r->sum_us += us;
	r->count = hw_add_u32(r->count, 1);
}

static inline int hw_round_is_over(const struct hw_round *r, const struct hw_conn *c)
{
	return hw_after(c->snd_una, r->end);
}

static inline u32 hw_round_mean_us(const struct hw_round *r)
{
	return r->count ? hw_saturate_u32(r->sum_us / r->count) : 0;
}

/*
 * How many of `window` packets wait in queues if a round trip takes rtt_us, by Little's law:
 * window (1 - base/rtt), rounded down in units of 1/256. The window is at most 2^24 packets,
 * times are at most HW_RTT_MOST_US.
 */
static inline u32 hw_queued_x256(u32 window, u32 base_us, u32 rtt_us)
{
	window = hw_min_u32(window, 1u << 24);
	if (!base_us || rtt_us <= base_us)
		return 0;
	return hw_saturate_u32(((u64)window << 8) * (rtt_us - base_us) / rtt_us);
}

/* Ends slow start: sets ssthresh so that cwnd stays at its present value. */
static inline void hw_leave_slow_start(struct hw_conn *c)
{
	if (hw_in_slow_start(c))
		c->ssthresh_pkts = hw_max_u32(c->cwnd_pkts, 2) - 1;
}

/* Sets cwnd, and ssthresh so that a smaller cwnd does not lead back to slow start. */
static inline void hw_set_window(struct hw_conn *c, u32 pkts)
{
	c->cwnd_pkts = hw_clamp_u32(pkts, 2, c->cwnd_clamp_pkts);
	hw_leave_slow_start(c);
}

#endif
