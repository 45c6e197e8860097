/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/*
 * The parts of BIC that CUBIC kept: the reduction with fast convergence (Xu, Harfoush and
 * Rhee, "Binary Increase Congestion Control (BIC) for Fast Long-Distance Networks", INFOCOM
 * 2004), and the correction for delayed ACKs in Linux's versions that count ACKs.
 */
#ifndef HEADWAY_PORT_BIC_LAW_H
#define HEADWAY_PORT_BIC_LAW_H

#include "fixed.h"

#define HW_BIC_FULL	   1024u /* 1.0 as a fraction of the window that a loss keeps */
#define HW_ACK_RATIO_SHIFT 4	 /* packets per ACK are multiples of 2^-4 */
#define HW_ACK_RATIO_START (2u << HW_ACK_RATIO_SHIFT)

/* Computes W_max after a loss. With fast convergence W_max is lower if the window was below the
 * previous W_max, so that a shrinking flow releases bandwidth to others. */
static inline u32 hw_bic_w_max(u32 cwnd_pkts, u32 last_max_pkts, u32 beta_1024,
			       u32 fast_convergence)
{
	if (fast_convergence && cwnd_pkts < last_max_pkts)
		return hw_scale_u32(cwnd_pkts, HW_BIC_FULL + beta_1024, 2 * HW_BIC_FULL);
	return cwnd_pkts;
}

static inline u32 hw_bic_ssthresh(u32 cwnd_pkts, u32 beta_1024)
{
	return hw_max_u32(hw_scale_u32(cwnd_pkts, beta_1024, HW_BIC_FULL), 2);
}

/*
 * Updates the moving average of packets per ACK, << 4, on an ACK in Open: the new value has the
 * weight 1/16. The difference may be negative, modulo 2^32.
 */
static inline u32 hw_ack_ratio(u32 ratio, u32 acked_pkts)
{
	return ratio + acked_pkts - (ratio >> HW_ACK_RATIO_SHIFT);
}

/* Converts a number of packets to the number of ACKs that acknowledge them, at least 1. */
static inline u32 hw_acks_for_pkts(u32 pkts, u32 ratio)
{
	return hw_max_u32(hw_scale_u32(pkts, 1u << HW_ACK_RATIO_SHIFT, ratio), 1);
}

#endif
