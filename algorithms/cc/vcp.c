// SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only)
/*
 * VCP's sender (Xia, Subramanian, Stoica, Kalyanaraman, "One More Bit Is Enough", SIGCOMM
 * 2005; the ns-2 model's vcp-src): the window follows the load region that the path's routers
 * signal.
 *
 *   low   the window grows by 1/16 per interval t_rho (xi = kappa (100/80 - 1), kappa = 1/4),
 *         per ACKed packet by (1 + xi)^(rtt/t_rho) - 1, with rtt/t_rho at most 2.5
 *   high  one packet per round trip of 100 ms, and so that flows of all round trips gain
 *         alike (hw_additive_scale)
 *   over  once 7/8 of the window, which then stays for t_rho, and after that grows as in high
 *         for a round trip, before it may shrink again. During that time answers of low and
 *         high have their usual effect.
 *
 * VCP has no slow start: the first window grows as in low. Windows of 2 to 64 packets are
 * paced in steps of rtt/2^ceil(log2 w) if such a step is longer than t_rho/2; each interval of
 * the router then contains packets of every round trip. Losses and timeouts follow Reno, with
 * slow start after a timeout.
 *
 * The paper's text scales additive increase by (rtt/t_rho)^2, the model with 100 ms. The two
 * differ by a factor of 4; here the unit is a tunable (ai_unit_ms). Differences from the model:
 * timers are exact, not rounded up to a granularity; in Recovery the stack sets the window;
 * entering Recovery counts as a reduction.
 *
 * The sender itself sets low, so a path without VCP looks like one with little load. Two signs
 * reveal it: no answer, or answers of low for two intervals while round trips show a queue. A
 * link with VCP could not have such a queue: at 50 ms of it, kappa_q alone is an eighth of the
 * load, and it would not last below full load. After patience_rtts of either sign the law is
 * Reno's (fall_back.h), until a router signals high or over. Valid for round trips up to 3.2
 * s.
 */
#include "../port/load_factor.h"
#include "../header/vcp.h"

#define XI	       (HW_STEP_ONE / 16)
#define MAX_SCALE_PKTS 64 /* paced windows */
#define QUEUE_US       50000
#define ENOUGH_PKTS    8 /* a round trip needs so many RTT samples before they can show a queue */
#define QUEUE_LASTS_US (2 * HW_LOAD_INTERVAL_US)

enum { AI_UNIT, ALPHA, PATIENCE };

static const struct hw_tunable vcp_tunables[] = {
	[AI_UNIT] = { "ai_unit_ms", "ms",
		      "RTT with which alpha is the growth per round trip; ns-2: 100, paper: 200",
		      100, 10, 10000 },
	[ALPHA] = { "alpha", "packets", "growth per round trip of ai_unit_ms at high load", 1, 1,
		    64 },
	[PATIENCE] = HW_PATIENCE,
};

enum vcp_phase {
	VCP_READY = 0,	/* an answer that signals overload (region over) reduces the window */
	VCP_FROZEN = 1, /* for t_rho after a reduction the window stays constant */
	VCP_SLOW = 2,	/* in the round trip after VCP_FROZEN the window grows as at high load */
};

struct vcp {
	struct hw_fall_back fall_back;
	u64 until_us;  /* end of the present phase (VCP_FROZEN or VCP_SLOW) */
	u64 pace_Bps;  /* the pacing rate that VCP set; 0: none */
	u64 queued_us; /* when RTTs began to show a queue while answers signal low; 0: no queue */
	u32 fraction; /* fraction of a packet by which the window exceeds cwnd, in units of 2^-30 */
	u32 acked_pkts;	  /* packets acknowledged by the latest ACK */
	u8 region;	  /* load region in the latest answer (enum vcp_region) */
	u8 phase;	  /* enum vcp_phase */
	u32 round_rtt_us; /* shortest RTT of this round trip's packets */
	u32 round_end;	  /* the round trip is over when this sequence number is acknowledged */
	u32 round_pkts;	  /* packets acknowledged with an RTT sample in this round trip */
	u32 base_rtt_us;  /* shortest RTT of packets that were sent once; HW_U32_MAX: none yet */
	u32 retrans_pkts; /* c->retrans_pkts at the latest ACK */
	u32 resent_end;	  /* sequence number after the last byte that was retransmitted */
	u8 is_resent;	  /* 1: a retransmission has not been acknowledged yet */
	u8 is_prompt; /* 1: an ACK of this round covered several packets, so it was not delayed */
	u8 has_queue; /* the RTTs of the latest round trip show a queue */
};

static void vcp_begin_round(struct vcp *s, const struct hw_conn *c)
{
	s->round_end = c->snd_nxt;
	s->round_pkts = 0;
	s->is_prompt = 0;
}

