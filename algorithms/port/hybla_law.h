/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/*
 * Hybla's rho (Caini and Firrincieli, "TCP Hybla: a TCP enhancement for heterogeneous
 * networks", International Journal of Satellite Communications and Networking 22, 2004),
 * shared by its slow start and its congestion avoidance: rho is the ratio of the round trip to
 * RTT0, the round trip of a reference flow that grows equally fast.
 *
 * As in Linux (tcp_hybla.c): rho is at least 1, in eighths rounded down, from the smoothed
 * round trip, and recomputed only when the smoothed round trip falls below its previous
 * minimum. rho has no upper bound, but the window has one. Valid for any round trip.
 */
#ifndef HEADWAY_PORT_HYBLA_LAW_H
#define HEADWAY_PORT_HYBLA_LAW_H

#include "reno_law.h"

#define HW_HYBLA_RTT0_MS   25
#define HW_HYBLA_RHO_SHIFT 3
#define HW_HYBLA_MOST_PKTS 65535 /* Linux's bound of the window, set when Hybla begins */

struct hw_hybla {
	u32 rho_8;	 /* rho << 3; 0 until a round trip is known */
	u32 min_srtt_us; /* smallest smoothed RTT, from which rho_8 was computed */
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

/* Whether Hybla's law applies. Outside Open, and before a round trip is known, Reno's law
 * applies. */
static inline int hw_hybla_holds(const struct hw_hybla *h, const struct hw_conn *c)
{
	return h->rho_8 && c->ca_state == HW_CA_OPEN;
}

/* Limits a window that grew by Hybla's law to HW_HYBLA_MOST_PKTS. */
static inline u32 hw_hybla_bound(const struct hw_conn *c, u32 cwnd_pkts)
{
	return hw_min_u32(cwnd_pkts, hw_min_u32(c->cwnd_clamp_pkts, HW_HYBLA_MOST_PKTS));
}

/*
 * Adds growth in 2^-bits packets to cwnd, and keeps the fraction. Returns whether it added a
 * packet.
 */
static inline u32 hw_hybla_grow(struct hw_conn *c, u32 *part, u64 growth, u32 bits)
{
	u64 whole;

	growth += *part;
	whole = growth >> bits;
	*part = (u32)(growth & ((1u << bits) - 1));
	/* outside Open, Reno's law may have made cwnd larger */
	if (c->cwnd_pkts < HW_HYBLA_MOST_PKTS)
		c->cwnd_pkts = hw_hybla_bound(c, hw_add_u32(c->cwnd_pkts, hw_saturate_u32(whole)));
	return whole != 0;
}

#endif
