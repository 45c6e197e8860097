/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/*
 * What the proportional integral controllers of PIE and DualPI2 share: a probability with 48
 * fractional bits, which a timer changes in proportion to delays.
 */
#ifndef HEADWAY_PORT_PI_LAW_H
#define HEADWAY_PORT_PI_LAW_H

#include "held.h"

#define HW_PI_SHIFT  48
#define HW_PI_ONE    (1ull << HW_PI_SHIFT)
#define HW_PI_PER_NS 281475 /* 2^48 / 10^9 */

/*
 * A change of the probability: a delay times a gain of 2^-shift Hz, in ns. The product must be
 * below 2^45.
 */
static inline u64 hw_pi_change(u64 gained_ns, u32 shift)
{
	return gained_ns * HW_PI_PER_NS >> shift;
}

/* Whether an event with this probability occurs. */
static inline int hw_pi_occurs(struct hw_held *held, u64 p)
{
	return hw_random_u64(held) >> (64 - HW_PI_SHIFT) < p;
}

/* A probability in 10^-9. */
static inline u64 hw_pi_ppb(u64 p)
{
	return (p >> 18) * 1000000000 >> 30;
}

/*
 * The number of updates that are due at now_ns. The timer starts with the queue's first packet,
 * whose time is kept in origin_ns (plus 1, so that 0 means none).
 */
static inline u64 hw_pi_updates(u64 *origin_ns, u64 now_ns, u32 update_us)
{
	if (!*origin_ns)
		*origin_ns = now_ns + 1;
	return (now_ns - (*origin_ns - 1)) / ((u64)update_us * 1000);
}

#endif
