// SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only)
/*
 * Deficit Round Robin (Shreedhar and Varghese, IEEE/ACM Transactions on Networking 4(3),
 * 1996): a hash maps connections to sub-queues, which are served in turn. In each round a
 * sub-queue may send a quantum of bytes more, and keeps the unused part while it has packets.
 * Two connections with the same sub-queue share its quantum.
 *
 * The buffer is shared by dynamic thresholds (Choudhury and Hahne, IEEE/ACM Transactions on
 * Networking 6(2), 1998): a sub-queue may hold as much as is free. A connection that sends too
 * much therefore leaves room for others, and a full queue needs no search for it. The paper on
 * DRR drops from the longest sub-queue instead.
 */
#include "../port/queue.h"

#define QUEUES	   256
#define QUEUE_BITS 8

enum { QUANTUM };

static const struct hw_tunable drr_tunables[] = {
	[QUANTUM] = { "quantum_bytes", "bytes", "bytes that a sub-queue may send in a round", 1500,
		      64, 65535 },
};

struct drr {
	u64 refused_pkts;
	u32 deficit_bytes[QUEUES];
	u64 has_packets[QUEUES / 64]; /* a bit for each sub-queue */
	u32 at;			      /* the sub-queue that is being served */
	u32 served;		      /* 1: sub-queue `at` has got its quantum in this round */
};

static const struct hw_counter drr_counters[] = {
	{ "refused_pkts", "packets", "packets dropped because they did not fit", 0 },
};

static u32 drr_queue_of(const struct hw_packet *pkt)
{
	u64 sender = pkt->flow >> 32 << 32;

	/* multiplying by an odd number near 2^64 / golden ratio spreads similar keys */
	return (u32)(sender * 0x9e3779b97f4a7c15ull >> (64 - QUEUE_BITS));
}

/* Whether the packet fits: its sub-queue may hold as much as is free. */
static int drr_has_room(const struct hw_sub_queue *own, const struct hw_link *link,
			const struct hw_packet *pkt)
{
	if (hw_link_is_full(link, pkt))
		return 0;
	if (link->limit_bytes && own->bytes > link->limit_bytes - link->queue_bytes)
		return 0;
	return !link->limit_pkts || own->pkts <= link->limit_pkts - link->queue_pkts;
}

static u32 drr_enqueue(void *state, const u32 *tun, const struct hw_link *link,
		       const struct hw_packet *pkt, struct hw_held *held)
{
	struct drr *s = state;
	u32 queue = drr_queue_of(pkt);

	(void)tun;
	if (!drr_has_room(&held->queues[queue], link, pkt)) {
		s->refused_pkts++;
		return hw_refuse(held, queue, HW_DROP_FULL);
	}
	s->has_packets[queue / 64] |= 1ull << queue % 64;
	return hw_join(held, queue, link, pkt);
}

/* The next sub-queue in the round that has packets, after the present one. At least one has. */
static u32 drr_next(const struct drr *s)
{
	u32 first = (s->at + 1) % QUEUES;
	u64 rest = s->has_packets[first / 64] >> first % 64;
	u32 word;

	if (rest)
		return first + (u32)__builtin_ctzll(rest);
	for (word = first / 64 + 1;; word++) {
		rest = s->has_packets[word % (QUEUES / 64)];
		if (rest)
			return word % (QUEUES / 64) * 64 + (u32)__builtin_ctzll(rest);
	}
}

static u32 drr_dequeue(void *state, const u32 *tun, const struct hw_link *link,
		       struct hw_held *held)
{
	struct drr *s = state;

	(void)link;
	/* the loop ends, because at least one sub-queue is not empty, and its deficit grows
	 * each round */
	for (;;) {
		const struct hw_waiting *head = hw_head(held, s->at);
		u32 *deficit = &s->deficit_bytes[s->at];

		if (head && !s->served)
			*deficit += tun[QUANTUM];
		if (head && head->pkt.ip_bytes <= *deficit) {
			*deficit -= head->pkt.ip_bytes;
			s->served = 1;
			return s->at;
		}
		if (!head) {
			*deficit = 0;
			s->has_packets[s->at / 64] &= ~(1ull << s->at % 64);
		}
		s->served = 0;
		s->at = drr_next(s);
	}
}

static u32 drr_queues(const u32 *tun)
{
	(void)tun;
	return QUEUES;
}

HW_TABLE struct hw_queue_ops hw_queue_drr = {
	.name = "drr",
	.title = "Deficit Round Robin: connections share the link's rate equally",
	.source = "Shreedhar, Varghese 1996; Choudhury, Hahne 1998 (thresholds)",
	.state_bytes = sizeof(struct drr),
	.n_tunables = HW_COUNT(drr_tunables),
	.tunables = drr_tunables,
	.n_counters = HW_COUNT(drr_counters),
	.counters = drr_counters,
	.enqueue = drr_enqueue,
	.dequeue = drr_dequeue,
	.queues = drr_queues,
};
