// SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only)
/*
 * Data Center TCP: the window shrinks by half of the fraction of packets that were marked CE
 * (RFC 8257; Alizadeh et al., "Data Center TCP (DCTCP)", SIGCOMM 2010). As in Linux's
 * tcp_dctcp.c, the estimate alpha is updated once per window, CWR reduces the window once per
 * window, and a loss halves it. Growth is Reno's.
 *
 * The stack's receiver echoes every mark exactly (HW_CC_ECHOES_CE, RFC 8257 section 3.2).
 * Without ECN the law is Reno's, as in Linux. Differences from Linux: no load balancing (PLB),
 * and without ECN the packets stay ECN-capable.
 *
 * Valid for any window. alpha has 10 fractional bits.
 */
#include "../port/reno_law.h"

#define ALPHA_SHIFT 10
#define ALPHA_ONE   (1u << ALPHA_SHIFT)

enum { SHIFT_G, ALPHA_ON_INIT };

static const struct hw_tunable dctcp_tunables[] = {
	[SHIFT_G] = { "shift_g", "bits", "a window has the weight g = 2^-shift_g in alpha", 4, 0,
		      ALPHA_SHIFT },
	[ALPHA_ON_INIT] = { "alpha_on_init", "1/1024", "alpha before the first window is observed",
			    ALPHA_ONE, 0, ALPHA_ONE },
};

struct dctcp {
	u32 alpha;	    /* estimated fraction of marked packets, << ALPHA_SHIFT */
	u32 window_end;	    /* sequence number whose ACK ends the observed window */
	u32 delivered_pkts; /* the connection's counts when the window began */
	u32 delivered_ce_pkts;
	u32 prior_cwnd_pkts; /* cwnd before the last reduction */
	u32 has_ecn;
};

static void dctcp_begin_window(struct dctcp *s, const struct hw_conn *c)
{
	s->window_end = c->snd_nxt;
	s->delivered_pkts = (u32)c->delivered_pkts;
	s->delivered_ce_pkts = c->delivered_ce_pkts;
}

static void dctcp_init(void *state, const u32 *tun, struct hw_conn *c)
{
	struct dctcp *s = state;

	s->alpha = tun[ALPHA_ON_INIT];
	s->has_ecn = c->ecn;
	dctcp_begin_window(s, c);
}

/* alpha = (1 - g) alpha + g F (RFC 8257 section 3.3). As in Linux, a small alpha decays to 0. */
static void dctcp_update_alpha(struct dctcp *s, u32 shift_g, u32 delivered_pkts, u32 marked_pkts)
{
	u32 decay = s->alpha >> shift_g;
	u64 marked = ((u64)marked_pkts << (ALPHA_SHIFT - shift_g)) / hw_max_u32(delivered_pkts, 1);

	s->alpha -= decay ? decay : s->alpha;
	s->alpha = hw_min_u32(hw_add_u32(s->alpha, hw_saturate_u32(marked)), ALPHA_ONE);
}

static void dctcp_pkts_acked(void *state, const u32 *tun, struct hw_conn *c,
			     const struct hw_ack *ack)
{
	struct dctcp *s = state;

	(void)ack;
	if (!s->has_ecn || hw_after(s->window_end, c->snd_una))
		return;
	dctcp_update_alpha(s, tun[SHIFT_G], (u32)c->delivered_pkts - s->delivered_pkts,
			   c->delivered_ce_pkts - s->delivered_ce_pkts);
	dctcp_begin_window(s, c);
}

/* cwnd (1 - alpha / 2), for a reduction that marks cause (RFC 8257 section 3.3). */
static u32 dctcp_ssthresh(void *state, const u32 *tun, struct hw_conn *c)
{
	struct dctcp *s = state;
	u32 cut = hw_scale_u32(c->cwnd_pkts, s->alpha, 2 * ALPHA_ONE);

	if (!s->has_ecn)
		return hw_reno_ssthresh(state, tun, c);
	s->prior_cwnd_pkts = c->cwnd_pkts;
	return hw_max_u32(c->cwnd_pkts - cut, 2);
}

/* Halves on a loss, whatever alpha is (RFC 8257 section 3.5). */
static void dctcp_lose(struct dctcp *s, struct hw_conn *c)
{
	if (!s->has_ecn)
		return;
	s->prior_cwnd_pkts = c->cwnd_pkts;
	c->ssthresh_pkts = hw_reno_ssthresh(0, 0, c);
}

static void dctcp_set_state(void *state, const u32 *tun, struct hw_conn *c, u8 new_state)
{
	(void)tun;
	if (new_state == HW_CA_RECOVERY && c->ca_state != HW_CA_RECOVERY)
		dctcp_lose(state, c);
}

/* A timeout is handled here and not in set_state, so that a window has one reduction. */
static void dctcp_event(void *state, const u32 *tun, struct hw_conn *c, u8 event)
{
	(void)tun;
	if (event == HW_EVENT_LOSS)
		dctcp_lose(state, c);
}

static u32 dctcp_undo_cwnd(void *state, const u32 *tun, struct hw_conn *c, u32 prior_cwnd_pkts)
{
	const struct dctcp *s = state;

	(void)tun;
	return hw_max_u32(c->cwnd_pkts, s->has_ecn ? s->prior_cwnd_pkts : prior_cwnd_pkts);
}

HW_TABLE struct hw_cc_ops hw_cc_dctcp = {
	.name = "dctcp",
	.title = "Data Center TCP: shrinks by half of the fraction of marked packets",
	.source = "RFC 8257; Alizadeh et al. 2010; Linux 6.18 tcp_dctcp.c",
	.startup = "slow-start",
	.state_bytes = sizeof(struct dctcp),
	.flags = HW_CC_ECT0 | HW_CC_NEEDS_ECN | HW_CC_ECHOES_CE,
	.n_tunables = HW_COUNT(dctcp_tunables),
	.tunables = dctcp_tunables,
	.init = dctcp_init,
	.pkts_acked = dctcp_pkts_acked,
	.cong_avoid = hw_reno_cong_avoid,
	.ssthresh = dctcp_ssthresh,
	.set_state = dctcp_set_state,
	.event = dctcp_event,
	.undo_cwnd = dctcp_undo_cwnd,
};
