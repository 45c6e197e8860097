// SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only)
/*
 * Reno: one packet more per window, half on congestion (RFC 5681 section 3.1). The stack
 * handles NewReno's retransmissions (RFC 6582). The window law is the same with and without
 * SACK. Alternative Backoff with ECN (RFC 8511) is off by default, as Linux does not have it.
 *
 * As in Linux, congestion halves cwnd, not the flight size. Valid for any window.
 */
#include "../port/bic_law.h"
#include "../port/reno_law.h"

enum { BETA_ECN };

static const struct hw_tunable reno_tunables[] = {
	[BETA_ECN] = HW_ABE_TUNABLE(819),
};

static u32 reno_ssthresh(void *state, const u32 *tun, struct hw_conn *c)
{
	(void)state;
	return hw_bic_ssthresh(c->cwnd_pkts, hw_abe_beta(c, tun[BETA_ECN], HW_BIC_FULL / 2));
}

HW_TABLE struct hw_cc_ops hw_cc_reno = {
	.name = "reno",
	.title = "Reno/NewReno: additive increase, halve on loss",
	.source = "RFC 5681, RFC 6582; Linux tcp_cong.c",
	.startup = "slow-start",
	.n_tunables = HW_COUNT(reno_tunables),
	.tunables = reno_tunables,
	.cong_avoid = hw_reno_cong_avoid,
	.ssthresh = reno_ssthresh,
	.min_cwnd = hw_reno_min_cwnd,
};
