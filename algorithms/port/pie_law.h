/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/*
 * The law of PIE (RFC 8033), for pie and for every sub-queue of fq_pie: a timer computes a drop
 * probability p from the queueing delay and its change, and arriving packets are dropped or
 * marked with it.
 *
 * Differences from the RFC, both as in Linux (include/net/pie.h, net/sched/sch_pie.c): p rises
 * by 2 % more per update while the delay is above late_us, and p decays only while the queue is
 * empty. Linux has the RFC's gains and thresholds, and decays p by 1/64 (the RFC's example: by
 * 2 %, decay = 50).
 *
 * The delay is either that of the last packet that left (timestamps), or the backlog divided by
 * a measured departure rate (RFC 8033, section 5.2). Nothing that an update reads changes
 * between two packets of the queue, so missed updates can be made up later.
 *
 * Valid for delays up to 8 s; a longer delay counts as 8 s.
 */
#ifndef HEADWAY_PORT_PIE_LAW_H
#define HEADWAY_PORT_PIE_LAW_H

#include "queue.h"
#include "pi_law.h"

#define HW_PIE_MAX_NS (1ull << 33)
/* A measurement of the departure rate takes so many bytes (DQ_THRESHOLD). Its weight in the mean
 * is DQ_THRESHOLD / 2^16, a quarter. */
#define HW_PIE_METER_BYTES (1u << 14)

/* The first tunables of a discipline with PIE. */
enum {
	HW_PIE_TARGET,
	HW_PIE_UPDATE,
	HW_PIE_ALPHA,
	HW_PIE_BETA,
	HW_PIE_BURST,
	HW_PIE_LATE,
	HW_PIE_DECAY,
	HW_PIE_SPREAD,
	HW_PIE_SCALE,
	HW_PIE_ESTIMATOR,
	HW_PIE_ECN,
	HW_PIE_MARK,
	HW_PIE_TUNABLES
};

#define HW_DECLARE_PIE                                                                            \
	[HW_PIE_TARGET] = HW_TUNABLE("target_us", "us", "queueing delay that PIE controls to",    \
				     15000, 1, 4000000),                                          \
	[HW_PIE_UPDATE] =                                                                         \
		HW_TUNABLE("t_update_us", "us", "time between two updates of the probability",    \
			   15000, 100, 1000000),                                                  \
	[HW_PIE_ALPHA] = HW_TUNABLE("alpha_16ths", "1/16 Hz",                                     \
				    "gain of the delay's distance from target", 2, 0, 512),       \
	[HW_PIE_BETA] =                                                                           \
		HW_TUNABLE("beta_16ths", "1/16 Hz", "gain of the delay's change", 20, 0, 512),    \
	[HW_PIE_BURST] = HW_TUNABLE("max_burst_us", "us",                                         \
				    "how long nothing is dropped after the queue was short",      \
				    150000, 0, 4000000),                                          \
	[HW_PIE_LATE] = HW_TUNABLE("late_us", "us",                                               \
				   "delay above which p rises by 2 % more per update; 0: none",   \
				   250000, 0, 4000000),                                           \
	[HW_PIE_DECAY] = HW_TUNABLE(                                                              \
		"decay", "1", "an empty queue's p falls by 1/decay per update", 64, 2, 1024),     \
	[HW_PIE_SPREAD] = HW_TUNABLE("derandomize", "bool", "space drops evenly", 1, 0, 1),       \
	[HW_PIE_SCALE] = HW_TUNABLE(                                                              \
		"scale_bytes", "bytes",                                                           \
		"size of packets that are dropped with p, others in proportion; 0: all", 0, 0,    \
		65535),                                                                           \
	[HW_PIE_ESTIMATOR] =                                                                      \
		HW_TUNABLE("estimator", "timestamps|rate", "how the delay is measured", 0, 0, 1), \
	[HW_PIE_ECN] = HW_TUNABLE(                                                                \
		"ecn", HW_ECN, "classes of packets that are marked instead of dropped", 0, 0, 3), \
	[HW_PIE_MARK] = HW_TUNABLE("mark_ecn_permille", "1/1000",                                 \
				   "marks up to this p, drops above", 100, 0, 1000)

