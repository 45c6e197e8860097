// SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only)
/*
 * DualPI2 (RFC 9332): a queue for low latency (L) and a classic one (C), whose signals are
 * coupled. A timer computes a probability p from the longer delay of the two heads. Classic
 * packets are dropped or marked with p^2, L4S packets marked with k p, and also if they have
 * waited longer than step_us.
 *
 * Constants and choices are Linux's (sch_dualpi2.c): random draws, two for p^2, instead of the
 * RFC's even spacing (draws=even); a step instead of the RFC's ramp from 800 us to 1.2 ms
 * (step=800us, ramp=400us); a scheduler with credits
 * that leaves the classic queue at least c_protection percent of the bytes; no signal while
 * less than two full packets wait behind. Unlike Linux, the number of packets for min_step_pkts
 * is that at departure.
 *
 * Sub-queue 0 is C, sub-queue 1 is L. Valid for delays up to 4 s; a longer delay counts as 4 s.
 */
#include "../port/queue.h"
#include "../port/pi_law.h"

#define CLASSIC	   0
#define L4S	   1
#define FULL_BYTES 1500
#define MAX_NS	   (1ull << 32)

enum {
	TARGET,
	UPDATE,
	ALPHA,
	BETA,
	COUPLING,
	STEP,
	STEP_PKTS,
	RAMP,
	MIN_STEP,
	PROTECTION,
	L4S_ECN,
	DRAWS,
	OVERLOAD,
	EARLY,
	LIMIT,
	MEMORY
};

static const struct hw_tunable dualpi2_tunables[] = {
	[TARGET] = { "target_us", "us", "delay of the classic queue that p controls to", 15000, 1,
		     4000000 },
	[UPDATE] = { "t_update_us", "us", "time between two updates of p", 16000, 100, 1000000 },
	[ALPHA] = { "alpha_256ths", "1/256 Hz", "gain of the delay's distance from target", 41, 0,
		    4096 },
	[BETA] = { "beta_256ths", "1/256 Hz", "gain of the delay's change", 819, 0, 4096 },
	[COUPLING] = { "coupling", "1", "factor k between p and the marking of L4S packets", 2, 1,
		       255 },
	[STEP] = { "step_us", "us", "L4S packets that have waited longer are marked; 0: none", 1000,
		   0, 4000000 },
	[STEP_PKTS] = { "step_pkts", "packets",
			"instead of step_us: marks if more packets wait behind in L; 0: step_us", 0,
			0, 1000000 },
	[RAMP] = { "ramp_us", "us", "above step_us, marking rises to 1 over this time; 0: a step",
		   0, 0, 4000000 },
	[MIN_STEP] = { "min_step_pkts", "packets",
		       "no step marks while L has fewer packets, with the leaving one", 0, 0,
		       1000000 },
	[PROTECTION] = { "c_protection", "%", "share of the bytes that the classic queue keeps", 10,
			 0, 100 },
	[L4S_ECN] = { "l4s_ecn", HW_ECN, "classes of packets that join L", 1, 0, 3 },
	[DRAWS] = { "draws", "random|even",
		    "which packets get the signals of p: at random, or each one at equal distances",
		    0, 0, 1 },
	[OVERLOAD] = { "drop_overload", "bool",
		       "drop L4S packets, too, when k p exceeds 1; off: limit p to 1/k", 1, 0, 1 },
	[EARLY] = { "drop_early", "bool", "apply p as packets arrive, not as they leave", 0, 0, 1 },
	[LIMIT] = { "limit_pkts", "packets", "limit of both queues, in addition to the link's",
		    10000, 1, 10000000 },
	[MEMORY] = { "memory_bytes", "bytes", "limit of the memory that packets take", 30280000,
		     2304, 2147483648u },
};

struct dualpi2 {
	u64 p_ppb;
	u64 delay_us;
	u64 coupled_marks;
	u64 step_marks;
	u64 l4s_drops;
	u64 classic_marks;
	u64 classic_drops;
	u64 p; /* << 48 */
	u64 delay_ns;
	u64 origin_ns;
	u64 updates;
	s64 credit;  /* above 0: the classic queue's turn; bytes times percent */
	u64 owed[2]; /* with draws=even: part of a signal that each queue owes, << 48 */
};

static const struct hw_counter dualpi2_counters[] = {
	{ "p_ppb", "1e-9", "probability p", 0 },
	{ "delay_us", "us", "longer delay of the two heads at the last update", 0 },
	{ "coupled_marks", "packets", "L4S packets that were marked with k p", 0 },
	{ "step_marks", "packets", "L4S packets that were marked by step_us", 0 },
	{ "l4s_drops", "packets", "L4S packets that were dropped in overload", 0 },
	{ "classic_marks", "packets", "classic packets that were marked", 0 },
	{ "classic_drops", "packets", "classic packets that were dropped with p^2", 0 },
};

static u32 dualpi2_queues(const u32 *tun)
{
	(void)tun;
	return 2;
}

