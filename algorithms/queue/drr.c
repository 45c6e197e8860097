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
	u32 deficit_bytes[QUEUES];
	u32 bytes[QUEUES];
	u32 pkts[QUEUES];
	u32 at;	    /* the sub-queue that is being served */
	u32 served; /* 1: sub-queue `at` has got its quantum in this round */
};

_Static_assert(sizeof(struct drr) <= HW_QUEUE_STATE_BYTES, "state of a queue");

static u32 drr_classify(void *state, const u32 *tun, const struct hw_link *link,
			const struct hw_packet *pkt)
{
	(void)state;
	(void)tun;
	(void)link;
	/* multiplying by an odd number near 2^64 / golden ratio spreads similar keys */
	return (u32)(pkt->flow * 0x9e3779b97f4a7c15ull >> (64 - QUEUE_BITS));
}

static u32 drr_enqueue(void *state, const u32 *tun, const struct hw_link *link,
		       const struct hw_packet *pkt)
{
	struct drr *s = state;
	u32 queue = drr_classify(state, tun, link, pkt);

	if (hw_link_is_full(link, pkt))
		return HW_DROP_FULL;
	if (link->limit_bytes && s->bytes[queue] > link->limit_bytes - link->queue_bytes)
		return HW_DROP_FULL;
	if (link->limit_pkts && s->pkts[queue] > link->limit_pkts - link->queue_pkts)
		return HW_DROP_FULL;
	s->bytes[queue] += pkt->ip_bytes;
	s->pkts[queue]++;
	return HW_PASS;
}

static u32 drr_choose(void *state, const u32 *tun, const struct hw_link *link, const u32 *heads)
{
	struct drr *s = state;

	(void)link;
	/* the loop ends, because at least one sub-queue is not empty, and its deficit grows
	 * each round */
	for (;;) {
		u32 *deficit = &s->deficit_bytes[s->at];
		u32 head = heads[s->at];

		if (head && !s->served)
			*deficit += tun[QUANTUM];
		if (head && head <= *deficit) {
			*deficit -= head;
			s->served = 1;
			return s->at;
		}
		if (!head)
			*deficit = 0;
		s->served = 0;
		s->at = (s->at + 1) % QUEUES;
	}
}

static u32 drr_dequeue(void *state, const u32 *tun, const struct hw_link *link,
		       const struct hw_packet *pkt, u64 sojourn_ns)
{
	struct drr *s = state;
	u32 queue = drr_classify(state, tun, link, pkt);

	(void)sojourn_ns;
	s->bytes[queue] -= pkt->ip_bytes;
	s->pkts[queue]--;
	return HW_PASS;
}

HW_TABLE struct hw_queue_ops hw_queue_drr = {
	.name = "drr",
	.title = "Deficit Round Robin: connections share the link's rate equally",
	.source = "Shreedhar, Varghese 1996; Choudhury, Hahne 1998 (thresholds)",
	.state_bytes = sizeof(struct drr),
	.n_tunables = HW_COUNT(drr_tunables),
	.tunables = drr_tunables,
	.enqueue = drr_enqueue,
	.dequeue = drr_dequeue,
	.n_queues = QUEUES,
	.classify = drr_classify,
	.choose = drr_choose,
};
