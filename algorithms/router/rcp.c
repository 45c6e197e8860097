// SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only)
/*
 * RCP's router (Dukkipati 2007; Scharf 2011, eq. 4.21; the ns-2 code by Zhang, Dukkipati,
 * Masayoshi, rcp.cc): one rate R for all flows. The router lowers each packet's header to R,
 * and recomputes R after every slot:
 *
 *   R <- R [1 + T/d (alpha (gamma C - y) - beta q/d) / (gamma C)]
 *
 * Here y is the traffic that arrived in the slot of length T = min(d, update slot), q the
 * queue at its end, and d the moving mean of the round-trip times in packets' headers,
 * weighted by bytes. If a slot's mean s is above d, d moves by T/d of the difference. If s is
 * below d, d moves by R/C times s/d of that amount. A packet that is still arriving when the
 * slot ends counts partly in this slot and partly in the next. R is between a fraction of a
 * packet per d and gamma C.
 *
 * Differences from rcp.cc: the first slot is not random. If the router wakes late (only
 * packets wake it in the kernel), a slot still ends at its own time, and the rest counts as
 * idle: R then grows as in 256 slots without traffic or queue, by at most a factor of 4096. The
 * queue excludes the packet in transmission (as in rcp.cc), by the mean packet size.
 *
 * Arithmetic: R and d have 8 fractional bits, fractions of 1 have 20, and R's change has 26.
 * Few branches keep the number of paths small for the verifier. A step differs from f64 by at
 * most 10^-4 of R plus 2 B/s, including the header's rounding. Valid from 1 Mbit/s to 40
 * Gbit/s and round trips from 1 ms to 2 s.
 */
#include "../port/router.h"
#include "../header/rcp.h"

enum { ALPHA, BETA, GAMMA, SLOT, FIRST_RATE, LEAST_PACKETS, FIRST_RTT, CAPACITY };

static const struct hw_tunable rcp_tunables[] = {
	[ALPHA] = { "alpha", "1/1000", "weight of the spare bandwidth", 400, 0, 2000 },
	[BETA] = { "beta", "1/1000", "weight of the queue", 226, 0, 2000 },
	[GAMMA] = { "gamma", "1/1000", "part of the capacity that is allocated to flows", 1000, 1,
		    1000 },
	[SLOT] = { "slot_ms", "ms", "longest time between two updates", 10, 1, 1000 },
	[FIRST_RATE] = { "first_rate", "1/1000", "rate at the start, as a part of the capacity", 50,
			 1, 1000 },
	[LEAST_PACKETS] = { "least_packets", "1/1000",
			    "lowest rate, in packets of 1000 bytes per d", 10, 1, 1000000 },
	[FIRST_RTT] = { "first_rtt_ms", "ms", "mean RTT d until the first header arrives", 200, 1,
			10000 },
	[CAPACITY] = { "capacity_kbps", "kbit/s", "assumed capacity; 0: the link's rate", 0, 0,
		       100000000 },
};

#define FRACTION_BITS	 8 /* fractional bits of R and d */
#define NS_PER_S	 1000000000ull
#define US_PER_S	 1000000ull
#define MOST_RTT_US	 10000000
#define MOST_INPUT_BYTES 18000000000ull
#define IDLE_STEPS	 256 /* 2^IDLE_BITS */
#define IDLE_BITS	 8
#define GROWTH_BITS	 16	      /* fractional bits of a growth factor */
#define MOST_GROWTH	 2164	      /* bounds the growth in 256 steps to a factor of 4096 */
#define PART_BITS	 20	      /* fractional bits of fractions of at most 1 */
#define STEP_BITS	 26	      /* fractional bits of R's relative change */
#define MOST_ERROR	 (1ull << 43) /* B/s / 1000 */

/* State of the router. It begins with the counters, in the order of their descriptions. */
struct rcp_router {
	u64 rate_Bps; /* R, rounded to what the header can carry */
	u64 headers;
	u64 lowered;
	u64 rtt_us;	 /* d */
	u64 input_Bps;	 /* y of the last slot */
	u64 queue_bytes; /* q at the end of that slot */

	u64 exact;    /* R, B/s << FRACTION_BITS */
	u64 exact_us; /* d, us << FRACTION_BITS */
	u64 slot_start_ns;
	u64 slot_end_ns; /* 0: nothing has begun */
	u64 input_bytes; /* bytes that arrived in this slot */
	u64 next_bytes;	 /* parts of arrived packets that count in the next slot */
	u64 sum_rtt;	 /* bytes us */
	u64 sum_bytes;	 /* bytes of packets that carried an RTT */
};

_Static_assert(sizeof(struct rcp_router) <= HW_ROUTER_STATE_BYTES, "state of a router");

