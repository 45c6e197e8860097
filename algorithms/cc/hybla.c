// SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only)
/*
 * Hybla (Caini and Firrincieli 2004): the window of a flow with a long round trip grows as fast per
 * second as that of a flow with the round trip RTT0. It adds rho^2 packets per window instead of
 * one (port/hybla_law.h), so a flow over a satellite grows like a terrestrial one. A loss halves
 * the window, as in Reno. Hybla's slow start is the startup of the same name.
 *
 * As in Linux (tcp_hybla.c): growth is per ACK event, whatever the stack counts, and rounded
 * down to 1/128 packet. From cwnd = 16 rho^2 on, growth is therefore slower than the law, and
 * above 128 rho^2 it would stop. Above that, Linux 6.x lets cwnd grow by one per window; 2.6.24
 * does not (carry=off). growth_bits above 7 keeps finer fractions, which gives the paper's law
 * at any window.
 *
 * As in Linux, this law grows no window beyond 65,535 packets. Differences from Linux: outside
 * Open, where Reno's law applies, the window may grow beyond that; fractions of a packet are
 * not carried over from slow start. Valid for any window and round trip.
 */
#include "../port/hybla_law.h"

enum { RTT0, GROWTH_BITS, CARRY };

static const struct hw_tunable hybla_tunables[] = {
	[RTT0] = { "rtt0_ms", "ms", "round trip of the reference flow that grows equally fast",
		   HW_HYBLA_RTT0_MS, 1, 10000 },
	[GROWTH_BITS] = { "growth_bits", "bits", "fractional bits of the growth per ACK; Linux: 7",
			  7, 7, 16 },
	[CARRY] = { "carry", "bool",
		    "grow by one packet per window where the growth per ACK rounds to 0 (Linux "
		    "6.x)",
		    1, 0, 1 },
};

struct hybla {
	struct hw_hybla rho;
	u32 part; /* fraction of a packet by which the window exceeds cwnd, << growth_bits */
};

static void hybla_init(void *state, const u32 *tun, struct hw_conn *c)
{
	struct hybla *s = state;

	hw_hybla_follow(&s->rho, tun[RTT0], c->srtt_us);
}

static void hybla_pkts_acked(void *state, const u32 *tun, struct hw_conn *c,
			     const struct hw_ack *ack)
{
	struct hybla *s = state;

	(void)ack;
	hw_hybla_follow(&s->rho, tun[RTT0], c->srtt_us);
}

static void hybla_cong_avoid(void *state, const u32 *tun, struct hw_conn *c, u32 acked_pkts)
{
	struct hybla *s = state;
	u32 bits = hw_clamp_u32(tun[GROWTH_BITS], 7, 16);
	u64 rho_8 = s->rho.rho_8;
	u64 growth;

	if (!hw_hybla_holds(&s->rho, c)) {
		hw_reno_cong_avoid(state, tun, c, acked_pkts);
		return;
	}
	/* growth per ACK, rho^2 / cwnd; no overflow, because rho_8 is below 2^26 */
	growth = hw_div_u64((rho_8 * rho_8) << (bits - 2 * HW_HYBLA_RHO_SHIFT), c->cwnd_pkts);
	if (growth < 1u << bits)
		c->cwnd_cnt = hw_add_u32(c->cwnd_cnt, 1);
	if (hw_hybla_grow(c, &s->part, growth, bits)) {
		c->cwnd_cnt = 0;
	} else if (!growth && tun[CARRY] && c->cwnd_cnt >= c->cwnd_pkts) {
		hw_hybla_grow(c, &s->part, 1u << bits, bits);
		c->cwnd_cnt = 0;
	}
}

HW_TABLE struct hw_cc_ops hw_cc_hybla = {
	.name = "hybla",
	.title = "Hybla: grows like a flow with a round trip of 25 ms",
	.source = "Caini, Firrincieli 2004; Linux tcp_hybla.c",
	.startup = "hybla",
	.state_bytes = sizeof(struct hybla),
	.n_tunables = HW_COUNT(hybla_tunables),
	.tunables = hybla_tunables,
	.init = hybla_init,
	.pkts_acked = hybla_pkts_acked,
	.cong_avoid = hybla_cong_avoid,
	.ssthresh = hw_reno_ssthresh,
	.min_cwnd = hw_reno_min_cwnd,
};
