// SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only)
/*
 * The traffic monitor of a proxy with local router assistance (Li, Yousefi'zadeh, "RAPPEP",
 * 2010, section III.B): at the outgoing link of the proxy's own senders it measures what XCP's
 * and VCP's routers measure, and publishes it (../port/monitor.h) instead of writing it into
 * headers. Differences from those routers, as in the paper: traffic counts when it leaves, not
 * when it is offered, so overload shows only in the queue. The round trip is configured, not
 * measured, because all flows have the link's round trip.
 *
 * Every rtt_ms it computes the spare bandwidth with XCP's efficiency controller
 * (../port/efficiency.h). The controller's queue is the minimum that waited behind a departing
 * packet in half a round trip. Every 200 ms it computes demand and capacity of VCP's load
 * factor (../port/load_factor.h). The paper leaves open how flows share spare bandwidth. For
 * sharing, the monitor publishes the number of flows that sent data, estimated by linear
 * counting (Whang, Vander-Zanden, Taylor, ACM TODS 15(2), 1990) with 4096 bits: within 4 % up
 * to 2000 flows. Packets of up to 128 bytes do not count as data. For starting connections
 * (../port/local.h) it also publishes three numbers: connections whose SYN or SYN-ACK has left
 * but no data, for at least two control intervals; connections whose first data has left, until
 * a whole load interval includes it; and all connections that were opened or sent data in two
 * such intervals.
 *
 * How the capacity is found is Headway's own; the paper assumes that it is known. `told` uses
 * capacity_kbps, or the link's rate. If the told capacity is too high, a queue of alpha/beta =
 * 1.8 times the surplus of a round trip remains. If it is too low, the rest of the link is not
 * used. `measured` works as follows:
 * - While packets wait, the link sends at its capacity. A train is a series of packets that
 *   each left with others waiting behind. A train of TRAIN_PKTS packets, or of 8 packets in at
 *   least 200 ms, measures the capacity exactly. The monitor uses the latest measurement: at
 *   once if it is smaller than the present capacity, otherwise from the next interval on.
 * - Before the first train, capacity is FIRST_GUESS times the traffic. Flows then grow by 1.2
 *   times their rate in a round trip, a little faster than slow start.
 * - If HOLD intervals have no train and no queue, and 7/8 of the capacity is used, the capacity
 *   may have grown. The monitor then assumes 1/16 more, then 1/8 more, up to 1/2 more, as long
 *   as flows use the larger capacity without a queue. The resulting queue is about
 *   alpha/beta/16 of a round trip's data, in one of HOLD intervals.
 *
 * Valid from 100 kbit/s to 40 Gbit/s and round trips from 1 ms to 3.2 s. If rtt_ms is too
 * long, flows react slowly. If it is too short by more than half, the spare bandwidth
 * oscillates, as with XCP's routers.
 */
#include "../port/efficiency.h"
#include "../port/load_factor.h"
#include "../port/recent.h"

enum { RTT, CAPACITY, CAPACITY_KBPS, ALPHA, BETA, GAMMA, TARGET };
enum { TOLD, MEASURED };

static const struct hw_tunable pep_tunables[] = {
	[RTT] = { "rtt_ms", "ms", "round trip of the link's flows without a queue", 600, 1, 3200 },
	[CAPACITY] = { "capacity", "told|measured", "how the monitor knows the link's capacity",
		       TOLD, TOLD, MEASURED },
	[CAPACITY_KBPS] = { "capacity_kbps", "kbit/s",
			    "capacity with capacity=told; 0: the link's rate", 0, 0, 100000000 },
	[ALPHA] = HW_EFFICIENCY_ALPHA,
	[BETA] = HW_EFFICIENCY_BETA,
	[GAMMA] = HW_EFFICIENCY_GAMMA,
	[TARGET] = HW_TUNABLE_TARGET,
};