static void vcp_init(void *state, const u32 *tun, struct hw_conn *c)
{
	struct vcp *s = state;

	(void)tun;
	s->region = VCP_LOW;
	s->retrans_pkts = c->retrans_pkts;
	s->base_rtt_us = c->retrans_pkts ? HW_U32_MAX : c->min_rtt_us;
	vcp_begin_round(s, c);
	c->ssthresh_pkts = 1;
}

static void vcp_next_phase(struct vcp *s, const struct hw_conn *c)
{
	if (s->phase == VCP_FROZEN && c->now_us >= s->until_us) {
		s->phase = VCP_SLOW;
		s->until_us += c->srtt_us;
	}
	if (s->phase == VCP_SLOW && c->now_us >= s->until_us)
		s->phase = VCP_READY;
}

static void vcp_freeze(struct vcp *s, const struct hw_conn *c)
{
	s->phase = VCP_FROZEN;
	s->until_us = c->now_us + HW_LOAD_INTERVAL_US;
}

static u32 vcp_on_send(void *state, const u32 *tun, struct hw_conn *c, void *header)
{
	struct vcp_fields *vcp = header;

	(void)tun;
	vcp->region = VCP_LOW;
	hw_asks(&((struct vcp *)state)->fall_back, c);
	return 1;
}

/*
 * Updates base_rtt_us, the shortest round trip, by Karn's rule. min_rtt_us may be too short: if
 * one of Linux's timers retransmits a paced packet early, the retransmission carries the time
 * at which pacing would have released it. That time may be in the future, by up to one pacing
 * interval. The echo of that time gives an RTT that is too short.
 */
static void vcp_note_base_rtt(struct vcp *s, const struct hw_conn *c, s32 rtt_us)
{
	if (c->retrans_pkts != s->retrans_pkts) {
		s->retrans_pkts = c->retrans_pkts;
		s->resent_end = c->snd_nxt;
		s->is_resent = 1;
	}
	if (rtt_us > 0 && !s->is_resent)
		s->base_rtt_us = hw_min_u32(s->base_rtt_us, (u32)rtt_us);
	if (s->is_resent && !hw_after(s->resent_end, c->snd_una))
		s->is_resent = 0; /* from the next ACK on, RTT samples count again */
}

/* The shortest round trip, at least the stack's minimum RTT. The stack's minimum expires after
 * minutes; through this maximum base_rtt_us expires, too. */
static u32 vcp_base_rtt_us(const struct vcp *s, const struct hw_conn *c)
{
	return hw_max_u32(s->base_rtt_us, c->min_rtt_us);
}

/*
 * Checks whether round trips exceed the shortest one by more than the queueing delay that a link
 * with VCP would have at low load. It uses the shortest RTT of a whole window: a delayed ACK of one
 * packet may have waited for the next packet, but an ACK of several is prompt. A round of few
 * packets that all have long RTTs does not reveal a new queue. It confirms a queue that an earlier
 * round has shown, if one of its ACKs was prompt.
 */
static void vcp_check_rtt(struct vcp *s, const struct hw_conn *c, const struct hw_ack *ack)
{
	u8 is_long;

	vcp_note_base_rtt(s, c, ack->rtt_us);
	if (ack->rtt_us > 0) {
		s->round_rtt_us = s->round_pkts ? hw_min_u32(s->round_rtt_us, (u32)ack->rtt_us)
						: (u32)ack->rtt_us;
		s->round_pkts = hw_add_u32(s->round_pkts, hw_max_u32(ack->acked_pkts, 1));
		s->is_prompt |= ack->acked_pkts > 1;
	}
	if (!s->round_pkts || hw_after(s->round_end, c->snd_una))
		return;
	is_long = s->round_rtt_us > hw_add_u32(vcp_base_rtt_us(s, c), QUEUE_US);
	s->has_queue = is_long && (s->round_pkts >= ENOUGH_PKTS || (s->has_queue && s->is_prompt));
	vcp_begin_round(s, c);
}

/* Whether the sender believes an answer that signals low load. If RTTs show a queue, the sender
 * believes such an answer only for QUEUE_LASTS_US, by which time a router with VCP would have
 * noticed the queue. */
static int vcp_trusts_low(struct vcp *s, const struct hw_conn *c)
{
	if (!s->has_queue) {
		s->queued_us = 0;
		return 1;
	}
	if (!s->queued_us)
		s->queued_us = c->now_us + (c->now_us == 0);
	return c->now_us - s->queued_us < QUEUE_LASTS_US;
}

