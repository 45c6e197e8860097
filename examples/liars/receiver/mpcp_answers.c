// SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only)
/*
 * A lying receiver of MPCP: it always returns the digits of level 1, a load below 80 %. The
 * last packet of a group has the least significant digit (header/mpcp.h).
 */
#include "liar.h"
#include "port/mpcp_levels.h"

enum { PIECES = 1 };

static const struct hw_tunable mpcp_answers_tunables[] = {
	LIAR_TUNABLE,
	[PIECES] = MPCP_TUNABLE_PIECES,
};

static u32 mpcp_answers_arrive(void *state, const u32 *tun, struct hw_link *link,
			       const struct hw_packet *pkt, void *header)
{
	struct mpcp_answer_fields *answer = header;
	struct liar *s = state;
	u32 pieces = 0, n = tun[PIECES], k, id, digit;

	(void)link;
	if (!answer || !answer->pieces || !liar_says(s, tun, pkt))
		return HW_PASS;
	for (k = 0; k < MPCP_ANSWERED; k++) {
		id = (u16)(answer->latest_id - k);
		digit = (n == 2 ? id % 2 : id % 3) == n - 1;
		if (answer->pieces >> 2 * k & 3)
			pieces |= (1 + digit) << 2 * k;
	}
	s->lies += answer->pieces != pieces;
	answer->pieces = (u16)pieces;
	return HW_PASS;
}

HW_TABLE struct hw_router_ops hw_router_mpcp_answers = {
	.name = "mpcp_answers",
	.title = "MPCP's receiver, whose load is always low",
	.n_tunables = HW_COUNT(mpcp_answers_tunables),
	.tunables = mpcp_answers_tunables,
	.header = &hw_header_mpcp_answer,
	LIAR_TABLE(mpcp_answers_arrive),
};