#define NS_PER_S    1000000000ull
#define MOST_BYTES  18000000000ull /* upper bound of the traffic in an interval */
#define FLOW_BITS   HW_RECENT_BITS
#define LEAST_DATA  129 /* smallest packet that counts as a flow's data */
#define TRAIN_PKTS  64
#define SHORT_PKTS  8
#define SHORT_NS    200000000ull
#define FIRST_GUESS 4
#define FIRST_BYTES 15000 /* assumed at first: bytes per round trip, about one initial window */
#define HOLD	    4
#define RECENT	    2  /* control intervals */
#define LEAST_PROBE 16 /* the first assumed growth of the capacity is capacity / 16 */
#define MOST_PROBE  2

/* State of the monitor. It begins with the counters, in the order of their descriptions. */
struct pep_monitor {
	u64 output_Bps; /* traffic of the last control interval */
	u64 capacity_Bps;
	u64 persistent_bytes;
	u64 give_Bps;
	u64 take_Bps;
	u64 load_percent;
	u64 flows;
	u64 intervals;

	u64 begun_ns; /* when the present control interval began */
	u64 end_ns;   /* 0: nothing has begun */
	u64 queue_end_ns;
	u64 output_bytes; /* since begun_ns */
	u64 least_bytes;  /* smallest queue since the present T_q, half a round trip, began */
	u64 train_ns;	  /* when the train that is being measured began */
	u64 train_bytes;
	u64 train_Bps; /* rate of the latest complete train; 0: none so far */
	u32 train_pkts;
	u32 last_bytes; /* size of the packet that is being sent */
	u32 is_train;
	u32 trains; /* complete trains in this control interval */
	u32 quiet;  /* control intervals since the last one with a train */
	u32 probe;  /* the next assumed growth of the capacity is capacity / probe */
	u32 used_bits;
	u32 began;	/* connections whose first data left in this load interval */
	u32 began_last; /* connections whose first data left in the previous load interval */
	u32 unused;
	u64 bits[FLOW_BITS / 64];
	struct hw_recent opened;  /* opened connections that have sent no data so far */
	struct hw_recent present; /* connections that were opened or sent data */
	struct hw_load load;
};

_Static_assert(sizeof(struct pep_monitor) <= HW_ROUTER_STATE_BYTES, "state of a router");

static const struct hw_counter pep_counters[] = {
	{ "output_bps", "bit/s", "traffic that left in the last control interval", 8 },
	{ "capacity_bps", "bit/s", "capacity that the monitor assumes", 8 },
	{ "persistent_queue_bytes", "bytes", "smallest queue in half a round trip", 0 },
	{ "give_bps", "bit/s", "by how much all flows together may grow in this interval", 8 },
	{ "take_bps", "bit/s", "by how much all flows together must shrink in this interval", 8 },
	{ "load_percent", "%", "load factor of the last 200 ms", 0 },
	{ "flows", "flows", "flows that sent data in the last control interval", 0 },
	{ "intervals", "intervals", "control intervals so far", 0 },
};

/* The estimated number of flows that have set `used` of the m bits: -m ln(1 - used/m), computed
 * as a series. */
static u32 pep_count(u32 used)
{
	u64 part = ((u64)hw_min_u32(used, FLOW_BITS) << 20) / FLOW_BITS, power = part, sum = 0;
	u32 k;

	for (k = 1; k <= 16; k++) {
		sum += power / k;
		power = power * part >> 20;
	}
	return (u32)((sum * FLOW_BITS + (1 << 19)) >> 20);
}

/* Computes by how much flows should grow and shrink, from the present capacity, traffic and
 * queue. */
static void pep_decide(struct pep_monitor *s, const u32 *tun)
{
	struct hw_efficiency e =
		hw_efficiency(s->capacity_Bps, s->output_Bps, s->persistent_bytes,
			      (u64)tun[RTT] * 1000, tun[ALPHA], tun[BETA], tun[GAMMA]);

	s->give_Bps = e.shuffle_Bps + e.raise_Bps;
	s->take_Bps = e.shuffle_Bps + e.cut_Bps;
}

