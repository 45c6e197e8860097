// SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only)
/*
 * A disobeying sender of XCP: it accepts increases and ignores decreases. Losses still halve
 * its window.
 */
#include "cc/xcp.c"

static void xcp_keeps_on_feedback(void *state, const u32 *tun, struct hw_conn *c,
				  const void *header)
{
	struct xcp_fields heard = *(const struct xcp_fields *)header;

	if (heard.reverse_Bps < 0)
		heard.reverse_Bps = 0;
	xcp_on_feedback(state, tun, c, &heard);
}

HW_TABLE struct hw_cc_ops hw_cc_xcp_keeps = {
	.name = "xcp_keeps",
	.title = "XCP's sender, deaf to what is taken",
	.source = "algorithms/cc/xcp.c",
	.state_bytes = sizeof(struct xcp),
	.flags = HW_CC_OWN_START,
	.n_tunables = HW_COUNT(xcp_tunables),
	.tunables = xcp_tunables,
	.header = &hw_header_xcp,
	.init = xcp_init,
	.pkts_acked = xcp_pkts_acked,
	.cong_avoid = xcp_cong_avoid,
	.ssthresh = xcp_ssthresh,
	.min_cwnd = xcp_min_cwnd,
	.event = xcp_event,
	.on_send = xcp_on_send,
	.on_feedback = xcp_keeps_on_feedback,
};
