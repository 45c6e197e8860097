// SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only)
/*
 * Marks every packet with which the queue exceeds a threshold, as the switches of DCTCP do
 * (Alizadeh et al., SIGCOMM 2010; RFC 8257, section 3.1). The queue is the present one, not an
 * average, and includes the packet in transmission.
 *
 * A packet exceeds the threshold if one of these holds, each for a threshold that is not 0: the
 * queue with the packet has more than threshold_pkts packets, or more than threshold_bytes
 * bytes, or the packets before it take the link longer than threshold_us.
 *
 * DCTCP's paper uses 20 packets at 1 Gbit/s and 65 at 10 Gbit/s. Packets that cannot be marked
 * pass; with others=drop they are dropped, as by RED.
 */
#include "../port/queue.h"

enum { THRESHOLD_PKTS, THRESHOLD_BYTES, THRESHOLD_US, ECN, OTHERS };

static const struct hw_tunable step_tunables[] = {
	[THRESHOLD_PKTS] = { "threshold_pkts", "packets", "marks above so many packets; 0: never",
			     20, 0, 1000000 },
	[THRESHOLD_BYTES] = { "threshold_bytes", "bytes", "marks above so many bytes; 0: never", 0,
			      0, HW_U32_MAX },
	[THRESHOLD_US] = { "threshold_us", "us", "marks above this waiting time; 0: never", 0, 0,
			   10000000 },
	[ECN] = { "ecn", HW_ECN, "classes of packets that are marked", 3, 0, 3 },
	[OTHERS] = { "others", "pass|drop", "what happens above the threshold to other packets", 0,
		     0, 1 },
};

struct step {
	u64 marked_ect0_pkts;
	u64 marked_ect1_pkts;
	u64 others_pkts;
};

static const struct hw_counter step_counters[] = {
	{ "marked_ect0_pkts", "packets", "packets with ECT(0) that were marked", 0 },
	{ "marked_ect1_pkts", "packets", "packets with ECT(1) that were marked", 0 },
	{ "others_pkts", "packets", "packets above the threshold that cannot be marked", 0 },
};

/* Size of a full packet, to compare a threshold in packets with a limit in bytes. */
#define FULL_BYTES 1500

static u32 step_check(const u32 *tun, const struct hw_link *link, struct hw_refusal *why)
{
	u64 limit_us = hw_div_u64(link->limit_bytes * 1000000, link->rate_Bps);

	if (link->limit_pkts && hw_above(tun, THRESHOLD_PKTS, link->limit_pkts,
					 "at most the queue's limit in packets", why))
		return 1;
	if (!link->limit_bytes)
		return 0;
	return hw_above(tun, THRESHOLD_PKTS, link->limit_bytes / FULL_BYTES,
			"at most the queue's limit in packets of 1500 bytes", why) ||
	       hw_above(tun, THRESHOLD_BYTES, link->limit_bytes,
			"at most the queue's limit in bytes", why) ||
	       hw_above(tun, THRESHOLD_US, limit_us,
			"at most the time in which the link sends a full queue", why);
}

static int step_exceeds(const u32 *tun, const struct hw_link *link, const struct hw_packet *pkt)
{
	u64 wait_bytes = (u64)tun[THRESHOLD_US] * link->rate_Bps / 1000000;

	if (tun[THRESHOLD_PKTS] && link->queue_pkts >= tun[THRESHOLD_PKTS])
		return 1;
	if (tun[THRESHOLD_BYTES] && (u64)link->queue_bytes + pkt->ip_bytes > tun[THRESHOLD_BYTES])
		return 1;
	return tun[THRESHOLD_US] && link->queue_bytes > wait_bytes;
}

static u32 step_enqueue(void *state, const u32 *tun, const struct hw_link *link,
			const struct hw_packet *pkt, struct hw_held *held)
{
	struct step *s = state;

	(void)held;
	if (hw_link_is_full(link, pkt))
		return HW_DROP_FULL;
	if (!step_exceeds(tun, link, pkt))
		return HW_PASS;
	if (!hw_is_of(tun[ECN], pkt)) {
		s->others_pkts++;
		return tun[OTHERS] ? HW_DROP_EARLY : HW_PASS;
	}
	s->marked_ect0_pkts += pkt->ecn == 2;
	s->marked_ect1_pkts += pkt->ecn == 1;
	return HW_MARK;
}

HW_TABLE struct hw_queue_ops hw_queue_step = {
	.name = "step",
	.title = "Marks every packet above a threshold, as DCTCP's switches do",
	.source = "Alizadeh et al. 2010; RFC 8257",
	.state_bytes = sizeof(struct step),
	.n_tunables = HW_COUNT(step_tunables),
	.tunables = step_tunables,
	.n_counters = HW_COUNT(step_counters),
	.counters = step_counters,
	.check = step_check,
	.enqueue = step_enqueue,
};
