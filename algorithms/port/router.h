/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/*
 * The router's contract: algorithms that act on a link's packets in addition to its queue
 * discipline (queue.h). A link may have any number of them; packets pass them in order. The
 * simulator's link and the tc program call the same functions.
 */
#ifndef HEADWAY_PORT_ROUTER_H
#define HEADWAY_PORT_ROUTER_H

#include "link.h"
#include "header.h"
#include "monitor.h"

/* Bytes of state a router algorithm may keep per link. */
#define HW_ROUTER_STATE_BYTES 4096

struct hw_router_ops {
	const char *name;
	const char *title;
	const char *source;
	u32 state_bytes;
	u32 n_tunables;
	const struct hw_tunable *tunables;

	/* Descriptions of the router's counters and values, which are the first n_counters u64
	 * of its state, in this order. */
	u32 n_counters;
	u32 n_events; /* number of events; at most HW_MAX_NOTES */
	const struct hw_counter *counters;
	/* Descriptions of the events that the router records with hw_note(). A call records each
	 * event at most once. */
	const struct hw_counter *events;
	/* The header that the router reads and writes; null: none. */
	const struct hw_header *header;

	void (*init)(void *state, const u32 *tun, struct hw_link *link);
	/*
	 * Called when a packet is offered to the queue, before the discipline decides. `header`
	 * has the decoded fields, which may be changed in place; null if the packet has no such
	 * header. Returns an enum hw_verdict; a dropped packet reaches neither later routers
	 * nor the queue.
	 */
	u32 (*arrive)(void *state, const u32 *tun, struct hw_link *link,
		      const struct hw_packet *pkt, void *header);
	/*
	 * Reports that so many bytes of packets without the router's header were offered until
	 * link->now_ns; arrive() was not called for them. Returns the time until which further
	 * bytes may be gathered; 0: call arrive() for each packet. The tc program gathers per
	 * processor, without a lock or reading the clock, and then does not know the queue.
	 * Other bindings always call arrive().
	 */
	u64 (*gather)(void *state, const u32 *tun, struct hw_link *link, u64 bytes);
	/*
	 * Called when a packet leaves the queue and its transmission begins. The router may
	 * change its header. link->queue_bytes and queue_pkts are the queue behind the packet.
	 * A link whose router has depart() holds packets until they are sent, which costs the
	 * simulator an event per packet.
	 */
	void (*depart)(void *state, const u32 *tun, struct hw_link *link,
		       const struct hw_packet *pkt, void *header);
	/*
	 * A timer, called at the time that its previous call returned. Returns when to call it
	 * again, 0: never. It may also be called earlier: when the link is made, and before the
	 * counters are read.
	 */
	u64 (*tick)(void *state, const u32 *tun, struct hw_link *link);
	/*
	 * Fills in the data that controls on the same machine may read about the link
	 * (monitor.h), as of the latest tick; null: the router publishes nothing. Called
	 * whenever a control reads the data.
	 */
	void (*publish)(const void *state, const u32 *tun, struct hw_monitor *monitor);
};

#endif