static const struct hw_counter rcp_counters[] = {
	{ "rate_bps", "bit/s", "rate at which each flow may send, in IP bits", 8 },
	{ "headers", "packets", "packets whose header requests a rate", 0 },
	{ "lowered", "packets", "packets whose header requested more than the router allows", 0 },
	{ "rtt_us", "us", "d, the moving mean of the traffic's RTT", 0 },
	{ "input_bps", "bit/s", "traffic of the last slot", 8 },
	{ "queue_bytes", "bytes", "queue at the end of the last slot", 0 },
};

static u64 rcp_capacity_Bps(const u32 *tun, const struct hw_link *link)
{
	u64 capacity_Bps = tun[CAPACITY] ? (u64)tun[CAPACITY] * 125 : link->rate_Bps;

	return capacity_Bps ? capacity_Bps : 1;
}

/* The rate to allocate, gamma C in B/s, at least 1. */
static u64 rcp_target_Bps(const u32 *tun, const struct hw_link *link)
{
	u64 target_Bps = rcp_capacity_Bps(tun, link) * tun[GAMMA] / 1000;

	return target_Bps ? target_Bps : 1;
}

/* Limits R to its bounds, and computes from R the rate that the header can express. */
static void rcp_set_rate(struct rcp_router *s, const u32 *tun, const struct hw_link *link,
			 u64 exact)
{
	u64 most = rcp_target_Bps(tun, link) << FRACTION_BITS;
	u64 least = ((u64)tun[LEAST_PACKETS] * US_PER_S << FRACTION_BITS) / s->rtt_us;

	if (exact < least)
		exact = least;
	s->exact = hw_min_u64(exact, most);
	s->rate_Bps = rcp_rounded((s->exact + (1 << (FRACTION_BITS - 1))) >> FRACTION_BITS);
}

static void rcp_set_rtt(struct rcp_router *s, u64 exact_us)
{
	s->exact_us = exact_us > 1 << FRACTION_BITS ? exact_us : 1 << FRACTION_BITS;
	s->rtt_us = s->exact_us >> FRACTION_BITS;
}

/* Updates d from the RTTs of a slot's packets; `part` is T/d. */
static void rcp_average(struct rcp_router *s, const u32 *tun, const struct hw_link *link, u64 part)
{
	u64 sample_us, step;

	if (!s->sum_bytes)
		return;
	sample_us = (s->sum_rtt << FRACTION_BITS) / s->sum_bytes;
	if (sample_us >= s->exact_us) {
		rcp_set_rtt(s, s->exact_us + ((sample_us - s->exact_us) * part >> PART_BITS));
		return;
	}
	step = (s->exact_us - sample_us) * part >> PART_BITS;
	step = step * ((sample_us << PART_BITS) / s->exact_us) >> PART_BITS;
	step = step * ((s->exact << (PART_BITS - FRACTION_BITS)) / rcp_capacity_Bps(tun, link)) >>
	       PART_BITS;
	rcp_set_rtt(s, s->exact_us - step);
}

/* Updates R after a slot with arrivals y and the queue q at its end (eq. 4.21); `part` is T/d. */
static void rcp_update(struct rcp_router *s, const u32 *tun, const struct hw_link *link, u64 part)
{
	u64 target_Bps = rcp_target_Bps(tun, link);
	u64 raise = target_Bps * tun[ALPHA];
	u64 cut = s->input_Bps * tun[ALPHA] + s->queue_bytes * tun[BETA] * US_PER_S / s->rtt_us;
	u64 size = hw_min_u64(raise > cut ? raise - cut : cut - raise, MOST_ERROR);
	u64 step;

	/* the relative change of R: the change divided by gamma C, times T/d; R may fall to 0,
	 * but not below */
	size = hw_min_u64((size << PART_BITS) / (target_Bps * 1000), 1ull << 40);
	size = hw_min_u64(size * part >> (2 * PART_BITS - STEP_BITS), 2ull << STEP_BITS);
	step = (s->exact >> FRACTION_BITS) * size >> (STEP_BITS - FRACTION_BITS);
	rcp_set_rate(s, tun, link,
		     raise > cut ? s->exact + step : s->exact - hw_min_u64(step, s->exact));
}

/* Updates R after so many us without arrivals and without a queue: applies eq. 4.21 for 256
 * slots of equal length. */
static void rcp_idle(struct rcp_router *s, const u32 *tun, const struct hw_link *link, u64 time_us)
{
	u64 step_us = hw_min_u64(time_us / IDLE_STEPS, s->rtt_us);
	u64 growth = (step_us * tun[ALPHA] << GROWTH_BITS) / 1000 / s->rtt_us;
	u32 i;

	growth = hw_min_u64(growth, MOST_GROWTH) + (1ull << GROWTH_BITS);
	for (i = 0; i < IDLE_BITS; i++)
		growth = growth * growth >> GROWTH_BITS;
	rcp_set_rate(s, tun, link,
		     (s->exact >> FRACTION_BITS) * growth >> (GROWTH_BITS - FRACTION_BITS));
}

