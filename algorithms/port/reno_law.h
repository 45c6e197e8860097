/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/*
 * Reno's window law (RFC 5681 section 3.1) as callbacks of the contract, for Reno itself and
 * for controls that change one part of it or fall back to it.
 *
 * As in Linux, congestion halves cwnd, not the flight size. Valid for any window.
 */
#ifndef HEADWAY_PORT_RENO_LAW_H
#define HEADWAY_PORT_RENO_LAW_H

#include "cc.h"

/* Congestion avoidance: adds one packet per window of ACKed packets. */
static inline void hw_reno_cong_avoid(void *state, const u32 *tun, struct hw_conn *c,
				      u32 acked_pkts)
{
	(void)state;
	(void)tun;
	hw_additive_increase(c, c->cwnd_pkts, acked_pkts);
}

/* Reno's growth with standard slow start below ssthresh, for a control that owns its start. */
static inline void hw_reno_grow(struct hw_conn *c, u32 acked_pkts)
{
	if (hw_in_slow_start(c)) {
		acked_pkts = hw_slow_start(c, acked_pkts);
		if (!acked_pkts)
			return;
	}
	hw_reno_cong_avoid(0, 0, c, acked_pkts);
}

/* The tunable beta_ecn of Alternative Backoff with ECN (RFC 8511). RFC 8511 recommends 0.8 for Reno
 * and 0.85 for CUBIC. Linux has no such rule: there marks reduce the window as losses do. */
#define HW_ABE_TUNABLE(beta_1024)                                                \
	{ "beta_ecn",                                                            \
	  "1/1024",                                                              \
	  "fraction of cwnd that remains after a CE mark, RFC 8511: " #beta_1024 \
	  "; 0: as after a "                                                     \
	  "loss",                                                                \
	  0,                                                                     \
	  0,                                                                     \
	  1000 }

/* The fraction of the window that this reduction keeps. */
static inline u32 hw_abe_beta(const struct hw_conn *c, u32 beta_ecn_1024, u32 beta_1024)
{
	return c->by_mark && beta_ecn_1024 ? beta_ecn_1024 : beta_1024;
}

/* Half on congestion. */
static inline u32 hw_reno_ssthresh(void *state, const u32 *tun, struct hw_conn *c)
{
	(void)state;
	(void)tun;
	return hw_max_u32(c->cwnd_pkts / 2, 2);
}

/* The lowest cwnd of rate halving is half of ssthresh: cwnd falls below ssthresh if fewer
 * packets are in flight. */
static inline u32 hw_reno_min_cwnd(void *state, const u32 *tun, struct hw_conn *c)
{
	(void)state;
	(void)tun;
	return hw_max_u32(c->ssthresh_pkts / 2, 1);
}

#endif
