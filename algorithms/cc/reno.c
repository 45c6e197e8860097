// SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only)
/*
 * Reno: one packet more per window, half on congestion (RFC 5681 section 3.1).
 * NewReno's retransmissions (RFC 6582) are the stack's part; with SACK or
 * without, the window law is this one.
 *
 * As in Linux, congestion halves cwnd, not the flight size. Valid for any window.
 */
#include "../port/cc.h"

static void reno_cong_avoid(void *state, const u32 *tun, struct hw_conn *c, u32 acked_pkts)
{
	(void)state;
	(void)tun;
	hw_additive_increase(c, c->cwnd_pkts, acked_pkts);
}

static u32 reno_ssthresh(void *state, const u32 *tun, struct hw_conn *c)
{
	(void)state;
	(void)tun;
	return hw_max_u32(c->cwnd_pkts / 2, 2);
}

static u32 reno_undo_cwnd(void *state, const u32 *tun, struct hw_conn *c, u32 prior_cwnd_pkts)
{
	(void)state;
	(void)tun;
	return hw_max_u32(c->cwnd_pkts, prior_cwnd_pkts);
}

/* Rate halving may go below ssthresh while the flight is smaller than that. */
static u32 reno_min_cwnd(void *state, const u32 *tun, struct hw_conn *c)
{
	(void)state;
	(void)tun;
	return hw_max_u32(c->ssthresh_pkts / 2, 1);
}

HW_TABLE struct hw_cc_ops hw_cc_reno = {
	.name = "reno",
	.title = "Reno/NewReno: additive increase, halve on loss",
	.source = "RFC 5681, RFC 6582; Linux tcp_cong.c",
	.startup = "slow-start",
	.cong_avoid = reno_cong_avoid,
	.ssthresh = reno_ssthresh,
	.undo_cwnd = reno_undo_cwnd,
	.min_cwnd = reno_min_cwnd,
};
