/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/*
 * The queue's contract: a discipline decides on packets that arrive at the queue of a link. A
 * link has one discipline. The links of the simulator and of the emulator call the same
 * functions.
 *
 * With enqueue alone the queue is first in, first out, and a packet's departure is known when
 * it joins. With dequeue or choose the link holds packets until it can send the next one, and
 * then asks the discipline. That costs an event per packet.
 */
#ifndef HEADWAY_PORT_QUEUE_H
#define HEADWAY_PORT_QUEUE_H

#include "link.h"

/* Bytes of state that a queue discipline may keep per link. */
#define HW_QUEUE_STATE_BYTES 4096

struct hw_queue_ops {
	const char *name;
	const char *title;
	const char *source;
	u32 state_bytes;
	u32 n_tunables;
	const struct hw_tunable *tunables;

	void (*init)(void *state, const u32 *tun, const struct hw_link *link);
	/* Returns an enum hw_verdict for a packet that arrives at the queue. */
	u32 (*enqueue)(void *state, const u32 *tun, const struct hw_link *link,
		       const struct hw_packet *pkt);

	/* The following members are null or 0 if enqueue alone decides about packets. */

	/*
	 * Returns an enum hw_verdict for the packet at the head, which has waited for
	 * sojourn_ns: pass, mark, or drop. After a drop the link offers the next packet at the
	 * same time. link->queue_bytes and queue_pkts are the queue behind this packet.
	 */
	u32 (*dequeue)(void *state, const u32 *tun, const struct hw_link *link,
		       const struct hw_packet *pkt, u64 sojourn_ns);

	/* Number of sub-queues, each first in, first out; 0 means one. With more than one,
	 * classify and choose are required. */
	u32 n_queues;
	/* Returns the sub-queue for a packet that enqueue admitted. */
	u32 (*classify)(void *state, const u32 *tun, const struct hw_link *link,
			const struct hw_packet *pkt);
	/*
	 * Returns the index of the sub-queue to serve next; the link does not check the index.
	 * heads[i] is the size of the packet at the head of sub-queue i, 0 if that is empty. At
	 * least one sub-queue is not empty.
	 */
	u32 (*choose)(void *state, const u32 *tun, const struct hw_link *link, const u32 *heads);
};

/* Whether the packet does not fit into the queue within the link's limits. */
static inline int hw_link_is_full(const struct hw_link *link, const struct hw_packet *pkt)
{
	if (link->limit_bytes && (u64)link->queue_bytes + pkt->ip_bytes > link->limit_bytes)
		return 1;
	return link->limit_pkts && link->queue_pkts >= link->limit_pkts;
}

#endif