struct hw_pie {
	u64 p;		 /* << 48 */
	u64 accumulated; /* sum of p since the last drop, << 48 */
	u64 delay_ns;
	u64 old_delay_ns; /* at the last update */
	u64 burst_ns;	  /* how long nothing is dropped from now on */
	u64 updates;	  /* number of updates so far */
	/* the departure rate's meter: */
	u64 meter_ns;	   /* mean time in which HW_PIE_METER_BYTES leave; 0: unknown */
	u64 metering_ns;   /* when the present measurement began */
	u64 metered_bytes; /* bytes that have left since; 0: no measurement */
};

static inline u64 hw_pie_allowance_ns(const u32 *tun)
{
	return (u64)tun[HW_PIE_BURST] * 1000;
}

static inline void hw_pie_init(struct hw_pie *s, const u32 *tun)
{
	s->burst_ns = hw_pie_allowance_ns(tun);
}

/* The number of right shifts by which the gains fall for a small p (RFC 8033, section 5.1). */
static inline u32 hw_pie_tuning(u64 p)
{
	u32 shift = 0;
	u64 bound = 10;

	while (bound <= 1000000 && p < HW_PI_ONE / bound) {
		shift += shift ? 2 : 1;
		bound *= 10;
	}
	return shift;
}

/* Whether p is 0 and this update's delay and the previous one's are below half of the target. */
static inline int hw_pie_is_calm(const struct hw_pie *s, const u32 *tun)
{
	u64 half_ns = (u64)tun[HW_PIE_TARGET] * 500;

	return !s->p && s->delay_ns < half_ns && s->old_delay_ns < half_ns;
}

/* By how much p rises with this sum of delays, each multiplied by its gain. */
static inline u64 hw_pie_rise(const struct hw_pie *s, u64 gained_ns)
{
	u64 rise = hw_pi_change(gained_ns, 4 + hw_pie_tuning(s->p));

	return s->p < HW_PI_ONE / 10 ? rise : hw_min_u64(rise, HW_PI_ONE / 50);
}

/* What the timer does. */
static inline void hw_pie_update(struct hw_pie *s, const u32 *tun, u32 backlog_bytes)
{
	u64 update_ns = (u64)tun[HW_PIE_UPDATE] * 1000, delay_ns, old_ns, up, down;

	if (tun[HW_PIE_ESTIMATOR])
		s->delay_ns = backlog_bytes * s->meter_ns / HW_PIE_METER_BYTES;
	delay_ns = hw_min_u64(s->delay_ns, HW_PIE_MAX_NS);
	old_ns = hw_min_u64(s->old_delay_ns, HW_PIE_MAX_NS);
	up = delay_ns * (tun[HW_PIE_ALPHA] + tun[HW_PIE_BETA]);
	down = (u64)tun[HW_PIE_TARGET] * 1000 * tun[HW_PIE_ALPHA] + old_ns * tun[HW_PIE_BETA];
	if (up > down)
		s->p = hw_min_u64(s->p + hw_pie_rise(s, up - down), HW_PI_ONE);
	else
		s->p -= hw_min_u64(hw_pi_change(down - up, 4 + hw_pie_tuning(s->p)), s->p);
	if (tun[HW_PIE_LATE] && delay_ns > (u64)tun[HW_PIE_LATE] * 1000)
		s->p = hw_min_u64(s->p + HW_PI_ONE / 50, HW_PI_ONE);
	/* the smallest step is one, so that p reaches 0 */
	if (!delay_ns && !old_ns && !backlog_bytes && s->p)
		s->p -= s->p / tun[HW_PIE_DECAY] + 1;
	s->burst_ns -= hw_min_u64(s->burst_ns, update_ns);
	if (hw_pie_is_calm(s, tun)) {
		s->burst_ns = hw_pie_allowance_ns(tun);
		s->accumulated = 0;
	}
	s->old_delay_ns = s->delay_ns;
}

