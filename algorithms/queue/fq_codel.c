// SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only)
/*
 * FQ-CoDel (RFC 8290): a hash maps connections to sub-queues, deficit round robin serves them
 * (port/round.h), and CoDel drops at the head of each (port/codel_law.h). The constants are
 * those of the RFC and of Linux.
 *
 * If the queue exceeds a limit with a new packet, packets are dropped from the head of the
 * longest sub-queue, in bytes: half of it, at most drop_batch packets. Linux searches all
 * sub-queues for it; here a tournament knows it.
 *
 * CoDel drops nothing from a sub-queue with at most mtu_bytes behind its head, as the RFC says.
 * Linux compares the bytes of all sub-queues (behind=all), so CoDel may empty a sub-queue.
 */
#include "../port/queue.h"
#include "../port/codel_law.h"
#include "../port/round.h"

enum {
	FLOWS = HW_CODEL_TUNABLES,
	QUANTUM,
	LIMIT,
	MEMORY,
	DROP_BATCH,
	ECN,
	CE_THRESHOLD,
	CE_ECN,
	BEHIND,
};

static const struct hw_tunable fq_codel_tunables[] = {
	HW_DECLARE_CODEL,
	[FLOWS] = { "flows", "sub-queues", "number of sub-queues", 1024, 1, 65536 },
	[QUANTUM] = { "quantum_bytes", "bytes",
		      "bytes that a sub-queue may send in a round, with Ethernet headers", 1514,
		      256, 1048576 },
	[LIMIT] = { "limit_pkts", "packets", "limit of all sub-queues, in addition to the link's",
		    10240, 1, 10000000 },
	[MEMORY] = { "memory_bytes", "bytes", "limit of the memory that packets take", 33554432,
		     2304, 2147483648u },
	[DROP_BATCH] = { "drop_batch", "packets",
			 "packets dropped at most when a limit is exceeded", 64, 1, 65536 },
	[ECN] = { "ecn", HW_ECN, "classes of packets that CoDel marks instead of dropping", 3, 0,
		  3 },
	[CE_THRESHOLD] = { "ce_threshold_us", "us",
			   "marks all packets with a longer sojourn time; 0: none", 0, 0, 4000000 },
	[CE_ECN] = { "ce_threshold_ecn", HW_ECN, "classes of packets that ce_threshold marks", 3, 0,
		     3 },
	[BEHIND] = { "behind", "own|all", "the sub-queues whose bytes mtu_bytes limits", 0, 0, 1 },
};

struct fq_codel {
	u64 new_flows;
	u64 dropped_pkts;
	u64 overlimit_pkts;
	u64 overmemory_pkts;
	u64 threshold_marks;
	struct hw_round round;
};

static const struct hw_counter fq_codel_counters[] = {
	{ "new_flows", "1", "times that a sub-queue joined the new ones", 0 },
	{ "dropped_pkts", "packets", "packets that CoDel dropped", 0 },
	{ "overlimit_pkts", "packets", "packets dropped because a limit was exceeded", 0 },
	{ "overmemory_pkts", "packets", "those of them for the limit of memory", 0 },
	{ "threshold_marks", "packets", "packets marked by ce_threshold", 0 },
};

/* The state of the sub-queues behind struct fq_codel: three arrays, of one entry each. */
struct fq_codel_flow {
	struct hw_turn turn;
	struct hw_codel codel;
	u32 tournament[2]; /* two entries of the tournament */
};

static struct hw_turn *fq_codel_turns(struct fq_codel *s)
{
	return (struct hw_turn *)(s + 1);
}

static struct hw_codel *fq_codel_laws(struct fq_codel *s, u32 flows)
{
	return (struct hw_codel *)(fq_codel_turns(s) + flows);
}

static u32 *fq_codel_tournament(struct fq_codel *s, u32 flows)
{
	return (u32 *)(fq_codel_laws(s, flows) + flows);
}

static u32 fq_codel_queues(const u32 *tun)
{
	return tun[FLOWS];
}

static u32 fq_codel_check(const u32 *tun, const struct hw_link *link, struct hw_refusal *why)
{
	(void)link;
	return hw_above(tun, HW_CODEL_TARGET, tun[HW_CODEL_INTERVAL], "at most interval_us", why) ||
	       hw_above(tun, FLOWS, tun[MEMORY] / hw_memory_bytes(1500),
			"at most as many as memory_bytes has room for full packets", why);
}

static void fq_codel_init(void *state, const u32 *tun, const struct hw_link *link)
{
	struct fq_codel *s = state;

	(void)tun;
	(void)link;
	hw_round_init(&s->round);
}

/* The length of a sub-queue in bytes of Ethernet frames. */
static u32 fq_codel_length(const struct hw_held *held, u32 queue)
{
	return held->queues[queue].bytes + held->queues[queue].pkts * HW_ETHERNET_BYTES;
}

/*
 * The longest sub-queue. The tournament has for each one its length or, because departures are not
 * reported, a larger number. Those that come out as the longest are corrected here.
 */
static u32 fq_codel_longest(u32 *tournament, const struct hw_held *held)
{
	u32 flows = held->n_queues, queue = hw_most_at(tournament, flows), length;

	while (tournament[flows + queue] != (length = fq_codel_length(held, queue))) {
		hw_most_set(tournament, flows, queue, length);
		queue = hw_most_at(tournament, flows);
	}
	return queue;
}

