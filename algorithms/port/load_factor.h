/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/*
 * Shared by the protocols that use a link's load factor (VCP, MPCP): the measurement at the
 * router, and the sender's steps of a window that grows by a fraction per interval. After the
 * ns-2 model of VCP by Y. Xia (vcp-queue, vcp-src) and Xia, Subramanian, Stoica, Kalyanaraman,
 * "One More Bit Is Enough", SIGCOMM 2005.
 *
 * The load factor of an interval t_rho is demand divided by capacity. Demand is the offered
 * traffic, including dropped packets, plus kappa_q = 1/2 of the persistent queue. Capacity is
 * the target share of what the link can carry in that time. The queue is sampled every t_q and
 * smoothed over intervals with 3/4 of the old value, as the model's comment says; its macro
 * shifts the wrong operand.
 *
 * Valid for links up to 2^35 B/s and round trips up to HW_LOAD_MAX_INTERVALS intervals; longer
 * ones count as that many. If only packets advance the time, idle times beyond 2^28 us count
 * as 2^28 us.
 */
#ifndef HEADWAY_PORT_LOAD_FACTOR_H
#define HEADWAY_PORT_LOAD_FACTOR_H

#include "fall_back.h"
#include "router.h"

#define HW_LOAD_SAMPLE_NS     10000000ull  /* t_q */
#define HW_LOAD_INTERVAL_NS   200000000ull /* t_rho */
#define HW_LOAD_INTERVAL_US   200000u
#define HW_LOAD_MAX_INTERVALS 16u
#define HW_LOAD_MOST_RTT_US   (HW_LOAD_INTERVAL_US * 5 / 2) /* that counts in a sender's steps */

/* A link's load, as its router measures it. */
struct hw_load {
	u64 offered_bytes;   /* since the interval began */
	u64 queue_sum_bytes; /* over the samples of the interval */
	u64 steady_bytes;    /* the queue that persists */
	u64 demand_bytes;    /* of the latest whole interval: offered and half the queue */
	u64 capacity_bytes;  /* of the latest whole interval, times the target */
	u64 begun_ns;	     /* the interval, plus 1; 0: none has */
	u64 sample_ns;	     /* when the queue is looked at next */
	u32 samples;
	u32 intervals; /* measured so far; wraps */
};

#define HW_TUNABLE_TARGET                                                                    \
	{ "target_permille",                                                                 \
	  "1/1000",                                                                          \
	  "part of the capacity that counts as a load of 1; 0: 960, from 32 Mbit/s on 975, " \
	  "from 316 Mbit/s on 985",                                                          \
	  0,                                                                                 \
	  0,                                                                                 \
	  1000 }

/* The ns-2 model has constants for 10 and 100 Mbit/s and for 1 Gbit/s; each applies up to the
 * geometric mean with the next. The model's 950 and the paper's 980 can be set. */
static inline u32 hw_load_target(u32 permille, u64 rate_Bps)
{
	if (permille)
		return permille;
	return rate_Bps < 4000000 ? 960 : rate_Bps < 39500000 ? 975 : 985;
}

static inline void hw_load_offered(struct hw_load *load, const struct hw_packet *pkt)
{
	load->offered_bytes += pkt->ip_bytes;
}

/*
 * The time of a sample, on a link of rate_Bps. Returns whether an interval has ended;
 * load->sample_ns is the next time.
 */
