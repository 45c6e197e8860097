// SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only)
/*
 * Controlled Delay (RFC 8289): if packets have waited longer than target for longer than
 * interval, the queue is a standing queue. CoDel then drops packets from its head, at
 * decreasing intervals, until a packet has waited for less than target.
 *
 * After the n-th drop of a dropping state the next follows after interval / sqrt(n), rounded
 * down to a nanosecond: the integer square root of interval^2 / n. Linux
 * (include/net/codel_impl.h) instead keeps the reciprocal square root in 16 bits, improves it
 * by one step of Newton's iteration per drop, and counts in units of 1.024 us. The rest is as
 * in Linux: a dropping state that begins within 16 intervals of the previous one begins with
 * the number of drops of that state (RFC 8289, section 5.5, whose pseudo-code is Linux's).
 *
 * Nothing is dropped while at most one MTU waits behind the packet at the head. The RFC loops
 * over packets. Here the link offers the next packet after a drop, at the same time. law_due
 * means that the time of the next drop still has to be set, which the RFC does once it has
 * seen that packet.
 *
 * With ecn, packets that can be marked are marked instead of dropped, by the same law (as in
 * Linux).
 */
#include "../port/queue.h"

#define REENTRY_INTERVALS 16

enum { TARGET, INTERVAL, MTU, ECN };

static const struct hw_tunable codel_tunables[] = {
	[TARGET] = { "target_us", "us", "sojourn time above which a queue may be a standing queue",
		     5000, 1, 4000000 },
	/* upper limit, so that interval^2 in ns^2 fits into 64 bits */
	[INTERVAL] = { "interval_us", "us", "how long packets exceed target before the first drop",
		       100000, 1, 4000000 },
	[MTU] = { "mtu_bytes", "bytes",
		  "nothing is dropped while at most so much waits behind the head", 1500, 0,
		  65535 },
	[ECN] = { "ecn", "bool", "mark ECN-capable packets instead of dropping them", 0, 0, 1 },
};

struct codel {
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

static u64 codel_law(u64 time_ns, const u32 *tun, u32 count)
{
	u64 interval_ns = (u64)tun[INTERVAL] * 1000;

	return time_ns + hw_sqrt_u64(hw_div_u64(interval_ns * interval_ns, count));
}

/* Whether packets have waited longer than target for an interval. */
static int codel_is_standing(struct codel *s, const u32 *tun, const struct hw_link *link,
			     u64 sojourn_ns)
{
	if (sojourn_ns < (u64)tun[TARGET] * 1000 || link->queue_bytes <= tun[MTU]) {
		s->first_above_ns = 0;
		return 0;
	}
	if (!s->first_above_ns) {
		s->first_above_ns = link->now_ns + (u64)tun[INTERVAL] * 1000;
		return 0;
	}
	return link->now_ns >= s->first_above_ns;
}

static u32 codel_enqueue(void *state, const u32 *tun, const struct hw_link *link,
			 const struct hw_packet *pkt)
{
	(void)state;
	(void)tun;
	return hw_link_is_full(link, pkt) ? HW_DROP_FULL : HW_PASS;
}

/* Drops or marks the next packet of a dropping state, if the time drop_next_ns is reached. */
static u32 codel_continue(struct codel *s, const u32 *tun, int marks)
{
	s->count = hw_add_u32(s->count, 1);
	if (!marks) {
		s->law_due = 1;
		return HW_DROP_EARLY;
	}
	s->drop_next_ns = codel_law(s->drop_next_ns, tun, s->count);
	return HW_MARK;
}

/* Begins a dropping state: drops or marks its first packet. */
static u32 codel_begin(struct codel *s, const u32 *tun, u64 now_ns, int marks)
{
	u32 grown = s->count - s->last_count;
	s64 since_ns = (s64)(now_ns - s->drop_next_ns);
	s64 recent_ns = (s64)tun[INTERVAL] * 1000 * REENTRY_INTERVALS;

	s->dropping = 1;
	s->law_due = 0;
	s->count = grown > 1 && since_ns < recent_ns ? grown : 1;
	s->last_count = s->count;
	s->drop_next_ns = codel_law(now_ns, tun, s->count);
	return marks ? HW_MARK : HW_DROP_EARLY;
}

static u32 codel_dequeue(void *state, const u32 *tun, const struct hw_link *link,
			 const struct hw_packet *pkt, u64 sojourn_ns)
{
	struct codel *s = state;
	int stands = codel_is_standing(s, tun, link, sojourn_ns);
	int marks = tun[ECN] && pkt->ecn;

	if (!stands) {
		s->dropping = 0;
		return HW_PASS;
	}
	if (!s->dropping)
		return codel_begin(s, tun, link->now_ns, marks);
	if (s->law_due) {
		s->law_due = 0;
		s->drop_next_ns = codel_law(s->drop_next_ns, tun, s->count);
	}
	return link->now_ns < s->drop_next_ns ? HW_PASS : codel_continue(s, tun, marks);
}

HW_TABLE struct hw_queue_ops hw_queue_codel = {
	.name = "codel",
	.title = "Controlled Delay: drops or marks at the head of a standing queue",
	.source = "RFC 8289; Nichols, Jacobson 2012",
	.state_bytes = sizeof(struct codel),
	.n_tunables = HW_COUNT(codel_tunables),
	.tunables = codel_tunables,
	.enqueue = codel_enqueue,
	.dequeue = codel_dequeue,
};
