/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/*
 * A set of recent connections. A hash of a connection's number selects its bit. The set has a
 * newer and an older half: hw_recent_age() clears the older half and makes the newer half the
 * older one, so a connection stays for one to two spans between such calls. With 4096 bits and
 * a few hundred connections, few share a bit; those that do count as one.
 */
#ifndef HEADWAY_PORT_RECENT_H
#define HEADWAY_PORT_RECENT_H

#include "fixed.h"

#define HW_RECENT_BITS	4096
#define HW_RECENT_WORDS (HW_RECENT_BITS / 64)

struct hw_recent {
	u64 now[HW_RECENT_WORDS];
	/* the older half of the set, without the connections that are also in `now` */
	u64 last[HW_RECENT_WORDS];
	u32 now_bits;
	u32 last_bits;
};

/* The index of the bit that a connection's number selects. */
static inline u32 hw_recent_at(u64 flow)
{
	return (u32)((flow ^ flow >> 32) * 0x9e3779b97f4a7c15ull >> 52) % HW_RECENT_BITS;
}

/* Removes a connection; returns whether the set had it. */
static inline u32 hw_recent_take(struct hw_recent *r, u32 at)
{
	u64 bit = 1ull << at % 64, *now = &r->now[at / 64], *last = &r->last[at / 64];
	u32 in_now = (*now & bit) != 0, in_last = (*last & bit) != 0;

	*now &= ~bit;
	*last &= ~bit;
	r->now_bits -= in_now;
	r->last_bits -= in_last;
	return in_now || in_last;
}

static inline void hw_recent_put(struct hw_recent *r, u32 at)
{
	(void)hw_recent_take(r, at);
	r->now[at / 64] |= 1ull << at % 64;
	r->now_bits++;
}

static inline u32 hw_recent_count(const struct hw_recent *r)
{
	return r->now_bits + r->last_bits;
}

/* Begins a new span of time: the newer half becomes the older one. */
static inline void hw_recent_age(struct hw_recent *r)
{
	u32 k;

	for (k = 0; k < HW_RECENT_WORDS; k++) {
		r->last[k] = r->now[k];
		r->now[k] = 0;
	}
	r->last_bits = r->now_bits;
	r->now_bits = 0;
}

#endif
