// SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only)
/* A lying receiver of RCP: it returns a multiple of the received rate. */
#include "liar.h"
#include "header/rcp.h"

enum { TIMES = 1 };

static const struct hw_tunable rcp_answers_tunables[] = {
	LIAR_TUNABLE,
	[TIMES] = { "times", "1", "the rate that came", 2, 1, 1000 },
};

static u32 rcp_answers_arrive(void *state, const u32 *tun, struct hw_link *link,
			      const struct hw_packet *pkt, void *header)
{
	struct rcp_fields *rcp = header;
	struct liar *s = state;

	(void)link;
	if (!rcp || !rcp->returned_Bps || !liar_says(s, tun, pkt))
		return HW_PASS;
	if (rcp->returned_Bps < RCP_UNLIMITED_Bps / tun[TIMES]) {
		rcp->returned_Bps = rcp_rounded(rcp->returned_Bps * tun[TIMES]);
		s->lies++;
	}
	return HW_PASS;
}

HW_TABLE struct hw_router_ops hw_router_rcp_answers = {
	.name = "rcp_answers",
	.title = "RCP's receiver, returning a higher rate",
	.n_tunables = HW_COUNT(rcp_answers_tunables),
	.tunables = rcp_answers_tunables,
	.header = &hw_header_rcp,
	LIAR_TABLE(rcp_answers_arrive),
};