static inline int hw_load_tick_at(struct hw_load *load, const struct hw_link *link, u64 rate_Bps,
				  u32 target_permille)
{
	u64 now_ns = link->now_ns;
	u64 elapsed_ns, elapsed_us;

	if (!load->begun_ns) {
		load->begun_ns = now_ns + 1;
		load->sample_ns = now_ns + HW_LOAD_SAMPLE_NS;
		return 0;
	}
	if (now_ns < load->sample_ns)
		return 0;
	load->queue_sum_bytes += link->queue_bytes;
	load->samples++;
	load->sample_ns += HW_LOAD_SAMPLE_NS;
	if (load->sample_ns <= now_ns) /* if only packets advance the time */
		load->sample_ns = now_ns + HW_LOAD_SAMPLE_NS;
	elapsed_ns = now_ns - (load->begun_ns - 1);
	if (elapsed_ns < HW_LOAD_INTERVAL_NS)
		return 0;
	load->steady_bytes =
		(3 * load->steady_bytes + hw_div_u64(load->queue_sum_bytes, load->samples)) / 4;
	load->demand_bytes = load->offered_bytes + load->steady_bytes / 2;
	elapsed_us = hw_min_u32(hw_saturate_u32(elapsed_ns / 1000), 1u << 28);
	target_permille = hw_load_target(target_permille, rate_Bps);
	load->capacity_bytes = rate_Bps * (elapsed_us * target_permille / 1000) / 1000000;
	load->begun_ns = now_ns + 1;
	load->offered_bytes = 0;
	load->queue_sum_bytes = 0;
	load->samples = 0;
	load->intervals++;
	return 1;
}

static inline int hw_load_tick(struct hw_load *load, const struct hw_link *link,
			       u32 target_permille)
{
	return hw_load_tick_at(load, link, link->rate_Bps, target_permille);
}

/* The load factor in per cent, rounded down; a link that can carry nothing is overloaded. */
static inline u64 hw_load_percent(const struct hw_load *load)
{
	return load->capacity_bytes ? load->demand_bytes * 100 / load->capacity_bytes : 1000;
}

#define HW_STEP_INTERVALS 8 /* of a step up by more than 1/16 */

/* Fractions of the sender's steps: 30 bits after the point. */
#define HW_STEP_SHIFT 30
#define HW_STEP_ONE   (1ull << HW_STEP_SHIFT)

/*
 * (1 + m)^(rtt/t_rho): the factor for a window per round trip that corresponds to 1 + m per
 * interval. m has 30 bits after the point and is at most 1/4 if `falls` (then it is
 * subtracted); otherwise 1/16, or 1/4 up to HW_STEP_INTERVALS. Whole intervals by squaring,
 * the rest by twelve terms of the binomial series. The result is within 2^-24 of the true
 * value.
 */
static inline u64 hw_step_power(u64 m, u32 falls, u32 rtt_us)
{
	u64 x = (u64)hw_min_u32(rtt_us, HW_LOAD_MAX_INTERVALS * HW_LOAD_INTERVAL_US)
		<< HW_STEP_SHIFT;
	u64 result = HW_STEP_ONE, base, term, f;
	u32 n, k;

	m = hw_min_u32(hw_saturate_u32(m), (u32)(HW_STEP_ONE / 4));
	base = falls ? HW_STEP_ONE - m : HW_STEP_ONE + m;
	x /= HW_LOAD_INTERVAL_US;
	n = (u32)(x >> HW_STEP_SHIFT);
	f = x & (HW_STEP_ONE - 1);
	/* f, then k of f (f - 1) ... (f - k) m^(k + 1) / (k + 1)!, all but the first below 0 */
	term = f * m >> HW_STEP_SHIFT;
	result = falls ? result - term : result + term;
	for (k = 1; k < 12; k++) {
		term = (term * m >> HW_STEP_SHIFT) * (((u64)k << HW_STEP_SHIFT) - f) >>
		       HW_STEP_SHIFT;
		term /= k + 1;
		if (falls || k % 2)
			result -= term;
		else
			result += term;
	}
	for (k = 0; k < 5; k++) { /* 16 is the largest n */
		if (n >> k & 1)
			result = result * base >> HW_STEP_SHIFT;
		base = base * base >> HW_STEP_SHIFT;
	}
	return result;
}

/*
 * The change of a window per interval t_rho for capacity/demand (1/LF, HW_STEP_SHIFT bits
 * after the point): m = kappa (1/LF - 1), kappa = 1/4. Returns whether the window falls.
 */
static inline u32 hw_load_step(u64 rest, u64 *m)
{
	*m = (rest > HW_STEP_ONE ? rest - HW_STEP_ONE : HW_STEP_ONE - rest) / 4;
	return rest < HW_STEP_ONE;
}

