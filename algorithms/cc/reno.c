// SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only)
/*
 * Reno: one packet more per window, half on congestion (RFC 5681 section 3.1). The stack
 * handles NewReno's retransmissions (RFC 6582). The window law is the same with and without
 * SACK.
 *
 * As in Linux, congestion halves cwnd, not the flight size. Valid for any window.
 */
#include "../port/reno_law.h"

HW_TABLE struct hw_cc_ops hw_cc_reno = {
	.name = "reno",
	.title = "Reno/NewReno: additive increase, halve on loss",
	.source = "RFC 5681, RFC 6582; Linux tcp_cong.c",
	.startup = "slow-start",
	.cong_avoid = hw_reno_cong_avoid,
	.ssthresh = hw_reno_ssthresh,
	.min_cwnd = hw_reno_min_cwnd,
};
