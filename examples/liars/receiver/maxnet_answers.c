// SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only)
/* A lying receiver of MaxNet: it returns a fraction of the received price, or 0, which means
 * that no router takes part. */
#include "liar.h"
#include "header/maxnet.h"

enum { DIVISOR = 1 };

static const struct hw_tunable maxnet_answers_tunables[] = {
	LIAR_TUNABLE,
	[DIVISOR] = { "divisor", "1", "of the price that it returns; 0: returns 0", 2, 0,
		      16777215 },
};

static u32 maxnet_answers_arrive(void *state, const u32 *tun, struct hw_link *link,
				 const struct hw_packet *pkt, void *header)
{
	struct hw_maxnet_fields *option = header;
	struct liar *s = state;

	(void)link;
	if (!option || !option->echo || !liar_says(s, tun, pkt))
		return HW_PASS;
	option->echo = tun[DIVISOR] ? hw_max_u32(option->echo / tun[DIVISOR], 1) : 0;
	s->lies++;
	return HW_PASS;
}

HW_TABLE struct hw_router_ops hw_router_maxnet_answers = {
	.name = "maxnet_answers",
	.title = "MaxNet's receiver, returning a lower price",
	.n_tunables = HW_COUNT(maxnet_answers_tunables),
	.tunables = maxnet_answers_tunables,
	.header = &hw_header_maxnet,
	LIAR_TABLE(maxnet_answers_arrive),
};
