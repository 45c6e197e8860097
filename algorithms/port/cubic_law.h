/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/*
 * CUBIC's window curve W(t) = W_max + C (t - K)^3 (RFC 9438 section 4.2) and its
 * Reno-friendly estimate, shared by the versions of CUBIC.
 *
 * Time is in 1/1024 s. C = 410/1024 = 0.4004 packets/s^3, as Linux rounds 0.4.
 * Valid for windows below a million packets and times of up to 256 s on the curve. Beyond that
 * the curve stays at its last value instead of overflowing.
 */
#ifndef HEADWAY_PORT_CUBIC_LAW_H
#define HEADWAY_PORT_CUBIC_LAW_H

#include "bic_law.h"

#define HW_CUBIC_C_1024	    410u
#define HW_CUBIC_MAX_OFFSET (1u << 18) /* 256 s */

static inline u64 hw_cubic_time(u32 ms)
{
	return ((u64)ms << 10) / 1000;
}

/* K, the time that cwnd needs to reach w_max: cube root of (w_max - cwnd)/C. */
static inline u32 hw_cubic_k(u32 w_max_pkts, u32 cwnd_pkts)
{
	u64 gap = w_max_pkts > cwnd_pkts ? w_max_pkts - cwnd_pkts : 0;

	/* computes (gap / C) * 1024^3; this order of the factors avoids overflow */
	return hw_cbrt_u64(hw_min_u32(gap, 1u << 24) * ((1ull << 40) / HW_CUBIC_C_1024));
}

/* W(t) */
static inline u32 hw_cubic_target(u32 origin_pkts, u32 k, u64 t)
{
	u64 offset = t < k ? k - t : t - k;
	u32 delta;

	if (offset > HW_CUBIC_MAX_OFFSET)
		offset = HW_CUBIC_MAX_OFFSET;
	delta = (u32)((HW_CUBIC_C_1024 * offset * offset * offset) >> 40);
	if (t < k)
		return origin_pkts > delta ? origin_pkts - delta : 0;
	return hw_add_u32(origin_pkts, delta);
}

/* The number of ACKs after which cwnd has to grow by one packet to reach target_pkts in one
 * round trip. */
static inline u32 hw_cubic_count(u32 cwnd_pkts, u32 target_pkts)
{
	if (target_pkts > cwnd_pkts)
		return cwnd_pkts / (target_pkts - cwnd_pkts);
	return hw_saturate_u32(100ull * cwnd_pkts); /* hardly at all */
}

/*
 * Returns 8/alpha with alpha = 3 (1 - beta)/(1 + beta) (RFC 9438 section 4.3). A Reno flow on the
 * same path grows by one packet per 1/alpha windows of ACKed packets; the result counts in eighths
 * of a window.
 */
static inline u32 hw_cubic_friendly_scale(u32 beta_1024)
{
	return 8 * (HW_BIC_FULL + beta_1024) / 3 / hw_max_u32(HW_BIC_FULL - beta_1024, 1);
}

/*
 * Updates the window that a Reno flow would have: subtracts the ACKs of whole packets of growth
 * from ack_cnt, and adds those packets to friendly_pkts. Returns count, reduced if the Reno window
 * is larger than cwnd.
 */
static inline u32 hw_cubic_friendly_count(u32 cwnd_pkts, u32 count, u32 beta_1024, u32 *ack_cnt,
					  u32 *friendly_pkts)
{
	u32 per_pkt = hw_saturate_u32(((u64)cwnd_pkts * hw_cubic_friendly_scale(beta_1024)) >> 3);
	u32 whole;

	per_pkt = hw_max_u32(per_pkt, 1);
	if (*ack_cnt > per_pkt) {
		whole = (*ack_cnt - 1) / per_pkt;
		*ack_cnt -= whole * per_pkt;
		*friendly_pkts = hw_add_u32(*friendly_pkts, whole);
	}
	if (*friendly_pkts > cwnd_pkts)
		count = hw_min_u32(count, cwnd_pkts / (*friendly_pkts - cwnd_pkts));
	return count;
}

#endif
