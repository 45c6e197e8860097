/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/*
 * Local router assistance: what a router algorithm publishes of its link to the controls of
 * the same machine, whose packets leave by it. The machine is sender and router at once, so
 * what routers would write into a header, and receivers send back, is read here instead
 * (Li, Yousefi'zadeh, "RAPPEP", 2010, section III): no header, no other router, no receiver
 * takes part.
 *
 * A router algorithm with publish() (router.h) fills in the block; a control with on_monitor()
 * (cc.h) reads it on each ACK. Of a connection it is the link by which its data leaves the
 * machine: in the simulator the first one of its route. One writer, any number of readers, a
 * fixed number of words: a binding that has them in different contexts copies it under a lock.
 */
#ifndef HEADWAY_PORT_MONITOR_H
#define HEADWAY_PORT_MONITOR_H

#include "types.h"

/* What is published of a link. */
struct hw_monitor {
	u64 output_Bps;	    /* traffic that left in the last control interval */
	u64 give_Bps;	    /* by which all flows together are to grow in the next */
	u64 take_Bps;	    /* and by which to shrink, at the same time */
	u64 demand_bytes;   /* what left in the last load interval, and half the queue */
	u64 capacity_bytes; /* what the link can carry in that time, of its target */
	u64 capacity_Bps;   /* that the router believes in */
	u32 flows;	    /* that sent data in the last control interval */
	u32 intervals;	    /* measured so far; 0: nothing is known yet */
	u32 opening;	    /* connections that were opened by it and whose data no whole load
			     * interval has seen yet */
	u32 present;	    /* that were opened or sent data in the last two control intervals
			     * at least */
};

#endif
