/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/*
 * Packets that a link holds until its queue discipline lets them leave. They wait in sub-queues,
 * which are first in, first out. The discipline says which sub-queue a packet joins, and may drop
 * or mark the packet at the head of any of them. The binding provides the memory.
 *
 * Every function takes constant time, except that the largest of n numbers (hw_most) costs log n
 * for each change.
 */
#ifndef HEADWAY_PORT_HELD_H
#define HEADWAY_PORT_HELD_H

#include "link.h"

/* The number of no packet and of no sub-queue. */
#define HW_NOWHERE HW_U32_MAX

/* The two ECN bits of a packet that has experienced congestion. */
#define HW_CE 3

/* A packet that waits. */
struct hw_waiting {
	struct hw_packet pkt;
	u64 joined_ns; /* when it joined its sub-queue */
	u32 id;	       /* number by which the link knows the packet */
	u32 next;      /* the packet behind it; HW_NOWHERE: none */
	u32 verdict;   /* why the packet was dropped, if it was (enum hw_verdict) */
};

/* A sub-queue and its counters since the start. */
struct hw_sub_queue {
	u32 head;	      /* its first packet; HW_NOWHERE: the sub-queue is empty */
	u32 tail;	      /* its last packet */
	u32 pkts;	      /* packets that wait */
	u32 bytes;	      /* bytes that wait */
	u64 sent_pkts;	      /* packets that have left to the wire */
	u64 sent_bytes;	      /* their bytes */
	u64 dropped_pkts;     /* packets that the discipline has dropped */
	u64 marked_ect0_pkts; /* packets with ECT(0) that the discipline has marked */
	u64 marked_ect1_pkts; /* packets with ECT(1) that the discipline has marked */
	u64 sojourn_ns;	      /* sum of the times that the sent packets waited */
};

/* All packets that a link holds. Disciplines read the first five members only. */
struct hw_held {
	u32 n_queues;
	u32 pkts;
	u32 bytes;
	u64 memory_bytes; /* what the packets would take in a kernel's memory */
	/*
	 * A discipline that has packets but sends none now sets this to the time at which it wants
	 * to be asked again; 0: when the next packet joins.
	 */
	u64 wake_ns;

	struct hw_waiting *waiting;
	struct hw_sub_queue *queues;
	u32 *least;  /* null, or a tournament (hw_most) for the smallest packet at a head */
	u64 salt;    /* of the hash of connections */
	u64 random;  /* state of the random numbers */
	u32 free;    /* first unused entry of `waiting` */
	u32 dropped; /* first packet that was dropped and not reported to the link */
	u32 dropped_last;
	u32 arriving; /* id of the packet for which enqueue was called */
	u32 marked;   /* 1: the head that dequeue has chosen was marked by this call */
};

/*
 * A tournament: finds the largest of n numbers, of which one changes at a time. The tree has 2n
 * numbers, which begin with 0; those from n on are the given ones, and every other one is the
 * larger of its two successors.
 */
static inline void hw_most_set(u32 *tree, u32 n, u32 at, u32 value)
{
	u32 larger;

	at += n;
	tree[at] = value;
	for (; at > 1; at /= 2) {
		larger = hw_max_u32(tree[at], tree[at ^ 1]);
		if (tree[at / 2] == larger)
			return;
		tree[at / 2] = larger;
	}
}

/* Which of the numbers is the largest. */
static inline u32 hw_most_at(const u32 *tree, u32 n)
{
	u32 at = 1;

	while (at < n)
		at = 2 * at + (tree[2 * at] != tree[at]);
	return at - n;
}

/*
 * The memory that Linux charges for a received packet (skb->truesize): 256 bytes for its
 * sk_buff, and a power of two for headroom, link header, packet and skb_shared_info. A full-size
 * packet takes 2304 bytes.
 */
static inline u32 hw_memory_bytes(u32 ip_bytes)
{
	return 256 + (1u << hw_bits_u64(ip_bytes + 397u));
}

/* Mixes 64 bits so that every bit of the input changes half of the output (SplitMix64). */
static inline u64 hw_mix_u64(u64 x)
{
	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
	return x ^ (x >> 31);
}

/* A random number, uniform over 64 bits. */
static inline u64 hw_random_u64(struct hw_held *held)
{
	held->random += 0x9e3779b97f4a7c15ull;
	return hw_mix_u64(held->random);
}

