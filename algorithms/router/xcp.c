// SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only)
/*
 * XCP's router (draft-falk-xcp-spec-03, section 4.2; Katabi, Handley, Rohrs, SIGCOMM 2002): an
 * efficiency controller decides by how much the whole traffic should change, and a fairness
 * controller distributes this change to packets. One instance per queue.
 *
 * Two timers are independent of each other. T_e, the control interval, is about a mean round
 * trip. At its end the arrivals y give F = alpha (C - y) - beta Q / d. The router distributes
 * F, and also shuffles a part of the traffic: it takes that part from flows and gives it to
 * flows at once. T_q is about half of T_e; Q is the minimum queue during one T_q. A packet's
 * share of an increase is proportional to the time that it represents (X), so all flows get the
 * same increase. A packet's share of a decrease is proportional to its bytes. When the pool of
 * an interval's increases or decreases is used up, no more is distributed (residues).
 *
 * Differences from the draft: y is computed over the time that really passed, because timers
 * may be late. After an interval in which no packet carried X, F is shared as if there had been
 * a single flow, which adds T_e to the sum of X however fast it sends (the draft divides by 0;
 * ns-2.35's xcpq.cc gives nothing then, so a flow's first packet finds an empty pool on an idle
 * link). The first round trip is assumed to be 50 ms, as in ns-2.35, whose first intervals are
 * random; here they are not. Neither pool gives more than it has left (ns-2.35). All traffic
 * counts in y, also packets without a header (ns-2.35). Packets without RTT or X do not count
 * in the sums of X and of X times RTT. Q excludes the packet in transmission. Changes are
 * rounded at random to what the header can carry, which is right on average.
 *
 * Arithmetic: pools in B/s with 8 fractional bits; shares computed by hw_ratio, within 2^-28
 * and 2^-7 B/s of the f64 result. Valid from 1 Mbit/s to 40 Gbit/s and round trips from 1 ms to
 * 2 s with intervals that fit them; the sum of X times RTT has 96 bits.
 */
#include "../port/efficiency.h"
#include "../port/router.h"
#include "../header/xcp.h"

enum { ALPHA, BETA, GAMMA, LEAST_INTERVAL, MOST_INTERVAL, CAPACITY };

static const struct hw_tunable xcp_tunables[] = {
	[ALPHA] = HW_EFFICIENCY_ALPHA,
	[BETA] = HW_EFFICIENCY_BETA,
	[GAMMA] = HW_EFFICIENCY_GAMMA,
	[LEAST_INTERVAL] = { "least_interval_ms", "ms", "shortest control interval", 5, 1, 1000 },
	[MOST_INTERVAL] = { "most_interval_ms", "ms",
			    "longest control interval; longer RTTs count as this much", 1000, 1,
			    10000 },
	[CAPACITY] = { "capacity_kbps", "kbit/s", "assumed capacity; 0: the link's rate", 0, 0,
		       100000000 },
};

#define FIRST_RTT_US	  50000
#define LEAST_QUEUE_TIMER 2000000 /* ns */
#define FRACTION_BITS	  8	  /* of the pools */
#define MOST_INPUT_BYTES  18000000000ull
#define MOST_X_NS	  (1ull << 40) /* upper bound of the sum of X in one buffer */
#define NS_PER_S	  1000000000ull

/* State of the router. It begins with the counters, in the order of their descriptions. */
struct xcp_router {
	u64 headers;
	u64 rtt_us;	      /* mean RTT, weighted with X */
	u64 interval_us;      /* T_e */
	u64 input_Bps;	      /* y of the last interval */
	u64 persistent_bytes; /* Q */
	u64 raise_Bps;	      /* F of the last interval if F was positive, otherwise 0 */
	u64 cut_Bps;	      /* -F of the last interval if F was negative, otherwise 0 */
	u64 given_Bps;	      /* sum of all positive changes since the start */
	u64 taken_Bps;	      /* sum of all negative changes */

	u64 interval_start_ns;
	u64 interval_end_ns; /* 0: nothing has begun */
	u64 queue_end_ns;    /* of T_q */
	u64 input_bytes;     /* bytes that arrived since interval_start_ns */
	u64 sum_x_ns;	     /* sum of X since interval_start_ns */
	u64 sum_xrtt_low;    /* ns us, below 2^32 */
	u64 sum_xrtt_high;   /* in 2^32 of them */
	u64 give_left;	     /* rest of this interval's pools, B/s << FRACTION_BITS */
	u64 take_left;
	struct hw_ratio give; /* what a packet gets of the pool per ns of its X */
	struct hw_ratio take; /* per byte */
	u32 least_bytes;      /* smallest queue since the present T_q began */
	u32 unused;
};

