// SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only)
/*
 * A disobeying sender of MPCP: it replaces a level that would shrink its window by the highest
 * level that does not, so only losses reduce its window.
 */
#include "cc/mpcp.c"

static void mpcp_keeps_on_feedback(void *state, const u32 *tun, struct hw_conn *c,
				   const void *header)
{
	struct mpcp *s = state;
	u32 level = mpcp_levels(MPCP_MAX_PIECES);
	u64 m;

	mpcp_on_feedback(state, tun, c, header);
	while (level > MPCP_FIRST && mpcp_step_of(level, tun[PIECES], &m))
		level--;
	s->level = (u8)hw_min_u32(s->level, level);
}

HW_TABLE struct hw_cc_ops hw_cc_mpcp_keeps = {
	.name = "mpcp_keeps",
	.title = "MPCP's sender, deaf to overload",
	.source = "algorithms/cc/mpcp.c",
	.startup = "slow-start",
	.state_bytes = sizeof(struct mpcp),
	.n_tunables = HW_COUNT(mpcp_tunables),
	.tunables = mpcp_tunables,
	.header = &hw_header_mpcp,
	.init = mpcp_init,
	.pkts_acked = mpcp_pkts_acked,
	.cong_avoid = mpcp_cong_avoid,
	.ssthresh = mpcp_ssthresh,
	.set_state = mpcp_set_state,
	.event = mpcp_event,
	.min_cwnd = mpcp_min_cwnd,
	.on_send = mpcp_on_send,
	.on_feedback = mpcp_keeps_on_feedback,
};