/* The capacity for the next control interval in the mode `measured`. */
static u64 pep_set_capacity(struct pep_monitor *s, const u32 *tun)
{
	u64 first_Bps = FIRST_BYTES * 1000 / tun[RTT];

	if (s->trains) {
		s->quiet = 0;
		s->probe = LEAST_PROBE;
		return s->train_Bps;
	}
	if (!s->train_Bps) {
		if (first_Bps < s->output_Bps * FIRST_GUESS)
			first_Bps = s->output_Bps * FIRST_GUESS;
		return first_Bps > s->capacity_Bps ? first_Bps : s->capacity_Bps;
	}
	s->quiet = hw_add_u32(s->quiet, 1);
	if (s->quiet < HOLD || s->persistent_bytes || s->output_Bps < s->capacity_Bps / 8 * 7)
		return s->capacity_Bps;
	first_Bps = s->capacity_Bps + s->capacity_Bps / hw_max_u32(s->probe, MOST_PROBE);
	s->probe = hw_max_u32(s->probe / 2, MOST_PROBE);
	return first_Bps;
}

static u64 pep_configured_Bps(const u32 *tun, const struct hw_link *link)
{
	return tun[CAPACITY_KBPS] ? (u64)tun[CAPACITY_KBPS] * 125 : link->rate_Bps;
}

static void pep_end_interval(struct pep_monitor *s, const u32 *tun, const struct hw_link *link)
{
	u64 bytes = hw_min_u64(s->output_bytes, MOST_BYTES);
	u32 k;

	s->output_Bps = hw_div_u64(bytes * NS_PER_S, link->now_ns - s->begun_ns);
	s->capacity_Bps = tun[CAPACITY] == MEASURED ? pep_set_capacity(s, tun)
						    : pep_configured_Bps(tun, link);
	s->flows = pep_count(s->used_bits);
	s->intervals++;
	if (s->intervals % RECENT == 0) {
		hw_recent_age(&s->opened);
		hw_recent_age(&s->present);
	}
	pep_decide(s, tun);
	s->output_bytes = 0;
	s->trains = 0;
	s->used_bits = 0;
	for (k = 0; k < FLOW_BITS / 64; k++)
		s->bits[k] = 0;
	s->begun_ns = link->now_ns;
	s->end_ns = link->now_ns + (u64)tun[RTT] * 1000000;
}

/* Runs the timers of the control interval, of T_q and of the load interval. The call may be
 * late. */
static u64 pep_tick(void *state, const u32 *tun, struct hw_link *link)
{
	struct pep_monitor *s = state;
	u64 rtt_ns = (u64)tun[RTT] * 1000000;
	u64 waits_bytes = hw_waiting_bytes(link);

	if (!s->end_ns) {
		s->begun_ns = link->now_ns;
		s->end_ns = link->now_ns + rtt_ns;
		s->queue_end_ns = link->now_ns + rtt_ns / 2;
		s->least_bytes = waits_bytes;
		s->probe = LEAST_PROBE;
		s->capacity_Bps = tun[CAPACITY] == MEASURED ? FIRST_BYTES * 1000 / tun[RTT]
							    : pep_configured_Bps(tun, link);
	}
	if (link->now_ns >= s->queue_end_ns) {
		s->persistent_bytes = hw_min_u64(s->least_bytes, waits_bytes);
		s->least_bytes = waits_bytes;
		s->queue_end_ns = link->now_ns + rtt_ns / 2;
	}
	if (hw_load_tick_at(&s->load, link, s->capacity_Bps, tun[TARGET])) {
		s->load_percent = hw_load_percent(&s->load);
		s->began_last = s->began;
		s->began = 0;
	}
	if (link->now_ns >= s->end_ns)
		pep_end_interval(s, tun, link);
	return hw_min_u64(hw_min_u64(s->end_ns, s->queue_end_ns), s->load.sample_ns);
}