static u32 dualpi2_check(const u32 *tun, const struct hw_link *link, struct hw_refusal *why)
{
	(void)link;
	return hw_above(tun, STEP_PKTS, tun[LIMIT], "at most limit_pkts", why) ||
	       hw_above(tun, MIN_STEP, tun[LIMIT], "at most limit_pkts", why);
}

/* The credit of an idle link: the queue with the larger share goes first. */
static s64 dualpi2_fresh_credit(const u32 *tun)
{
	return FULL_BYTES * (2 * (s64)tun[PROTECTION] - 100);
}

static void dualpi2_init(void *state, const u32 *tun, const struct hw_link *link)
{
	struct dualpi2 *s = state;

	(void)link;
	s->credit = dualpi2_fresh_credit(tun);
}

static u64 dualpi2_delay_ns(const struct hw_held *held, u32 queue, u64 now_ns)
{
	const struct hw_waiting *head = hw_head(held, queue);

	return head ? hw_min_u64(now_ns - head->joined_ns, MAX_NS) : 0;
}

static void dualpi2_update(struct dualpi2 *s, const u32 *tun, const struct hw_held *held,
			   u64 now_ns)
{
	u64 classic_ns = dualpi2_delay_ns(held, CLASSIC, now_ns);
	u64 l4s_ns = dualpi2_delay_ns(held, L4S, now_ns);
	u64 delay_ns = classic_ns > l4s_ns ? classic_ns : l4s_ns;
	u64 most = tun[OVERLOAD] ? HW_PI_ONE : HW_PI_ONE / tun[COUPLING];
	u64 up = delay_ns * (tun[ALPHA] + tun[BETA]);
	u64 down = (u64)tun[TARGET] * 1000 * tun[ALPHA] + s->delay_ns * tun[BETA];

	if (up > down)
		s->p = hw_min_u64(s->p + hw_pi_change(up - down, 8), most);
	else
		s->p -= hw_min_u64(hw_pi_change(down - up, 8), s->p);
	s->delay_ns = delay_ns;
}

/* Makes up for missed updates. The heads of the queues were the same at their times. */
static void dualpi2_catch_up(struct dualpi2 *s, const u32 *tun, const struct hw_link *link,
			     const struct hw_held *held)
{
	u64 due = hw_pi_updates(&s->origin_ns, link->now_ns, tun[UPDATE]);
	u64 update_ns = (u64)tun[UPDATE] * 1000, p;

	while (s->updates < due) {
		s->updates++;
		p = s->p;
		dualpi2_update(s, tun, held, s->origin_ns - 1 + s->updates * update_ns);
		/* if an update of an idle queue changes nothing, the next ones do not, either */
		if (s->p == p && !s->delay_ns && !held->pkts)
			s->updates = due;
	}
}

static void dualpi2_tick(void *state, const u32 *tun, const struct hw_link *link,
			 const struct hw_held *held)
{
	struct dualpi2 *s = state;

	if (s->origin_ns)
		dualpi2_catch_up(s, tun, link, held);
	s->p_ppb = hw_pi_ppb(s->p);
	s->delay_us = s->delay_ns / 1000;
}

/*
 * Whether a packet of a queue gets a signal that has the probability p, or p^2 with is_squared.
 * Even draws count the probabilities of the packets and signal when the sum passes 1 (RFC 9332
 * appendix A, recur).
 */
static int dualpi2_occurs(struct dualpi2 *s, const u32 *tun, struct hw_held *held, u32 queue, u64 p,
			  int is_squared)
{
	if (!tun[DRAWS])
		return hw_pi_occurs(held, p) && (!is_squared || hw_pi_occurs(held, p));
	s->owed[queue] += is_squared ? (p >> HW_PI_SHIFT / 2) * (p >> HW_PI_SHIFT / 2) : p;
	if (s->owed[queue] <= HW_PI_ONE)
		return 0;
	s->owed[queue] -= HW_PI_ONE;
	return 1;
}

/* The coupled law's verdict on a packet with so many bytes in both queues besides it. */
static u32 dualpi2_judge(struct dualpi2 *s, const u32 *tun, struct hw_held *held, u32 queue,
			 const struct hw_packet *pkt, u32 other_bytes)
{
	u64 coupled = s->p * tun[COUPLING];
	int is_overload = coupled > HW_PI_ONE;

	if (other_bytes < 2 * FULL_BYTES)
		return HW_PASS;
	if (queue == CLASSIC) {
		if (!dualpi2_occurs(s, tun, held, CLASSIC, s->p, 1))
			return HW_PASS;
		if (is_overload || !pkt->ecn) {
			s->classic_drops++;
			return HW_DROP_EARLY;
		}
		s->classic_marks++;
		return HW_MARK;
	}
	if (is_overload && tun[OVERLOAD] && dualpi2_occurs(s, tun, held, L4S, s->p, 1)) {
		s->l4s_drops++;
		return HW_DROP_EARLY;
	}
	if (!is_overload && !dualpi2_occurs(s, tun, held, L4S, coupled, 0))
		return HW_PASS;
	s->coupled_marks++;
	return HW_MARK;
}

