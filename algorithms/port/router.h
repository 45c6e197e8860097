/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/*
 * The router's contract: what works at a link beside its queue's discipline (queue.h),
 * and looks at what is offered to the queue. The simulator's link and the tc program
 * call the same functions.
 *
 * A Quick-Start router meters what is offered to the link and answers requests (meter,
 * quick_start).
 */
#ifndef HEADWAY_PORT_ROUTER_H
#define HEADWAY_PORT_ROUTER_H

#include "link.h"
#include "quick_start.h"

/* Bytes of state a router algorithm may keep per link. */
#define HW_ROUTER_STATE_BYTES 4096

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

	/*
	 * Every packet is metered before its queue judges it; then its option, if it has
	 * one, is answered in place. flow is the packet's (struct hw_packet). Where the
	 * algorithm does not look at flows, packets of one slot may be metered in one call.
	 */
	void (*meter)(void *state, const u32 *tun, const struct hw_link *link, u64 flow,
		      u64 ip_bytes);
	void (*quick_start)(void *state, const u32 *tun, const struct hw_link *link, u64 flow,
			    struct hw_qs_option *option);
};

#endif