/* Makes up for missed updates, until there have been as many as `updates`. */
static inline void hw_pie_catch_up(struct hw_pie *s, const u32 *tun, u64 updates, u32 backlog_bytes)
{
	while (s->updates < updates) {
		hw_pie_update(s, tun, backlog_bytes);
		s->updates++;
		/* further updates of an idle queue change nothing, once its allowance is full */
		if (!s->p && !s->delay_ns && !s->accumulated && !backlog_bytes &&
		    s->burst_ns == hw_pie_allowance_ns(tun))
			s->updates = updates;
	}
}

/* Measures the departure rate. */
static inline void hw_pie_meter(struct hw_pie *s, u64 now_ns, u32 ip_bytes, u32 backlog_bytes)
{
	if (s->metered_bytes >= HW_PIE_METER_BYTES) {
		u64 took_ns = hw_min_u64(now_ns - s->metering_ns, HW_U32_MAX);

		took_ns = hw_div_u64(took_ns * HW_PIE_METER_BYTES, s->metered_bytes);
		s->meter_ns = s->meter_ns ? (3 * s->meter_ns + took_ns) / 4 : took_ns;
		s->metered_bytes = 0;
	}
	if (s->metered_bytes) {
		s->metered_bytes += ip_bytes;
	} else if (backlog_bytes >= HW_PIE_METER_BYTES) {
		s->metering_ns = now_ns;
		s->metered_bytes = ip_bytes;
	}
}

/* Reports that the packet at the head of a sub-queue leaves. */
static inline void hw_pie_leaves(struct hw_pie *s, const u32 *tun, const struct hw_link *link,
				 const struct hw_held *held, u32 queue)
{
	const struct hw_waiting *head = hw_head(held, queue);
	u32 behind_bytes = held->queues[queue].bytes - head->pkt.ip_bytes;

	if (tun[HW_PIE_ESTIMATOR])
		hw_pie_meter(s, link->now_ns, head->pkt.ip_bytes, held->queues[queue].bytes);
	else
		s->delay_ns = behind_bytes ? hw_sojourn_ns(link, head) : 0;
}

/* Whether the law drops or marks a packet that arrives at a queue with this backlog. */
static inline int hw_pie_strikes(struct hw_pie *s, const u32 *tun, struct hw_held *held,
				 u32 ip_bytes, u32 backlog_bytes)
{
	u64 p = s->p;

	if (s->burst_ns || backlog_bytes <= 2 * 1500)
		return 0;
	if (s->old_delay_ns < (u64)tun[HW_PIE_TARGET] * 500 && p < HW_PI_ONE / 5)
		return 0;
	if (tun[HW_PIE_SCALE])
		p = hw_min_u64(p * ip_bytes / tun[HW_PIE_SCALE], HW_PI_ONE);
	if (tun[HW_PIE_SPREAD]) {
		s->accumulated = p ? s->accumulated + p : 0;
		if (s->accumulated < HW_PI_ONE / 100 * 85)
			return 0;
		if (s->accumulated >= HW_PI_ONE / 10 * 85)
			return 1;
	}
	return hw_pi_occurs(held, p);
}

/* enqueue's verdict for a packet that fits into the queue. */
static inline u32 hw_pie_admit(struct hw_pie *s, const u32 *tun, const struct hw_link *link,
			       const struct hw_packet *pkt, struct hw_held *held, u32 queue)
{
	if (!hw_pie_strikes(s, tun, held, pkt->ip_bytes, held->queues[queue].bytes))
		return hw_join(held, queue, link, pkt);
	s->accumulated = 0;
	if (hw_is_of(tun[HW_PIE_ECN], pkt) && s->p <= HW_PI_ONE * tun[HW_PIE_MARK] / 1000)
		return hw_join_marked(held, queue, link, pkt);
	return hw_refuse(held, queue, HW_DROP_EARLY);
}

#endif
