// SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only)
/*
 * FQ-PIE as in Linux (sch_fq_pie.c): a hash maps connections to sub-queues, deficit round robin
 * serves them (port/round.h), and PIE drops packets that arrive at each (port/pie_law.h).
 *
 * All sub-queues have the same update times. A sub-queue makes up for its updates when a packet
 * reaches or leaves it, so idle sub-queues cost nothing. The limits are compared when a packet
 * arrives, and the packet is dropped; Linux compares the limit of memory, but drops nothing.
 */
#include "../port/pie_law.h"
#include "../port/round.h"

enum { FLOWS = HW_PIE_TUNABLES, QUANTUM, LIMIT, MEMORY };

static const struct hw_tunable fq_pie_tunables[] = {
	HW_DECLARE_PIE,
	[FLOWS] = { "flows", "sub-queues", "number of sub-queues", 1024, 1, 65536 },
	[QUANTUM] = { "quantum_bytes", "bytes",
		      "bytes that a sub-queue may send in a round, with Ethernet headers", 1514,
		      256, 1048576 },
	[LIMIT] = { "limit_pkts", "packets", "limit of all sub-queues, in addition to the link's",
		    10240, 1, 10000000 },
	[MEMORY] = { "memory_bytes", "bytes", "limit of the memory that packets take", 33554432,
		     2304, 2147483648u },
};

struct fq_pie {
	u64 new_flows;
	u64 overlimit_pkts;
	u64 overmemory_pkts;
	u64 origin_ns;
	struct hw_round round;
};

static const struct hw_counter fq_pie_counters[] = {
	{ "new_flows", "1", "times that a sub-queue joined the new ones", 0 },
	{ "overlimit_pkts", "packets", "packets dropped because a limit was exceeded", 0 },
	{ "overmemory_pkts", "packets", "those of them for the limit of memory", 0 },
};

/* The state of the sub-queues behind struct fq_pie: two arrays, of one entry each. */
struct fq_pie_flow {
	struct hw_turn turn;
	struct hw_pie pie;
};

static struct hw_turn *fq_pie_turns(struct fq_pie *s)
{
	return (struct hw_turn *)(s + 1);
}

static struct hw_pie *fq_pie_laws(struct fq_pie *s, u32 flows)
{
	return (struct hw_pie *)(fq_pie_turns(s) + flows);
}

static u32 fq_pie_queues(const u32 *tun)
{
	return tun[FLOWS];
}

static u32 fq_pie_check(const u32 *tun, const struct hw_link *link, struct hw_refusal *why)
{
	(void)link;
	return hw_above(tun, FLOWS, tun[MEMORY] / hw_memory_bytes(1500),
			"at most as many as memory_bytes has room for full packets", why);
}

static void fq_pie_init(void *state, const u32 *tun, const struct hw_link *link)
{
	struct fq_pie *s = state;
	u32 queue;

	(void)link;
	hw_round_init(&s->round);
	for (queue = 0; queue < tun[FLOWS]; queue++)
		hw_pie_init(&fq_pie_laws(s, tun[FLOWS])[queue], tun);
}

/* The law of a sub-queue, up to date. */
static struct hw_pie *fq_pie_law(struct fq_pie *s, const u32 *tun, const struct hw_link *link,
				 const struct hw_held *held, u32 queue)
{
	struct hw_pie *law = &fq_pie_laws(s, held->n_queues)[queue];
	u64 updates = hw_pi_updates(&s->origin_ns, link->now_ns, tun[HW_PIE_UPDATE]);

	hw_pie_catch_up(law, tun, updates, held->queues[queue].bytes);
	return law;
}

static u32 fq_pie_enqueue(void *state, const u32 *tun, const struct hw_link *link,
			  const struct hw_packet *pkt, struct hw_held *held)
{
	struct fq_pie *s = state;
	struct hw_turn *turns = fq_pie_turns(s);
	u32 queue = hw_flow_queue(held, pkt), verdict;
	struct hw_pie *law = fq_pie_law(s, tun, link, held, queue);
	int over_memory = held->memory_bytes + hw_memory_bytes(pkt->ip_bytes) > tun[MEMORY];

	if (hw_link_is_full(link, pkt) || held->pkts >= tun[LIMIT] || over_memory) {
		s->overlimit_pkts++;
		s->overmemory_pkts += (u64)over_memory;
		return hw_refuse(held, queue, HW_DROP_FULL);
	}
	if (!held->pkts)
		hw_round_clear(&s->round, turns);
	verdict = hw_pie_admit(law, tun, link, pkt, held, queue);
	if (verdict != HW_DROP_EARLY && !turns[queue].listed) {
		turns[queue].deficit_bytes = (s32)tun[QUANTUM];
		hw_round_add(&s->round, turns, HW_NEW, queue);
		s->new_flows++;
	}
	return verdict;
}

static u32 fq_pie_dequeue(void *state, const u32 *tun, const struct hw_link *link,
			  struct hw_held *held)
{
	struct fq_pie *s = state;
	struct hw_turn *turns = fq_pie_turns(s);
	u32 queue = hw_round_next(&s->round, turns, held, tun[QUANTUM]);

	if (queue == HW_NOWHERE)
		return HW_NOWHERE;
	hw_pie_leaves(fq_pie_law(s, tun, link, held, queue), tun, link, held, queue);
	hw_round_sent(&turns[queue], hw_head(held, queue)->pkt.ip_bytes);
	return queue;
}

HW_TABLE struct hw_queue_ops hw_queue_fq_pie = {
	.name = "fq_pie",
	.title = "FQ-PIE: fair shares for connections, and PIE for each",
	.source = "RFC 8033, RFC 8290; Linux sch_fq_pie.c",
	.state_bytes = sizeof(struct fq_pie),
	.n_tunables = HW_COUNT(fq_pie_tunables),
	.tunables = fq_pie_tunables,
	.n_counters = HW_COUNT(fq_pie_counters),
	.counters = fq_pie_counters,
	.check = fq_pie_check,
	.init = fq_pie_init,
	.enqueue = fq_pie_enqueue,
	.dequeue = fq_pie_dequeue,
	.queues = fq_pie_queues,
	.sub_bytes = sizeof(struct fq_pie_flow),
};