static void vcp_on_feedback(void *state, const u32 *tun, struct hw_conn *c, const void *header)
{
	const struct vcp_answer_fields *answer = header;
	struct vcp *s = state;
	u8 by_stack = c->ca_state == HW_CA_CWR || c->ca_state == HW_CA_RECOVERY;

	(void)tun;
	if (answer->region == VCP_NONE)
		return;
	s->region = answer->region;
	if (s->region != VCP_LOW) {
		hw_router_answered(&s->fall_back, c);
		hw_leave_slow_start(c);
	} else if (vcp_trusts_low(s, c)) {
		/* senders themselves write low, so this answer does not show whether a
		 * router takes part */
		s->fall_back.asks = 0;
	}
	vcp_next_phase(s, c);
	if (s->region == VCP_OVER && s->phase == VCP_READY && !by_stack) {
		u64 window = ((u64)c->cwnd_pkts << HW_STEP_SHIFT) + s->fraction;

		hw_window_shrink(c, &s->fraction, window / 8);
		hw_leave_slow_start(c);
		vcp_freeze(s, c);
	}
}

/* The pacing rate that spreads a small window over a long round trip; 0: no pacing. */
static u64 vcp_pace_Bps(const struct vcp *s, const struct hw_conn *c)
{
	u32 steps = 1, step_us;

	if (s->fall_back.alone || c->cwnd_pkts < 2 || c->cwnd_pkts > MAX_SCALE_PKTS)
		return 0;
	while (steps < c->cwnd_pkts && steps < MAX_SCALE_PKTS)
		steps *= 2;
	step_us = c->srtt_us / steps;
	if (step_us <= HW_LOAD_INTERVAL_US / 2)
		return 0;
	return ((u64)c->mss_bytes + c->header_bytes) * 1000000 / step_us;
}

/* Sets the pacing rate, but keeps a pacing rate that VCP has not set, such as that of a startup
 * that paces its first window. */
static void vcp_pace(struct vcp *s, struct hw_conn *c)
{
	u64 rate_Bps;

	if (c->pacing_rate_Bps && c->pacing_rate_Bps != s->pace_Bps)
		return;
	rate_Bps = vcp_pace_Bps(s, c);
	if (rate_Bps || s->pace_Bps) {
		c->pacing_rate_Bps = rate_Bps;
		c->pacing_chunk_pkts = rate_Bps != 0;
	}
	s->pace_Bps = rate_Bps;
}

HW_PART vcp_acked(struct vcp *s, struct hw_conn *c, const struct hw_ack *ack, u32 patience)
{
	if (!s || !c || !ack)
		return 0;
	s->acked_pkts = ack->acked_pkts;
	vcp_check_rtt(s, c, ack);
	hw_uses_reno(&s->fall_back, c, patience, s->has_queue);
	vcp_next_phase(s, c);
	vcp_pace(s, c);
	return 0;
}

static void vcp_pkts_acked(void *state, const u32 *tun, struct hw_conn *c, const struct hw_ack *ack)
{
	vcp_acked(state, c, ack, tun[PATIENCE]);
}

static void vcp_cong_avoid(void *state, const u32 *tun, struct hw_conn *c, u32 acked_pkts)
{
	struct vcp *s = state;
	u32 pkts = hw_stepping_pkts(c, acked_pkts, s->acked_pkts);
	u64 by;

	if (s->fall_back.alone) {
		hw_reno_cong_avoid(state, tun, c, acked_pkts);
		return;
	}
	if (s->region == VCP_LOW) {
		by = hw_step_power(XI, 0, hw_min_u32(c->srtt_us, HW_LOAD_MOST_RTT_US)) -
		     HW_STEP_ONE;
		by *= pkts;
	} else if (s->region == VCP_HIGH || s->phase == VCP_SLOW) {
		u64 scale = hw_additive_scale(c->srtt_us, tun[AI_UNIT] * 1000);

		by = hw_additive_part(c, scale * tun[ALPHA], pkts);
	} else {
		return;
	}
	hw_window_grow(c, &s->fraction, by);
}

static void vcp_set_state(void *state, const u32 *tun, struct hw_conn *c, u8 new_state)
{
	struct vcp *s = state;

	(void)tun;
	if (new_state < HW_CA_CWR)
		return;
	vcp_freeze(s, c);
	s->fraction = 0;
}

static void vcp_event(void *state, const u32 *tun, struct hw_conn *c, u8 event)
{
	struct vcp *s = state;

	(void)tun;
	hw_after_idle(&s->fall_back, c, event);
}

HW_TABLE struct hw_cc_ops hw_cc_vcp = {
	.name = "vcp",
	.title = "VCP: grows, holds or falls by the load region that routers signal",
	.source = "Xia, Subramanian, Stoica, Kalyanaraman, SIGCOMM 2005; ns-2 vcp-src",
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
	.on_feedback = vcp_on_feedback,
};