/* Whether the step marks the packet at the head of L. */
static int dualpi2_steps(const u32 *tun, const struct hw_link *link, struct hw_held *held)
{
	u64 waited_ns = hw_sojourn_ns(link, hw_head(held, L4S)), step_ns = (u64)tun[STEP] * 1000;
	u32 pkts = held->queues[L4S].pkts;

	if (pkts < tun[MIN_STEP])
		return 0;
	if (tun[STEP_PKTS])
		return pkts - 1 > tun[STEP_PKTS];
	if (!tun[STEP] || waited_ns <= step_ns)
		return 0;
	if (!tun[RAMP] || waited_ns - step_ns >= (u64)tun[RAMP] * 1000)
		return 1;
	return hw_random_u64(held) % ((u64)tun[RAMP] * 1000) < waited_ns - step_ns;
}

static u32 dualpi2_enqueue(void *state, const u32 *tun, const struct hw_link *link,
			   const struct hw_packet *pkt, struct hw_held *held)
{
	struct dualpi2 *s = state;
	u32 queue = hw_is_of(tun[L4S_ECN], pkt) ? L4S : CLASSIC, verdict = HW_PASS;

	dualpi2_catch_up(s, tun, link, held);
	if (hw_link_is_full(link, pkt) || held->pkts >= tun[LIMIT] ||
	    held->memory_bytes + hw_memory_bytes(pkt->ip_bytes) > tun[MEMORY])
		return hw_refuse(held, queue, HW_DROP_FULL);
	if (tun[EARLY])
		verdict = dualpi2_judge(s, tun, held, queue, pkt, held->bytes);
	if (verdict == HW_DROP_EARLY)
		return hw_refuse(held, queue, verdict);
	if (verdict == HW_MARK)
		return hw_join_marked(held, queue, link, pkt);
	return hw_join(held, queue, link, pkt);
}

/* The queue whose turn it is. At least one has packets. */
static u32 dualpi2_turn(const struct dualpi2 *s, const struct hw_held *held)
{
	if (!held->queues[L4S].pkts)
		return CLASSIC;
	return held->queues[CLASSIC].pkts && s->credit > 0 ? CLASSIC : L4S;
}

/* Accounts for the packet that a queue sends, if it competes with the other queue. */
static void dualpi2_charge(struct dualpi2 *s, const u32 *tun, const struct hw_held *held, u32 queue)
{
	s64 ip_bytes = hw_head(held, queue)->pkt.ip_bytes;

	if (!held->queues[queue ^ 1].pkts)
		return;
	if (queue == L4S)
		s->credit += ip_bytes * tun[PROTECTION];
	else
		s->credit -= ip_bytes * (100 - (s64)tun[PROTECTION]);
}

static u32 dualpi2_dequeue(void *state, const u32 *tun, const struct hw_link *link,
			   struct hw_held *held)
{
	struct dualpi2 *s = state;
	const struct hw_packet *pkt;
	u32 queue, verdict;

	dualpi2_catch_up(s, tun, link, held);
	while (held->pkts) {
		queue = dualpi2_turn(s, held);
		pkt = &hw_head(held, queue)->pkt;
		verdict = tun[EARLY] ? HW_PASS
				     : dualpi2_judge(s, tun, held, queue, pkt,
						     held->bytes - pkt->ip_bytes);
		if (verdict == HW_DROP_EARLY) {
			hw_drop_head(held, queue, verdict);
			continue;
		}
		if (queue == L4S && dualpi2_steps(tun, link, held)) {
			s->step_marks++;
			verdict = HW_MARK;
		}
		dualpi2_charge(s, tun, held, queue);
		if (held->pkts == 1)
			s->credit = dualpi2_fresh_credit(tun);
		if (verdict == HW_MARK)
			hw_mark_head(held, queue);
		return queue;
	}
	s->credit = dualpi2_fresh_credit(tun);
	return HW_NOWHERE;
}

HW_TABLE struct hw_queue_ops hw_queue_dualpi2 = {
	.name = "dualpi2",
	.title = "DualPI2: a queue for L4S beside a classic one, with coupled signals",
	.source = "RFC 9332; De Schepper et al. 2016; Linux sch_dualpi2.c",
	.state_bytes = sizeof(struct dualpi2),
	.n_tunables = HW_COUNT(dualpi2_tunables),
	.tunables = dualpi2_tunables,
	.n_counters = HW_COUNT(dualpi2_counters),
	.counters = dualpi2_counters,
	.check = dualpi2_check,
	.init = dualpi2_init,
	.enqueue = dualpi2_enqueue,
	.dequeue = dualpi2_dequeue,
	.queues = dualpi2_queues,
	.tick = dualpi2_tick,
};
