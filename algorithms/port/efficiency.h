/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/*
 * XCP's efficiency controller (Katabi, Handley, Rohrs, SIGCOMM 2002, equation 1;
 * draft-falk-xcp-spec-03, section 4.2): It computes by how much the whole traffic of a link
 * should change in the next control interval, F = alpha (C - y) - beta Q / d. It also computes
 * the part of the traffic that is shuffled, that is taken from flows and given to flows at
 * once: gamma y, minus the part that F already moves.
 *
 * Valid for rates up to 2^43 B/s, queues up to 2^42 bytes.
 */
#ifndef HEADWAY_PORT_EFFICIENCY_H
#define HEADWAY_PORT_EFFICIENCY_H

#include "fixed.h"

#define HW_EFFICIENCY_ALPHA { "alpha", "1/1000", "weight of the spare bandwidth", 400, 0, 2000 }
#define HW_EFFICIENCY_BETA  { "beta", "1/1000", "weight of the persistent queue", 226, 0, 2000 }
#define HW_EFFICIENCY_GAMMA \
	{ "gamma", "1/1000", "part of the traffic that is moved between flows", 100, 0, 1000 }

struct hw_efficiency {
	u64 raise_Bps; /* increase of the total traffic: F if F is positive, otherwise 0 */
	u64 cut_Bps;   /* decrease of the total traffic: -F if F is negative, otherwise 0 */
	/* traffic to take from some flows and give to others, without changing the total */
	u64 shuffle_Bps;
};

/* alpha, beta and gamma are in 1/1000; rtt_us is d, queue_bytes is Q, the persistent queue. */
static inline struct hw_efficiency hw_efficiency(u64 capacity_Bps, u64 traffic_Bps, u64 queue_bytes,
						 u64 rtt_us, u32 alpha, u32 beta, u32 gamma)
{
	struct hw_efficiency e = { 0, 0, 0 };
	u64 drain = hw_div_u64(queue_bytes * beta * 1000, rtt_us), spare, shuffle;

	if (capacity_Bps >= traffic_Bps) {
		spare = (capacity_Bps - traffic_Bps) * alpha / 1000;
		if (spare >= drain)
			e.raise_Bps = spare - drain;
		else
			e.cut_Bps = drain - spare;
	} else {
		e.cut_Bps = (traffic_Bps - capacity_Bps) * alpha / 1000 + drain;
	}
	shuffle = traffic_Bps * gamma / 1000;
	if (shuffle > e.raise_Bps + e.cut_Bps)
		e.shuffle_Bps = shuffle - e.raise_Bps - e.cut_Bps;
	return e;
}

#endif
