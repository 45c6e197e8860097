// SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only)
/*
 * CUBIC as Linux 2.6.24 and 2.6.25 ran it (tcp_cubic.c v2.1), after Ha, Rhee
 * and Xu, "CUBIC: A New TCP-Friendly High-Speed TCP Variant" (2008).
 *
 * It keeps 0.8 of the window, counts ACK events and corrects for delayed ACKs
 * whatever the stack counts, caps growth above W_max at max_increment packets
 * per 100 ms, and before the first loss (and after every timeout) grows by one
 * packet in 50 corrected ACKs.
 *
 * Differences from Linux: K is the exact cube root (Linux: 0.2 % off on average) and products
 * saturate instead of wrapping. The clock is HZ = 1000. Valid for windows below a million packets
 * and congestion avoidance stages below 256 s.
 */
#include "../port/cc.h"
#include "../port/cubic_law.h"

#define TICK_HZ		1000
#define REFRESH_MS	(TICK_HZ / 32)
#define FIRST_COUNT	50 /* before the first loss, cwnd grows by one per this many ACKs */
#define DELAY_SHIFT	3  /* fractional bits of delay_min */
#define INCREMENT_PER_S 10 /* max_increment is per 100 ms */

enum { FAST_CONVERGENCE, MAX_INCREMENT, BETA, INITIAL_SSTHRESH, TCP_FRIENDLINESS };

static const struct hw_tunable cubic26_tunables[] = {
	[FAST_CONVERGENCE] = { "fast_convergence", "bool",
			       "a flow whose window shrinks lowers its W_max further", 1, 0, 1 },
	[MAX_INCREMENT] = { "max_increment", "packets per 100 ms",
			    "largest growth of cwnd above W_max", 16, 1, 65535 },
	[BETA] = { "beta", "1/1024", "fraction of cwnd that remains after congestion", 819, 512,
		   1000 },
	[INITIAL_SSTHRESH] = { "initial_ssthresh", "packets", "ssthresh at the start; 0: infinite",
			       0, 0, 1000000 },
	[TCP_FRIENDLINESS] = { "tcp_friendliness", "bool",
			       "cwnd never grows more slowly than Reno's", 1, 0, 1 },
};

struct cubic26 {
	u32 cnt;	    /* cwnd grows by one packet per so many ACK events */
	u32 last_max_pkts;  /* W_max */
	u32 loss_cwnd_pkts; /* cwnd at the last loss; 0 before the first loss and after a timeout */
	u32 last_cwnd_pkts;
	u32 last_ms; /* when the curve was last evaluated */
	u32 origin_pkts;
	u32 k;	       /* 1/1024 s */
	u32 delay_min; /* ms << 3; 0 before the first sample */
	u32 epoch_ms;
	u32 ack_cnt;	   /* ACK events that have not added to friendly_pkts yet */
	u32 friendly_pkts; /* the window that Reno would have */
	u32 delayed_ack;   /* packets per ACK << 4 */
	/* 1: epoch_ms, the start of the present congestion avoidance stage, is valid */
	u32 in_epoch;
};

static void cubic26_reset(struct cubic26 *s)
{
	*s = (struct cubic26){ .delayed_ack = HW_ACK_RATIO_START };
}

static void cubic26_init(void *state, const u32 *tun, struct hw_conn *c)
{
	cubic26_reset(state);
	if (tun[INITIAL_SSTHRESH])
		c->ssthresh_pkts = tun[INITIAL_SSTHRESH];
}

static void cubic26_start_epoch(struct cubic26 *s, u32 cwnd_pkts, u32 now_ms)
{
	s->epoch_ms = now_ms;
	s->in_epoch = 1;
	s->ack_cnt = 1;
	s->friendly_pkts = cwnd_pkts;
	s->k = hw_cubic_k(s->last_max_pkts, cwnd_pkts);
	s->origin_pkts = hw_max_u32(s->last_max_pkts, cwnd_pkts);
}

/* The smallest cnt with which cwnd grows by at most max_increment per 100 ms. */
static u32 cubic26_count_floor(const struct cubic26 *s, u32 cwnd_pkts, u32 max_increment)
{
	if (!s->delay_min)
		return 0;
	return hw_saturate_u32(((u64)cwnd_pkts * (TICK_HZ << DELAY_SHIFT)) /
			       ((u64)INCREMENT_PER_S * max_increment * s->delay_min));
}

