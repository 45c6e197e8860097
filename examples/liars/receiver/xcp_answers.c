// SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only)
/* A lying receiver of XCP: it returns twice the increase that routers assigned, and none of the
 * decrease. */
#include "liar.h"
#include "header/xcp.h"

static const struct hw_tunable xcp_answers_tunables[] = { LIAR_TUNABLE };

static u32 xcp_answers_arrive(void *state, const u32 *tun, struct hw_link *link,
			      const struct hw_packet *pkt, void *header)
{
	struct xcp_fields *xcp = header;
	struct liar *s = state;

	(void)link;
	if (!xcp || !xcp->is_answer || !liar_says(s, tun, pkt))
		return HW_PASS;
	xcp->reverse_Bps = xcp->reverse_Bps > 0 ? xcp_change((s64)xcp->reverse_Bps * 2) : 0;
	s->lies++;
	return HW_PASS;
}

HW_TABLE struct hw_router_ops hw_router_xcp_answers = {
	.name = "xcp_answers",
	.title = "XCP's receiver, returning more than was given",
	.n_tunables = HW_COUNT(xcp_answers_tunables),
	.tunables = xcp_answers_tunables,
	.header = &hw_header_xcp,
	LIAR_TABLE(xcp_answers_arrive),
};
