// SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only)
/*
 * CUBIC as RFC 9438 describes it and Linux 6.x runs it (tcp_cubic.c v2.3).
 *
 * Differences from Linux: a tick is always 1 ms, not 1/HZ; K is the exact cube root (Linux: 0.2 %
 * off on average); products saturate. Differences from RFC 9438, as in Linux: a timeout clears all
 * state, and the Reno-friendly slope stays below 1.
 *
 * Alternative Backoff with ECN (RFC 8511) is off by default, as Linux does not have it.
 *
 * Valid for windows below a million packets and congestion avoidance stages below 256 s.
 */
#include "../port/cubic_law.h"
#include "../port/reno_law.h"

#define TICK_HZ	    1000
#define REFRESH_MS  (TICK_HZ / 32) /* the curve is evaluated at least this often */
#define FIRST_COUNT 20		   /* before the first loss, cwnd grows by at least 5 % per RTT */
#define COUNT_FLOOR 2		   /* cwnd grows by at most one packet per two ACKed packets */

enum { FAST_CONVERGENCE, TCP_FRIENDLINESS, BETA, BETA_ECN };

static const struct hw_tunable cubic_tunables[] = {
	[FAST_CONVERGENCE] = { "fast_convergence", "bool",
			       "a flow whose window shrinks lowers its W_max further", 1, 0, 1 },
	[TCP_FRIENDLINESS] = { "tcp_friendliness", "bool",
			       "cwnd never grows more slowly than Reno's", 1, 0, 1 },
	[BETA] = { "beta", "1/1024", "fraction of cwnd that remains after congestion", 717, 512,
		   1000 },
	[BETA_ECN] = HW_ABE_TUNABLE(870),
};

struct cubic {
	u32 cnt;	   /* cwnd grows by one packet per so many ACKed packets */
	u32 last_max_pkts; /* W_max; 0 before the first loss and after a timeout */
	u32 last_cwnd_pkts;
	u32 last_ms; /* when the curve was last evaluated */
	u32 origin_pkts;
	u32 k; /* 1/1024 s */
	u32 delay_min_us;
	u32 epoch_ms;
	u32 ack_cnt;	   /* ACKed packets that have not added to friendly_pkts yet */
	u32 friendly_pkts; /* the window that Reno would have */
	/* 1: epoch_ms, the start of the present congestion avoidance stage, is valid */
	u32 in_epoch;
};

static void cubic_start_epoch(struct cubic *s, u32 cwnd_pkts, u32 acked_pkts, u32 now_ms)
{
	s->epoch_ms = now_ms;
	s->in_epoch = 1;
	s->ack_cnt = acked_pkts;
	s->friendly_pkts = cwnd_pkts;
	s->k = hw_cubic_k(s->last_max_pkts, cwnd_pkts);
	s->origin_pkts = hw_max_u32(s->last_max_pkts, cwnd_pkts);
}

static void cubic_read_curve(struct cubic *s, u32 cwnd_pkts, u32 acked_pkts, u32 now_ms)
{
	u64 t;

	s->last_cwnd_pkts = cwnd_pkts;
	s->last_ms = now_ms;
	if (!s->in_epoch)
		cubic_start_epoch(s, cwnd_pkts, acked_pkts, now_ms);
	t = hw_cubic_time(now_ms - s->epoch_ms + hw_duration_ms(s->delay_min_us));
	s->cnt = hw_cubic_count(cwnd_pkts, hw_cubic_target(s->origin_pkts, s->k, t));
	if (!s->last_max_pkts)
		s->cnt = hw_min_u32(s->cnt, FIRST_COUNT);
}

