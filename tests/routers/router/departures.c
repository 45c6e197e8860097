// SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only)
/*
 * Lowers the rate in a header when its packet leaves the queue, and counts arrivals and
 * departures: a router that works at the end of the queue, for
 * crates/sim/tests/further/new_protocol.rs.
 */
#include "../port/router.h"
#include "../../protocol/header/explicit_rate.h"

enum { RATE };

static const struct hw_tunable departures_tunables[] = {
	[RATE] = { "rate_kbps", "kbit/s", "what each flow may send, IP bits", 1000, 8, 4000000 },
};

struct departures {
	u64 arrived_pkts;
	u64 departed_pkts;
	u64 waiting_pkts; /* behind the last that left */
};

static const struct hw_counter departures_counters[] = {
	{ "arrived_pkts", "packets", "packets offered to the queue", 0 },
	{ "departed_pkts", "packets", "packets that left the queue", 0 },
	{ "waiting_pkts", "packets", "what waited behind the last that left", 0 },
};

static u32 departures_arrive(void *state, const u32 *tun, struct hw_link *link,
			     const struct hw_packet *pkt, void *header)
{
	struct departures *s = state;

	(void)tun;
	(void)link;
	(void)header;
	s->arrived_pkts += hw_max_u32(pkt->pkts, 1); /* one call per large segment in the kernel */
	return HW_PASS;
}

static void departures_depart(void *state, const u32 *tun, struct hw_link *link,
			      const struct hw_packet *pkt, void *header)
{
	struct departures *s = state;
	struct er_fields *er = header;

	s->departed_pkts += hw_max_u32(pkt->pkts, 1);
	s->waiting_pkts = link->queue_pkts;
	if (er)
		er->rate_Bps = hw_min_u32(er->rate_Bps, tun[RATE] * 125);
}

HW_TABLE struct hw_router_ops hw_router_departures = {
	.name = "departures",
	.title = "Lowers rates behind the queue",
	.source = "a test",
	.state_bytes = sizeof(struct departures),
	.n_tunables = HW_COUNT(departures_tunables),
	.tunables = departures_tunables,
	.n_counters = HW_COUNT(departures_counters),
	.counters = departures_counters,
	.header = &hw_header_explicit_rate,
	.arrive = departures_arrive,
	.depart = departures_depart,
};
