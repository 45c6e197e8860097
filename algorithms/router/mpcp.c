// SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only)
/*
 * MPCP's router (Li, Yousefi'zadeh, CCR 2009, described in RAPPEP): measures the load factor
 * of its link as VCP's does (../port/load_factor.h) and converts it to a congestion level
 * (../port/mpcp_levels.h). A packet's IP identification selects a digit of the level; the
 * router writes it into every MPCP packet that arrives with a lower digit. The router keeps no
 * state per flow; ../header/mpcp.h explains what this costs on paths with several routers.
 *
 * If the level changes between the pieces of a group, the group carries neither the old nor the
 * new level. Each change affects one group per flow, and the next group carries the new level.
 * The digit is written when a packet joins the queue.
 */
#include "../port/mpcp_levels.h"

enum { TARGET, PIECES };

static const struct hw_tunable mpcp_tunables[] = {
	[TARGET] = HW_TUNABLE_TARGET,
	[PIECES] = MPCP_TUNABLE_PIECES,
};

/* State of the router. It begins with the counters, in the order of their descriptions. */
struct mpcp_router {
	u64 load_percent; /* demand in the last interval, in % of the target */
	u64 level;
	u64 queue_bytes; /* that persists */
	u64 headers;
	u64 raised;
	struct hw_load load;
};

static const struct hw_counter mpcp_counters[] = {
	{ "load_percent", "%", "load factor of the last interval", 0 },
	{ "level", "level",
	  "congestion level of the link: 1 below 80 % load, higher with more load", 0 },
	{ "queue_bytes", "bytes", "the persistent queue", 0 },
	{ "headers", "packets", "MPCP packets that arrived", 0 },
	{ "raised", "packets", "MPCP packets that arrived with a lower digit than the link's", 0 },
};

enum { LOAD, LEVEL };

static const struct hw_counter mpcp_events[] = {
	[LOAD] = { "load_percent", "%", "load factor of an interval", 0 },
	[LEVEL] = { "level", "level", "new congestion level of the link", 0 },
};

static void mpcp_init(void *state, const u32 *tun, struct hw_link *link)
{
	struct mpcp_router *s = state;

	(void)tun;
	(void)link;
	s->level = MPCP_LOW;
}

static u32 mpcp_arrive(void *state, const u32 *tun, struct hw_link *link,
		       const struct hw_packet *pkt, void *header)
{
	struct mpcp_router *s = state;
	struct mpcp_fields *mpcp = header;
	u32 weight, piece;

	(void)link;
	hw_load_offered(&s->load, pkt);
	if (!mpcp)
		return HW_PASS;
	s->headers++;
	weight = mpcp_weight(tun[PIECES], tun[PIECES] == 2 ? pkt->ip_id % 2 : pkt->ip_id % 3);
	piece = 1 + (u32)s->level / weight % 3;
	if (mpcp->piece < piece) {
		mpcp->piece = (u8)piece;
		s->raised++;
	}
	return HW_PASS;
}

static u64 mpcp_tick(void *state, const u32 *tun, struct hw_link *link)
{
	struct mpcp_router *s = state;

	if (hw_load_tick(&s->load, link, tun[TARGET])) {
		s->load_percent = hw_load_percent(&s->load);
		s->queue_bytes = s->load.steady_bytes;
		s->level = mpcp_level_of(&s->load, tun[PIECES]);
		hw_note(link, LOAD, s->load_percent);
		hw_note(link, LEVEL, s->level);
	}
	return s->load.sample_ns;
}

HW_TABLE struct hw_router_ops hw_router_mpcp = {
	.name = "mpcp",
	.title = "MPCP: writes the congestion level of its link, a piece per packet",
	.source = "Li, Yousefi'zadeh, CCR 2009, as told in RAPPEP, 2010",
	.state_bytes = sizeof(struct mpcp_router),
	.n_tunables = HW_COUNT(mpcp_tunables),
	.tunables = mpcp_tunables,
	.n_counters = HW_COUNT(mpcp_counters),
	.n_events = HW_COUNT(mpcp_events),
	.counters = mpcp_counters,
	.events = mpcp_events,
	.header = &hw_header_mpcp,
	.init = mpcp_init,
	.arrive = mpcp_arrive,
	.tick = mpcp_tick,
};