_Static_assert(sizeof(struct xcp_router) <= HW_ROUTER_STATE_BYTES, "state of a router");

static const struct hw_counter xcp_counters[] = {
	{ "headers", "packets", "packets whose header has the sender's RTT and X", 0 },
	{ "rtt_us", "us", "mean round-trip time of the traffic", 0 },
	{ "interval_us", "us", "control interval", 0 },
	{ "input_bps", "bit/s", "traffic of the last interval", 8 },
	{ "persistent_queue_bytes", "bytes", "smallest queue in half a round trip", 0 },
	{ "raise_bps", "bit/s", "by how much the traffic is to grow in this interval", 8 },
	{ "cut_bps", "bit/s", "by how much the traffic is to shrink in this interval", 8 },
	{ "given_bps", "bit/s", "sum of all positive changes of throughput", 8 },
	{ "taken_bps", "bit/s", "sum of all negative changes of throughput", 8 },
};

static u64 xcp_capacity_Bps(const u32 *tun, const struct hw_link *link)
{
	return tun[CAPACITY] ? (u64)tun[CAPACITY] * 125 : link->rate_Bps;
}

/* Computes the mean of the RTTs, weighted with X; the mean does not change if no packet carried
 * X and RTT. */
static void xcp_average(struct xcp_router *s)
{
	u64 sum, over = 0;

	if (!s->sum_x_ns)
		return;
	if (s->sum_xrtt_high >> 32) {
		over = hw_bits_u64(s->sum_xrtt_high) - 32;
		sum = s->sum_xrtt_high << (32 - over);
	} else {
		sum = s->sum_xrtt_high << 32 | s->sum_xrtt_low;
	}
	sum = hw_div_u64(sum, s->sum_x_ns >> over);
	if (sum)
		s->rtt_us = hw_saturate_u32(sum);
}

/* Ends a control interval: runs the efficiency controller, and fills the pools for the next
 * interval. */
static void xcp_end_interval(struct xcp_router *s, const u32 *tun, const struct hw_link *link)
{
	u64 capacity_Bps = xcp_capacity_Bps(tun, link);
	u64 least_us = (u64)tun[LEAST_INTERVAL] * 1000;
	u64 most_us = (u64)tun[MOST_INTERVAL] * 1000;
	u64 input_bytes = hw_min_u64(s->input_bytes, MOST_INPUT_BYTES);
	struct hw_efficiency e;

	xcp_average(s);
	s->input_Bps = hw_div_u64(input_bytes * NS_PER_S, link->now_ns - s->interval_start_ns);
	e = hw_efficiency(capacity_Bps, s->input_Bps, s->persistent_bytes, s->rtt_us, tun[ALPHA],
			  tun[BETA], tun[GAMMA]);
	s->raise_Bps = e.raise_Bps;
	s->cut_Bps = e.cut_Bps;
	s->give_left = (e.shuffle_Bps + e.raise_Bps) << FRACTION_BITS;
	s->take_left = (e.shuffle_Bps + e.cut_Bps) << FRACTION_BITS;
	s->give = hw_ratio_u64(s->give_left, s->sum_x_ns ? s->sum_x_ns : s->interval_us * 1000);
	s->take = hw_ratio_u64(s->take_left, s->input_bytes);
	s->input_bytes = 0;
	s->sum_x_ns = 0;
	s->sum_xrtt_low = 0;
	s->sum_xrtt_high = 0;
	s->interval_us = hw_min_u64(s->rtt_us, most_us);
	if (s->interval_us < least_us)
		s->interval_us = least_us;
	s->interval_start_ns = link->now_ns;
	s->interval_end_ns = link->now_ns + s->interval_us * 1000;
}

/* Ends a queue interval T_q: sets Q to the smallest queue in it. */
static void xcp_end_queue(struct xcp_router *s, const u32 *tun, const struct hw_link *link)
{
	u32 waiting_bytes = hw_waiting_bytes(link);
	u64 wait_ns = hw_div_u64(waiting_bytes * NS_PER_S, xcp_capacity_Bps(tun, link));
	u64 rtt_ns = s->rtt_us * 1000, lasts_ns = LEAST_QUEUE_TIMER;

	s->persistent_bytes = hw_min_u32(s->least_bytes, waiting_bytes);
	s->least_bytes = waiting_bytes;
	if (rtt_ns > wait_ns && (rtt_ns - wait_ns) / 2 > lasts_ns)
		lasts_ns = (rtt_ns - wait_ns) / 2;
	s->queue_end_ns = link->now_ns + lasts_ns;
}