static void cubic26_update(struct cubic26 *s, const u32 *tun, u32 cwnd_pkts, u32 now_ms)
{
	u64 t;

	s->ack_cnt++;
	if (s->last_cwnd_pkts == cwnd_pkts && (s32)(now_ms - s->last_ms) <= REFRESH_MS)
		return;
	s->last_cwnd_pkts = cwnd_pkts;
	s->last_ms = now_ms;
	if (!s->in_epoch)
		cubic26_start_epoch(s, cwnd_pkts, now_ms);

	t = hw_cubic_time(now_ms - s->epoch_ms + (s->delay_min >> DELAY_SHIFT));
	s->cnt = hw_cubic_count(cwnd_pkts, hw_cubic_target(s->origin_pkts, s->k, t));
	if (t >= s->k)
		s->cnt = hw_max_u32(s->cnt, cubic26_count_floor(s, cwnd_pkts, tun[MAX_INCREMENT]));
	if (!s->loss_cwnd_pkts)
		s->cnt = FIRST_COUNT;
	if (tun[TCP_FRIENDLINESS])
		s->cnt = hw_cubic_friendly_count(cwnd_pkts, s->cnt, tun[BETA], &s->ack_cnt,
						 &s->friendly_pkts);
	s->cnt = hw_acks_for_pkts(s->cnt, s->delayed_ack);
}

static void cubic26_pkts_acked(void *state, const u32 *tun, struct hw_conn *c,
			       const struct hw_ack *ack)
{
	struct cubic26 *s = state;
	u32 delay;

	(void)tun;
	if (c->ca_state == HW_CA_OPEN)
		s->delayed_ack = hw_ack_ratio(s->delayed_ack, ack->acked_pkts);
	if (ack->rtt_us < 0)
		return;
	/* ignore RTTs of the first second after a loss: they include the queue that caused the
	 * loss */
	if (s->in_epoch && (s32)(hw_clock_ms(c->now_us) - s->epoch_ms) < TICK_HZ)
		return;
	delay = hw_max_u32(hw_duration_ms((u32)ack->rtt_us) << DELAY_SHIFT, 1);
	if (!s->delay_min || s->delay_min > delay)
		s->delay_min = delay;
}

static void cubic26_cong_avoid(void *state, const u32 *tun, struct hw_conn *c, u32 acked_pkts)
{
	struct cubic26 *s = state;

	(void)acked_pkts;
	cubic26_update(s, tun, c->cwnd_pkts, hw_clock_ms(c->now_us));
	hw_additive_increase(c, s->cnt, 1);
}

static u32 cubic26_ssthresh(void *state, const u32 *tun, struct hw_conn *c)
{
	struct cubic26 *s = state;

	s->in_epoch = 0;
	s->last_max_pkts =
		hw_bic_w_max(c->cwnd_pkts, s->last_max_pkts, tun[BETA], tun[FAST_CONVERGENCE]);
	s->loss_cwnd_pkts = c->cwnd_pkts;
	return hw_bic_ssthresh(c->cwnd_pkts, tun[BETA]);
}

static void cubic26_set_state(void *state, const u32 *tun, struct hw_conn *c, u8 new_state)
{
	(void)tun;
	(void)c;
	if (new_state == HW_CA_LOSS)
		cubic26_reset(state);
}

/* Returns to W_max, which fast convergence may have set below the window before the loss. */
static u32 cubic26_undo_cwnd(void *state, const u32 *tun, struct hw_conn *c, u32 prior_cwnd_pkts)
{
	struct cubic26 *s = state;

	(void)tun;
	(void)prior_cwnd_pkts;
	return hw_max_u32(c->cwnd_pkts, s->last_max_pkts);
}

HW_TABLE struct hw_cc_ops hw_cc_cubic26 = {
	.name = "cubic26",
	.title = "CUBIC of Linux 2.6.25: keeps 0.8, growth capped per 100 ms",
	.source = "Ha, Rhee, Xu 2008; Linux 2.6.24/2.6.25 tcp_cubic.c v2.1",
	.startup = "slow-start",
	.state_bytes = sizeof(struct cubic26),
	.n_tunables = HW_COUNT(cubic26_tunables),
	.tunables = cubic26_tunables,
	.init = cubic26_init,
	.pkts_acked = cubic26_pkts_acked,
	.cong_avoid = cubic26_cong_avoid,
	.ssthresh = cubic26_ssthresh,
	.set_state = cubic26_set_state,
	.undo_cwnd = cubic26_undo_cwnd,
};
