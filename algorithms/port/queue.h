/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/*
 * The queue's contract: a discipline judges packets that want to join the queue of a
 * link. A link has one. The simulator's link and the emulator's call the same functions.
 */
#ifndef HEADWAY_PORT_QUEUE_H
#define HEADWAY_PORT_QUEUE_H

#include "link.h"

/* Bytes of state a queue discipline may keep per link. */
#define HW_QUEUE_STATE_BYTES 4096

/* A discipline with enqueue alone is first in, first out. */
struct hw_queue_ops {
	const char *name;
	const char *title;
	const char *source;
	u32 state_bytes;
	u32 n_tunables;
	const struct hw_tunable *tunables;

	void (*init)(void *state, const u32 *tun, const struct hw_link *link);
	/* Returns an enum hw_verdict for a packet that wants to join the queue. */
	u32 (*enqueue)(void *state, const u32 *tun, const struct hw_link *link,
		       const struct hw_packet *pkt);
};

/* No room for the packet within the limits of the link. */
static inline int hw_link_is_full(const struct hw_link *link, const struct hw_packet *pkt)
{
	if (link->limit_bytes && (u64)link->queue_bytes + pkt->ip_bytes > link->limit_bytes)
		return 1;
	return link->limit_pkts && link->queue_pkts >= link->limit_pkts;
}

#endif
