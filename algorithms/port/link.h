/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/*
 * The structures that a link's algorithms receive: the link and a packet. They return a verdict on
 * the packet. The contracts of queues (queue.h) and routers (router.h) share these structures.
 * Randomness and time are arguments.
 */
#ifndef HEADWAY_PORT_LINK_H
#define HEADWAY_PORT_LINK_H

#include "types.h"
#include "fixed.h"

/* The largest number of events that an algorithm may declare. */
#define HW_MAX_NOTES 8

enum hw_verdict {
	HW_PASS = 0,
	HW_DROP_FULL = 1,  /* no room */
	HW_DROP_EARLY = 2, /* dropped by the algorithm although the queue has room */
	HW_MARK = 3,	   /* admitted, and marked as having experienced congestion (CE) */
};

/* The state of a link when one of its algorithms is called. */
struct hw_link {
	u64 now_ns;	 /* monotonic */
	u64 rate_Bps;	 /* the link's capacity, bytes per second */
	u64 limit_bytes; /* the queue's limit in bytes; 0: none */
	u32 limit_pkts;	 /* the queue's limit in packets; 0: none */
	u32 queue_bytes; /* bytes in the queue or in transmission, without this packet */
	u32 queue_pkts;	 /* packets in the queue or in transmission, without this packet */
	u32 idle_us;	 /* how long the link has been idle, 0 when it is not */
	u32 random;	 /* uniform over 32 bits, fresh for every call */

	/* The events that a router's algorithm records in this call with hw_note(). */
	u32 noted;		 /* one bit for each recorded event */
	u64 notes[HW_MAX_NOTES]; /* values of the recorded events */
};

/* Records an event that the algorithm has declared. */
static inline void hw_note(struct hw_link *link, u32 event, u64 value)
{
	link->noted |= 1u << event;
	link->notes[event % HW_MAX_NOTES] = value;
}

/*
 * The queue behind the packet in transmission, which is assumed to have the mean size. For
 * laws whose queue excludes that packet.
 */
static inline u32 hw_waiting_bytes(const struct hw_link *link)
{
	return link->queue_pkts ? link->queue_bytes - link->queue_bytes / link->queue_pkts : 0;
}

/* A packet at a link. */
struct hw_packet {
	u64 flow;     /* number of the connection, never 0; its upper half identifies the sender */
	u32 ip_bytes; /* size from the IP header on */
	u8 ecn;	      /* the two ECN bits */
	u8 local;     /* 1: sent by this machine, so no router has decremented its TTL */
	u16 ip_id;    /* identification of the IP header; senders increment it by one per packet */
	u32 pkts;     /* number of packets into which a device will split this buffer */
	u8 opens;     /* 1: the packet is a SYN or SYN-ACK, if the link reports that */
};

#endif
