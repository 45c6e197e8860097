// SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only)
/*
 * BBR, version 3, as draft-ietf-ccwg-bbr of 3 August 2026 describes it (the editors' copy
 * after -06). Functions have the draft's names and order. The unit of data is the packet.
 *
 * Where the draft contradicts itself, a tunable selects one of its rules; the default is the
 * rule of the draft's text. What it leaves open is said at the line.
 *
 * ECN: the draft requires a response to marks and does not define one. The classic echo tells
 * of marks once per window, so a mark counts like a loss of a connection without SACK, which
 * detects one loss per round trip.
 *
 * In the kernel, the binding estimates what Linux does not record (port/bpf/losses.h).
 *
 * Rates are packets per 2^24 us (bbr_law.h), gains 1/100. Valid to 2^20 bytes per us.
 */
#include "../port/bbr_law.h"

enum {
	STARTUP_GAIN,
	DRAIN_GAIN,
	DOWN_GAIN,
	LOSS_THRESH,
	BETA,
	HEADROOM,
	MIN_RTT_WINDOW_MS,
	PROBE_RTT_INTERVAL_MS,
	PROBE_RTT_MS,
	DRAIN_BOUND,
	LIMITED_PROBE,
	UNDO_SAVES,
};

static const struct hw_tunable bbr3_tunables[] = {
	[STARTUP_GAIN] = { "startup_gain", "1/100", "pacing gain of Startup", 277, 100, 1000 },
	[DRAIN_GAIN] = { "drain_gain", "1/100", "pacing gain of Drain", 50, 1, 100 },
	[DOWN_GAIN] = { "down_gain", "1/100", "pacing gain of ProbeBW_DOWN", 90, 1, 100 },
	[LOSS_THRESH] = { "loss_thresh", "1/1000",
			  "loss rate of a round trip above which too much is in flight", 20, 0,
			  500 },
	[BETA] = { "beta", "1/1000", "fraction that a round trip with losses keeps", 700, 1, 1000 },
	[HEADROOM] = { "headroom", "1/1000",
		       "part of inflight_longterm that cruising leaves to other flows", 150, 0,
		       900 },
	[MIN_RTT_WINDOW_MS] = { "min_rtt_window_ms", "ms", "window of the smallest RTT", 10000, 100,
				600000 },
	[PROBE_RTT_INTERVAL_MS] = { "probe_rtt_interval_ms", "ms",
				    "age of an RTT after which ProbeRTT measures anew", 5000, 100,
				    600000 },
	[PROBE_RTT_MS] = { "probe_rtt_ms", "ms", "how long ProbeRTT keeps half a BDP in flight",
			   200, 1, 10000 },
	[DRAIN_BOUND] = { "drain_bound", "table|pseudocode",
			  "whether Drain obeys inflight_longterm: the table says so, the "
			  "pseudocode does not",
			  0, 0, 1 },
	[LIMITED_PROBE] = { "limited_probe", "keep|cut",
			    "inflight_longterm after losses while the application limits: kept, "
			    "or cut as test case 6 says",
			    0, 0, 1 },
	[UNDO_SAVES] = { "undo_saves", "episode|round",
			 "state to restore after spurious losses: of the recovery's begin, or "
			 "of the last round with losses, as in the pseudocode",
			 0, 0, 1 },
};

#define UNIT	 100
#define INFINITE HW_U32_MAX

#define DEFAULT_CWND_GAIN   200
#define UP_GAIN		    125
#define UP_CWND_GAIN	    225
#define PROBE_RTT_CWND_GAIN 50
#define FULL_GROWTH	    125
#define FULL_LOSS_RANGES    6
#define DRAIN_ROUNDS	    3
#define EXTRA_ROUNDS	    10
#define RENO_ROUNDS	    63
#define PROBE_WAIT_US	    2000000
#define PROBE_WAIT_RANDOM   1000000
#define QUANTUM_US	    1000
#define QUANTUM_BYTES	    65536
#define QUANTUM_LEAST	    2
#define OFFLOAD_QUANTA	    3

enum bbr3_mode { STARTUP, DRAIN, DOWN, CRUISE, REFILL, UP, PROBE_RTT, NO_MODE };

enum bbr3_acks { ACKS_INIT, ACKS_REFILLING, ACKS_STARTING, ACKS_FEEDBACK, ACKS_STOPPING };

struct bbr3 {
	u64 cycle_us; /* cycle_stamp */
	u64 min_rtt_at_us;
	u64 probe_rtt_min_at_us;
	u64 probe_rtt_done_us;	 /* 0: not known yet */
	u64 extra_at_us;	 /* extra_acked_interval_start */
	struct hw_peak extra[3]; /* extra_acked_filter */
	u32 max_bw[2];		 /* of the previous and of the present cycle of ProbeBW */
	u32 bw;
	u32 bw_latest;
	u32 bw_shortterm;
	u32 full_bw;
	u32 min_rtt_us;
	u32 probe_rtt_min_us; /* probe_rtt_min_delay */
	u32 rounds;
	u32 round_end;	    /* next_round_delivered */
	u32 loss_round_end; /* loss_round_delivered */
	u32 inflight_latest;
	u32 inflight_shortterm;
	u32 inflight_longterm;
	u32 undo_bw_shortterm;
	u32 undo_inflight_shortterm;
	u32 undo_inflight_longterm;
	u32 initial_cwnd;
	u32 prior_cwnd;
	u32 extra_delivered;
	u32 up_acked;	  /* bw_probe_up_acked */
	u32 up_acked_inc; /* probe_up_acked_per_inc */
	u32 probe_wait_us;
	u32 rounds_since_up;
	u32 drain_start_round;
	u32 lost_end; /* sequence number after the latest lost packet */
	u8 mode;      /* enum bbr3_mode */
	u8 undo_mode; /* enum bbr3_mode; NO_MODE: nothing to restore */
	u8 ack_phase; /* enum bbr3_acks */
	u8 up_rounds; /* bw_probe_up_rounds */
	u8 full_count;
	u8 is_full;	 /* full_bw_reached */
	u8 is_full_now;	 /* full_bw_now */
	u8 starts_round; /* round_start */
	u8 starts_loss_round;
	u8 is_loss_in_round;
	u8 is_probe_sample; /* is_bw_probe_sample */
	u8 was_too_high;    /* prev_probe_too_high */
	u8 was_cautious;    /* prev_probe_precautionary */
	u8 idle_restart;
	u8 probe_rtt_expired;
	u8 probed_a_round;
	u8 lost_ranges; /* discontiguous lost ranges of this round */
	u8 is_marked;	/* the present ACK echoes a mark, to which the window responds */
	u8 is_saved;	/* the undo state is that of the present recovery */
	u8 was_ca_state;
	u8 knows_rtt; /* the pacing rate has been set from an RTT sample */
};

