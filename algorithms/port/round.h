/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/*
 * The order in which fq_codel, fq_pie and fq serve their sub-queues (RFC 8290, section 4.2):
 * deficit round robin over two lists. A sub-queue that gets a packet joins the list of new
 * sub-queues, which are served first. After its first quantum, or once it is empty, it moves to
 * the list of old ones, so that new sub-queues cannot starve old ones. An old sub-queue that is
 * empty leaves.
 *
 * A quantum counts bytes of Ethernet frames without checksum, as Linux does: 14 bytes more than
 * the IP packet.
 */
#ifndef HEADWAY_PORT_ROUND_H
#define HEADWAY_PORT_ROUND_H

#include "held.h"

#define HW_ETHERNET_BYTES 14

enum hw_round_list { HW_NEW, HW_OLD, HW_UNLISTED };

/* A sub-queue's place in the round. Zeros: the sub-queue is not in the round. */
struct hw_turn {
	s32 deficit_bytes;
	u32 next;   /* the sub-queue behind it in its list */
	u32 listed; /* 1: it is in a list */
	u32 spare;
};

struct hw_round {
	u32 first[2]; /* of each list; HW_NOWHERE: the list is empty */
	u32 last[2];
};

static inline void hw_round_init(struct hw_round *round)
{
	round->first[HW_NEW] = round->first[HW_OLD] = HW_NOWHERE;
	round->last[HW_NEW] = round->last[HW_OLD] = HW_NOWHERE;
}

static inline u32 hw_frame_bytes(u32 ip_bytes)
{
	return ip_bytes + HW_ETHERNET_BYTES;
}

/* Adds a sub-queue to the end of a list. */
static inline void hw_round_add(struct hw_round *round, struct hw_turn *turns, u32 list, u32 queue)
{
	turns[queue].listed = 1;
	turns[queue].next = HW_NOWHERE;
	if (round->first[list] == HW_NOWHERE)
		round->first[list] = queue;
	else
		turns[round->last[list]].next = queue;
	round->last[list] = queue;
}

/* Removes the first sub-queue of a list that is not empty. */
static inline u32 hw_round_remove(struct hw_round *round, struct hw_turn *turns, u32 list)
{
	u32 queue = round->first[list];

	round->first[list] = turns[queue].next;
	turns[queue].listed = 0;
	return queue;
}

/* Removes all sub-queues. When no packet waits, each of them leaves as its turn comes. */
static inline void hw_round_clear(struct hw_round *round, struct hw_turn *turns)
{
	u32 list;

	for (list = HW_NEW; list <= HW_OLD; list++)
		while (round->first[list] != HW_NOWHERE)
			hw_round_remove(round, turns, list);
}

/* The list whose first sub-queue is served next; HW_UNLISTED: both are empty. */
static inline u32 hw_round_list(const struct hw_round *round)
{
	if (round->first[HW_NEW] != HW_NOWHERE)
		return HW_NEW;
	return round->first[HW_OLD] != HW_NOWHERE ? HW_OLD : HW_UNLISTED;
}

/*
 * The sub-queue whose packet goes next, the first of its list; HW_NOWHERE if no sub-queue in
 * the round has a packet.
 */
static inline u32 hw_round_next(struct hw_round *round, struct hw_turn *turns,
				const struct hw_held *held, u32 quantum_bytes)
{
	u32 list, queue;

	while ((list = hw_round_list(round)) != HW_UNLISTED) {
		queue = round->first[list];
		if (turns[queue].deficit_bytes <= 0) {
			turns[queue].deficit_bytes += (s32)quantum_bytes;
			hw_round_add(round, turns, HW_OLD, hw_round_remove(round, turns, list));
		} else if (held->queues[queue].pkts) {
			return queue;
		} else {
			hw_round_remove(round, turns, list);
			if (list == HW_NEW && round->first[HW_OLD] != HW_NOWHERE)
				hw_round_add(round, turns, HW_OLD, queue);
		}
	}
	return HW_NOWHERE;
}

/* Charges a sub-queue for the packet that it sends. */
static inline void hw_round_sent(struct hw_turn *turn, u32 ip_bytes)
{
	turn->deficit_bytes -= (s32)hw_frame_bytes(ip_bytes);
}

#endif
