/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/*
 * The law of Controlled Delay (RFC 8289), for codel and for every sub-queue of fq_codel: if
 * packets have waited longer than target for longer than interval, the queue is a standing
 * queue. CoDel then drops packets from its head, at decreasing intervals, until a packet has
 * waited for less than target.
 *
 * After the n-th drop of a dropping state the next follows after interval / sqrt(n), rounded
 * down to a nanosecond: the integer square root of interval^2 / n. Linux
 * (include/net/codel_impl.h) instead keeps the reciprocal square root in 16 bits, improves it
 * by one step of Newton's iteration per drop, and counts in units of 1.024 us. The rest is as
 * in Linux: a dropping state that begins within 16 intervals of the previous one begins with
 * the number of drops of that state (RFC 8289, section 5.5, whose pseudo-code is Linux's).
 *
 * Nothing is dropped while at most one MTU waits behind the packet at the head. The caller
 * repeats the call for the next packet after a drop. law_due means that the time of the next
 * drop still has to be set, which the RFC does once it has seen that packet.
 */
#ifndef HEADWAY_PORT_CODEL_LAW_H
#define HEADWAY_PORT_CODEL_LAW_H

#include "held.h"

#define HW_CODEL_REENTRY_INTERVALS 16

/* The first tunables of a discipline with CoDel. */
enum { HW_CODEL_TARGET, HW_CODEL_INTERVAL, HW_CODEL_MTU, HW_CODEL_TUNABLES };

/* The upper limit of the interval is such that interval^2 in ns^2 fits into 64 bits. */
#define HW_DECLARE_CODEL                                                                           \
	[HW_CODEL_TARGET] = HW_TUNABLE("target_us", "us",                                          \
				       "sojourn time above which a queue may be a standing queue", \
				       5000, 1, 4000000),                                          \
	[HW_CODEL_INTERVAL] = HW_TUNABLE("interval_us", "us",                                      \
					 "how long packets exceed target before the first drop",   \
					 100000, 1, 4000000),                                      \
	[HW_CODEL_MTU] = HW_TUNABLE(                                                               \
		"mtu_bytes", "bytes",                                                              \
		"nothing is dropped while at most so much waits behind the head", 1500, 0, 65535)

struct hw_codel {
	/* time at which the queue counts as standing if sojourn times stay above target until
	 * then; 0: sojourn times are below target */
	u64 first_above_ns;
	u64 drop_next_ns;
	u32 count; /* number of drops in this dropping state, plus the number with which it began */
	u32 last_count; /* the count with which this dropping state began */
	u8 dropping;
	u8 law_due;
	u8 spare[6];
};

static inline u64 hw_codel_law(u64 time_ns, const u32 *tun, u32 count)
{
	u64 interval_ns = (u64)tun[HW_CODEL_INTERVAL] * 1000;

	return time_ns + hw_sqrt_u64(hw_div_u64(interval_ns * interval_ns, count));
}

/* Whether packets have waited longer than target for an interval. */
static inline int hw_codel_is_standing(struct hw_codel *s, const u32 *tun, u64 now_ns,
				       u64 sojourn_ns, u32 behind_bytes)
{
	if (sojourn_ns < (u64)tun[HW_CODEL_TARGET] * 1000 || behind_bytes <= tun[HW_CODEL_MTU]) {
		s->first_above_ns = 0;
		return 0;
	}
	if (!s->first_above_ns) {
		s->first_above_ns = now_ns + (u64)tun[HW_CODEL_INTERVAL] * 1000;
		return 0;
	}
	return now_ns >= s->first_above_ns;
}

/* Drops or marks the next packet of a dropping state, if the time drop_next_ns is reached. */
static inline u32 hw_codel_continue(struct hw_codel *s, const u32 *tun, int marks)
{
	s->count = hw_add_u32(s->count, 1);
	if (!marks) {
		s->law_due = 1;
		return HW_DROP_EARLY;
	}
	s->drop_next_ns = hw_codel_law(s->drop_next_ns, tun, s->count);
	return HW_MARK;
}

/* Begins a dropping state: drops or marks its first packet. */
static inline u32 hw_codel_begin(struct hw_codel *s, const u32 *tun, u64 now_ns, int marks)
{
	u32 grown = s->count - s->last_count;
	s64 since_ns = (s64)(now_ns - s->drop_next_ns);
	s64 recent_ns = (s64)tun[HW_CODEL_INTERVAL] * 1000 * HW_CODEL_REENTRY_INTERVALS;

	s->dropping = 1;
	s->law_due = 0;
	s->count = grown > 1 && since_ns < recent_ns ? grown : 1;
	s->last_count = s->count;
	s->drop_next_ns = hw_codel_law(now_ns, tun, s->count);
	return marks ? HW_MARK : HW_DROP_EARLY;
}

/*
 * The verdict on the packet at the head of a queue, which has waited for sojourn_ns and has
 * behind_bytes behind it. If the packet can be marked (`marks`), it is not dropped.
 */
static inline u32 hw_codel_judge(struct hw_codel *s, const u32 *tun, u64 now_ns, u64 sojourn_ns,
				 u32 behind_bytes, int marks)
{
	int stands = hw_codel_is_standing(s, tun, now_ns, sojourn_ns, behind_bytes);

	if (!stands) {
		s->dropping = 0;
		return HW_PASS;
	}
	if (!s->dropping)
		return hw_codel_begin(s, tun, now_ns, marks);
	if (s->law_due) {
		s->law_due = 0;
		s->drop_next_ns = hw_codel_law(s->drop_next_ns, tun, s->count);
	}
	return now_ns < s->drop_next_ns ? HW_PASS : hw_codel_continue(s, tun, marks);
}

#endif
