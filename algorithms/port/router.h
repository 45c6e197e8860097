/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/*
 * The router's contract: what works at a link beside its queue's discipline (queue.h). A
 * link may have any number of such algorithms; packets pass them in order. The
 * simulator's link and the tc program call the same functions.
 */
#ifndef HEADWAY_PORT_ROUTER_H
#define HEADWAY_PORT_ROUTER_H

#include "link.h"
#include "header.h"
#include "monitor.h"

/* Bytes of state a router algorithm may keep per link. */
#define HW_ROUTER_STATE_BYTES 4096

/* Something that a router counts, knows or tells. */
struct hw_counter {
	const char *name; /* ends in the unit of what is shown */
	const char *unit;
	const char *meaning;
	u32 times; /* what is shown is so many times the value: 8 makes bit/s of B/s; 0: once */
};

struct hw_router_ops {
	const char *name;
	const char *title;
	const char *source;
	u32 state_bytes;
	u32 n_tunables;
	const struct hw_tunable *tunables;

	/* What it counts and knows: the first n_counters u64 of its state, in this order. */
	u32 n_counters;
	u32 n_events; /* at most HW_MAX_NOTES */
	const struct hw_counter *counters;
	/* What it tells with hw_note(), each at most once in a call. */
	const struct hw_counter *events;
	/* What it reads and writes of packets; null: none. */
	const struct hw_header *header;

	void (*init)(void *state, const u32 *tun, struct hw_link *link);
	/*
	 * A packet is offered to the queue, whose discipline has not judged it yet. header:
	 * the decoded fields, which may be changed in place; null where the packet has none.
	 * Returns an enum hw_verdict; a packet that is dropped goes no further.
	 */
	u32 (*arrive)(void *state, const u32 *tun, struct hw_link *link,
		      const struct hw_packet *pkt, void *header);
	/*
	 * So many bytes of packets without its header were offered until link->now_ns, and
	 * arrive() was not called for them. Returns until when those of more may be gathered;
	 * 0: it wants to see each. The tc program gathers what each processor sees without a
	 * lock or a look at the clock, and then knows no queue; others call arrive() always.
	 */
	u64 (*gather)(void *state, const u32 *tun, struct hw_link *link, u64 bytes);
	/*
	 * A packet leaves the queue: its transmission begins. Its header may be changed.
	 * link->queue_bytes and queue_pkts are what waits behind it. A link with such a
	 * router holds packets until their turn, at the cost of an event each.
	 */
	void (*depart)(void *state, const u32 *tun, struct hw_link *link,
		       const struct hw_packet *pkt, void *header);
	/*
	 * Time has come. Returns when to call again, 0: no need. It may come earlier than was
	 * asked for: when the link is made, and before the counters are read.
	 */
	u64 (*tick)(void *state, const u32 *tun, struct hw_link *link);
	/*
	 * What this machine's own controls may read of the link (monitor.h), as of the latest
	 * tick; null: nothing. It is asked for whenever one of them wants to know.
	 */
	void (*publish)(const void *state, const u32 *tun, struct hw_monitor *monitor);
};

#endif
