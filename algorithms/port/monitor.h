/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/*
 * Local router assistance: what a router algorithm publishes about its link, for the controls
 * of the same machine whose packets leave by this link. The machine is sender and router at
 * once, so controls read here what routers would write into a header and receivers send back
 * (Li, Yousefi'zadeh, "RAPPEP", 2010, section III). No header, no other router and no receiver
 * takes part.
 *
 * A router algorithm with publish() (router.h) fills in the block; a control with on_monitor()
 * (cc.h) reads it on each ACK. A connection's link is the one by which its data leaves the
 * machine; in the simulator, the first of its route. The block has one writer, any number of
 * readers and a fixed number of words. A binding with writer and readers in different contexts
 * copies it under a lock.
 */
#ifndef HEADWAY_PORT_MONITOR_H
#define HEADWAY_PORT_MONITOR_H

#include "types.h"

/* What is published about a link. */
struct hw_monitor {
	u64 output_Bps;	    /* traffic that left in the last control interval */
	u64 give_Bps;	    /* growth of all flows together in the next */
	u64 take_Bps;	    /* reduction of all flows, at the same time */
	u64 demand_bytes;   /* what left in the last load interval, and half the queue */
	u64 capacity_bytes; /* the target share of what the link can carry in that time */
	u64 capacity_Bps;   /* the capacity that the router assumes */
	u32 flows;	    /* flows that sent data in the last control interval */
	u32 intervals;	    /* measured so far; 0: nothing is known yet */
	u32 opening;	    /* opened connections whose data is not in a whole load interval yet */
	u32 present;	    /* opened or sent data in at least the last two control intervals */
};

#endif
