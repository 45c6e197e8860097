// SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only)
/*
 * XCP's sender, lying: it says that its window is half of what it is, so that each of its
 * packets stands for twice the time. Routers share what they give by that time, and take by
 * bytes: of two flows, one of them such, it has two thirds. Obeys what comes back, and losses.
 */
#include "cc/xcp.c"

static u32 xcp_twice_on_send(void *state, const u32 *tun, struct hw_conn *c, void *header)
{
	u32 goes = xcp_on_send(state, tun, c, header);
	struct xcp_fields *xcp = header;

	xcp->x_ns = xcp_rounded((u64)xcp->x_ns * 2);
	return goes;
}

HW_TABLE struct hw_cc_ops hw_cc_xcp_twice = {
	.name = "xcp_twice",
	.title = "XCP's sender, claiming half of its window",
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
	.on_send = xcp_twice_on_send,
	.on_feedback = xcp_on_feedback,
};