static void cubic_update(struct cubic *s, const u32 *tun, u32 cwnd_pkts, u32 acked_pkts, u32 now_ms)
{
	s->ack_cnt = hw_add_u32(s->ack_cnt, acked_pkts);
	if (s->last_cwnd_pkts == cwnd_pkts && (s32)(now_ms - s->last_ms) <= REFRESH_MS)
		return;
	/* cwnd's curve was already evaluated in this tick: only update Reno's window */
	if (!s->in_epoch || now_ms != s->last_ms)
		cubic_read_curve(s, cwnd_pkts, acked_pkts, now_ms);
	if (tun[TCP_FRIENDLINESS])
		s->cnt = hw_cubic_friendly_count(cwnd_pkts, s->cnt, tun[BETA], &s->ack_cnt,
						 &s->friendly_pkts);
	s->cnt = hw_max_u32(s->cnt, COUNT_FLOOR);
}

static void cubic_pkts_acked(void *state, const u32 *tun, struct hw_conn *c,
			     const struct hw_ack *ack)
{
	struct cubic *s = state;
	u32 delay_us;

	(void)tun;
	if (ack->rtt_us < 0)
		return;
	/* ignore RTTs of the first second after a loss: they include the queue that caused the
	 * loss */
	if (s->in_epoch && (s32)(hw_clock_ms(c->now_us) - s->epoch_ms) < TICK_HZ)
		return;
	delay_us = hw_max_u32((u32)ack->rtt_us, 1);
	if (!s->delay_min_us || s->delay_min_us > delay_us)
		s->delay_min_us = delay_us;
}

static void cubic_cong_avoid(void *state, const u32 *tun, struct hw_conn *c, u32 acked_pkts)
{
	struct cubic *s = state;

	cubic_update(s, tun, c->cwnd_pkts, acked_pkts, hw_clock_ms(c->now_us));
	hw_additive_increase(c, s->cnt, acked_pkts);
}

static u32 cubic_ssthresh(void *state, const u32 *tun, struct hw_conn *c)
{
	struct cubic *s = state;
	u32 beta = hw_abe_beta(c, tun[BETA_ECN], tun[BETA]);

	s->in_epoch = 0;
	s->last_max_pkts =
		hw_bic_w_max(c->cwnd_pkts, s->last_max_pkts, beta, tun[FAST_CONVERGENCE]);
	return hw_bic_ssthresh(c->cwnd_pkts, beta);
}

static void cubic_set_state(void *state, const u32 *tun, struct hw_conn *c, u8 new_state)
{
	struct cubic *s = state;

	(void)tun;
	(void)c;
	if (new_state == HW_CA_LOSS)
		*s = (struct cubic){ 0 };
}

static void cubic_event(void *state, const u32 *tun, struct hw_conn *c, u8 event)
{
	struct cubic *s = state;
	u32 now_ms = hw_clock_ms(c->now_us);
	u32 idle_ms = c->idle_us / 1000;

	(void)tun;
	/* idle time does not count as time on the curve */
	if (event == HW_EVENT_TX_START && s->in_epoch && idle_ms) {
		s->epoch_ms += idle_ms;
		if (hw_after(s->epoch_ms, now_ms))
			s->epoch_ms = now_ms;
	}
}

static u32 cubic_undo_cwnd(void *state, const u32 *tun, struct hw_conn *c, u32 prior_cwnd_pkts)
{
	(void)state;
	(void)tun;
	return hw_max_u32(c->cwnd_pkts, prior_cwnd_pkts);
}

HW_TABLE struct hw_cc_ops hw_cc_cubic = {
	.name = "cubic",
	.title = "Today's CUBIC: keeps 0.7, Reno-friendly",
	.source = "RFC 9438; Linux 6.x tcp_cubic.c v2.3",
	.startup = "hystart",
	.state_bytes = sizeof(struct cubic),
	.n_tunables = HW_COUNT(cubic_tunables),
	.tunables = cubic_tunables,
	.pkts_acked = cubic_pkts_acked,
	.cong_avoid = cubic_cong_avoid,
	.ssthresh = cubic_ssthresh,
	.set_state = cubic_set_state,
	.event = cubic_event,
	.undo_cwnd = cubic_undo_cwnd,
};
