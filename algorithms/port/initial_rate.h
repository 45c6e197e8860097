/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/*
 * The rate to start with, from the application's hints (table 5.1 of Scharf, "Fast Startup
 * Internet Congestion Control", 2011): the rate that the application names, or the rate that
 * meets its deadline, Q = s/(T - d) (eq. 7.1). If slow start alone meets the deadline, no rate
 * is needed.
 *
 * The deadline is the time at which the last byte should arrive. The time until then includes
 * half a round trip, and the round trips before the rate can be used. The path's capacity is
 * not known, so slow start is assumed to be limited only by its windows. Valid for round trips
 * below 8 s.
 */
#ifndef HEADWAY_PORT_INITIAL_RATE_H
#define HEADWAY_PORT_INITIAL_RATE_H

#include "cc.h"

/* The number of round trips that slow start needs to send so many packets, if its window starts
 * at cwnd and doubles in each: the smallest k with cwnd (2^k - 1) >= pkts. */
static inline u32 hw_slow_start_rounds(u32 pkts, u32 cwnd_pkts)
{
	u64 windows;

	cwnd_pkts = hw_max_u32(cwnd_pkts, 1);
	windows = ((u64)pkts + cwnd_pkts - 1) / cwnd_pkts;
	return windows ? 64 - (u32)__builtin_clzll(windows) : 0;
}

/* Whether slow start meets the deadline: whether the last of so many packets arrives in time if
 * slow start begins with cwnd after `before` round trips. */
static inline int hw_slow_start_meets(const struct hw_conn *c, u32 pkts, u32 rtt_us, u32 before)
{
	u64 halves = 2ull * (hw_slow_start_rounds(pkts, c->cwnd_pkts) + before);

	return halves * rtt_us <= 2ull * c->deadline_us + rtt_us;
}

/*
 * The rate in IP bytes per second at which so many bytes of payload meet the deadline, if that
 * rate is used after `before` round trips; 0 if slow start meets the deadline, too, or if no
 * rate can.
 */
static inline u64 hw_deadline_rate_Bps(const struct hw_conn *c, u64 bytes, u32 rtt_us, u32 before)
{
	u32 mss_bytes = hw_max_u32(c->mss_bytes, 1);
	u32 pkts = hw_saturate_u32((bytes + mss_bytes - 1) / mss_bytes);
	u64 needed_us = (u64)rtt_us * before + rtt_us / 2;
	u64 left_us, wire_bytes;

	if (c->deadline_us <= needed_us ||
	    hw_slow_start_meets(c, pkts, rtt_us, c->srtt_us ? 0 : before))
		return 0;
	/* an existing connection sends one window before the rate can be used */
	if (before && c->srtt_us)
		pkts -= hw_min_u32(pkts, c->cwnd_pkts);
	left_us = c->deadline_us - needed_us;
	wire_bytes = (u64)pkts * hw_min_u32(mss_bytes + c->header_bytes, 1u << 16);
	return (hw_saturate_u32(wire_bytes) * 1000000ull + left_us - 1) / left_us;
}

/* Whether the present RTT resembles the RTT that was saved with the window of an earlier
 * connection (RFC 9959). */
static inline int hw_saved_holds(const struct hw_conn *c, u32 saved_us)
{
	return c->min_rtt_us >= saved_us / 2 && c->min_rtt_us <= 10ull * saved_us;
}

/* The rate in IP bytes per second of an earlier transfer to this destination; 0 if none was
 * saved, or if the path's RTT has changed. */
static inline u64 hw_saved_rate_Bps(const struct hw_conn *c)
{
	u32 pkt_bytes = hw_min_u32(c->mss_bytes + c->header_bytes, 1u << 16);

	if (!c->saved_cwnd_pkts || !c->saved_rtt_us ||
	    (c->srtt_us && !hw_saved_holds(c, c->saved_rtt_us)))
		return 0;
	return hw_div_u64(hw_saturate_u32((u64)c->saved_cwnd_pkts * pkt_bytes) * 1000000ull,
			  c->saved_rtt_us);
}

/*
 * The initial rate for so many bytes, 0: none. The application's hints have priority: no fast
 * start, a rate or a deadline. Otherwise it is the rate of an earlier transfer on the path, and if
 * there is none, `otherwise_Bps`.
 */
static inline u64 hw_initial_rate_Bps(const struct hw_conn *c, u64 otherwise_Bps, u64 bytes,
				      u32 rtt_us, u32 before)
{
	u64 saved_Bps;

	if (c->no_fast_start)
		return 0;
	if (c->asked_rate_Bps)
		return c->asked_rate_Bps;
	if (c->deadline_us && bytes)
		return hw_deadline_rate_Bps(c, bytes, rtt_us, before);
	saved_Bps = hw_saved_rate_Bps(c);
	return saved_Bps ? saved_Bps : otherwise_Bps;
}

#endif
