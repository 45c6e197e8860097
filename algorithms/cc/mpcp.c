// SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only)
/*
 * MPCP's sender (Li, Yousefi'zadeh, "MPCP: Multi Packet Congestion-control Protocol", ACM CCR
 * 39(5), 2009, described in "RAPPEP", 2010). These texts do not contain the sender's law. This file
 * uses the law of VCP's ns-2 model for a load factor that is not encoded (vcp-src), with the middle
 * of the level that the pieces form (../port/mpcp_levels.h). Per ACKed packet
 *
 *   w += (1 + m)^(rtt/t_rho) - 1 + alpha s/w,   m = kappa (1/LF - 1), 1/16 below 80 %
 *
 * Additive increase is always active. The flows of a bottleneck converge where m balances it:
 * all at the same rate, with a load factor slightly above 1 of the target.
 *
 * Here s = (rtt/t_rho)^2 for round trips up to 1 s (hw_additive_scale), so the rates converge
 * whatever the round trips are. VCP's ns-2 model divides by 100 ms instead of t_rho; with the 200
 * ms of VCP's paper the queue of converged flows is a quarter as long. Differences from the model:
 * the window falls with every ACK in Open and Disorder, grows only if the flow uses it, and the
 * stack sets it in Recovery. Losses and timeouts follow Reno, with slow start after a timeout but
 * not at the start. With on_loss=keep a loss does not change the window as long as routers write
 * levels. That is right if all losses come from the medium or from a router that takes part, but
 * unfair to others if the bottleneck is a silent router.
 *
 * Level 0 means that no router wrote. After patience_rtts with level 0, or with no answer, the
 * law is Reno's (fall_back.h) until a router writes. Valid for round trips up to 3.2 s.
 */
#include "../port/mpcp_levels.h"

#define REMEMBERED 16 /* number of latest packets whose pieces are kept */

enum { PIECES, ALPHA, ON_LOSS, PATIENCE };
enum { HALVE, KEEP };

static const struct hw_tunable mpcp_tunables[] = {
	[PIECES] = MPCP_TUNABLE_PIECES,
	[ALPHA] = { "alpha", "packets", "growth per round trip for an RTT of t_rho, 200 ms", 1, 1,
		    64 },
	[ON_LOSS] = { "on_loss", "halve|keep", "what a loss does to cwnd", HALVE, HALVE, KEEP },
	/* the default is twice that of other protocols: a level needs several packets, and a
	 * flow may send only one packet per round trip */
	[PATIENCE] = { "patience_rtts", "round trips",
		       "without a router's answer, and 200 ms, until it falls back to Reno", 8, 1,
		       1000 },
};

struct mpcp {
	struct hw_fall_back fall_back;
	/* received pieces, two bits per packet: the lowest two bits are of packet latest_id, the
	 * next two of the packet before it */
	u32 pieces;
	u32 fraction; /* fraction of a packet by which the window exceeds cwnd, in units of 2^-30 */
	u32 acked_pkts; /* packets acknowledged by the latest ACK */
	u16 latest_id;	/* IP identification */
	u8 level;	/* 0: none is known */
	u8 unused[5];
};

static void mpcp_init(void *state, const u32 *tun, struct hw_conn *c)
{
	(void)state;
	(void)tun;
	c->ssthresh_pkts = 1;
}

static u32 mpcp_on_send(void *state, const u32 *tun, struct hw_conn *c, void *header)
{
	(void)tun;
	((struct mpcp_fields *)header)->piece = 1;
	hw_asks(&((struct mpcp *)state)->fall_back, c);
	return 1;
}

/* The level of the latest group of packets whose pieces have all arrived; 0: no complete group. */
static u32 mpcp_latest_level(const struct mpcp *s, u32 n)
{
	u32 k, id, first, second, third;

	for (k = 0; k + n <= REMEMBERED; k++) {
		id = (u16)(s->latest_id - k);
		if ((n == 2 ? id % 2 : id % 3) != n - 1)
			continue;
		third = s->pieces >> 2 * k & 3;
		second = s->pieces >> (2 * k + 2) & 3;
		first = n == 2 ? 1 : s->pieces >> (2 * k + 4) & 3;
		if (third && second && first)
			return 9 * (first - 1) + 3 * (second - 1) + third - 1;
	}
	return 0;
}