_Static_assert(sizeof(struct bbr3) <= HW_FLOW_STATE_BYTES, "state of a control");

/* The tunables that parts of control() need. */
struct bbr3_tun {
	u32 startup_gain, drain_gain, down_gain, loss_thresh, beta, headroom;
	u32 min_rtt_window_ms, probe_rtt_interval_ms, probe_rtt_ms;
	u32 drain_bound, limited_probe, undo_saves;
};

static inline struct bbr3_tun bbr3_tun_of(const u32 *tun)
{
	struct bbr3_tun t = {
		.startup_gain = tun[STARTUP_GAIN],
		.drain_gain = tun[DRAIN_GAIN],
		.down_gain = tun[DOWN_GAIN],
		.loss_thresh = tun[LOSS_THRESH],
		.beta = tun[BETA],
		.headroom = tun[HEADROOM],
		.min_rtt_window_ms = tun[MIN_RTT_WINDOW_MS],
		.probe_rtt_interval_ms = tun[PROBE_RTT_INTERVAL_MS],
		.probe_rtt_ms = tun[PROBE_RTT_MS],
		.drain_bound = tun[DRAIN_BOUND],
		.limited_probe = tun[LIMITED_PROBE],
		.undo_saves = tun[UNDO_SAVES],
	};

	return t;
}

/* The state machine and its gains. The pseudocode of ProbeBW sets no gains; they are those of
 * the draft's table. */

static inline int bbr3_is_probe_bw(const struct bbr3 *s)
{
	return s->mode >= DOWN && s->mode <= UP;
}

static inline int bbr3_is_probing(const struct bbr3 *s)
{
	return s->mode == STARTUP || s->mode == REFILL || s->mode == UP;
}

static inline u32 bbr3_pacing_gain(const struct bbr3 *s, const struct bbr3_tun *t)
{
	switch (s->mode) {
	case STARTUP:
		return t->startup_gain;
	case DRAIN:
		return t->drain_gain;
	case DOWN:
		return t->down_gain;
	case UP:
		return UP_GAIN;
	}
	return UNIT;
}

static inline u32 bbr3_cwnd_gain(const struct bbr3 *s)
{
	switch (s->mode) {
	case UP:
		return UP_CWND_GAIN;
	case PROBE_RTT:
		return PROBE_RTT_CWND_GAIN;
	}
	return DEFAULT_CWND_GAIN;
}

static inline u32 bbr3_max_bw(const struct bbr3 *s)
{
	return hw_max_u32(s->max_bw[0], s->max_bw[1]);
}

/* delivery_rate of the ACK's sample; 0: no reliable rate */
static inline u32 bbr3_rate(const struct hw_rate_sample *sample)
{
	if (!hw_bbr_has_rate(sample))
		return 0;
	return hw_bbr_rate_of((u32)sample->delivered_pkts, (u32)sample->interval_us);
}

static inline u32 bbr3_bdp_multiple(const struct bbr3 *s, u32 bw, u32 gain)
{
	if (s->min_rtt_us == HW_U32_MAX)
		return s->initial_cwnd;
	return hw_bbr_bdp(bw, s->min_rtt_us, gain, UNIT);
}

/* send_quantum: the packets of 1 ms, at least two and at most those of 64 KiB */
static inline u32 bbr3_quantum(const struct hw_conn *c)
{
	u64 rate_Bps = hw_min_u64(c->pacing_rate_Bps, 1ull << 40);
	u64 pkts = hw_div_u64(rate_Bps * QUANTUM_US / 1000000, hw_bbr_pkt_bytes(c));
	u32 most = QUANTUM_BYTES / hw_bbr_pkt_bytes(c);

	return hw_max_u32(hw_min_u32(hw_saturate_u32(pkts), most), QUANTUM_LEAST);
}

static inline u32 bbr3_quantization_budget(const struct bbr3 *s, const struct hw_conn *c, u32 pkts)
{
	pkts = hw_max_u32(pkts, OFFLOAD_QUANTA * bbr3_quantum(c));
	pkts = hw_max_u32(pkts, HW_BBR_LEAST_PKTS);
	return s->mode == UP ? hw_add_u32(pkts, 2) : pkts;
}

static inline u32 bbr3_inflight(const struct bbr3 *s, const struct hw_conn *c, u32 bw)
{
	return bbr3_quantization_budget(s, c, bbr3_bdp_multiple(s, bw, UNIT));
}

static inline u32 bbr3_with_headroom(const struct bbr3 *s, const struct bbr3_tun *t)
{
	u32 bound = s->inflight_longterm;

	if (bound == INFINITE)
		return INFINITE;
	bound -= hw_min_u32(hw_max_u32(hw_scale_u32(bound, t->headroom, 1000), 1), bound);
	return hw_max_u32(bound, HW_BBR_LEAST_PKTS);
}

static inline u32 bbr3_target_inflight(const struct bbr3 *s, const struct hw_conn *c)
{
	return hw_min_u32(bbr3_bdp_multiple(s, s->bw, UNIT), c->cwnd_pkts);
}

