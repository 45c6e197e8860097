/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/*
 * The router's contract: algorithms of a link in addition to its queue discipline (queue.h). A
 * link may have any number of them; packets pass them in order. The simulator's link and the
 * tc program call the same functions.
 */
#ifndef HEADWAY_PORT_ROUTER_H
#define HEADWAY_PORT_ROUTER_H

#include "link.h"
#include "header.h"
#include "monitor.h"

/* Bytes of state a router algorithm may keep per link. */
#define HW_ROUTER_STATE_BYTES 4096

/* A counter, a value or an event of a router. */
struct hw_counter {
	const char *name; /* ends in the unit of the shown value */
	const char *unit;
	const char *meaning;
	u32 times; /* factor of the shown value: 8 converts B/s to bit/s; 0 means 1 */
};

struct hw_router_ops {
	const char *name;
	const char *title;
	const char *source;
	u32 state_bytes;
	u32 n_tunables;
	const struct hw_tunable *tunables;

	/* Its counters and values: the first n_counters u64 of its state, in this order. */
	u32 n_counters;
	u32 n_events; /* at most HW_MAX_NOTES */
	const struct hw_counter *counters;
	/* The events that it records with hw_note(), each at most once in a call. */
	const struct hw_counter *events;
	/* The header that it reads and writes; null: none. */
	const struct hw_header *header;

	void (*init)(void *state, const u32 *tun, struct hw_link *link);
	/*
	 * A packet is offered to the queue; the discipline has not decided yet. header: the
	 * decoded fields, which may be changed in place; null if the packet has none. Returns
	 * an enum hw_verdict; a dropped packet goes no further.
	 */
	u32 (*arrive)(void *state, const u32 *tun, struct hw_link *link,
		      const struct hw_packet *pkt, void *header);
	/*
	 * So many bytes of packets without its header were offered until link->now_ns, and
	 * arrive() was not called for them. Returns until when more may be gathered; 0: call
	 * arrive() for each packet. The tc program gathers per processor, without a lock or
	 * reading the clock, and then does not know the queue. Other bindings always call
	 * arrive().
	 */
	u64 (*gather)(void *state, const u32 *tun, struct hw_link *link, u64 bytes);
	/*
	 * A packet leaves the queue: its transmission begins. Its header may be changed.
	 * link->queue_bytes and queue_pkts are the queue behind it. A link with such a router
	 * holds packets until their turn, which costs an event per packet.
	 */
	void (*depart)(void *state, const u32 *tun, struct hw_link *link,
		       const struct hw_packet *pkt, void *header);
	/*
	 * Called at the time that the last call returned. Returns when to call again, 0:
	 * never. It may be called earlier: when the link is made, and before the counters are
	 * read.
	 */
	u64 (*tick)(void *state, const u32 *tun, struct hw_link *link);
	/*
	 * What this machine's own controls may read about the link (monitor.h), as of the
	 * latest tick; null: nothing. Called whenever a control reads it.
	 */
	void (*publish)(const void *state, const u32 *tun, struct hw_monitor *monitor);
};

#endif