/* Runs the timers of T_e and T_q, even if the call is late. */
static u64 xcp_tick(void *state, const u32 *tun, struct hw_link *link)
{
	struct xcp_router *s = state;

	if (!s->interval_end_ns) {
		s->rtt_us = FIRST_RTT_US;
		s->interval_us = FIRST_RTT_US;
		s->interval_start_ns = link->now_ns;
		s->interval_end_ns = link->now_ns + s->interval_us * 1000;
		s->queue_end_ns = s->interval_end_ns;
		s->least_bytes = HW_U32_MAX;
	}
	if (link->now_ns >= s->queue_end_ns)
		xcp_end_queue(s, tun, link);
	if (link->now_ns >= s->interval_end_ns)
		xcp_end_interval(s, tun, link);
	return hw_min_u64(s->interval_end_ns, s->queue_end_ns);
}

static u32 xcp_arrive(void *state, const u32 *tun, struct hw_link *link,
		      const struct hw_packet *pkt, void *header)
{
	struct xcp_router *s = state;
	const struct xcp_fields *xcp = header;
	u64 x_ns;

	s->input_bytes += pkt->ip_bytes;
	s->least_bytes = hw_min_u32(s->least_bytes, hw_waiting_bytes(link));
	if (!xcp || !xcp->x_ns || !xcp->rtt_us)
		return HW_PASS;
	x_ns = hw_min_u64((u64)xcp->x_ns * hw_max_u32(pkt->pkts, 1), MOST_X_NS);
	s->sum_x_ns += x_ns;
	s->sum_xrtt_low += x_ns * hw_min_u32(xcp->rtt_us, tun[MOST_INTERVAL] * 1000);
	s->sum_xrtt_high += s->sum_xrtt_low >> 32;
	s->sum_xrtt_low &= HW_U32_MAX;
	return HW_PASS;
}

/*
 * The fairness controller: computes a departing packet's shares of the increase and of the
 * decrease. If the packet requests less than its share, the rest returns to the pool.
 */
static void xcp_depart(void *state, const u32 *tun, struct hw_link *link,
		       const struct hw_packet *pkt, void *header)
{
	struct xcp_router *s = state;
	struct xcp_fields *xcp = header;
	u32 pkts = hw_max_u32(pkt->pkts, 1);
	u64 x_ns, give, take, size;
	s64 change, asked;

	(void)tun;
	if (!xcp || !(xcp->x_ns | xcp->rtt_us | (u32)xcp->delta_Bps))
		return;
	s->headers += pkts;
	x_ns = xcp->rtt_us ? hw_min_u64((u64)xcp->x_ns * pkts, MOST_X_NS) : 0;
	give = hw_min_u64(hw_times(s->give, x_ns), s->give_left);
	take = hw_min_u64(hw_times(s->take, pkt->ip_bytes), s->take_left);
	change = (s64)give - (s64)take;
	asked = (s64)xcp->delta_Bps * pkts * (1 << FRACTION_BITS);
	if (asked < change) {
		take = hw_min_u64(take + (u64)(change - asked), s->take_left);
		give = asked + (s64)take > 0 ? hw_min_u64((u64)(asked + (s64)take), s->give_left)
					     : 0;
		change = asked;
	} else {
		/* the result is a multiple of 2 B/s; round at random so that the mean is right */
		size = (u64)(change < 0 ? -change : change) / pkts;
		size += link->random >> (32 - FRACTION_BITS - 1);
		size = size >> (FRACTION_BITS + 1) << 1;
		xcp->delta_Bps = xcp_change(change < 0 ? -(s64)size : (s64)size);
	}
	xcp->is_stamped = 1;
	s->give_left -= give;
	s->take_left -= take;
	if (!s->give_left)
		s->give.mantissa = 0;
	if (!s->take_left)
		s->take.mantissa = 0;
	if (xcp->delta_Bps > 0)
		s->given_Bps += (u64)xcp->delta_Bps * pkts;
	else
		s->taken_Bps += (u64)(-(s64)xcp->delta_Bps) * pkts;
}

HW_TABLE struct hw_router_ops hw_router_xcp = {
	.name = "xcp",
	.title = "XCP's router: efficiency and fairness controllers",
	.source = "draft-falk-xcp-spec-03; Katabi, Handley, Rohrs 2002; ns-2.35 xcpq.cc",
	.state_bytes = sizeof(struct xcp_router),
	.n_tunables = HW_COUNT(xcp_tunables),
	.tunables = xcp_tunables,
	.n_counters = HW_COUNT(xcp_counters),
	.counters = xcp_counters,
	.header = &hw_header_xcp,
	.arrive = xcp_arrive,
	.depart = xcp_depart,
	.tick = xcp_tick,
};