static inline u32 bbr3_probe_rtt_cwnd(const struct bbr3 *s)
{
	return hw_max_u32(bbr3_bdp_multiple(s, s->bw, PROBE_RTT_CWND_GAIN), HW_BBR_LEAST_PKTS);
}

static inline void bbr3_start_round(struct bbr3 *s, const struct hw_conn *c)
{
	s->round_end = (u32)c->delivered_pkts;
}

static inline void bbr3_reset_congestion_signals(struct bbr3 *s)
{
	s->is_loss_in_round = 0;
	s->bw_latest = 0;
	s->inflight_latest = 0;
}

static inline void bbr3_reset_short_term(struct bbr3 *s)
{
	s->bw_shortterm = INFINITE;
	s->inflight_shortterm = INFINITE;
}

static inline void bbr3_reset_full_bw(struct bbr3 *s, u32 full_bw)
{
	s->full_bw = full_bw;
	s->full_count = 0;
	s->is_full_now = 0;
}

static inline void bbr3_start_down(struct bbr3 *s, const struct hw_conn *c, u32 random)
{
	bbr3_reset_congestion_signals(s);
	s->up_acked_inc = INFINITE;
	s->rounds_since_up = random & 1; /* PickProbeWait() */
	s->probe_wait_us = PROBE_WAIT_US + (u32)((u64)random * PROBE_WAIT_RANDOM >> 32);
	s->cycle_us = c->now_us;
	s->ack_phase = ACKS_STOPPING;
	bbr3_start_round(s, c);
	s->mode = DOWN;
}

static inline void bbr3_start_refill(struct bbr3 *s, const struct hw_conn *c)
{
	bbr3_reset_short_term(s);
	s->up_rounds = 0;
	s->up_acked = 0;
	s->was_cautious = 0;
	s->ack_phase = ACKS_REFILLING;
	bbr3_start_round(s, c);
	s->mode = REFILL;
}

static inline void bbr3_raise_slope(struct bbr3 *s, const struct hw_conn *c)
{
	u32 growth = 1u << (s->up_rounds & 31);

	s->up_rounds = s->up_rounds < 30 ? s->up_rounds + 1 : 30;
	s->up_acked_inc = hw_max_u32(c->cwnd_pkts / growth, 1);
}

static inline void bbr3_start_up(struct bbr3 *s, const struct hw_conn *c, u32 rate)
{
	s->ack_phase = ACKS_STARTING;
	bbr3_start_round(s, c);
	bbr3_reset_full_bw(s, rate);
	s->mode = UP;
	bbr3_raise_slope(s, c);
}

/* Losses. */

static inline void bbr3_save_cwnd(struct bbr3 *s, const struct hw_conn *c)
{
	if (c->ca_state < HW_CA_RECOVERY && s->mode != PROBE_RTT)
		s->prior_cwnd = c->cwnd_pkts;
	else
		s->prior_cwnd = hw_max_u32(s->prior_cwnd, c->cwnd_pkts);
}

static inline void bbr3_restore_cwnd(const struct bbr3 *s, struct hw_conn *c)
{
	c->cwnd_pkts = hw_max_u32(c->cwnd_pkts, s->prior_cwnd);
}

/* The draft's text saves the state "when a loss recovery episode starts", its pseudocode at the
 * first loss of every round. Then a second loss of the same ACK may already save what the
 * first one has cut, because ProbeBW_DOWN begins a new round. */
static inline void bbr3_save_upon_loss(struct bbr3 *s, const struct hw_conn *c, u32 undo_saves)
{
	bbr3_save_cwnd(s, c);
	if (s->is_saved && !undo_saves)
		return;
	s->is_saved = 1;
	s->undo_mode = NO_MODE;
	s->undo_bw_shortterm = s->bw_shortterm;
	s->undo_inflight_shortterm = s->inflight_shortterm;
	s->undo_inflight_longterm = s->inflight_longterm;
}

static inline void bbr3_note_loss(struct bbr3 *s, const struct hw_conn *c, u32 undo_saves)
{
	if (!s->is_loss_in_round) {
		s->loss_round_end = (u32)c->delivered_pkts;
		bbr3_save_upon_loss(s, c, undo_saves);
	}
	s->is_loss_in_round = 1;
}

static inline int bbr3_is_too_high(const struct hw_conn *c, u32 lost_pkts, u32 tx_inflight_pkts,
				   u32 loss_thresh)
{
	if (lost_pkts && !c->sack)
		return 1;
	return (u64)lost_pkts * 1000 > (u64)tx_inflight_pkts * loss_thresh;
}

/* The draft's text and pseudocode keep inflight_longterm while the application limits the flow;
 * its test case 6 wants it "updated appropriately, regardless of the application-limited
 * state". */
static inline void bbr3_handle_too_high(struct bbr3 *s, const struct hw_conn *c, u32 inflight_pkts,
					int is_app_limited, u32 random, const struct bbr3_tun *t)
{
	u32 least = hw_scale_u32(bbr3_target_inflight(s, c), t->beta, 1000);

	s->was_too_high = 1;
	s->is_probe_sample = 0;
	if (!is_app_limited || t->limited_probe)
		s->inflight_longterm = hw_max_u32(inflight_pkts, least);
	if (s->mode == UP) {
		s->undo_mode = UP;
		bbr3_start_down(s, c, random);
	}
}

/* InflightAtLoss(): at how many packets in flight losses crossed loss_thresh. The prefix is
 * negative if they had crossed it before these packets. */
