// SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only)
/*
 * Hybla's slow start (Caini and Firrincieli 2004): 2^rho - 1 packets per ACK instead of one
 * (port/hybla_law.h), up to ssthresh or the first loss. cwnd then grows as fast in time as
 * standard slow start with a round trip of RTT0.
 *
 * As in Linux (tcp_hybla.c): the first window is rho packets instead of the stack's, so one
 * packet on a path of 25 ms; growth is in units of 1/128 packet, and 2^(i/8) comes from a table
 * that is rounded to 1/128. Linux 6.x limits rho to 16. 2.6.24 does not, and its 32-bit product
 * wraps from rho = 25 on: at rho = 32 (800 ms) cwnd stops growing in slow start. max_exponent=0
 * reproduces 2.6.24.
 *
 * Linux does not clamp that first window, but has no round trip above 536 s (rho 21,474). Here
 * it is at most 65,535 packets, as is all growth by this law (port/hybla_law.h).
 *
 * Outside Open it is standard slow start. Valid for any round trip.
 */
#include "../port/hybla_law.h"

#define BITS 7 /* fractional bits of growth in packets */
#define ONE  (1u << BITS)

enum { START_RTT0, MAX_EXPONENT, FIRST_WINDOW };

static const struct hw_tunable hybla_tunables[] = {
	[START_RTT0] = { "start_rtt0_ms", "ms",
			 "round trip of the reference flow whose slow start grows equally fast",
			 HW_HYBLA_RTT0_MS, 1, 10000 },
	[MAX_EXPONENT] = { "max_exponent", "1",
			   "largest rho in 2^rho; 0: none (in Linux 2.6.24 the product wraps)", 16,
			   0, 16 },
	[FIRST_WINDOW] = { "first_window", "bool", "the first window is rho packets", 1, 0, 1 },
};

/* 2^(i/8) */
static const u8 hybla_powers_128[1 << HW_HYBLA_RHO_SHIFT] = {
	128, 139, 152, 165, 181, 197, 215, 234,
};

struct hybla_start {
	struct hw_hybla rho;
	u32 part; /* fraction of a packet by which the window exceeds cwnd, << 7 */
};

static void hybla_start_init(void *state, const u32 *tun, struct hw_conn *c)
{
	struct hybla_start *s = state;

	hw_hybla_follow(&s->rho, tun[START_RTT0], c->srtt_us);
	if (tun[FIRST_WINDOW] && s->rho.rho_8)
		c->cwnd_pkts = hw_hybla_bound(c, s->rho.rho_8 >> HW_HYBLA_RHO_SHIFT);
}

static void hybla_start_pkts_acked(void *state, const u32 *tun, struct hw_conn *c,
				   const struct hw_ack *ack)
{
	struct hybla_start *s = state;

	(void)ack;
	hw_hybla_follow(&s->rho, tun[START_RTT0], c->srtt_us);
}

/* 2^rho - 1, << 7 and modulo 2^32. */
static u32 hybla_start_growth(u32 rho_8, u32 max_exponent)
{
	u32 exponent = rho_8 >> HW_HYBLA_RHO_SHIFT;

	/* compute as on x86, which takes a shift count modulo 32 */
	exponent = max_exponent ? hw_min_u32(exponent, max_exponent) : exponent % 32;
	return (1u << exponent) * hybla_powers_128[rho_8 % HW_COUNT(hybla_powers_128)] - ONE;
}

static u32 hybla_start_grow(void *state, const u32 *tun, struct hw_conn *c, u32 acked_pkts)
{
	struct hybla_start *s = state;

	if (!hw_hybla_holds(&s->rho, c))
		return hw_slow_start(c, acked_pkts);
	/* Hybla's slow start is over at cwnd = ssthresh, but some stacks still call slow_start
	 * then */
	if (c->cwnd_pkts >= c->ssthresh_pkts)
		return acked_pkts;
	hw_hybla_grow(c, &s->part, hybla_start_growth(s->rho.rho_8, tun[MAX_EXPONENT]), BITS);
	c->cwnd_pkts = hw_min_u32(c->cwnd_pkts, c->ssthresh_pkts);
	return 0;
}

HW_TABLE struct hw_startup_ops hw_startup_hybla = {
	.name = "hybla",
	.suffix = "hy",
	.title = "Hybla's slow start: doubles once per 25 ms, whatever the round trip",
	.source = "Caini, Firrincieli 2004; Linux tcp_hybla.c",
	.state_bytes = sizeof(struct hybla_start),
	.n_tunables = HW_COUNT(hybla_tunables),
	.tunables = hybla_tunables,
	.init = hybla_start_init,
	.pkts_acked = hybla_start_pkts_acked,
	.slow_start = hybla_start_grow,
};
