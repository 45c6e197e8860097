/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/*
 * Local router assistance: the data that a router algorithm publishes about its link, for the
 * controls of the same machine whose packets leave by this link. The machine is both sender and
 * router, so controls read here the data that otherwise routers write into a header and
 * receivers send back (Li, Yousefi'zadeh, "RAPPEP", 2010, section III). No header, no other
 * router and no receiver takes part.
 *
 * A router algorithm with publish() (router.h) fills in the block; a control with on_monitor()
 * (cc.h) reads it on each ACK. A connection's link is the one by which its data leaves the
 * machine; in the simulator, the first of its route. The block has one writer, any number of
 * readers and a fixed number of words. A binding whose writer and readers run in different
 * contexts copies the block under a lock.
 */
#ifndef HEADWAY_PORT_MONITOR_H
#define HEADWAY_PORT_MONITOR_H

#include "types.h"

/* The data that a monitor publishes about a link. */
struct hw_monitor {
	u64 output_Bps;	    /* rate of the traffic that left in the last control interval */
	u64 give_Bps;	    /* by how much all flows together may grow in the next interval */
	u64 take_Bps;	    /* by how much all flows together must shrink in that interval */
	u64 demand_bytes;   /* bytes that left in the last load interval, plus half the queue */
	u64 capacity_bytes; /* target share of the bytes that the link can carry in that interval */
	u64 capacity_Bps;   /* the capacity that the router assumes */
	u32 flows;	    /* flows that sent data in the last control interval */
	u32 intervals;	    /* control intervals so far; 0: nothing is known yet */
	/* connections that were opened, but have no whole load interval with their data yet */
	u32 opening;
	u32 present; /* connections that opened or sent data recently (two control intervals) */
};

#endif
