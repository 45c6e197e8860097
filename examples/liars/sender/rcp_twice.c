// SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only)
/*
 * A disobeying sender of RCP: it sends at twice the rate that routers allow. They reduce the
 * rate of all flows accordingly, so in competition with one honest flow it gets two thirds of
 * the link.
 */
#include "cc/rcp.c"

static void rcp_twice_on_feedback(void *state, const u32 *tun, struct hw_conn *c,
				  const void *header)
{
	struct rcp_fields heard = *(const struct rcp_fields *)header;

	if (heard.returned_Bps < RCP_UNLIMITED_Bps / 2)
		heard.returned_Bps *= 2;
	rcp_on_feedback(state, tun, c, &heard);
}

HW_TABLE struct hw_cc_ops hw_cc_rcp_twice = {
	.name = "rcp_twice",
	.title = "RCP's sender, at twice the rate",
	.source = "algorithms/cc/rcp.c",
	.state_bytes = sizeof(struct rcp),
	.flags = HW_CC_OWN_START | HW_CC_PACES | HW_CC_ASKS_ON_SYN,
	.n_tunables = HW_COUNT(rcp_tunables),
	.tunables = rcp_tunables,
	.header = &hw_header_rcp,
	.pkts_acked = rcp_pkts_acked,
	.cong_avoid = rcp_cong_avoid,
	.ssthresh = rcp_ssthresh,
	.event = rcp_event,
	.min_cwnd = hw_reno_min_cwnd,
	.on_send = rcp_on_send,
	.on_feedback = rcp_twice_on_feedback,
};
