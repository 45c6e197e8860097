// SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only)
/*
 * Proportional Integral controller Enhanced (RFC 8033) on one queue; port/pie_law.h has its law.
 *
 * The defaults are Linux's. DOCSIS cable modems (RFC 8034) have, in these tunables:
 * target=10ms, t_update=16ms, alpha_16ths=4, beta_16ths=40, max_burst=142ms, decay=50,
 * scale=1024B and estimator=rate; they know their rate instead of measuring it.
 */
#include "../port/pie_law.h"

enum { LIMIT = HW_PIE_TUNABLES };

static const struct hw_tunable pie_tunables[] = {
	HW_DECLARE_PIE,
	[LIMIT] = { "limit_pkts", "packets", "limit of the queue, in addition to the link's", 1000,
		    1, 10000000 },
};

struct pie {
	u64 p_ppb;
	u64 delay_us;
	u64 burst_us;
	u64 origin_ns;
	struct hw_pie law;
};

static const struct hw_counter pie_counters[] = {
	{ "p_ppb", "1e-9", "drop probability", 0 },
	{ "delay_us", "us", "queueing delay at the last update", 0 },
	{ "burst_us", "us", "how long nothing is dropped from now on", 0 },
};

static void pie_init(void *state, const u32 *tun, const struct hw_link *link)
{
	struct pie *s = state;

	(void)link;
	hw_pie_init(&s->law, tun);
}

static void pie_tick(void *state, const u32 *tun, const struct hw_link *link,
		     const struct hw_held *held)
{
	struct pie *s = state;

	if (s->origin_ns)
		hw_pie_catch_up(&s->law, tun,
				hw_pi_updates(&s->origin_ns, link->now_ns, tun[HW_PIE_UPDATE]),
				held->bytes);
	s->p_ppb = hw_pi_ppb(s->law.p);
	s->delay_us = s->law.old_delay_ns / 1000;
	s->burst_us = s->law.burst_ns / 1000;
}

static u32 pie_enqueue(void *state, const u32 *tun, const struct hw_link *link,
		       const struct hw_packet *pkt, struct hw_held *held)
{
	struct pie *s = state;
	u64 updates = hw_pi_updates(&s->origin_ns, link->now_ns, tun[HW_PIE_UPDATE]);

	hw_pie_catch_up(&s->law, tun, updates, held->bytes);
	if (hw_link_is_full(link, pkt) || held->pkts >= tun[LIMIT])
		return hw_refuse(held, 0, HW_DROP_FULL);
	return hw_pie_admit(&s->law, tun, link, pkt, held, 0);
}

static u32 pie_dequeue(void *state, const u32 *tun, const struct hw_link *link,
		       struct hw_held *held)
{
	struct pie *s = state;
	u64 updates = hw_pi_updates(&s->origin_ns, link->now_ns, tun[HW_PIE_UPDATE]);

	hw_pie_catch_up(&s->law, tun, updates, held->bytes);
	hw_pie_leaves(&s->law, tun, link, held, 0);
	return 0;
}

HW_TABLE struct hw_queue_ops hw_queue_pie = {
	.name = "pie",
	.title = "PIE: drops or marks arriving packets to hold the queueing delay at a target",
	.source = "RFC 8033, RFC 8034; Pan et al. 2013; Linux sch_pie.c",
	.state_bytes = sizeof(struct pie),
	.n_tunables = HW_COUNT(pie_tunables),
	.tunables = pie_tunables,
	.n_counters = HW_COUNT(pie_counters),
	.counters = pie_counters,
	.init = pie_init,
	.enqueue = pie_enqueue,
	.dequeue = pie_dequeue,
	.tick = pie_tick,
};
