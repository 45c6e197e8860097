// SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only)
/*
 * A lying sender of XCP: it claims half of its window, so each of its packets represents twice
 * the time. Routers share increases by that time and decreases by bytes, so in competition with
 * one honest flow it gets two thirds of the link. It obeys feedback and losses.
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
