/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/*
 * The router's contract: what a router's algorithm sees of its link and of a
 * packet, and what it may say. The simulator's link, the emulator's link and the
 * tc program call the same functions. Randomness and time are arguments.
 *
 * There are two kinds. A queue's algorithm judges packets that want to join the
 * queue (enqueue). A Quick-Start router works beside any of them: it meters what
 * is offered to the link and answers requests (meter, quick_start).
 */
#ifndef HEADWAY_PORT_ROUTER_H
#define HEADWAY_PORT_ROUTER_H

#include "types.h"
#include "fixed.h"
#include "quick_start.h"

/* Bytes of state a router algorithm may keep per link. */
#define HW_ROUTER_STATE_BYTES 4096

enum hw_verdict {
	HW_PASS = 0,
	HW_DROP_FULL = 1,  /* no room */
	HW_DROP_EARLY = 2, /* the algorithm's choice, with room left */
	HW_MARK = 3,	   /* pass with congestion experienced */
};

struct hw_link {
	u64 now_ns;
	u64 rate_Bps;	 /* the link's capacity, bytes per second */
	u64 limit_bytes; /* 0: no limit in bytes */
	u32 limit_pkts;	 /* 0: no limit in packets */
	u32 queue_bytes; /* waiting or in transmission, before this packet */
	u32 queue_pkts;
	u32 idle_us; /* how long the link has been idle, 0 when it is not */
	u32 random;  /* uniform over 32 bits, fresh for every call */
};

struct hw_packet {
	u32 ip_bytes;
	u8 ecn; /* the two ECN bits */
};

/*
 * What a Quick-Start router knows and has done: the first member of its state, so
 * that whoever holds the state can read it. Totals are since the start.
 */
struct hw_qs_status {
	u64 usage_Bps;	     /* the link's load, estimated */
	u64 outstanding_Bps; /* H: approvals that the load does not show yet */
	u64 interval_ns;     /* of metering, Delta; 0 before the first packet */
	u64 requests;	     /* that asked for a rate */
	u64 grants;
	u64 lowered; /* of the grants, those below the request */
	u64 denials;
	u64 limited; /* of the denials, those for too many requests */
	u64 granted_Bps;
	u64 reports;
	u64 corrections; /* reports below the grant, which gave back the difference */
	u64 cheats;	 /* reports above the grant */
	u64 slot_end_ns; /* what is offered until then is one sample; 0 before the first */
};

struct hw_router_ops {
	const char *name;
	const char *title;
	const char *source;
	u32 state_bytes;
	u32 n_tunables;
	const struct hw_tunable *tunables;

	void (*init)(void *state, const u32 *tun, const struct hw_link *link);
	/* Returns an enum hw_verdict for a packet that wants to join the queue. Null in
	 * what is no queue's algorithm. */
	u32 (*enqueue)(void *state, const u32 *tun, const struct hw_link *link,
		       const struct hw_packet *pkt);

	/*
	 * Quick-Start, null in a queue's algorithm. flow tells connections apart, its
	 * upper half their senders; it is never 0. Every packet is metered before its
	 * queue judges it; then its option, if it has one, is answered in place. Where the
	 * algorithm does not look at flows, packets of one slot may be metered in one call.
	 */
	void (*meter)(void *state, const u32 *tun, const struct hw_link *link, u64 flow,
		      u64 ip_bytes);
	void (*quick_start)(void *state, const u32 *tun, const struct hw_link *link, u64 flow,
			    struct hw_qs_option *option);
};

/* No room for the packet within the limits of the link. */
static inline int hw_link_is_full(const struct hw_link *link, const struct hw_packet *pkt)
{
	if (link->limit_bytes && (u64)link->queue_bytes + pkt->ip_bytes > link->limit_bytes)
		return 1;
	return link->limit_pkts && link->queue_pkts >= link->limit_pkts;
}

#endif
