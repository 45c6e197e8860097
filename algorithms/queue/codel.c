// SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only)
/*
 * Controlled Delay (RFC 8289) on one queue; port/codel_law.h has its law.
 *
 * With ecn, packets that can be marked are marked instead of dropped, by the same law (as in
 * Linux).
 */
#include "../port/queue.h"
#include "../port/codel_law.h"

enum { ECN = HW_CODEL_TUNABLES };

static const struct hw_tunable codel_tunables[] = {
	HW_DECLARE_CODEL,
	[ECN] = { "ecn", "bool", "mark ECN-capable packets instead of dropping them", 0, 0, 1 },
};

struct codel {
	u64 dropped_pkts;
	u64 marked_pkts;
	struct hw_codel law;
};

static const struct hw_counter codel_counters[] = {
	{ "dropped_pkts", "packets", "packets that CoDel dropped", 0 },
	{ "marked_pkts", "packets", "packets that CoDel marked", 0 },
};

static u32 codel_check(const u32 *tun, const struct hw_link *link, struct hw_refusal *why)
{
	(void)link;
	return hw_above(tun, HW_CODEL_TARGET, tun[HW_CODEL_INTERVAL], "at most interval_us", why);
}

static u32 codel_enqueue(void *state, const u32 *tun, const struct hw_link *link,
			 const struct hw_packet *pkt, struct hw_held *held)
{
	(void)state;
	(void)tun;
	if (hw_link_is_full(link, pkt))
		return hw_refuse(held, 0, HW_DROP_FULL);
	return hw_join(held, 0, link, pkt);
}

static u32 codel_dequeue(void *state, const u32 *tun, const struct hw_link *link,
			 struct hw_held *held)
{
	struct codel *s = state;
	const struct hw_waiting *head = hw_head(held, 0);
	u32 behind_bytes = link->queue_bytes - head->pkt.ip_bytes;
	u32 verdict = hw_codel_judge(&s->law, tun, link->now_ns, hw_sojourn_ns(link, head),
				     behind_bytes, tun[ECN] && head->pkt.ecn);

	/* the next packet may have to wait for a shaper, so its sojourn time is not yet known */
	if (verdict == HW_DROP_EARLY) {
		hw_drop_head(held, 0, verdict);
		s->dropped_pkts++;
		return HW_NOWHERE;
	}
	if (verdict == HW_MARK) {
		hw_mark_head(held, 0);
		s->marked_pkts++;
	}
	return 0;
}

HW_TABLE struct hw_queue_ops hw_queue_codel = {
	.name = "codel",
	.title = "Controlled Delay: drops or marks at the head of a standing queue",
	.source = "RFC 8289; Nichols, Jacobson 2012",
	.state_bytes = sizeof(struct codel),
	.n_tunables = HW_COUNT(codel_tunables),
	.tunables = codel_tunables,
	.n_counters = HW_COUNT(codel_counters),
	.counters = codel_counters,
	.check = codel_check,
	.enqueue = codel_enqueue,
	.dequeue = codel_dequeue,
};
