/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/*
 * The router's contract: what a queue's algorithm sees of its link and of a
 * packet, and what it may say. The simulator's link, the emulator's link and the
 * tc program call the same functions. Randomness and time are arguments.
 */
#ifndef HEADWAY_PORT_ROUTER_H
#define HEADWAY_PORT_ROUTER_H

#include "types.h"
#include "fixed.h"

/* Bytes of state a router algorithm may keep per link. */
#define HW_ROUTER_STATE_BYTES 1024

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

struct hw_router_ops {
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
