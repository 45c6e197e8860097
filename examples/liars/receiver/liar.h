/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/*
 * Lying receivers: a router algorithm at the receivers' outgoing link rewrites the answers of
 * some connections, the first ones that it sees, and does not change the others. The sender
 * cannot distinguish this from a receiver that lies itself.
 */
#ifndef HEADWAY_EXAMPLES_LIAR_H
#define HEADWAY_EXAMPLES_LIAR_H

#include "port/router.h"

#define LIARS_MOST 4

/* The index of the tunable `liars`, which every lying receiver declares first. */
enum { LIARS };

#define LIAR_TUNABLE                                                                               \
	[LIARS] = { "liars", "connections", "number of lying receivers, the first that answer", 1, \
		    0,	     LIARS_MOST }

/* Begins with the counters, in the order of their descriptions. */
struct liar {
	u64 answers;	       /* answers of liars */
	u64 lies;	       /* answers that the liar has changed */
	u64 flows[LIARS_MOST]; /* numbers of the liars' connections; 0: the entry is free */
};

static const struct hw_counter liar_counters[] = {
	{ "answers", "packets", "answers of receivers that lie", 0 },
	{ "lies", "packets", "of them, those that were changed", 0 },
};

/* Whether this packet's answer is to be changed. The first connections that the router sees are
 * the liars. */
static inline int liar_says(struct liar *s, const u32 *tun, const struct hw_packet *pkt)
{
	u32 i;

	for (i = 0; i < LIARS_MOST; i++) {
		if (i >= tun[LIARS])
			return 0;
		if (!s->flows[i])
			s->flows[i] = pkt->flow;
		if (s->flows[i] == pkt->flow) {
			s->answers++;
			return 1;
		}
	}
	return 0;
}

#define LIAR_TABLE(its_arrive)                                      \
	.source = "an example", .state_bytes = sizeof(struct liar), \
	.n_counters = HW_COUNT(liar_counters), .counters = liar_counters, .arrive = its_arrive

#endif
