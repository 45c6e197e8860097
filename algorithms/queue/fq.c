// SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only)
/*
 * Linux's fair queue with pacing (sch_fq.c): deficit round robin over connections
 * (port/round.h), each of which may be held to a rate. After a connection has used its credit,
 * its next packet waits for the time that these bytes take at the rate.
 *
 * Here a router has the discipline, so maxrate gives the rate, as Linux does for packets that a
 * host forwards: it does not know the senders' pacing rates. Connections are hashed, as Linux
 * does with forwarded packets, too. Not modelled: bands, and packets with a departure time of
 * their own (SO_TXTIME, horizon). The timer is exact; Linux's may be late by 10 us.
 */
#include "../port/queue.h"
#include "../port/round.h"

#define LONGEST_GAP_NS 1000000000

enum {
	MAXRATE,
	FLOWS,
	QUANTUM,
	INITIAL_QUANTUM,
	REFILL,
	LOW_RATE,
	LIMIT,
	FLOW_LIMIT,
	CE_THRESHOLD,
	CE_ECN
};

static const struct hw_tunable fq_tunables[] = {
	[MAXRATE] = { "maxrate_kbps", "kbit/s",
		      "rate of each connection, with Ethernet headers; 0: no pacing", 0, 0,
		      HW_U32_MAX },
	[FLOWS] = { "flows", "sub-queues", "number of sub-queues", 1024, 1, 262144 },
	[QUANTUM] = { "quantum_bytes", "bytes", "credit of a connection in each round", 3028, 256,
		      1048576 },
	[INITIAL_QUANTUM] = { "initial_quantum_bytes", "bytes", "credit of a new connection", 15140,
			      256, 1048576 },
	[REFILL] = { "refill_delay_us", "us",
		     "idle time after which a connection has the credit of a round", 40000, 0,
		     1000000000 },
	[LOW_RATE] = { "low_rate_kbps", "kbit/s",
		       "up to this rate every packet is paced, above it every quantum", 550, 0,
		       HW_U32_MAX },
	[LIMIT] = { "limit_pkts", "packets", "limit of all sub-queues, in addition to the link's",
		    10000, 1, 10000000 },
	[FLOW_LIMIT] = { "flow_limit_pkts", "packets", "limit of a sub-queue", 100, 1, 10000000 },
	[CE_THRESHOLD] = { "ce_threshold_us", "us",
			   "marks packets that leave so much later than pacing asks; 0: none", 0, 0,
			   4000000 },
	[CE_ECN] = { "ce_threshold_ecn", HW_ECN, "classes of packets that ce_threshold marks", 3, 0,
		     3 },
};

struct fq {
	u64 new_flows;
	u64 throttled;
	u64 flow_limit_pkts;
	u64 threshold_marks;
	struct hw_round round;
	u32 waiting; /* number of entries of the heap */
	u32 spare;
};

static const struct hw_counter fq_counters[] = {
	{ "new_flows", "1", "times that a sub-queue joined the new ones", 0 },
	{ "throttled", "1", "times that a sub-queue had to wait for its rate", 0 },
	{ "flow_limit_pkts", "packets", "packets dropped because of flow_limit_pkts", 0 },
	{ "threshold_marks", "packets", "packets marked by ce_threshold", 0 },
};

struct fq_pace {
	u64 next_ns; /* when the next packet may leave */
	u64 sent_ns; /* when the last one left, plus 1; 0: none has */
};

/* The state of the sub-queues behind struct fq: three arrays, of one entry each. */
struct fq_flow {
	struct hw_turn turn; /* its deficit is the credit; `listed` also while in the heap */
	struct fq_pace pace;
	u32 heap[2]; /* one entry of the heap; sub-queues that wait for their rate */
};

static struct hw_turn *fq_turns(struct fq *s)
{
	return (struct hw_turn *)(s + 1);
}

static struct fq_pace *fq_paces(struct fq *s, u32 flows)
{
	return (struct fq_pace *)(fq_turns(s) + flows);
}

static u32 *fq_heap(struct fq *s, u32 flows)
{
	return (u32 *)(fq_paces(s, flows) + flows);
}

static u32 fq_queues(const u32 *tun)
{
	return tun[FLOWS];
}

static u32 fq_check(const u32 *tun, const struct hw_link *link, struct hw_refusal *why)
{
	(void)link;
	return hw_above(tun, FLOW_LIMIT, tun[LIMIT], "at most limit_pkts", why);
}

static void fq_init(void *state, const u32 *tun, const struct hw_link *link)
{
	struct fq *s = state;

	(void)tun;
	(void)link;
	hw_round_init(&s->round);
}

/* Whether sub-queue a waits until an earlier time than b, or until the same time. */
static int fq_is_before(const struct fq_pace *paces, u32 a, u32 b)
{
	return paces[a].next_ns < paces[b].next_ns ||
	       (paces[a].next_ns == paces[b].next_ns && a <= b);
}

/* Adds a sub-queue to the heap: the one that may send first is at its top. */
static void fq_wait(struct fq *s, u32 flows, u32 queue)
{
	const struct fq_pace *paces = fq_paces(s, flows);
	u32 *heap = fq_heap(s, flows);
	u32 at = s->waiting++;

	for (; at && !fq_is_before(paces, heap[(at - 1) / 2], queue); at = (at - 1) / 2)
		heap[at] = heap[(at - 1) / 2];
	heap[at] = queue;
	fq_turns(s)[queue].listed = 1;
}

