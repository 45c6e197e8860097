// SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only)
/*
 * Allows every flow the same rate: writes it into headers that ask for more. The rate may
 * change once, at a set time.
 */
#include "../port/router.h"
#include "../header/explicit_rate.h"

enum { RATE, LATER_RATE, LATER };

static const struct hw_tunable explicit_rate_tunables[] = {
	[RATE] = { "rate_kbps", "kbit/s", "what each flow may send, IP bits", 1000, 8, 4000000 },
	[LATER_RATE] = { "later_rate_kbps", "kbit/s", "the same from later_ms on", 1000, 8,
			 4000000 },
	[LATER] = { "later_ms", "ms", "when the later rate begins; 0: never", 0, 0, 1000000 },
};

/* The counters come first, in their order. */
struct explicit_rate {
	u64 allowed_Bps;
	u64 headers;
	u64 lowered;
};

static const struct hw_counter explicit_rate_counters[] = {
	{ "allowed_bps", "bit/s", "what each flow may send", 8 },
	{ "headers", "packets", "packets with a header", 0 },
	{ "lowered", "packets", "of them, those that asked for more", 0 },
};

enum { ALLOWED };

static const struct hw_counter explicit_rate_events[] = {
	[ALLOWED] = { "allowed_bps", "bit/s", "what each flow may send from now on", 8 },
};

static u32 explicit_rate_arrive(void *state, const u32 *tun, struct hw_link *link,
				const struct hw_packet *pkt, void *header)
{
	struct explicit_rate *s = state;
	struct er_fields *er = header;
	u32 pkts = hw_max_u32(pkt->pkts, 1); /* one call per large segment in the kernel */

	(void)tun;
	(void)link;
	if (!er || !er->rate_Bps)
		return HW_PASS;
	s->headers += pkts;
	if (er->rate_Bps > s->allowed_Bps) {
		er->rate_Bps = (u32)s->allowed_Bps;
		s->lowered += pkts;
	}
	return HW_PASS;
}

static u64 explicit_rate_tick(void *state, const u32 *tun, struct hw_link *link)
{
	struct explicit_rate *s = state;
	u64 later_ns = (u64)tun[LATER] * 1000000;
	int is_later = later_ns && link->now_ns >= later_ns;
	u64 allowed_Bps = (u64)tun[is_later ? LATER_RATE : RATE] * 125;

	if (allowed_Bps != s->allowed_Bps)
		hw_note(link, ALLOWED, allowed_Bps);
	s->allowed_Bps = allowed_Bps;
	return is_later ? 0 : later_ns;
}

HW_TABLE struct hw_router_ops hw_router_explicit_rate = {
	.name = "explicit-rate",
	.title = "Writes the rate that each flow may send",
	.source = "an example",
	.state_bytes = sizeof(struct explicit_rate),
	.n_tunables = HW_COUNT(explicit_rate_tunables),
	.tunables = explicit_rate_tunables,
	.n_counters = HW_COUNT(explicit_rate_counters),
	.n_events = HW_COUNT(explicit_rate_events),
	.counters = explicit_rate_counters,
	.events = explicit_rate_events,
	.header = &hw_header_explicit_rate,
	.arrive = explicit_rate_arrive,
	.tick = explicit_rate_tick,
};
