/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/*
 * The queue's contract: a discipline decides on packets that arrive at the queue of a link, and
 * on those that leave it. A link has one discipline. The links of the simulator and of the
 * emulator call the same functions.
 *
 * With enqueue alone the queue is first in, first out, and a packet's departure is known when
 * it joins. With dequeue the link holds packets (held.h) until its wire is free, and then asks
 * the discipline for the next one. That costs an event per packet.
 *
 * A discipline with timers brings them up to date itself, whenever it is called. The result does
 * not depend on when and how often that is, because nothing that it reads at a timer's time
 * changes between two calls.
 */
#ifndef HEADWAY_PORT_QUEUE_H
#define HEADWAY_PORT_QUEUE_H

#include "held.h"

/* Describes why a discipline cannot have its tunables: "target_us=9 is not allowed; at most
 * interval_us, 5". */
struct hw_refusal {
	u32 tunable;
	u32 bound;
	const char *allowed; /* "at most interval_us" */
};

struct hw_queue_ops {
	const char *name;
	const char *title;
	const char *source;
	u32 state_bytes;
	u32 n_tunables;
	const struct hw_tunable *tunables;
	/* Descriptions of the discipline's counters and values, which are the first n_counters u64
	 * of its state, in this order. */
	u32 n_counters;
	const struct hw_counter *counters;

	/* Fills in the reason and returns 1 if the tunables do not fit together, or do not fit the
	 * link's rate and limits; null: they always do. */
	u32 (*check)(const u32 *tun, const struct hw_link *link, struct hw_refusal *why);
	void (*init)(void *state, const u32 *tun, const struct hw_link *link);
	/*
	 * Returns an enum hw_verdict for a packet that arrives at the queue. A discipline with
	 * dequeue puts each packet that it admits into a sub-queue with hw_join(), and may then
	 * drop packets at heads. Without dequeue, `held` is null.
	 */
	u32 (*enqueue)(void *state, const u32 *tun, const struct hw_link *link,
		       const struct hw_packet *pkt, struct hw_held *held);

	/* The following members are null or 0 if enqueue alone decides about packets. */

	/*
	 * Chooses the next packet, while at least one waits: returns a sub-queue that is not empty,
	 * whose head the link then sends, or HW_NOWHERE. Before that it may drop packets at the
	 * heads of sub-queues with hw_drop_head(), and mark the chosen one with hw_mark_head().
	 * After drops it may also return HW_NOWHERE to be called again as soon as the next head can
	 * be sent. Without drops, HW_NOWHERE means that it sends nothing before held->wake_ns.
	 * link->queue_bytes and queue_pkts are the whole queue before the call.
	 */
	u32 (*dequeue)(void *state, const u32 *tun, const struct hw_link *link,
		       struct hw_held *held);
	/* The number of sub-queues; null means one. */
	u32 (*queues)(const u32 *tun);
	/* Bytes that the state has for each sub-queue, behind the first state_bytes; a multiple of
	 * 8, like state_bytes. */
	u32 sub_bytes;
	/* Brings timers up to date. The link calls it before it reads counters, and may call it at
	 * any other time. */
	void (*tick)(void *state, const u32 *tun, const struct hw_link *link,
		     const struct hw_held *held);
};

/* Whether the packet does not fit into the queue within the link's limits. */
static inline int hw_link_is_full(const struct hw_link *link, const struct hw_packet *pkt)
{
	if (link->limit_bytes && (u64)link->queue_bytes + pkt->ip_bytes > link->limit_bytes)
		return 1;
	return link->limit_pkts && link->queue_pkts >= link->limit_pkts;
}

/*
 * Whether packets with these ECN bits belong to a class of a mask, which is a tunable with the
 * unit HW_ECN: 1 is ECT(1), 2 is ECT(0). A packet that was marked elsewhere (CE) belongs to any
 * class.
 */
#define HW_ECN "off|ect1|ect0|on"

static inline int hw_is_of(u32 mask, const struct hw_packet *pkt)
{
	return (mask & pkt->ecn) != 0;
}

/* For check(): refuses a tunable unless it is at most `most`. Returns whether it is refused. */
static inline u32 hw_above(const u32 *tun, u32 tunable, u64 most, const char *allowed,
			   struct hw_refusal *why)
{
	if (tun[tunable] <= most)
		return 0;
	why->tunable = tunable;
	why->bound = (u32)most;
	why->allowed = allowed;
	return 1;
}

#endif