static inline u32 bbr3_inflight_at_loss(const struct hw_lost *lost, u32 loss_thresh)
{
	u32 inflight_prev = lost->tx_inflight_pkts - hw_min_u32(lost->pkts, lost->tx_inflight_pkts);
	u32 lost_prev = lost->lost_pkts - hw_min_u32(lost->pkts, lost->lost_pkts);
	u64 budget = (u64)inflight_prev * loss_thresh, spent = (u64)lost_prev * 1000;
	u32 per_lost = 1000 - loss_thresh;

	if (budget >= spent)
		return hw_add_u32(inflight_prev, hw_saturate_u32((budget - spent) / per_lost));
	return inflight_prev -
	       hw_min_u32(hw_saturate_u32((spent - budget) / per_lost), inflight_prev);
}

/* HandleLostPacket() */
static void bbr3_on_loss(void *state, const u32 *tun, struct hw_conn *c, const struct hw_lost *lost)
{
	struct bbr3_tun t = bbr3_tun_of(tun);
	struct bbr3 *s = state;

	bbr3_note_loss(s, c, t.undo_saves);
	if (lost->seq != s->lost_end && s->lost_ranges < 255)
		s->lost_ranges++;
	s->lost_end = lost->end_seq;
	if (s->is_probe_sample &&
	    bbr3_is_too_high(c, lost->lost_pkts, lost->tx_inflight_pkts, t.loss_thresh))
		bbr3_handle_too_high(s, c, bbr3_inflight_at_loss(lost, t.loss_thresh),
				     lost->is_app_limited, lost->random, &t);
}

/* The model, as an ACK updates it. */

static inline void bbr3_update_latest(struct bbr3 *s, const struct hw_conn *c,
				      const struct hw_rate_sample *sample, u32 rate)
{
	s->starts_loss_round = 0;
	if (sample->delivered_pkts < 0)
		return;
	s->bw_latest = hw_max_u32(s->bw_latest, rate);
	s->inflight_latest = hw_max_u32(s->inflight_latest, (u32)sample->delivered_pkts);
	if (!hw_after(s->loss_round_end, (u32)sample->prior_delivered_pkts)) {
		s->loss_round_end = (u32)c->delivered_pkts;
		s->starts_loss_round = 1;
	}
}

static inline void bbr3_update_round(struct bbr3 *s, const struct hw_conn *c,
				     const struct hw_rate_sample *sample)
{
	s->starts_round = 0;
	if (sample->delivered_pkts < 0 || hw_after(s->round_end, (u32)sample->prior_delivered_pkts))
		return;
	bbr3_start_round(s, c);
	s->rounds++;
	s->rounds_since_up = hw_add_u32(s->rounds_since_up, 1);
	s->starts_round = 1;
}

static inline void bbr3_update_max_bw(struct bbr3 *s, const struct hw_rate_sample *sample, u32 rate)
{
	if (rate && (rate >= bbr3_max_bw(s) || !sample->is_app_limited))
		s->max_bw[1] = hw_max_u32(s->max_bw[1], rate);
}

/* The filter covers the previous and the present cycle. Without a sample of the present one it
 * keeps the previous cycle's. */
static inline void bbr3_advance_max_bw(struct bbr3 *s)
{
	if (!s->max_bw[1])
		return;
	s->max_bw[0] = s->max_bw[1];
	s->max_bw[1] = 0;
}

/* AdaptLowerBoundsFromCongestion(), once per round with losses */
static inline void bbr3_adapt_lower_bounds(struct bbr3 *s, const struct hw_conn *c, u32 beta)
{
	if (bbr3_is_probing(s) || !s->is_loss_in_round)
		return;
	if (s->bw_shortterm == INFINITE)
		s->bw_shortterm = bbr3_max_bw(s);
	if (s->inflight_shortterm == INFINITE)
		s->inflight_shortterm = c->cwnd_pkts;
	s->bw_shortterm = hw_max_u32(s->bw_latest, hw_scale_u32(s->bw_shortterm, beta, 1000));
	s->inflight_shortterm =
		hw_max_u32(s->inflight_latest, hw_scale_u32(s->inflight_shortterm, beta, 1000));
}

static inline void bbr3_update_congestion(struct bbr3 *s, const struct hw_conn *c,
					  const struct hw_rate_sample *sample, u32 rate, u32 beta)
{
	bbr3_update_round(s, c, sample);
	bbr3_update_max_bw(s, sample, rate);
	if (!s->starts_loss_round)
		return;
	bbr3_adapt_lower_bounds(s, c, beta);
	s->is_loss_in_round = 0;
}

static inline void bbr3_update_aggregation(struct bbr3 *s, const struct hw_conn *c,
					   const struct hw_rate_sample *sample)
{
	u64 expected = hw_bbr_pkts_in(s->bw, c->now_us - s->extra_at_us);
	u32 extra;

	if (s->extra_delivered <= expected) {
		s->extra_delivered = 0;
		s->extra_at_us = c->now_us;
		expected = 0;
	}
	s->extra_delivered = hw_add_u32(s->extra_delivered, sample->acked_pkts);
	extra = s->extra_delivered - hw_min_u32(hw_saturate_u32(expected), s->extra_delivered);
	hw_note_peak(s->extra, s->is_full ? EXTRA_ROUNDS : 1, s->rounds,
		     hw_min_u32(extra, c->cwnd_pkts));
}

static inline void bbr3_check_full_bw(struct bbr3 *s, const struct hw_rate_sample *sample, u32 rate)
{
	if (s->is_full_now || !s->starts_round || sample->is_app_limited)
		return;
	if (rate >= (u64)s->full_bw * FULL_GROWTH / UNIT) {
		bbr3_reset_full_bw(s, rate);
		return;
	}
	s->is_full_now = ++s->full_count >= HW_BBR_FULL_ROUNDS;
	s->is_full |= s->is_full_now;
}

/* Whether losses, or a mark, show in Startup that the pipe is full. The round that ends now was
 * a full one in recovery, because the first loss has begun it. */
