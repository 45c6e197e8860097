// SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only)
/* A lying receiver of VCP: it always returns low load. */
#include "liar.h"
#include "header/vcp.h"

static const struct hw_tunable vcp_answers_tunables[] = { LIAR_TUNABLE };

static u32 vcp_answers_arrive(void *state, const u32 *tun, struct hw_link *link,
			      const struct hw_packet *pkt, void *header)
{
	struct vcp_answer_fields *answer = header;
	struct liar *s = state;

	(void)link;
	if (!answer || answer->region == VCP_NONE || !liar_says(s, tun, pkt))
		return HW_PASS;
	s->lies += answer->region != VCP_LOW;
	answer->region = VCP_LOW;
	return HW_PASS;
}

HW_TABLE struct hw_router_ops hw_router_vcp_answers = {
	.name = "vcp_answers",
	.title = "VCP's receiver, whose load is always low",
	.n_tunables = HW_COUNT(vcp_answers_tunables),
	.tunables = vcp_answers_tunables,
	.header = &hw_header_vcp_answer,
	LIAR_TABLE(vcp_answers_arrive),
};
