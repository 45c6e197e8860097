// SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only)
/*
 * A queue with a limit in bytes, in packets, or both. Packets that do not fit are dropped.
 *
 * With overshoot, the byte limit is compared before the packet is added, as
 * FreeBSD's dummynet does (ip_dummynet.c): the queue may exceed its limit by
 * one packet.
 */
#include "../port/queue.h"

enum { OVERSHOOT };

static const struct hw_tunable drop_tail_tunables[] = {
	[OVERSHOOT] = { "overshoot", "bool",
			"admit a packet while the bytes queued before it are within the limit", 0,
			0, 1 },
};

static u32 drop_tail_enqueue(void *state, const u32 *tun, const struct hw_link *link,
			     const struct hw_packet *pkt, struct hw_held *held)
{
	(void)state;
	(void)held;
	if (tun[OVERSHOOT]) {
		struct hw_packet nothing = { .ip_bytes = 0 };

		return hw_link_is_full(link, &nothing) ? HW_DROP_FULL : HW_PASS;
	}
	return hw_link_is_full(link, pkt) ? HW_DROP_FULL : HW_PASS;
}

HW_TABLE struct hw_queue_ops hw_queue_drop_tail = {
	.name = "drop-tail",
	.title = "First in, first out; drops what does not fit",
	.source = "RFC 7567 section 2; FreeBSD ip_dummynet.c for overshoot",
	.n_tunables = HW_COUNT(drop_tail_tunables),
	.tunables = drop_tail_tunables,
	.enqueue = drop_tail_enqueue,
};
