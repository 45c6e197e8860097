// SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only)
/* The native binding of queue disciplines. */
#include "flow.h"

/* Whether the link holds packets until the discipline lets them leave. */
u32 hw_native_holds(const struct hw_queue_ops *ops)
{
	return ops->dequeue != 0;
}

/* The number of sub-queues. */
u32 hw_native_sub_queues(const struct hw_queue_ops *ops, const u32 *tun)
{
	return ops->queues ? ops->queues(tun) : 1;
}

/* 1, and the reason, if the discipline cannot have these tunables on this link. */
u32 hw_native_queue_check(const struct hw_queue_ops *ops, const u32 *tun,
			  const struct hw_link *link, struct hw_refusal *why)
{
	return ops->check ? ops->check(tun, link, why) : 0;
}

void hw_native_queue_init(struct hw_queue *q, const struct hw_link *link)
{
	if (q->ops->init)
		q->ops->init(q->state, q->tun, link);
}

u32 hw_native_enqueue(struct hw_queue *q, const struct hw_link *link, const struct hw_packet *pkt)
{
	return q->ops->enqueue(q->state, q->tun, link, pkt, 0);
}

/* Calls enqueue for a packet of a link that holds packets. `waiting` has an unused entry. If the
 * discipline has no dequeue, the link holds its packets for other reasons, in one sub-queue. */
u32 hw_native_enqueue_held(struct hw_queue *q, const struct hw_link *link,
			   const struct hw_packet *pkt, u32 id)
{
	u32 verdict;

	q->held.arriving = id;
	verdict = q->ops->enqueue(q->state, q->tun, link, pkt, &q->held);
	if (!q->ops->dequeue && verdict == HW_PASS)
		hw_join(&q->held, 0, link, pkt);
	if (!q->ops->dequeue && verdict == HW_MARK && pkt->ecn)
		hw_join_marked(&q->held, 0, link, pkt);
	return verdict;
}

/* Releases an entry of `waiting`, which can be read until the next packet joins. */
static u32 release(struct hw_held *held, u32 at)
{
	held->waiting[at].next = held->free;
	held->free = at;
	return at;
}

/* Takes the next packet to send; returns its entry, or HW_NOWHERE. */
u32 hw_native_dequeue(struct hw_queue *q, const struct hw_link *link)
{
	struct hw_held *held = &q->held;
	struct hw_sub_queue *sub;
	u32 queue = 0, at;

	held->marked = 0;
	held->wake_ns = 0;
	if (!held->pkts)
		return HW_NOWHERE;
	if (q->ops->dequeue)
		queue = q->ops->dequeue(q->state, q->tun, link, held);
	if (queue == HW_NOWHERE)
		return HW_NOWHERE;
	sub = &held->queues[queue];
	at = hw_take_head(held, queue);
	sub->sent_pkts++;
	sub->sent_bytes += held->waiting[at].pkt.ip_bytes;
	sub->sojourn_ns += hw_sojourn_ns(link, &held->waiting[at]);
	return release(held, at);
}

/* The entry of the next dropped packet that was not reported, or HW_NOWHERE. */
u32 hw_native_next_drop(struct hw_queue *q)
{
	u32 at = q->held.dropped;

	if (at == HW_NOWHERE)
		return HW_NOWHERE;
	q->held.dropped = q->held.waiting[at].next;
	return release(&q->held, at);
}

void hw_native_queue_tick(struct hw_queue *q, const struct hw_link *link)
{
	if (q->ops->tick)
		q->ops->tick(q->state, q->tun, link, &q->held);
}
