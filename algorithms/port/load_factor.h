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
 * smoothed over intervals with 3/4 of the old value, as the model's comment says; the macro in
 * its code shifts the wrong operand.
 *
 * Valid for links up to 2^35 B/s and round trips up to HW_LOAD_MAX_INTERVALS intervals; longer
 * ones count as that many. Where only arriving packets advance the time, idle times beyond 2^28
 * us count as 2^28 us.
 */
#ifndef HEADWAY_PORT_LOAD_FACTOR_H
#define HEADWAY_PORT_LOAD_FACTOR_H

#include "fall_back.h"
#include "router.h"

#define HW_LOAD_SAMPLE_NS     10000000ull  /* t_q */
#define HW_LOAD_INTERVAL_NS   200000000ull /* t_rho */
#define HW_LOAD_INTERVAL_US   200000u
#define HW_LOAD_MAX_INTERVALS 16u
/* longer RTTs count as this much at VCP's sender */
#define HW_LOAD_MOST_RTT_US (HW_LOAD_INTERVAL_US * 5 / 2)

/* A link's load, as its router measures it. */
struct hw_load {
	u64 offered_bytes;   /* bytes offered since the interval began */
	u64 queue_sum_bytes; /* sum of the queue's samples in the interval */
	u64 steady_bytes;    /* the persistent queue, smoothed */
	/* demand in the latest whole interval: offered bytes and half the queue */
	u64 demand_bytes;
	u64 capacity_bytes; /* target share of the capacity in the latest whole interval */
	u64 begun_ns;	    /* when the interval began, plus 1; 0: no interval yet */
	u64 sample_ns;	    /* time of the next sample of the queue */
	u32 samples;
	u32 intervals; /* number of measured intervals; wraps */
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
 * geometric mean of its rate and the next. The model's 950 and the paper's 980 can be set. */
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
 * Takes a sample of the queue if one is due, on a link of rate_Bps. Returns whether an interval
 * has ended; load->sample_ns is the time of the next sample.
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
	if (load->sample_ns <= now_ns) /* possible if only arriving packets advance the time */
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

#define HW_STEP_INTERVALS 8 /* longest step, in intervals, that may grow by more than 1/16 each */

/* Number of fractional bits of the sender's steps. */
#define HW_STEP_SHIFT 30
#define HW_STEP_ONE   (1ull << HW_STEP_SHIFT)

/*
 * (1 + m)^(rtt/t_rho), or (1 - m)^(rtt/t_rho) if `falls`: the factor per round trip for a
 * window that changes by the factor 1 + m, or 1 - m, per interval. m has 30 bits after the
 * point. If `falls` it is at most 1/4; otherwise at most 1/16, or 1/4 for round trips of up to
 * HW_STEP_INTERVALS. The power of the whole intervals is computed by squaring, the rest by
 * twelve terms of the binomial series. The result is within 2^-24 of the true value.
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
	/* sums k of the terms f (f - 1) ... (f - k) m^(k + 1) / (k + 1)!, all but the first
	 * below 0 */
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
	for (k = 0; k < 5; k++) { /* n is at most 16 */
		if (n >> k & 1)
			result = result * base >> HW_STEP_SHIFT;
		base = base * base >> HW_STEP_SHIFT;
	}
	return result;
}

/*
 * The change of a window per interval t_rho, relative to the window: |m| with m = kappa (1/LF - 1)
 * and kappa = 1/4. `rest` is 1/LF, capacity/demand, with HW_STEP_SHIFT fractional bits. Returns
 * whether the window falls.
 */
static inline u32 hw_load_step(u64 rest, u64 *m)
{
	*m = (rest > HW_STEP_ONE ? rest - HW_STEP_ONE : HW_STEP_ONE - rest) / 4;
	return rest < HW_STEP_ONE;
}

