// SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only)
/*
 * Writes one level into all packets with such bits as they leave, and counts with two
 * independent timers.
 */
#include "../port/router.h"
#include "../header/two_bits.h"

enum { LEVEL };

static const struct hw_tunable two_bits_tunables[] = {
	[LEVEL] = { "level", "level", "what packets carry from here on", 2, 1, 3 },
};

#define SHORT_NS 10000000ull
#define LONG_NS	 35000000ull

struct two_bits {
	u64 written;
	u64 waiting_bytes;
	u64 short_times;
	u64 long_times;
	u64 short_ns; /* when the short timer is due */
	u64 long_ns;
};

static const struct hw_counter two_bits_counters[] = {
	{ "written", "packets", "packets that left with the level", 0 },
	{ "waiting_bytes", "B", "most that waited when one left", 0 },
	{ "short_times", "times", "how often 10 ms had passed", 0 },
	{ "long_times", "times", "how often 35 ms had passed", 0 },
};

static void two_bits_depart(void *state, const u32 *tun, struct hw_link *link,
			    const struct hw_packet *pkt, void *header)
{
	struct two_bits *s = state;

	(void)pkt;
	if (link->queue_bytes > s->waiting_bytes)
		s->waiting_bytes = link->queue_bytes;
	if (!header)
		return;
	((struct tb_fields *)header)->level = (u8)tun[LEVEL];
	s->written++;
}

static u64 two_bits_tick(void *state, const u32 *tun, struct hw_link *link)
{
	struct two_bits *s = state;

	(void)tun;
	if (link->now_ns >= s->short_ns) {
		s->short_times++;
		s->short_ns = link->now_ns + SHORT_NS;
	}
	if (link->now_ns >= s->long_ns) {
		s->long_times++;
		s->long_ns = link->now_ns + LONG_NS;
	}
	return s->short_ns < s->long_ns ? s->short_ns : s->long_ns;
}

HW_TABLE struct hw_router_ops hw_router_two_bits = {
	.name = "two-bits",
	.title = "Writes a level into the ECN bits",
	.source = "an example",
	.state_bytes = sizeof(struct two_bits),
	.n_tunables = HW_COUNT(two_bits_tunables),
	.tunables = two_bits_tunables,
	.n_counters = HW_COUNT(two_bits_counters),
	.counters = two_bits_counters,
	.header = &hw_header_two_bits,
	.depart = two_bits_depart,
	.tick = two_bits_tick,
};