static void mpcp_on_feedback(void *state, const u32 *tun, struct hw_conn *c, const void *header)
{
	const struct mpcp_answer_fields *answer = header;
	struct mpcp *s = state;
	u32 level;

	s->pieces =
		mpcp_merge(s->pieces, &s->latest_id, REMEMBERED, answer->pieces, answer->latest_id);
	level = mpcp_latest_level(s, tun[PIECES]);
	if (!level)
		return;
	s->level = (u8)level;
	hw_router_answered(&s->fall_back, c);
	if (level > MPCP_LOW)
		hw_leave_slow_start(c);
}

HW_PART mpcp_acked(struct mpcp *s, struct hw_conn *c, u32 acked_pkts, u32 patience, u32 pieces)
{
	u64 m, power;

	if (!s || !c)
		return 0;
	s->acked_pkts = acked_pkts;
	if (hw_uses_reno(&s->fall_back, c, patience, 0) || c->ca_state > HW_CA_DISORDER ||
	    !mpcp_step_of(s->level, pieces, &m))
		return 0;
	power = hw_step_power(m, 1, c->srtt_us);
	hw_window_shrink(c, &s->fraction,
			 (HW_STEP_ONE - power) * hw_min_u32(acked_pkts, c->cwnd_pkts));
	hw_leave_slow_start(c);
	return 0;
}

static void mpcp_pkts_acked(void *state, const u32 *tun, struct hw_conn *c,
			    const struct hw_ack *ack)
{
	mpcp_acked(state, c, ack->acked_pkts, tun[PATIENCE], tun[PIECES]);
}

static void mpcp_cong_avoid(void *state, const u32 *tun, struct hw_conn *c, u32 acked_pkts)
{
	struct mpcp *s = state;
	u32 pkts = hw_stepping_pkts(c, acked_pkts, s->acked_pkts);
	u64 scale, m, by = 0;

	if (s->fall_back.alone) {
		hw_reno_cong_avoid(state, tun, c, acked_pkts);
		return;
	}
	if (!mpcp_step_of(s->level, tun[PIECES], &m))
		by = (hw_step_power(m, 0, c->srtt_us) - HW_STEP_ONE) * pkts;
	scale = hw_additive_scale(c->srtt_us, HW_LOAD_INTERVAL_US) * tun[ALPHA];
	hw_window_grow(c, &s->fraction, by + hw_additive_part(c, scale, pkts));
}

/* Whether a loss leaves the window unchanged. This is so with on_loss=keep while routers answer:
 * routers then signal overload, so a loss need not reduce the window. */
static u32 mpcp_keeps_window(const struct mpcp *s, const u32 *tun)
{
	return tun[ON_LOSS] == KEEP && !s->fall_back.alone;
}

static u32 mpcp_ssthresh(void *state, const u32 *tun, struct hw_conn *c)
{
	return mpcp_keeps_window(state, tun) ? hw_max_u32(c->cwnd_pkts, 2)
					     : hw_reno_ssthresh(state, tun, c);
}

static u32 mpcp_min_cwnd(void *state, const u32 *tun, struct hw_conn *c)
{
	return mpcp_keeps_window(state, tun) ? c->ssthresh_pkts : hw_reno_min_cwnd(state, tun, c);
}

static void mpcp_set_state(void *state, const u32 *tun, struct hw_conn *c, u8 new_state)
{
	struct mpcp *s = state;

	(void)tun;
	(void)c;
	if (new_state >= HW_CA_CWR)
		s->fraction = 0;
}

static void mpcp_event(void *state, const u32 *tun, struct hw_conn *c, u8 event)
{
	struct mpcp *s = state;

	(void)tun;
	hw_after_idle(&s->fall_back, c, event);
}

HW_TABLE struct hw_cc_ops hw_cc_mpcp = {
	.name = "mpcp",
	.title = "MPCP: changes the window by a congestion level in several packets",
	.source = "Li, Yousefi'zadeh, CCR 2009, as told in RAPPEP, 2010; ns-2 vcp-src, not encoded",
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
	.on_feedback = mpcp_on_feedback,
};
