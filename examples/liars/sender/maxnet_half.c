// SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only)
/*
 * A disobeying sender of MaxNet: it uses half of the price. In equilibrium a window is
 * inversely proportional to the price, so in competition with one honest flow it gets two
 * thirds of the link.
 */
#include "cc/maxnet.c"

static void maxnet_half_on_feedback(void *state, const u32 *tun, struct hw_conn *c,
				    const void *header)
{
	struct hw_maxnet_fields heard = *(const struct hw_maxnet_fields *)header;

	if (heard.echo > 1)
		heard.echo /= 2; /* 0: no router wrote */
	maxnet_on_feedback(state, tun, c, &heard);
}

HW_TABLE struct hw_cc_ops hw_cc_maxnet_half = {
	.name = "maxnet_half",
	.title = "MaxNet's sender, for half the price",
	.source = "algorithms/cc/maxnet.c",
	.state_bytes = sizeof(struct maxnet),
	.flags = HW_CC_OWN_START,
	.n_tunables = HW_COUNT(maxnet_tunables),
	.tunables = maxnet_tunables,
	.header = &hw_header_maxnet,
	.init = maxnet_init,
	.control = maxnet_control,
	.ssthresh = hw_reno_ssthresh,
	.set_state = maxnet_set_state,
	.undo_cwnd = maxnet_undo_cwnd,
	.on_send = maxnet_on_send,
	.on_feedback = maxnet_half_on_feedback,
};
