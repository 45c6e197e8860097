/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/*
 * Hybla's rho (Caini and Firrincieli, "TCP Hybla: a TCP enhancement for heterogeneous
 * networks", International Journal of Satellite Communications and Networking 22, 2004),
 * shared by its slow start and its congestion avoidance: how many times the round trip is
 * longer than RTT0, that of the flow whose growth in time is followed.
 *
 * As in Linux (tcp_hybla.c): at least 1, in eighths rounded down, of the smoothed round
 * trip, and taken anew only when that falls below its smallest value. Valid for any round
 * trip.
 */
#ifndef HEADWAY_PORT_HYBLA_LAW_H
#define HEADWAY_PORT_HYBLA_LAW_H

#include "reno_law.h"

#define HW_HYBLA_RTT0_MS   25
#define HW_HYBLA_RHO_SHIFT 3

struct hw_hybla {
	u32 rho_8;	 /* rho << 3; 0 before the first round trip was known */
	u32 min_srtt_us; /* of which it is */
};

static inline void hw_hybla_follow(struct hw_hybla *h, u32 rtt0_ms, u32 srtt_us)
{
	u64 rho_8;

	if (!srtt_us || (h->rho_8 && srtt_us >= h->min_srtt_us))
		return;
	rho_8 = hw_div_u64((u64)srtt_us << HW_HYBLA_RHO_SHIFT, 1000ull * rtt0_ms);
	h->rho_8 = hw_max_u32(hw_saturate_u32(rho_8), 1u << HW_HYBLA_RHO_SHIFT);
	h->min_srtt_us = srtt_us;
}

/* Out of Open, and before a round trip is known, Hybla is Reno. */
static inline int hw_hybla_holds(const struct hw_hybla *h, const struct hw_conn *c)
{
	return h->rho_8 && c->ca_state == HW_CA_OPEN;
}

/*
 * Adds growth in 2^-bits packets to cwnd, and keeps what is less than one. Returns whether
 * cwnd grew.
 */
static inline u32 hw_hybla_grow(struct hw_conn *c, u32 *part, u64 growth, u32 bits)
{
	u64 whole;

	growth += *part;
	whole = growth >> bits;
	*part = (u32)(growth & ((1u << bits) - 1));
	c->cwnd_pkts = hw_add_u32(c->cwnd_pkts, hw_saturate_u32(whole));
	c->cwnd_pkts = hw_min_u32(c->cwnd_pkts, c->cwnd_clamp_pkts);
	return whole != 0;
}

#endif