static inline int bbr3_is_startup_lossy(const struct bbr3 *s, const struct hw_conn *c,
					const struct hw_rate_sample *sample, u32 loss_thresh)
{
	if (s->is_marked)
		return 1;
	if (c->ca_state != HW_CA_RECOVERY)
		return 0;
	if (!c->sack)
		return sample->losses_pkts != 0;
	return s->starts_loss_round && s->lost_ranges >= FULL_LOSS_RANGES &&
	       bbr3_is_too_high(c, sample->lost_pkts, sample->tx_inflight_pkts, loss_thresh);
}

/* The text sets full_bw_reached. Test case 2 expects full_bw_now, too. */
static inline void bbr3_check_startup_loss(struct bbr3 *s, const struct hw_conn *c,
					   const struct hw_rate_sample *sample, u32 loss_thresh)
{
	if (s->mode == STARTUP && !s->is_full && bbr3_is_startup_lossy(s, c, sample, loss_thresh)) {
		s->undo_mode = STARTUP;
		s->is_full = 1;
		s->is_full_now = 1;
		s->inflight_longterm =
			hw_max_u32(bbr3_bdp_multiple(s, s->bw, UNIT), s->inflight_latest);
	}
	if (s->starts_loss_round)
		s->lost_ranges = 0;
}

static inline void bbr3_check_startup_and_drain(struct bbr3 *s, struct hw_conn *c,
						const struct hw_rate_sample *sample,
						u32 loss_thresh)
{
	bbr3_check_startup_loss(s, c, sample, loss_thresh);
	if (s->mode == STARTUP && s->is_full) {
		s->mode = DRAIN;
		s->drain_start_round = s->rounds;
	}
	if (s->mode == DRAIN && (c->inflight_pkts <= bbr3_inflight(s, c, s->bw) ||
				 s->rounds - s->drain_start_round > DRAIN_ROUNDS))
		bbr3_start_down(s, c, sample->random);
}

/* ProbeBW. */

static inline void bbr3_probe_longterm_upward(struct bbr3 *s, const struct hw_conn *c,
					      u32 acked_pkts)
{
	u32 steps;

	if (!c->cwnd_limited || c->cwnd_pkts < s->inflight_longterm)
		return;
	s->up_acked = hw_add_u32(s->up_acked, acked_pkts);
	if (s->up_acked >= s->up_acked_inc) {
		steps = s->up_acked / hw_max_u32(s->up_acked_inc, 1);
		s->up_acked -= steps * s->up_acked_inc;
		s->inflight_longterm = hw_add_u32(s->inflight_longterm, steps);
	}
	if (s->starts_round)
		bbr3_raise_slope(s, c);
}

/* AdaptLongTermModel(): returns whether it has decided a transition. */
static inline int bbr3_adapt_long_term(struct bbr3 *s, const struct hw_conn *c,
				       const struct hw_rate_sample *sample, u32 loss_thresh)
{
	if (s->ack_phase == ACKS_STARTING && s->starts_round)
		s->ack_phase = ACKS_FEEDBACK;
	if (s->ack_phase == ACKS_STOPPING && s->starts_round) {
		s->is_probe_sample = 0;
		s->ack_phase = ACKS_INIT;
		if (bbr3_is_probe_bw(s) && !sample->is_app_limited)
			bbr3_advance_max_bw(s);
		if (bbr3_is_probe_bw(s) && s->was_cautious && !s->was_too_high) {
			bbr3_start_refill(s, c);
			return 1;
		}
	}
	if (s->inflight_longterm == INFINITE ||
	    bbr3_is_too_high(c, sample->lost_pkts, sample->tx_inflight_pkts, loss_thresh))
		return 0;
	s->inflight_longterm = hw_max_u32(s->inflight_longterm, sample->tx_inflight_pkts);
	if (s->mode == UP)
		bbr3_probe_longterm_upward(s, c, sample->acked_pkts);
	return 0;
}

static inline int bbr3_is_time_to_probe(struct bbr3 *s, const struct hw_conn *c)
{
	if ((s64)(c->now_us - s->cycle_us) > (s64)s->probe_wait_us ||
	    s->rounds_since_up >= hw_min_u32(bbr3_target_inflight(s, c), RENO_ROUNDS)) {
		bbr3_start_refill(s, c);
		return 1;
	}
	return 0;
}

static inline int bbr3_is_time_to_go_down(struct bbr3 *s, const struct hw_conn *c, u32 rate)
{
	if (s->was_too_high && c->inflight_pkts >= s->inflight_longterm) {
		s->was_cautious = 1;
		return 1;
	}
	if (c->cwnd_limited && c->cwnd_pkts >= s->inflight_longterm) {
		bbr3_reset_full_bw(s, rate);
		return 0;
	}
	return s->is_full_now;
}

static inline void bbr3_update_cycle(struct bbr3 *s, struct hw_conn *c,
				     const struct hw_rate_sample *sample, u32 rate,
				     const struct bbr3_tun *t)
{
	if (!s->is_full)
		return;
	if (s->is_marked && s->is_probe_sample)
		bbr3_handle_too_high(s, c, sample->tx_inflight_pkts, sample->is_app_limited,
				     sample->random, t);
	if (bbr3_adapt_long_term(s, c, sample, t->loss_thresh))
		return;
	switch (s->mode) {
	case DOWN:
		if (!bbr3_is_time_to_probe(s, c) && c->inflight_pkts <= bbr3_with_headroom(s, t) &&
		    c->inflight_pkts <= bbr3_inflight(s, c, bbr3_max_bw(s)))
			s->mode = CRUISE;
		break;
	case CRUISE:
		bbr3_is_time_to_probe(s, c);
		break;
	case REFILL:
		if (s->starts_round) {
			s->is_probe_sample = 1;
			bbr3_start_up(s, c, rate);
		}
		break;
	case UP:
		if (bbr3_is_time_to_go_down(s, c, rate)) {
			s->was_too_high = 0;
			bbr3_start_down(s, c, sample->random);
		}
		break;
	}
}

/* ProbeRTT. */

