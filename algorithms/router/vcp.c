// SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only)
/*
 * VCP's router (Xia, Subramanian, Stoica, Kalyanaraman, "One More Bit Is Enough", SIGCOMM
 * 2005; the ns-2 model's vcp-queue): writes the load region of its link into every VCP packet
 * that arrives with a lower one. The load factor is that of ../port/load_factor.h; the region
 * is high from 80 % of the target, over from 100 %.
 *
 * As in the model, the load is in whole per cent plus one, so the limits are 79 and 99 %.
 * Differences from the model: the target follows from the rate, where the model has constants
 * for single rates; the region is written when a packet joins the queue, not when it leaves,
 * so the written region is older by the packet's time in the queue.
 */
#include "../port/load_factor.h"
#include "../header/vcp.h"

#define HIGH_PERCENT 80
#define OVER_PERCENT 100

enum { TARGET };

static const struct hw_tunable vcp_tunables[] = {
	[TARGET] = HW_TUNABLE_TARGET,
};

/* State of the router. It begins with the counters, in the order of their descriptions. */
struct vcp_router {
	u64 load_percent; /* demand in the last interval, in % of the target */
	u64 region;	  /* enum vcp_region */
	u64 queue_bytes;  /* that persists */
	u64 headers;
	u64 raised;
	struct hw_load load;
};

static const struct hw_counter vcp_counters[] = {
	{ "load_percent", "%", "load factor of the last interval", 0 },
	{ "region", "1|2|3", "load region: low, high, over", 0 },
	{ "queue_bytes", "bytes", "the persistent queue", 0 },
	{ "headers", "packets", "VCP packets that arrived", 0 },
	{ "raised", "packets", "VCP packets that arrived with a lower region than the link's", 0 },
};

enum { LOAD, REGION };

static const struct hw_counter vcp_events[] = {
	[LOAD] = { "load_percent", "%", "load factor of an interval", 0 },
	[REGION] = { "region", "1|2|3", "load region: low, high, over", 0 },
};

static void vcp_init(void *state, const u32 *tun, struct hw_link *link)
{
	struct vcp_router *s = state;

	(void)tun;
	(void)link;
	s->region = VCP_LOW;
}

static u32 vcp_arrive(void *state, const u32 *tun, struct hw_link *link,
		      const struct hw_packet *pkt, void *header)
{
	struct vcp_router *s = state;
	struct vcp_fields *vcp = header;

	(void)tun;
	(void)link;
	hw_load_offered(&s->load, pkt);
	if (!vcp)
		return HW_PASS;
	s->headers++;
	if (vcp->region < s->region) {
		vcp->region = (u8)s->region;
		s->raised++;
	}
	return HW_PASS;
}

static u64 vcp_tick(void *state, const u32 *tun, struct hw_link *link)
{
	struct vcp_router *s = state;
	u64 percent;

	if (hw_load_tick(&s->load, link, tun[TARGET])) {
		s->load_percent = hw_load_percent(&s->load);
		s->queue_bytes = s->load.steady_bytes;
		percent = s->load_percent + 1;
		s->region = percent < HIGH_PERCENT   ? VCP_LOW
			    : percent < OVER_PERCENT ? VCP_HIGH
						     : VCP_OVER;
		hw_note(link, LOAD, s->load_percent);
		hw_note(link, REGION, s->region);
	}
	return s->load.sample_ns;
}

HW_TABLE struct hw_router_ops hw_router_vcp = {
	.name = "vcp",
	.title = "VCP: writes the load region of its link",
	.source = "Xia, Subramanian, Stoica, Kalyanaraman, SIGCOMM 2005; ns-2 vcp-queue",
	.state_bytes = sizeof(struct vcp_router),
	.n_tunables = HW_COUNT(vcp_tunables),
	.tunables = vcp_tunables,
	.n_counters = HW_COUNT(vcp_counters),
	.n_events = HW_COUNT(vcp_events),
	.counters = vcp_counters,
	.events = vcp_events,
	.header = &hw_header_vcp,
	.init = vcp_init,
	.arrive = vcp_arrive,
	.tick = vcp_tick,
};
