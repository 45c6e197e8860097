/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/*
 * MPCP's congestion levels, for its router and its sender. With n pieces there are 3^n levels:
 * 9 with two pieces, 27 with three.
 *
 *   0           no router wrote (header/mpcp.h)
 *   1           a load factor below 80 %
 *   2 .. top    capacity/demand, 1/LF, falling from 1.25 (80 %) to 0.5
 *               (200 %) in equal steps, 3/28 with two pieces and 3/100 with three; the top
 *               also beyond
 *
 * The steps of 1/LF are equal because the sender's law is linear in it: the sender uses the
 * middle of a step, so its change of the window is wrong by at most kappa/2 steps, which is
 * 1.3 % of the window per t_rho with two pieces and 0.4 % with three. Below 80 % the sender's
 * growth is constant, so one level is enough. We could not find the published tables of levels.
 */
#ifndef HEADWAY_PORT_MPCP_LEVELS_H
#define HEADWAY_PORT_MPCP_LEVELS_H

#include "load_factor.h"
#include "../header/mpcp.h"

#define MPCP_TUNABLE_PIECES                                                \
	{ "pieces",                                                        \
	  "packets",                                                       \
	  "packets that carry a level, as at every other end of the path", \
	  3,                                                               \
	  MPCP_MIN_PIECES,                                                 \
	  MPCP_MAX_PIECES }

#define MPCP_LOW   1		  /* level of a load factor below 80 % */
#define MPCP_FIRST 2		  /* lowest level of load factors from 80 % on */
#define MPCP_FROM  ((u64)5 << 14) /* 1/LF at a load factor of 80 %: 1.25 with 16 fractional bits */
#define MPCP_RANGE ((u64)3 << 14) /* 0.75 */

static inline u32 mpcp_levels(u32 pieces)
{
	return pieces == 2 ? 9 : 27;
}

/* The place value (1, 3 or 9) of a digit of the level. Digit 0 is the most significant. */
static inline u32 mpcp_weight(u32 pieces, u32 digit)
{
	u32 lower = pieces - 1 - digit;

	return lower == 0 ? 1 : lower == 1 ? 3 : 9;
}

/* The congestion level for a link's load. */
static inline u32 mpcp_level_of(const struct hw_load *load, u32 pieces)
{
	u32 top = mpcp_levels(pieces) - 1;
	u64 rest; /* 1/LF */

	if (load->demand_bytes * 100 < load->capacity_bytes * 80)
		return MPCP_LOW;
	rest = hw_div_u64(load->capacity_bytes << 16, load->demand_bytes);
	if (rest >= MPCP_FROM)
		return MPCP_FIRST;
	return hw_min_u32(MPCP_FIRST + (u32)((MPCP_FROM - rest) * (top - 1) / MPCP_RANGE), top);
}

/*
 * The relative change of the window per interval t_rho at a level: |m| with m = kappa (1/LF -
 * 1) and kappa = 1/4, at most 1/16 upwards, with HW_STEP_SHIFT bits after the point. Returns
 * whether the window falls.
 */
static inline u32 mpcp_step_of(u32 level, u32 pieces, u64 *m)
{
	u32 steps = mpcp_levels(pieces) - 2;
	u64 from = MPCP_FROM << (HW_STEP_SHIFT - 16);
	u64 rest = from;

	if (level >= MPCP_FIRST)
		rest -= (MPCP_RANGE << (HW_STEP_SHIFT - 16)) * (2 * (level - MPCP_FIRST) + 1) /
			(2 * steps);
	return hw_load_step(rest, m);
}

#endif