/*
 * The number of packets that additive increase adds per round trip, with 16 fractional bits, so
 * that flows gain equally per second whatever their round trip. With the round trip r in units of
 * unit_us, they are r/5 for r up to 1/5, r^2 for r up to 5, and 25 + (r - 5) above, as in the ns-2
 * model, whose unit is 100 ms.
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

/* Adds `by` packets to the window. `by`, and the fraction of a packet that the control keeps,
 * have 30 fractional bits. */
static inline void hw_window_grow(struct hw_conn *c, u32 *fraction, u64 by)
{
	u64 sum = *fraction + by;

	c->cwnd_pkts = hw_min_u32(hw_add_u32(c->cwnd_pkts, hw_saturate_u32(sum >> HW_STEP_SHIFT)),
				  c->cwnd_clamp_pkts);
	*fraction = (u32)(sum & (HW_STEP_ONE - 1));
}

/* Subtracts packets from the window, which keeps at least one packet. */
static inline void hw_window_shrink(struct hw_conn *c, u32 *fraction, u64 by)
{
	u64 window = ((u64)c->cwnd_pkts << HW_STEP_SHIFT) + *fraction;

	window = window > by + HW_STEP_ONE ? window - by : HW_STEP_ONE;
	c->cwnd_pkts = hw_max_u32(hw_min_u32((u32)(window >> HW_STEP_SHIFT), c->cwnd_pkts), 1);
	*fraction = (u32)(window & (HW_STEP_ONE - 1));
}

/* The additive increase for acked_pkts packets if `per_rtt` packets (with 16 fractional bits)
 * are added per window of acknowledged packets. */
static inline u64 hw_additive_part(const struct hw_conn *c, u64 per_rtt, u32 acked_pkts)
{
	u64 each = (per_rtt << (HW_STEP_SHIFT - 16)) / hw_max_u32(c->cwnd_pkts, 1);

	return each * hw_min_u32(acked_pkts, c->cwnd_pkts);
}

/* The number of ACKed packets for a call of cong_avoid, also on stacks that count ACKs, because
 * the steps are per packet. of_ack is the number that pkts_acked received. */
static inline u32 hw_stepping_pkts(const struct hw_conn *c, u32 acked_pkts, u32 of_ack)
{
	return hw_min_u32(c->counts_acks ? of_ack : acked_pkts, c->cwnd_pkts);
}

/*
 * Ends slow start at the present window. In CWR and Recovery ssthresh is not changed, because
 * the stack moves cwnd to it.
 */
static inline void hw_leave_slow_start(struct hw_conn *c)
{
	if (c->ca_state != HW_CA_CWR && c->ca_state != HW_CA_RECOVERY && hw_in_slow_start(c))
		c->ssthresh_pkts = hw_max_u32(c->cwnd_pkts, 2) - 1;
}

/*
 * Called on every ACK; returns whether Reno's law applies (fall_back.h). VCP and MPCP have no
 * slow start, and prevent it by an ssthresh of 1. If they fall back on a path where no router
 * has ever answered, slow start begins then.
 */
static inline u32 hw_uses_reno(struct hw_fall_back *f, struct hw_conn *c, u32 patience_rtts,
			       u32 has_queue)
{
	u32 was_alone = f->alone, is_alone = hw_falls_back(f, c, patience_rtts);

	if (is_alone && !was_alone && !f->has_answers && !has_queue && c->ssthresh_pkts == 1)
		c->ssthresh_pkts = HW_SSTHRESH_INFINITE;
	return is_alone;
}

/* Called when a router has answered: ends a slow start that began because no router answered. */
static inline void hw_router_answered(struct hw_fall_back *f, struct hw_conn *c)
{
	if (f->alone)
		hw_leave_slow_start(c);
	hw_answered(f, c);
}

/* Ends slow start after an idle time: the stack has reduced cwnd and raised ssthresh towards the
 * earlier window. */
static inline void hw_after_idle(const struct hw_fall_back *f, struct hw_conn *c, u8 event)
{
	if (hw_follows_idle(c, event) && !f->alone && c->ca_state == HW_CA_OPEN)
		hw_leave_slow_start(c);
}

#endif