static inline void bbr3_update_min_rtt(struct bbr3 *s, const struct hw_conn *c,
				       const struct hw_rate_sample *sample,
				       const struct bbr3_tun *t)
{
	s64 probe_age_us = (s64)(c->now_us - s->probe_rtt_min_at_us);

	s->probe_rtt_expired = probe_age_us > (s64)t->probe_rtt_interval_ms * 1000;
	if (sample->rtt_us >= 0 &&
	    ((u32)sample->rtt_us < s->probe_rtt_min_us || s->probe_rtt_expired)) {
		s->probe_rtt_min_us = (u32)sample->rtt_us;
		s->probe_rtt_min_at_us = c->now_us;
	}
	if (s->probe_rtt_min_us < s->min_rtt_us ||
	    (s64)(c->now_us - s->min_rtt_at_us) > (s64)t->min_rtt_window_ms * 1000) {
		s->min_rtt_us = s->probe_rtt_min_us;
		s->min_rtt_at_us = s->probe_rtt_min_at_us;
	}
}

static inline void bbr3_exit_probe_rtt(struct bbr3 *s, const struct hw_conn *c, u32 random)
{
	bbr3_reset_short_term(s);
	s->mode = STARTUP;
	if (s->is_full) {
		bbr3_start_down(s, c, random);
		s->mode = CRUISE;
	}
}

static inline void bbr3_check_probe_rtt_done(struct bbr3 *s, struct hw_conn *c, u32 random)
{
	if (!s->probe_rtt_done_us || (s64)(c->now_us - s->probe_rtt_done_us) <= 0)
		return;
	s->probe_rtt_min_at_us = c->now_us;
	bbr3_restore_cwnd(s, c);
	bbr3_exit_probe_rtt(s, c, random);
}

static inline void bbr3_handle_probe_rtt(struct bbr3 *s, struct hw_conn *c, u32 random,
					 u32 probe_rtt_ms)
{
	c->mark_app_limited = 1;
	if (!s->probe_rtt_done_us) {
		if (c->inflight_pkts > bbr3_probe_rtt_cwnd(s))
			return;
		s->probe_rtt_done_us = c->now_us + probe_rtt_ms * 1000ull;
		s->probed_a_round = 0;
		bbr3_start_round(s, c);
		return;
	}
	s->probed_a_round |= s->starts_round;
	if (s->probed_a_round)
		bbr3_check_probe_rtt_done(s, c, random);
}

static inline void bbr3_check_probe_rtt(struct bbr3 *s, struct hw_conn *c,
					const struct hw_rate_sample *sample, u32 probe_rtt_ms)
{
	if (s->mode != PROBE_RTT && s->probe_rtt_expired && !s->idle_restart) {
		s->mode = PROBE_RTT;
		bbr3_save_cwnd(s, c);
		s->probe_rtt_done_us = 0;
		s->ack_phase = ACKS_STOPPING;
		bbr3_start_round(s, c);
	}
	if (s->mode == PROBE_RTT)
		bbr3_handle_probe_rtt(s, c, sample->random, probe_rtt_ms);
	if (sample->delivered_pkts > 0)
		s->idle_restart = 0;
}

/* Pacing rate and window. */

static inline void bbr3_pace(const struct bbr3 *s, struct hw_conn *c, u32 bw, u32 gain)
{
	hw_bbr_pace(c, hw_bbr_bytes_per_s(c, bw, gain, UNIT), s->is_full);
}

/* InitPacingRate(): the first window per RTT, or per 1 ms without an RTT sample */
static inline void bbr3_begin_pacing(struct bbr3 *s, struct hw_conn *c, u32 gain)
{
	s->knows_rtt = c->srtt_us != 0;
	c->pacing_rate_Bps = 0;
	bbr3_pace(s, c, hw_bbr_rate_of(c->cwnd_pkts, s->knows_rtt ? c->srtt_us : 1000), gain);
}

/* The table of the draft's section "Summary of Control Behavior" bounds Drain by
 * inflight_longterm; BoundCwndForModel() does not. */
static inline u32 bbr3_bound(const struct bbr3 *s, const struct bbr3_tun *t)
{
	u32 bound = INFINITE;

	if (s->mode == PROBE_RTT || s->mode == CRUISE)
		bound = bbr3_with_headroom(s, t);
	else if (bbr3_is_probe_bw(s) || (s->mode == DRAIN && !t->drain_bound))
		bound = s->inflight_longterm;
	bound = hw_min_u32(bound, s->inflight_shortterm);
	return hw_max_u32(bound, HW_BBR_LEAST_PKTS);
}

static inline u32 bbr3_max_inflight(const struct bbr3 *s, const struct hw_conn *c)
{
	u32 pkts = bbr3_bdp_multiple(s, s->bw, bbr3_cwnd_gain(s));

	return bbr3_quantization_budget(s, c, hw_add_u32(pkts, s->extra[0].value));
}

static inline void bbr3_set_cwnd(struct bbr3 *s, struct hw_conn *c,
				 const struct hw_rate_sample *sample, const struct bbr3_tun *t)
{
	u32 max_inflight = bbr3_max_inflight(s, c);
	u32 cwnd = c->cwnd_pkts;

	if (s->is_full)
		cwnd = hw_min_u32(hw_add_u32(cwnd, sample->acked_pkts), max_inflight);
	else if (cwnd < max_inflight || c->delivered_pkts < s->initial_cwnd)
		cwnd = hw_add_u32(cwnd, sample->acked_pkts);
	cwnd = hw_max_u32(cwnd, HW_BBR_LEAST_PKTS);
	if (s->mode == PROBE_RTT)
		cwnd = hw_min_u32(cwnd, bbr3_probe_rtt_cwnd(s));
	cwnd = hw_min_u32(cwnd, bbr3_bound(s, t));
	c->cwnd_pkts = hw_clamp_u32(cwnd, 1, c->cwnd_clamp_pkts);
}