/* Measures trains; called when a packet's transmission begins. The previous packet has left
 * with this one behind it, so it is part of a train. */
static void pep_measure(struct pep_monitor *s, const u32 *tun, const struct hw_link *link,
			u32 ip_bytes)
{
	u64 lasts_ns = link->now_ns - s->train_ns;

	if (s->is_train) {
		s->train_bytes += s->last_bytes;
		s->train_pkts++;
		if (lasts_ns && (s->train_pkts >= TRAIN_PKTS ||
				 (lasts_ns >= SHORT_NS && s->train_pkts >= SHORT_PKTS))) {
			s->train_Bps = hw_div_u64(s->train_bytes * NS_PER_S, lasts_ns);
			s->trains++;
			s->is_train = 0;
			if (tun[CAPACITY] == MEASURED && s->train_Bps < s->capacity_Bps) {
				s->capacity_Bps = s->train_Bps;
				pep_decide(s, tun);
			}
		}
	}
	if (!link->queue_bytes) {
		s->is_train = 0;
	} else if (!s->is_train) {
		s->is_train = 1;
		s->train_ns = link->now_ns;
		s->train_bytes = 0;
		s->train_pkts = 0;
	}
	s->last_bytes = ip_bytes;
}

/* Records that a connection opens or sends data. */
static void pep_note_connection(struct pep_monitor *s, u32 at, u32 opens)
{
	hw_recent_put(&s->present, at);
	if (opens)
		hw_recent_put(&s->opened, at);
	else
		s->began += hw_recent_take(&s->opened, at);
}

static void pep_depart(void *state, const u32 *tun, struct hw_link *link,
		       const struct hw_packet *pkt, void *header)
{
	struct pep_monitor *s = state;
	u32 at;

	(void)header;
	hw_load_offered(&s->load, pkt);
	s->output_bytes += pkt->ip_bytes;
	s->least_bytes = hw_min_u64(s->least_bytes, link->queue_bytes);
	pep_measure(s, tun, link, pkt->ip_bytes);
	if (pkt->ip_bytes < LEAST_DATA && !pkt->opens)
		return;
	at = hw_recent_at(pkt->flow);
	pep_note_connection(s, at, pkt->opens);
	if (pkt->opens || s->bits[at / 64] >> at % 64 & 1)
		return;
	s->bits[at / 64] |= 1ull << at % 64;
	s->used_bits++;
}

static void pep_publish(const void *state, const u32 *tun, struct hw_monitor *monitor)
{
	const struct pep_monitor *s = state;

	(void)tun;
	monitor->output_Bps = s->output_Bps;
	monitor->give_Bps = s->give_Bps;
	monitor->take_Bps = s->take_Bps;
	monitor->demand_bytes = s->load.demand_bytes;
	monitor->capacity_bytes = s->load.capacity_bytes;
	monitor->capacity_Bps = s->capacity_Bps;
	monitor->flows = hw_saturate_u32(s->flows);
	monitor->intervals = hw_saturate_u32(s->intervals);
	monitor->opening = hw_recent_count(&s->opened) + s->began + s->began_last;
	monitor->present = hw_recent_count(&s->present);
}

HW_TABLE struct hw_router_ops hw_router_pep_monitor = {
	.name = "pep-monitor",
	.title = "A proxy's traffic monitor: publishes spare bandwidth and load to local senders",
	.source = "Li, Yousefi'zadeh, RAPPEP, 2010; Katabi, Handley, Rohrs 2002; Xia et al. 2005",
	.state_bytes = sizeof(struct pep_monitor),
	.n_tunables = HW_COUNT(pep_tunables),
	.tunables = pep_tunables,
	.n_counters = HW_COUNT(pep_counters),
	.counters = pep_counters,
	.depart = pep_depart,
	.tick = pep_tick,
	.publish = pep_publish,
};