/* The sub-queue to which a connection is hashed. Different salts give independent hashes. */
static inline u32 hw_flow_queue(const struct hw_held *held, const struct hw_packet *pkt)
{
	u64 hash = hw_mix_u64(pkt->flow ^ held->salt) >> 32;

	return (u32)(hash * held->n_queues >> 32);
}

/* The first packet of a sub-queue; null if the sub-queue is empty. */
static inline const struct hw_waiting *hw_head(const struct hw_held *held, u32 queue)
{
	u32 head = held->queues[queue].head;

	return head == HW_NOWHERE ? 0 : &held->waiting[head];
}

static inline u64 hw_sojourn_ns(const struct hw_link *link, const struct hw_waiting *waiting)
{
	return link->now_ns - waiting->joined_ns;
}

static inline void hw_head_changed(struct hw_held *held, u32 queue)
{
	const struct hw_waiting *head;

	if (!held->least)
		return;
	head = hw_head(held, queue);
	hw_most_set(held->least, held->n_queues, queue, head ? HW_U32_MAX - head->pkt.ip_bytes : 0);
}

/* Adds the arriving packet to the end of a sub-queue. Returns enqueue's verdict, HW_PASS. */
static inline u32 hw_join(struct hw_held *held, u32 queue, const struct hw_link *link,
			  const struct hw_packet *pkt)
{
	struct hw_sub_queue *q = &held->queues[queue];
	struct hw_waiting *waiting = &held->waiting[held->free];
	u32 at = held->free;

	held->free = waiting->next;
	waiting->pkt = *pkt;
	waiting->joined_ns = link->now_ns;
	waiting->id = held->arriving;
	waiting->next = HW_NOWHERE;
	held->pkts++;
	held->bytes += pkt->ip_bytes;
	held->memory_bytes += hw_memory_bytes(pkt->ip_bytes);
	q->pkts++;
	q->bytes += pkt->ip_bytes;
	if (q->head != HW_NOWHERE) {
		held->waiting[q->tail].next = at;
		q->tail = at;
	} else {
		q->head = q->tail = at;
		hw_head_changed(held, queue);
	}
	return HW_PASS;
}

static inline void hw_count_mark(struct hw_sub_queue *q, u32 ecn)
{
	q->marked_ect0_pkts += ecn == 2;
	q->marked_ect1_pkts += ecn == 1;
}

/* Like hw_join, but marks the packet. Returns enqueue's verdict, HW_MARK. */
static inline u32 hw_join_marked(struct hw_held *held, u32 queue, const struct hw_link *link,
				 const struct hw_packet *pkt)
{
	struct hw_packet marked = *pkt;

	hw_count_mark(&held->queues[queue], pkt->ecn);
	marked.ecn = HW_CE;
	hw_join(held, queue, link, &marked);
	return HW_MARK;
}

/* Counts an arriving packet that does not join this sub-queue. Returns its verdict. */
static inline u32 hw_refuse(struct hw_held *held, u32 queue, u32 verdict)
{
	held->queues[queue].dropped_pkts++;
	return verdict;
}

/* Marks the packet at the head of a sub-queue. dequeue must then choose this sub-queue. */
static inline void hw_mark_head(struct hw_held *held, u32 queue)
{
	struct hw_waiting *head = &held->waiting[held->queues[queue].head];

	hw_count_mark(&held->queues[queue], head->pkt.ecn);
	head->pkt.ecn = HW_CE;
	held->marked = 1;
}

/* Takes the packet at the head out of a sub-queue that is not empty. Returns its entry. */
static inline u32 hw_take_head(struct hw_held *held, u32 queue)
{
	struct hw_sub_queue *q = &held->queues[queue];
	u32 at = q->head;
	u32 ip_bytes = held->waiting[at].pkt.ip_bytes;

	q->head = held->waiting[at].next;
	q->pkts--;
	q->bytes -= ip_bytes;
	held->pkts--;
	held->bytes -= ip_bytes;
	held->memory_bytes -= hw_memory_bytes(ip_bytes);
	hw_head_changed(held, queue);
	return at;
}

/* Drops the packet at the head of a sub-queue that is not empty. Returns the packet's size. */
static inline u32 hw_drop_head(struct hw_held *held, u32 queue, u32 verdict)
{
	u32 at = hw_take_head(held, queue);

	held->queues[queue].dropped_pkts++;
	held->waiting[at].verdict = verdict;
	held->waiting[at].next = HW_NOWHERE;
	if (held->dropped == HW_NOWHERE)
		held->dropped = at;
	else
		held->waiting[held->dropped_last].next = at;
	held->dropped_last = at;
	return held->waiting[at].pkt.ip_bytes;
}

#endif
