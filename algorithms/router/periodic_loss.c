// SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only)
/*
 * Loses every n-th packet, or marks it CE. Response functions assume such a path (Mathis, Semke,
 * Mahdavi and Ott 1997: "one drop every 1/p packets"); random loss with the same ratio, which a
 * tunable selects, gives other windows. This is a tool for measurements, not a realistic router.
 *
 * Retransmissions count like any packet. In the kernel a buffer of several segments counts,
 * and is lost, as one packet; switch segmentation offload off at the sender.
 */
#include "../port/router.h"

enum { EVERY, MARK, RANDOM };

static const struct hw_tunable periodic_loss_tunables[] = {
	[EVERY] = { "every_pkts", "packets", "one of so many packets is dropped", 1000, 1,
		    1000000000 },
	[MARK] = { "mark", "bool", "marks ECN-capable packets instead", 0, 0, 1 },
	[RANDOM] = { "random", "bool", "chooses packets at random, with the same probability", 0, 0,
		     1 },
};

struct periodic_loss {
	u64 offered;
	u64 lost;
	u64 marked;
	u32 since; /* packets that have passed since the last dropped packet */
};

static const struct hw_counter periodic_loss_counters[] = {
	{ "offered", "packets", "packets that arrived", 0 },
	{ "lost", "packets", "packets that were dropped", 0 },
	{ "marked", "packets", "packets that were marked", 0 },
};

static inline int periodic_loss_strikes(struct periodic_loss *s, const u32 *tun, u32 random)
{
	if (tun[RANDOM])
		return random < (1ull << 32) / tun[EVERY];
	if (++s->since < tun[EVERY])
		return 0;
	s->since = 0;
	return 1;
}

static u32 periodic_loss_arrive(void *state, const u32 *tun, struct hw_link *link,
				const struct hw_packet *pkt, void *header)
{
	struct periodic_loss *s = state;

	(void)header;
	s->offered++;
	if (!periodic_loss_strikes(s, tun, link->random))
		return HW_PASS;
	if (tun[MARK] && pkt->ecn) {
		s->marked++;
		return HW_MARK;
	}
	s->lost++;
	return HW_DROP_EARLY;
}

HW_TABLE struct hw_router_ops hw_router_periodic_loss = {
	.name = "periodic-loss",
	.title = "Loses or marks every n-th packet",
	.source = "Mathis, Semke, Mahdavi, Ott 1997, section 2",
	.state_bytes = sizeof(struct periodic_loss),
	.n_tunables = HW_COUNT(periodic_loss_tunables),
	.tunables = periodic_loss_tunables,
	.n_counters = HW_COUNT(periodic_loss_counters),
	.counters = periodic_loss_counters,
	.arrive = periodic_loss_arrive,
};