/* Removes the top of the heap, which is not empty. */
static u32 fq_wake(struct fq *s, u32 flows)
{
	const struct fq_pace *paces = fq_paces(s, flows);
	u32 *heap = fq_heap(s, flows);
	u32 top = heap[0], last = heap[--s->waiting], at = 0, next;

	while ((next = 2 * at + 1) < s->waiting) {
		if (next + 1 < s->waiting && !fq_is_before(paces, heap[next], heap[next + 1]))
			next++;
		if (fq_is_before(paces, last, heap[next]))
			break;
		heap[at] = heap[next];
		at = next;
	}
	heap[at] = last;
	return top;
}

static u32 fq_enqueue(void *state, const u32 *tun, const struct hw_link *link,
		      const struct hw_packet *pkt, struct hw_held *held)
{
	struct fq *s = state;
	u32 queue = hw_flow_queue(held, pkt);
	struct hw_turn *turn = &fq_turns(s)[queue];
	const struct fq_pace *pace = &fq_paces(s, held->n_queues)[queue];

	if (hw_link_is_full(link, pkt) || held->pkts >= tun[LIMIT])
		return hw_refuse(held, queue, HW_DROP_FULL);
	if (held->queues[queue].pkts >= tun[FLOW_LIMIT]) {
		s->flow_limit_pkts++;
		return hw_refuse(held, queue, HW_DROP_FULL);
	}
	if (!held->pkts)
		hw_round_clear(&s->round, fq_turns(s));
	if (!turn->listed) {
		s32 least = 0;

		if (!pace->sent_ns)
			turn->deficit_bytes = (s32)tun[INITIAL_QUANTUM];
		else if (link->now_ns - (pace->sent_ns - 1) > (u64)tun[REFILL] * 1000)
			least = (s32)tun[QUANTUM];
		if (turn->deficit_bytes < least)
			turn->deficit_bytes = least;
		hw_round_add(&s->round, fq_turns(s), HW_NEW, queue);
		s->new_flows++;
	}
	return hw_join(held, queue, link, pkt);
}

/* Sets when the sub-queue's next packet may leave, after one of this size. */
static void fq_set_pace(struct fq_pace *pace, struct hw_turn *turn, const u32 *tun, u64 now_ns,
			u32 frame_bytes)
{
	u64 gap_ns;

	if (!tun[MAXRATE])
		return;
	if (tun[MAXRATE] <= tun[LOW_RATE])
		turn->deficit_bytes = 0;
	else
		frame_bytes = hw_max_u32(frame_bytes, tun[QUANTUM]);
	if (turn->deficit_bytes > 0)
		return;
	gap_ns = hw_min_u64((u64)frame_bytes * 8000000 / tun[MAXRATE], LONGEST_GAP_NS);
	/* a packet that was late shortens the next gap, by at most half of it */
	if (pace->next_ns)
		gap_ns -= hw_min_u64(gap_ns / 2, now_ns - pace->next_ns);
	pace->next_ns = now_ns + gap_ns;
}

/* The sub-queue that may send now; HW_NOWHERE if none may. */
static u32 fq_choose(struct fq *s, const u32 *tun, const struct hw_held *held, u64 now_ns)
{
	const struct fq_pace *paces = fq_paces(s, held->n_queues);
	u32 queue;

	while (s->waiting && paces[fq_heap(s, held->n_queues)[0]].next_ns <= now_ns)
		hw_round_add(&s->round, fq_turns(s), HW_OLD, fq_wake(s, held->n_queues));
	for (;;) {
		queue = hw_round_next(&s->round, fq_turns(s), held, tun[QUANTUM]);
		if (queue == HW_NOWHERE || paces[queue].next_ns <= now_ns)
			return queue;
		hw_round_remove(&s->round, fq_turns(s), hw_round_list(&s->round));
		fq_wait(s, held->n_queues, queue);
		s->throttled++;
	}
}

static u32 fq_dequeue(void *state, const u32 *tun, const struct hw_link *link, struct hw_held *held)
{
	struct fq *s = state;
	u32 queue = fq_choose(s, tun, held, link->now_ns);
	const struct hw_waiting *head;
	struct fq_pace *pace;
	u64 late_ns;

	if (queue == HW_NOWHERE) {
		if (s->waiting)
			held->wake_ns =
				fq_paces(s, held->n_queues)[fq_heap(s, held->n_queues)[0]].next_ns;
		return HW_NOWHERE;
	}
	head = hw_head(held, queue);
	pace = &fq_paces(s, held->n_queues)[queue];
	late_ns = hw_min_u64(hw_sojourn_ns(link, head), link->now_ns - pace->next_ns);
	hw_round_sent(&fq_turns(s)[queue], head->pkt.ip_bytes);
	fq_set_pace(pace, &fq_turns(s)[queue], tun, link->now_ns,
		    hw_frame_bytes(head->pkt.ip_bytes));
	pace->sent_ns = link->now_ns + 1;
	if (tun[CE_THRESHOLD] && late_ns > (u64)tun[CE_THRESHOLD] * 1000 &&
	    hw_is_of(tun[CE_ECN], &head->pkt)) {
		hw_mark_head(held, queue);
		s->threshold_marks++;
	}
	return queue;
}

HW_TABLE struct hw_queue_ops hw_queue_fq = {
	.name = "fq",
	.title = "Linux's fair queue: equal shares for connections, each paced at a rate",
	.source = "Linux sch_fq.c",
	.state_bytes = sizeof(struct fq),
	.n_tunables = HW_COUNT(fq_tunables),
	.tunables = fq_tunables,
	.n_counters = HW_COUNT(fq_counters),
	.counters = fq_counters,
	.check = fq_check,
	.init = fq_init,
	.enqueue = fq_enqueue,
	.dequeue = fq_dequeue,
	.queues = fq_queues,
	.sub_bytes = sizeof(struct fq_flow),
};