/* Ends a slot. If the slot's end is long ago, nothing has arrived since then. */
static void rcp_end_slot(struct rcp_router *s, const u32 *tun, const struct hw_link *link)
{
	u64 slot_us = (s->slot_end_ns - s->slot_start_ns) / 1000;
	u64 late_us = (link->now_ns - s->slot_end_ns) / 1000;
	u64 part = (hw_min_u64(slot_us, s->rtt_us) << (PART_BITS + FRACTION_BITS)) / s->exact_us;
	u64 input_bytes = hw_min_u64(s->input_bytes, MOST_INPUT_BYTES);

	rcp_average(s, tun, link, part);
	part = (hw_min_u64(slot_us, s->rtt_us) << (PART_BITS + FRACTION_BITS)) / s->exact_us;
	s->queue_bytes = hw_waiting_bytes(link);
	s->input_Bps = hw_div_u64(input_bytes * US_PER_S, slot_us);
	rcp_update(s, tun, link, part);
	if (late_us / IDLE_STEPS)
		rcp_idle(s, tun, link, late_us);
	s->input_bytes = s->next_bytes;
	s->next_bytes = 0;
	s->sum_rtt = 0;
	s->sum_bytes = 0;
	slot_us = (u64)tun[SLOT] * 1000;
	s->slot_start_ns = link->now_ns;
	s->slot_end_ns = link->now_ns + hw_min_u64(s->rtt_us, slot_us) * 1000;
}

static u64 rcp_tick(void *state, const u32 *tun, struct hw_link *link)
{
	struct rcp_router *s = state;

	if (!s->slot_end_ns) {
		rcp_set_rtt(s, ((u64)tun[FIRST_RTT] * 1000) << FRACTION_BITS);
		rcp_set_rate(s, tun, link,
			     (rcp_capacity_Bps(tun, link) * tun[FIRST_RATE] << FRACTION_BITS) /
				     1000);
		s->slot_start_ns = link->now_ns;
		s->slot_end_ns = link->now_ns + (u64)tun[SLOT] * 1000000;
	}
	if (link->now_ns >= s->slot_end_ns)
		rcp_end_slot(s, tun, link);
	return s->slot_end_ns;
}

static u32 rcp_arrive(void *state, const u32 *tun, struct hw_link *link,
		      const struct hw_packet *pkt, void *header)
{
	struct rcp_router *s = state;
	const struct rcp_fields *rcp = header;
	u64 takes_ns = hw_div_u64(pkt->ip_bytes * NS_PER_S, rcp_capacity_Bps(tun, link));
	u64 left_ns = s->slot_end_ns > link->now_ns ? s->slot_end_ns - link->now_ns : 0;
	u64 now_bytes = pkt->ip_bytes;

	if (takes_ns > left_ns)
		now_bytes = hw_div_u64(pkt->ip_bytes * left_ns, takes_ns);
	s->input_bytes += now_bytes;
	s->next_bytes += pkt->ip_bytes - now_bytes;
	if (rcp && rcp->rate_Bps && rcp->rtt_us) {
		s->sum_rtt += (u64)hw_min_u32(rcp->rtt_us, MOST_RTT_US) * pkt->ip_bytes;
		s->sum_bytes += pkt->ip_bytes;
	}
	return HW_PASS;
}

static void rcp_depart(void *state, const u32 *tun, struct hw_link *link,
		       const struct hw_packet *pkt, void *header)
{
	struct rcp_router *s = state;
	struct rcp_fields *rcp = header;
	u32 pkts = hw_max_u32(pkt->pkts, 1);

	(void)tun;
	(void)link;
	if (!rcp || !rcp->rate_Bps)
		return;
	s->headers += pkts;
	if (rcp->rate_Bps > s->rate_Bps) {
		rcp->rate_Bps = s->rate_Bps;
		s->lowered += pkts;
	}
}

HW_TABLE struct hw_router_ops hw_router_rcp = {
	.name = "rcp",
	.title = "RCP's router: one rate for all flows",
	.source = "Dukkipati 2007; Scharf 2011 eq. 4.21; Zhang, Dukkipati, Masayoshi, rcp.cc",
	.state_bytes = sizeof(struct rcp_router),
	.n_tunables = HW_COUNT(rcp_tunables),
	.tunables = rcp_tunables,
	.n_counters = HW_COUNT(rcp_counters),
	.counters = rcp_counters,
	.header = &hw_header_rcp,
	.arrive = rcp_arrive,
	.depart = rcp_depart,
	.tick = rcp_tick,
};