/* Drops packets from the head of the longest sub-queue. */
static void fq_codel_make_room(struct fq_codel *s, const u32 *tun, struct hw_held *held)
{
	u32 flows = held->n_queues;
	u32 queue = fq_codel_longest(fq_codel_tournament(s, flows), held);
	u32 half_bytes = held->queues[queue].bytes / 2;
	int over_memory = held->memory_bytes > tun[MEMORY];
	u32 bytes = 0, pkts = 0;

	do {
		bytes += hw_drop_head(held, queue, HW_DROP_FULL);
		pkts++;
	} while (pkts < tun[DROP_BATCH] && bytes < half_bytes);
	/* CoDel's signal gets stronger, too */
	fq_codel_laws(s, flows)[queue].count =
		hw_add_u32(fq_codel_laws(s, flows)[queue].count, pkts);
	s->overlimit_pkts += pkts;
	if (over_memory)
		s->overmemory_pkts += pkts;
}

/* Whether a limit is exceeded, with so much in transmission. */
static int fq_codel_is_over(const u32 *tun, const struct hw_link *link, const struct hw_held *held,
			    u32 sent_bytes, u32 sent_pkts)
{
	if (link->limit_bytes && (u64)sent_bytes + held->bytes > link->limit_bytes)
		return 1;
	if (link->limit_pkts && (u64)sent_pkts + held->pkts > link->limit_pkts)
		return 1;
	return held->pkts > tun[LIMIT] || held->memory_bytes > tun[MEMORY];
}

static u32 fq_codel_enqueue(void *state, const u32 *tun, const struct hw_link *link,
			    const struct hw_packet *pkt, struct hw_held *held)
{
	struct fq_codel *s = state;
	struct hw_turn *turns = fq_codel_turns(s);
	u32 sent_bytes = link->queue_bytes - held->bytes, sent_pkts = link->queue_pkts - held->pkts;
	u32 *tournament = fq_codel_tournament(s, held->n_queues);
	u32 queue = hw_flow_queue(held, pkt), length;

	if (!held->pkts)
		hw_round_clear(&s->round, turns);
	hw_join(held, queue, link, pkt);
	length = fq_codel_length(held, queue);
	if (length > tournament[held->n_queues + queue])
		hw_most_set(tournament, held->n_queues, queue, length);
	if (!turns[queue].listed) {
		turns[queue].deficit_bytes = (s32)tun[QUANTUM];
		hw_round_add(&s->round, turns, HW_NEW, queue);
		s->new_flows++;
	}
	while (held->pkts && fq_codel_is_over(tun, link, held, sent_bytes, sent_pkts))
		fq_codel_make_room(s, tun, held);
	return HW_PASS;
}

/*
 * Lets CoDel drop at the head of a sub-queue, and mark the packet that stays there. Returns whether
 * one stays.
 */
static int fq_codel_judge(struct fq_codel *s, const u32 *tun, const struct hw_link *link,
			  struct hw_held *held, u32 queue)
{
	struct hw_codel *law = &fq_codel_laws(s, held->n_queues)[queue];
	const struct hw_waiting *head;
	u64 sojourn_ns;
	u32 behind, verdict;

	while (held->queues[queue].pkts) {
		head = hw_head(held, queue);
		behind = tun[BEHIND] ? held->bytes : held->queues[queue].bytes;
		sojourn_ns = hw_sojourn_ns(link, head);
		verdict =
			hw_codel_judge(law, tun, link->now_ns, sojourn_ns,
				       behind - head->pkt.ip_bytes, hw_is_of(tun[ECN], &head->pkt));
		if (verdict == HW_DROP_EARLY) {
			hw_drop_head(held, queue, verdict);
			s->dropped_pkts++;
			continue;
		}
		if (verdict == HW_MARK) {
			hw_mark_head(held, queue);
		} else if (tun[CE_THRESHOLD] && sojourn_ns > (u64)tun[CE_THRESHOLD] * 1000 &&
			   hw_is_of(tun[CE_ECN], &head->pkt)) {
			hw_mark_head(held, queue);
			s->threshold_marks++;
		}
		return 1;
	}
	/* an empty sub-queue does not stand */
	law->first_above_ns = 0;
	return 0;
}

static u32 fq_codel_dequeue(void *state, const u32 *tun, const struct hw_link *link,
			    struct hw_held *held)
{
	struct fq_codel *s = state;
	struct hw_turn *turns = fq_codel_turns(s);
	u32 queue;

	do {
		queue = hw_round_next(&s->round, turns, held, tun[QUANTUM]);
		if (queue == HW_NOWHERE)
			return HW_NOWHERE;
	} while (!fq_codel_judge(s, tun, link, held, queue));
	hw_round_sent(&turns[queue], hw_head(held, queue)->pkt.ip_bytes);
	return queue;
}

HW_TABLE struct hw_queue_ops hw_queue_fq_codel = {
	.name = "fq_codel",
	.title = "FQ-CoDel: fair shares for connections, and CoDel for each",
	.source = "RFC 8290; Linux sch_fq_codel.c",
	.state_bytes = sizeof(struct fq_codel),
	.n_tunables = HW_COUNT(fq_codel_tunables),
	.tunables = fq_codel_tunables,
	.n_counters = HW_COUNT(fq_codel_counters),
	.counters = fq_codel_counters,
	.check = fq_codel_check,
	.init = fq_codel_init,
	.enqueue = fq_codel_enqueue,
	.dequeue = fq_codel_dequeue,
	.queues = fq_codel_queues,
	.sub_bytes = sizeof(struct fq_codel_flow),
};