/* The parts of control(). */

HW_PART bbr3_learn(struct bbr3 *s, struct hw_conn *c, const struct hw_rate_sample *sample,
		   const struct bbr3_tun *t)
{
	u32 rate;

	if (!s || !c || !sample || !t)
		return 0;
	rate = bbr3_rate(sample);
	bbr3_update_latest(s, c, sample, rate);
	bbr3_update_congestion(s, c, sample, rate, t->beta);
	bbr3_update_aggregation(s, c, sample);
	bbr3_check_full_bw(s, sample, rate);
	return 0;
}

HW_PART bbr3_choose_mode(struct bbr3 *s, struct hw_conn *c, const struct hw_rate_sample *sample,
			 const struct bbr3_tun *t)
{
	u32 rate;

	if (!s || !c || !sample || !t)
		return 0;
	rate = bbr3_rate(sample);
	bbr3_check_startup_and_drain(s, c, sample, t->loss_thresh);
	bbr3_update_cycle(s, c, sample, rate, t);
	return 0;
}

HW_PART bbr3_choose_probe_rtt(struct bbr3 *s, struct hw_conn *c,
			      const struct hw_rate_sample *sample, const struct bbr3_tun *t)
{
	if (!s || !c || !sample || !t)
		return 0;
	bbr3_update_min_rtt(s, c, sample, t);
	bbr3_check_probe_rtt(s, c, sample, t->probe_rtt_ms);
	if (s->starts_loss_round) { /* AdvanceLatestDeliverySignals() */
		s->bw_latest = bbr3_rate(sample);
		s->inflight_latest = (u32)sample->delivered_pkts;
	}
	s->bw = hw_min_u32(bbr3_max_bw(s), s->bw_shortterm); /* BoundBWForModel() */
	return 0;
}

HW_PART bbr3_send_by(struct bbr3 *s, struct hw_conn *c, const struct hw_rate_sample *sample,
		     const struct bbr3_tun *t)
{
	if (!s || !c || !sample || !t)
		return 0;
	if (!s->knows_rtt && c->srtt_us)
		bbr3_begin_pacing(s, c, t->startup_gain);
	bbr3_pace(s, c, s->bw, bbr3_pacing_gain(s, t));
	if (s->was_ca_state >= HW_CA_RECOVERY && c->ca_state < HW_CA_RECOVERY)
		bbr3_restore_cwnd(s, c);
	s->was_ca_state = c->ca_state;
	bbr3_set_cwnd(s, c, sample, t);
	s->is_marked = 0;
	return 0;
}

static void bbr3_init(void *state, const u32 *tun, struct hw_conn *c)
{
	struct bbr3 *s = state;

	s->mode = STARTUP;
	s->undo_mode = NO_MODE;
	s->min_rtt_us = c->srtt_us ? c->srtt_us : HW_U32_MAX;
	s->min_rtt_at_us = c->now_us;
	s->probe_rtt_min_us = s->min_rtt_us; /* the draft leaves this and the next open */
	s->probe_rtt_min_at_us = c->now_us;
	s->extra_at_us = c->now_us;
	s->cycle_us = c->now_us;
	s->round_end = (u32)c->delivered_pkts;
	s->loss_round_end = (u32)c->delivered_pkts;
	s->inflight_longterm = INFINITE;
	s->up_acked_inc = INFINITE;
	s->initial_cwnd = c->cwnd_pkts;
	c->ssthresh_pkts = HW_SSTHRESH_INFINITE;
	bbr3_reset_short_term(s);
	bbr3_begin_pacing(s, c, tun[STARTUP_GAIN]);
}

static void bbr3_control(void *state, const u32 *tun, struct hw_conn *c,
			 const struct hw_rate_sample *sample)
{
	struct bbr3_tun t = bbr3_tun_of(tun);

	bbr3_learn(state, c, sample, &t);
	bbr3_choose_mode(state, c, sample, &t);
	bbr3_choose_probe_rtt(state, c, sample, &t);
	bbr3_send_by(state, c, sample, &t);
}

/* Saves the state for an undo when a recovery or a timeout begins (OnEnterFastRecovery(),
 * OnEnterRTO()). BBR does not use ssthresh. */
static u32 bbr3_ssthresh(void *state, const u32 *tun, struct hw_conn *c)
{
	struct bbr3 *s = state;

	bbr3_save_upon_loss(s, c, tun[UNDO_SAVES]);
	if (c->by_mark) {
		bbr3_note_loss(s, c, tun[UNDO_SAVES]);
		s->is_marked = 1;
	}
	return c->ssthresh_pkts;
}

static void bbr3_set_state(void *state, const u32 *tun, struct hw_conn *c, u8 new_state)
{
	struct bbr3 *s = state;

	/* a loss that a tail loss probe has repaired: the stack reports no lost packet */
	if (new_state == HW_CA_CWR && !c->by_mark)
		bbr3_note_loss(s, c, tun[UNDO_SAVES]);
	if (new_state == HW_CA_LOSS)
		s->was_ca_state = HW_CA_LOSS;
	if (new_state < HW_CA_CWR)
		s->is_saved = 0;
}

/* HandleRestartFromIdle() */
static void bbr3_event(void *state, const u32 *tun, struct hw_conn *c, u8 event)
{
	struct bbr3 *s = state;

	(void)tun;
	if (event != HW_EVENT_TX_START || !c->app_limited)
		return;
	s->idle_restart = 1;
	s->extra_at_us = c->now_us;
	/* the draft does not say so, but data from before the idle time is no aggregation */
	s->extra_delivered = 0;
	if (bbr3_is_probe_bw(s))
		bbr3_pace(s, c, s->bw, UNIT);
	else if (s->mode == PROBE_RTT)
		bbr3_check_probe_rtt_done(s, c, c->snd_nxt * 2654435761u);
}