/*
 * Packets that additive increase adds per round trip, 16 bits after the point, so that flows
 * gain equally per second whatever their round trip. r is the round trip in units of unit_us:
 * r/5 up to 1/5, r^2 up to 5, then 25 + (r - 5), as in the ns-2 model, whose unit is 100 ms.
 */
static inline u64 hw_additive_scale(u32 rtt_us, u32 unit_us)
{
	u64 r = hw_div_u64((u64)rtt_us << 16, unit_us);

	if (5 * r <= 1ull << 16)
		return r / 5;
	if (r <= 5ull << 16)
		return r * r >> 16;
	return (20ull << 16) + r;
}

/* Adds to the window. The control keeps the fraction of a packet: 30 bits. */
static inline void hw_window_grow(struct hw_conn *c, u32 *fraction, u64 by)
{
	u64 sum = *fraction + by;

	c->cwnd_pkts = hw_min_u32(hw_add_u32(c->cwnd_pkts, hw_saturate_u32(sum >> HW_STEP_SHIFT)),
				  c->cwnd_clamp_pkts);
	*fraction = (u32)(sum & (HW_STEP_ONE - 1));
}

/* Takes from the window, which keeps at least one packet. */
static inline void hw_window_shrink(struct hw_conn *c, u32 *fraction, u64 by)
{
	u64 window = ((u64)c->cwnd_pkts << HW_STEP_SHIFT) + *fraction;

	window = window > by + HW_STEP_ONE ? window - by : HW_STEP_ONE;
	c->cwnd_pkts = hw_max_u32(hw_min_u32((u32)(window >> HW_STEP_SHIFT), c->cwnd_pkts), 1);
	*fraction = (u32)(window & (HW_STEP_ONE - 1));
}

/* Additive increase: the share of so many packets in `per_rtt` (16 bits after the point). */
static inline u64 hw_additive_part(const struct hw_conn *c, u64 per_rtt, u32 acked_pkts)
{
	u64 each = (per_rtt << (HW_STEP_SHIFT - 16)) / hw_max_u32(c->cwnd_pkts, 1);

	return each * hw_min_u32(acked_pkts, c->cwnd_pkts);
}

/* ACKed packets of a call of cong_avoid, even if the stack counts ACKs, because the steps are
 * per packet. of_ack is what pkts_acked received. */
static inline u32 hw_stepping_pkts(const struct hw_conn *c, u32 acked_pkts, u32 of_ack)
{
	return hw_min_u32(c->counts_acks ? of_ack : acked_pkts, c->cwnd_pkts);
}

/*
 * From now on growth is the control's own, not slow start's. In Recovery ssthresh stays,
 * because the stack moves cwnd to it.
 */
static inline void hw_leave_slow_start(struct hw_conn *c)
{
	if (c->ca_state != HW_CA_CWR && c->ca_state != HW_CA_RECOVERY && hw_in_slow_start(c))
		c->ssthresh_pkts = hw_max_u32(c->cwnd_pkts, 2) - 1;
}

/*
 * On every ACK: whether the law is Reno's (fall_back.h). These protocols have no slow start,
 * and prevent it by an ssthresh of 1; on a path that never answered it begins then.
 */
static inline u32 hw_uses_reno(struct hw_fall_back *f, struct hw_conn *c, u32 patience_rtts,
			       u32 has_queue)
{
	u32 was_alone = f->alone, is_alone = hw_falls_back(f, c, patience_rtts);

	if (is_alone && !was_alone && !f->has_answers && !has_queue && c->ssthresh_pkts == 1)
		c->ssthresh_pkts = HW_SSTHRESH_INFINITE;
	return is_alone;
}

/* A router has answered: any slow start from the time without routers ends. */
static inline void hw_router_answered(struct hw_fall_back *f, struct hw_conn *c)
{
	if (f->alone)
		hw_leave_slow_start(c);
	hw_answered(f, c);
}

/* After an idle time the stack raises ssthresh to what the window was. */
static inline void hw_after_idle(const struct hw_fall_back *f, struct hw_conn *c, u8 event)
{
	if (event == HW_EVENT_CWND_RESTART && !f->alone)
		hw_leave_slow_start(c);
}

#endif
