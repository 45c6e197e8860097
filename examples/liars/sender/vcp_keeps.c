// SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only)
/*
 * A disobeying sender of VCP: it treats overload as high load, so only losses reduce its window.
 */
#include "cc/vcp.c"

static void vcp_keeps_on_feedback(void *state, const u32 *tun, struct hw_conn *c,
				  const void *header)
{
	struct vcp_answer_fields heard = *(const struct vcp_answer_fields *)header;

	if (heard.region == VCP_OVER)
		heard.region = VCP_HIGH;
	vcp_on_feedback(state, tun, c, &heard);
}

HW_TABLE struct hw_cc_ops hw_cc_vcp_keeps = {
	.name = "vcp_keeps",
	.title = "VCP's sender, deaf to overload",
	.source = "algorithms/cc/vcp.c",
	.startup = "slow-start",
	.state_bytes = sizeof(struct vcp),
	.flags = HW_CC_PACES,
	.n_tunables = HW_COUNT(vcp_tunables),
	.tunables = vcp_tunables,
	.header = &hw_header_vcp,
	.init = vcp_init,
	.pkts_acked = vcp_pkts_acked,
	.cong_avoid = vcp_cong_avoid,
	.ssthresh = hw_reno_ssthresh,
	.set_state = vcp_set_state,
	.event = vcp_event,
	.min_cwnd = hw_reno_min_cwnd,
	.on_send = vcp_on_send,
	.on_feedback = vcp_keeps_on_feedback,
};