/* HandleSpuriousLossDetection() */
static u32 bbr3_undo_cwnd(void *state, const u32 *tun, struct hw_conn *c, u32 prior_cwnd_pkts)
{
	struct bbr3 *s = state;
	u8 undo_mode = s->undo_mode;

	(void)tun;
	(void)prior_cwnd_pkts;
	s->undo_mode = NO_MODE;
	s->is_loss_in_round = 0;
	bbr3_reset_full_bw(s, 0);
	s->bw_shortterm = hw_max_u32(s->bw_shortterm, s->undo_bw_shortterm);
	s->inflight_shortterm = hw_max_u32(s->inflight_shortterm, s->undo_inflight_shortterm);
	s->inflight_longterm = hw_max_u32(s->inflight_longterm, s->undo_inflight_longterm);
	if (undo_mode == STARTUP && s->mode != STARTUP) {
		s->is_full = 0;
		if (s->mode != PROBE_RTT)
			s->mode = STARTUP;
	} else if (undo_mode == UP && s->mode != UP && s->mode != PROBE_RTT) {
		bbr3_start_refill(s, c);
	}
	return hw_max_u32(c->cwnd_pkts, s->prior_cwnd);
}

#define BOUND "packets; 4294967295: none"

static const struct hw_counter bbr3_readings[] = {
	{ "state", "startup|drain|down|cruise|refill|up|probe_rtt", "state", 1 },
	{ "pacing_gain", "1/100", "gain of the pacing rate", 1 },
	{ "cwnd_gain", "1/100", "gain of the window", 1 },
	{ "round_count", "", "packet-timed round trips", 1 },
	{ "min_rtt_us", "us", "smallest RTT; 4294967295: unknown", 1 },
	{ "max_bw_bps", "bit/s", "largest delivery rate of two cycles, IP bytes", 8 },
	{ "bw_bps", "bit/s", "rate that the gains refer to", 8 },
	{ "bw_shortterm_bps", "bit/s", "short-term bound of the rate; 0: none", 8 },
	{ "inflight_longterm_pkts", BOUND, "long-term bound of the packets in flight", 1 },
	{ "inflight_shortterm_pkts", BOUND, "short-term bound of the packets in flight", 1 },
	{ "max_inflight_pkts", "packets", "packets in flight that use the rate fully", 1 },
	{ "extra_acked_pkts", "packets", "aggregation of ACKs", 1 },
	{ "inflight_pkts", "packets", "packets in flight after the ACK", 1 },
	{ "cwnd_pkts", "packets", "window", 1 },
	{ "pacing_rate_bps", "bit/s", "pacing rate, IP bytes", 8 },
	{ "full_bw_count", "", "rounds without growth", 1 },
	{ "full_bw_now", "bool", "the pipe is full", 1 },
	{ "full_bw_reached", "bool", "the pipe was full once", 1 },
	{ "idle_restart", "bool", "restarting from idle", 1 },
	{ "up_acked_per_inc_pkts", BOUND, "ACKed packets per packet of inflight_longterm", 1 },
	{ "bw_probe_wait_us", "us", "longest time to the next probe", 1 },
	{ "prev_probe_too_high", "bool", "the last probe lost too much", 1 },
};

static u64 bbr3_shown_Bps(const struct hw_conn *c, u32 rate)
{
	if (rate == INFINITE)
		return 0;
	return (u64)rate * hw_min_u32(hw_bbr_pkt_bytes(c), 1u << 17) / 64 * (1000000 / 64) >>
	       (HW_BBR_RATE_SHIFT - 12);
}

static void bbr3_observe(const void *state, const u32 *tun, const struct hw_conn *c, u64 *values)
{
	const struct bbr3 *s = state;
	struct bbr3_tun t = bbr3_tun_of(tun);
	u32 n = 0;

	values[n++] = s->mode;
	values[n++] = bbr3_pacing_gain(s, &t);
	values[n++] = bbr3_cwnd_gain(s);
	values[n++] = s->rounds;
	values[n++] = s->min_rtt_us;
	values[n++] = bbr3_shown_Bps(c, bbr3_max_bw(s));
	values[n++] = bbr3_shown_Bps(c, s->bw);
	values[n++] = bbr3_shown_Bps(c, s->bw_shortterm);
	values[n++] = s->inflight_longterm;
	values[n++] = s->inflight_shortterm;
	values[n++] = bbr3_max_inflight(s, c);
	values[n++] = s->extra[0].value;
	values[n++] = c->inflight_pkts;
	values[n++] = c->cwnd_pkts;
	values[n++] = c->pacing_rate_Bps;
	values[n++] = s->full_count;
	values[n++] = s->is_full_now;
	values[n++] = s->is_full;
	values[n++] = s->idle_restart;
	values[n++] = s->up_acked_inc;
	values[n++] = s->probe_wait_us;
	values[n++] = s->was_too_high;
}

_Static_assert(HW_COUNT(bbr3_readings) <= HW_MAX_READINGS, "readings of a control");

HW_TABLE struct hw_cc_ops hw_cc_bbr3 = {
	.name = "bbr3",
	.title = "BBR version 3: bounds rate and window by losses, probes every few seconds",
	.source = "draft-ietf-ccwg-bbr of 2026-08-03",
	.state_bytes = sizeof(struct bbr3),
	.flags = HW_CC_OWN_START | HW_CC_PACES,
	.send_windows = 3,
	.n_tunables = HW_COUNT(bbr3_tunables),
	.n_readings = HW_COUNT(bbr3_readings),
	.tunables = bbr3_tunables,
	.readings = bbr3_readings,
	.init = bbr3_init,
	.control = bbr3_control,
	.on_loss = bbr3_on_loss,
	.observe = bbr3_observe,
	.ssthresh = bbr3_ssthresh,
	.set_state = bbr3_set_state,
	.event = bbr3_event,
	.undo_cwnd = bbr3_undo_cwnd,
};
