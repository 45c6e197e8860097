/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/*
 * The rate to start with, from what the application said (table 5.1 of Scharf, "Fast Startup
 * Internet Congestion Control", 2011): a rate that it names, or the rate that meets its
 * deadline, Q = s/(T - d) (eq. 7.1), if slow start alone would not.
 *
 * The deadline is for the arrival of the last byte, so it includes half a round trip, and any
 * round trips before the rate can be used. Capacity is not known: slow start is assumed to be
 * as fast as its windows. Valid for round trips below 8 s.
 */
#ifndef HEADWAY_PORT_INITIAL_RATE_H
#define HEADWAY_PORT_INITIAL_RATE_H

#include "cc.h"

/* Round trips in which slow start sends so many packets, its window doubling from
 * cwnd: the smallest k with cwnd (2^k - 1) >= pkts. */
static inline u32 hw_slow_start_rounds(u32 pkts, u32 cwnd_pkts)
{
	u64 windows;

	cwnd_pkts = hw_max_u32(cwnd_pkts, 1);
	windows = ((u64)pkts + cwnd_pkts - 1) / cwnd_pkts;
	return windows ? 64 - (u32)__builtin_clzll(windows) : 0;
}

/* Whether the last of so many packets arrives in time with slow start from cwnd on,
 * once `before` round trips have passed. */
static inline int hw_slow_start_meets(const struct hw_conn *c, u32 pkts, u32 rtt_us, u32 before)
{
	u64 halves = 2ull * (hw_slow_start_rounds(pkts, c->cwnd_pkts) + before);

	return halves * rtt_us <= 2ull * c->deadline_us + rtt_us;
}

/*
 * The rate in IP bytes at which so many bytes of payload meet the deadline if it is used after
 * `before` round trips; 0 if slow start meets it as well, or nothing can.
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
	/* an existing connection sends a window before the rate can be used */
	if (before && c->srtt_us)
		pkts -= hw_min_u32(pkts, c->cwnd_pkts);
	left_us = c->deadline_us - needed_us;
	wire_bytes = (u64)pkts * hw_min_u32(mss_bytes + c->header_bytes, 1u << 16);
	return (hw_saturate_u32(wire_bytes) * 1000000ull + left_us - 1) / left_us;
}

/* Whether the path still looks like the one whose window was saved (RFC 9959). */
static inline int hw_saved_holds(const struct hw_conn *c, u32 saved_us)
{
	return c->min_rtt_us >= saved_us / 2 && c->min_rtt_us <= 10ull * saved_us;
}

/* The rate in IP bytes of an earlier transfer to this destination; 0: none, or the path looks
 * like another one. */
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
 * The rate to start with for so many bytes, 0: none. The application comes first: it needs no
 * fast start, or names a rate or a deadline. Then what is remembered about the path, then
 * `otherwise_Bps`.
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
