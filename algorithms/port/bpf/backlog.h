/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/*
 * The backlog of a device's queueing discipline, for a program at that device. The backlog is the
 * discipline's own count (qdisc->qstats.backlog and q.qlen), summed over the device's queues. A
 * buffer of several packets counts as one packet, unless the discipline splits it, as tbf does.
 * Packets that the device itself holds are not included.
 *
 * Disciplines without a lock (pfifo_fast) count per processor, and some devices have no
 * discipline. In both cases the backlog is reported as unknown, not as empty.
 */
#ifndef HEADWAY_PORT_BPF_BACKLOG_H
#define HEADWAY_PORT_BPF_BACKLOG_H

#include "kernel.h"

#define HW_MOST_QUEUES	       16
#define HW_COUNTS_BY_PROCESSOR 0x20 /* TCQ_F_CPUSTATS */

struct hw_backlog {
	u32 bytes;
	u32 pkts;
};

/* Adds the backlog of one queueing discipline. Returns whether that backlog is known. */
static __always_inline int hw_add_backlog(u64 discipline, struct hw_backlog *backlog)
{
	struct Qdisc *q = (struct Qdisc *)discipline;
	u32 flags = 0, bytes = 0, pkts = 0;

	if (!discipline || bpf_core_read(&flags, sizeof(flags), &q->flags) != 0 ||
	    flags & HW_COUNTS_BY_PROCESSOR)
		return 0;
	/* skip noqueue, the discipline of a device without a queue: it has no backlog */
	if (BPF_CORE_READ(q, enqueue) == 0)
		return 0;
	bpf_core_read(&bytes, sizeof(bytes), &q->qstats.backlog);
	bpf_core_read(&pkts, sizeof(pkts), &q->q.qlen);
	backlog->bytes += bytes;
	backlog->pkts += pkts;
	return 1;
}

/* Adds up the backlogs of all queueing disciplines of a device. Returns whether all of them are
 * known. */
static __always_inline int hw_read_backlog_of(const struct net_device *dev,
					      struct hw_backlog *backlog)
{
	u64 queues = (u64)BPF_CORE_READ(dev, _tx), first = 0;
	u32 n = BPF_CORE_READ(dev, real_num_tx_queues), i;
	int known = n > 0 && n <= HW_MOST_QUEUES;

	for (i = 0; i < HW_MOST_QUEUES && i < n; i++) {
		struct netdev_queue *queue =
			(void *)(queues + i * bpf_core_type_size(struct netdev_queue));
		u64 discipline = (u64)BPF_CORE_READ(queue, qdisc);

		/* without a parent: the same discipline is attached to every transmit queue, so
		 * count it once */
		if (i > 0 && discipline == first)
			continue;
		if (i == 0)
			first = discipline;
		known &= hw_add_backlog(discipline, backlog);
	}
	return known;
}

/* Reads the backlog of the device by which a packet is about to leave. */
static __always_inline int hw_read_backlog(struct __sk_buff *ctx, struct hw_backlog *backlog)
{
	struct sk_buff *skb = bpf_cast_to_kern_ctx(ctx);

	return hw_read_backlog_of(BPF_CORE_READ(skb, dev), backlog);
}

#endif
