// SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only)
/*
 * BBR, version 1. It paces at the largest delivery rate of the last ten round trips. It keeps
 * two bandwidth-delay products in flight, computed from that rate and the smallest round-trip
 * time of the last ten seconds (Cardwell, Cheng, Gunn, Yeganeh, Jacobson, "BBR:
 * Congestion-Based Congestion Control", ACM Queue 14(5), 2016;
 * draft-cardwell-iccrg-bbr-congestion-control-00). What these sources leave open follows Linux
 * 6.18: packet conservation in the first round of Recovery, estimation of a policer's rate,
 * room for aggregated ACKs, the pacing margin, budgets for segmentation offload.
 *
 * Rates are packets per 2^24 us (bbr_law.h), gains 1/256. Valid to 2^20 bytes per us.
 */
#include "../port/bbr_law.h"

enum { CWND_GAIN, MIN_RTT_WINDOW_MS, PROBE_RTT_MS };

static const struct hw_tunable bbr_tunables[] = {
	[CWND_GAIN] = { "cwnd_gain", "1/256",
			"bandwidth-delay products that ProbeBW keeps in flight", 512, 256, 2048 },
	[MIN_RTT_WINDOW_MS] = { "min_rtt_window_ms", "ms",
				"age after which ProbeRTT measures min RTT anew", 10000, 100,
				600000 },
	[PROBE_RTT_MS] = { "probe_rtt_ms", "ms",
			   "how long ProbeRTT keeps only four packets in flight to measure min RTT",
			   200, 1, 10000 },
};

#define UNIT	   256
#define HIGH_GAIN  739 /* 2/ln 2, rounded up: doubles the data sent per round trip */
#define DRAIN_GAIN 88  /* its inverse */
/* phases of ProbeBW's cycle, with the pacing gains 5/4, 3/4, then six times 1 */
#define PHASES	     8
#define RATE_ROUNDS  10
#define INITIAL_PKTS 10
#define FULL_GROWTH  320
/* Signs of a policer: two intervals of 4 to 16 rounds each lose a fifth of the packets, at
 * rates within an eighth (or 4 kbit/s) of each other. BBR then keeps to that rate for 48
 * rounds. */
#define POLICER_ROUNDS	    4
#define POLICER_LOSS	    50 /* of 256 */
#define POLICER_KEPT_ROUNDS 48
/* Room for aggregated ACKs: the largest number of packets, seen in the last 5 to 10 rounds, by
 * which ACKs ran ahead of the delivery rate; at most 100 ms of packets at that rate. */
#define EXTRA_ROUNDS 5
#define EXTRA_US     100000
#define EPOCH_PKTS   (1u << 20)
/* A buffer for segmentation offload has the bytes of 2^-10 s at the pacing rate, at most 64 KiB
 * with headers. */
#define SEGMENT_SHIFT 10
#define SEGMENT_BYTES 65215

enum bbr_mode { STARTUP, DRAIN, PROBE_BW, PROBE_RTT };

struct bbr {
	u64 phase_us; /* when the present phase of ProbeBW's cycle began */
	/* start of the time in which BBR counts ACKed packets, to compare them with the rate */
	u64 epoch_us;
	u64 min_rtt_at_us;
	/* when ProbeRTT ends; 0 in ProbeRTT while more than four packets are in flight */
	u64 probe_until_us;
	u64 policer_us;		 /* start of the interval that is checked for a policer */
	struct hw_peak peaks[3]; /* largest rates of the last RATE_ROUNDS rounds */
	u32 min_rtt_us;
	u32 rounds;
	/* delivered_pkts when the present round began; the round ends with the ACK of a packet
	 * that was sent after that time */
	u32 round_end_pkts;
	u32 saved_cwnd_pkts;
	u32 full_rate;
	/* rate of the previous interval; if is_policed is set, the rate that BBR uses */
	u32 policer_rate;
	u32 policer_delivered_pkts;
	u32 policer_lost_pkts;
	u32 policer_rounds;
	u32 epoch_pkts;
	/* most packets by which ACKs ran ahead of the delivery rate in these EXTRA_ROUNDS */
	u32 extra_pkts;
	u32 extra_before_pkts;
	u32 extra_rounds;
	u8 mode; /* enum bbr_mode */
	u8 phase;
	u8 full_rounds;
	u8 is_full; /* Startup is over, because the delivery rate stopped growing */
	u8 starts_round;
	u8 conserves; /* first round of Recovery: sends one packet per delivered packet */
	u8 was_ca_state;
	u8 idle_restart;
	u8 probed_a_round;
	u8 is_policed;
	u8 looks_for_policer;
	u8 knows_rtt; /* the pacing rate has been set from an RTT sample */
};

static inline u32 bbr_peak_rate(const struct bbr *s)
{
	return s->peaks[0].value;
}

/* The bandwidth estimate that BBR uses: the policer's rate if BBR found a policer, otherwise
 * the largest measured rate. */
static inline u32 bbr_rate(const struct bbr *s)
{
	return s->is_policed ? s->policer_rate : bbr_peak_rate(s);
}

static inline u32 bbr_pacing_gain(const struct bbr *s)
{
	switch (s->mode) {
	case STARTUP:
		return HIGH_GAIN;
	case DRAIN:
		return DRAIN_GAIN;
	case PROBE_BW:
		if (s->is_policed || s->phase > 1)
			return UNIT;
		return s->phase == 0 ? UNIT * 5 / 4 : UNIT * 3 / 4;
	}
	return UNIT;
}

static inline u32 bbr_cwnd_gain(const struct bbr *s, u32 probe_bw_gain)
{
	switch (s->mode) {
	case STARTUP:
	case DRAIN:
		return HIGH_GAIN;
	case PROBE_BW:
		return probe_bw_gain;
	}
	return UNIT;
}

static inline void bbr_pace(struct bbr *s, struct hw_conn *c, u32 rate, u32 gain)
{
	hw_bbr_pace(c, hw_bbr_bytes_per_s(c, rate, gain, UNIT), s->is_full);
}

/* Sets the first pacing rate: the first window divided by the first RTT sample, or by 1 ms if
 * there is none yet. */
static inline void bbr_begin_pacing(struct bbr *s, struct hw_conn *c)
{
	s->knows_rtt = c->srtt_us != 0;
	c->pacing_rate_Bps = 0;
	bbr_pace(s, c, hw_bbr_rate_of(c->cwnd_pkts, s->knows_rtt ? c->srtt_us : 1000), HIGH_GAIN);
}

static inline u32 bbr_segment_pkts(const struct hw_conn *c)
{
	u64 pkts = hw_div_u64(c->pacing_rate_Bps >> SEGMENT_SHIFT, hw_bbr_pkt_bytes(c));
	u32 most = hw_min_u32(SEGMENT_BYTES / hw_max_u32(c->mss_bytes, 1), 127);

	return hw_max_u32(hw_min_u32(hw_saturate_u32(pkts), most), c->pacing_chunk_pkts);
}

/* The bandwidth-delay product times a gain in packets, rounded up. */
static inline u32 bbr_bdp(const struct bbr *s, u32 rate, u32 gain)
{
	if (s->min_rtt_us == HW_U32_MAX)
		return INITIAL_PKTS;
	return hw_bbr_bdp(rate, s->min_rtt_us, gain, UNIT);
}

/* Adds to a window what segmentation offload and delayed ACKs need in flight: three segments,
 * rounded up to an even number of packets, and two more packets while ProbeBW probes for
 * bandwidth. */
static inline u32 bbr_with_budget(const struct bbr *s, const struct hw_conn *c, u32 pkts)
{
	pkts = hw_add_u32(hw_min_u32(pkts, HW_U32_MAX / 2), 3 * bbr_segment_pkts(c));
	pkts = (pkts + 1) & ~1u;
	return s->mode == PROBE_BW && s->phase == 0 ? pkts + 2 : pkts;
}

static inline u32 bbr_inflight(const struct bbr *s, const struct hw_conn *c, u32 gain)
{
	return bbr_with_budget(s, c, bbr_bdp(s, bbr_peak_rate(s), gain));
}

/* The number of packets that will be in flight when pacing sends the next packet. */
static inline u32 bbr_inflight_then(const struct bbr *s, const struct hw_conn *c, u32 inflight)
{
	u64 left = hw_bbr_pkts_in(bbr_rate(s), c->pacing_wait_us);

	if (bbr_pacing_gain(s) > UNIT)
		inflight = hw_add_u32(inflight, bbr_segment_pkts(c));
	return left >= inflight ? 0 : inflight - (u32)left;
}

static inline void bbr_next_phase(struct bbr *s, const struct hw_conn *c)
{
	s->phase = (s->phase + 1) % PHASES;
	s->phase_us = c->delivered_us;
}

/* Enters ProbeBW in a random phase of its cycle, but not in the phase with a gain of 3/4. */
static inline void bbr_enter_probe_bw(struct bbr *s, const struct hw_conn *c, u32 random)
{
	s->mode = PROBE_BW;
	s->phase = PHASES - 1 - (u32)((u64)random * (PHASES - 1) >> 32);
	bbr_next_phase(s, c);
}

static inline void bbr_restart_policer_detection(struct bbr *s, const struct hw_conn *c)
{
	s->policer_us = c->delivered_us;
	s->policer_delivered_pkts = (u32)c->delivered_pkts;
	s->policer_lost_pkts = c->lost_pkts;
	s->policer_rounds = 0;
}

static inline void bbr_forget_policer(struct bbr *s, const struct hw_conn *c)
{
	s->policer_rate = 0;
	s->is_policed = 0;
	s->looks_for_policer = 0;
	bbr_restart_policer_detection(s, c);
}

/* Called if the losses of this interval look like those of a policer. If two such intervals have
 * about the same rate, BBR takes that rate as the policer's rate. */
static inline void bbr_policer_interval(struct bbr *s, const struct hw_conn *c, u32 rate)
{
	u32 before = s->policer_rate;
	u32 apart = rate > before ? rate - before : before - rate;

	if (before &&
	    (apart <= before / 8 || hw_bbr_bytes_per_s(c, apart, UNIT, UNIT) <= 4000 / 8)) {
		s->policer_rate = (u32)(((u64)rate + before) / 2);
		s->is_policed = 1;
		s->policer_rounds = 0;
		return;
	}
	s->policer_rate = rate;
	bbr_restart_policer_detection(s, c);
}

static inline void bbr_detect_policer(struct bbr *s, const struct hw_conn *c, u32 losses,
				      u8 is_app_limited, u32 random)
{
	u32 lost, delivered;
	u64 ms;

	if (s->is_policed) {
		if (s->mode == PROBE_BW && s->starts_round &&
		    ++s->policer_rounds >= POLICER_KEPT_ROUNDS) {
			bbr_forget_policer(s, c);
			bbr_enter_probe_bw(s, c, random);
		}
		return;
	}
	if (!s->looks_for_policer) {
		/* the interval to check begins with a loss: the policer's token bucket is then
		 * empty */
		if (!losses)
			return;
		bbr_restart_policer_detection(s, c);
		s->looks_for_policer = 1;
	}
	if (is_app_limited) {
		bbr_forget_policer(s, c);
		return;
	}
	s->policer_rounds += s->starts_round;
	if (s->policer_rounds < POLICER_ROUNDS)
		return;
	if (s->policer_rounds > 4 * POLICER_ROUNDS) {
		bbr_forget_policer(s, c);
		return;
	}
	/* the checked interval ends with a loss, as it began */
	if (!losses)
		return;
	lost = c->lost_pkts - s->policer_lost_pkts;
	delivered = (u32)c->delivered_pkts - s->policer_delivered_pkts;
	if (!delivered || (u64)lost * 256 < (u64)POLICER_LOSS * delivered)
		return;
	ms = c->delivered_us / 1000 - s->policer_us / 1000;
	if (ms < 1 || ms >> 31)
		return;
	bbr_policer_interval(s, c, hw_bbr_rate_of(delivered, ms * 1000));
}

static inline void bbr_take_rate(struct bbr *s, const struct hw_conn *c,
				 const struct hw_rate_sample *sample)
{
	u32 rate;

	s->starts_round = 0;
	if (!hw_bbr_has_rate(sample))
		return;
	if (!hw_after(s->round_end_pkts, (u32)sample->prior_delivered_pkts)) {
		s->round_end_pkts = (u32)c->delivered_pkts;
		s->rounds++;
		s->starts_round = 1;
		s->conserves = 0;
	}
	bbr_detect_policer(s, c, sample->losses_pkts, sample->is_app_limited, sample->random);
	rate = hw_bbr_rate_of((u32)sample->delivered_pkts, (u32)sample->interval_us);
	/* a sample that the application limited counts only if it reaches the largest known rate */
	if (!sample->is_app_limited || rate >= bbr_peak_rate(s))
		hw_note_peak(s->peaks, RATE_ROUNDS, s->rounds, rate);
}

/* Measures by how many packets ACKs run ahead of the delivery rate. If a link or receiver
 * aggregates ACKs, BBR needs that many more packets in flight. */
static inline void bbr_take_aggregation(struct bbr *s, const struct hw_conn *c,
					const struct hw_rate_sample *sample)
{
	u64 expected;
	u32 extra;

	if (!sample->acked_pkts || !hw_bbr_has_rate(sample))
		return;
	if (s->starts_round && ++s->extra_rounds >= EXTRA_ROUNDS) {
		s->extra_rounds = 0;
		s->extra_before_pkts = s->extra_pkts;
		s->extra_pkts = 0;
	}
	expected = hw_bbr_pkts_in(bbr_rate(s), c->delivered_us - s->epoch_us);
	if (s->epoch_pkts <= expected || s->epoch_pkts + (u64)sample->acked_pkts >= EPOCH_PKTS) {
		s->epoch_pkts = 0;
		s->epoch_us = c->delivered_us;
		expected = 0;
	}
	s->epoch_pkts = hw_min_u32(hw_add_u32(s->epoch_pkts, sample->acked_pkts), EPOCH_PKTS - 1);
	extra = s->epoch_pkts > expected ? s->epoch_pkts - (u32)expected : 0;
	s->extra_pkts = hw_max_u32(s->extra_pkts, hw_min_u32(extra, c->cwnd_pkts));
}

static inline u32 bbr_aggregation_pkts(const struct bbr *s)
{
	u64 most = hw_bbr_pkts_in(bbr_rate(s), EXTRA_US);

	if (!s->is_full)
		return 0;
	return hw_min_u32(hw_max_u32(s->extra_pkts, s->extra_before_pkts), hw_saturate_u32(most));
}

/* A phase lasts one minimum round trip. A phase with a gain above 1 continues until gain times
 * the bandwidth-delay product is in flight or a packet is lost. A phase with a gain below 1
 * ends earlier if only the bandwidth-delay product is in flight. */
static inline void bbr_cycle(struct bbr *s, const struct hw_conn *c,
			     const struct hw_rate_sample *sample)
{
	u32 gain = bbr_pacing_gain(s);
	int is_over = (s64)(c->delivered_us - s->phase_us) > (s64)s->min_rtt_us;
	u32 inflight;

	if (s->mode != PROBE_BW)
		return;
	if (gain != UNIT) {
		inflight = bbr_inflight_then(s, c, sample->prior_inflight_pkts);
		if (gain > UNIT)
			is_over = is_over &&
				  (sample->losses_pkts || inflight >= bbr_inflight(s, c, gain));
		else
			is_over = is_over || inflight <= bbr_inflight(s, c, UNIT);
	}
	if (is_over)
		bbr_next_phase(s, c);
}

static inline void bbr_leave_startup(struct bbr *s, struct hw_conn *c,
				     const struct hw_rate_sample *sample)
{
	if (!s->is_full && s->starts_round && !sample->is_app_limited) {
		if (bbr_peak_rate(s) >= (u64)s->full_rate * FULL_GROWTH / UNIT) {
			s->full_rate = bbr_peak_rate(s);
			s->full_rounds = 0;
		} else {
			s->is_full = ++s->full_rounds >= HW_BBR_FULL_ROUNDS;
		}
	}
	if (s->mode == STARTUP && s->is_full) {
		s->mode = DRAIN;
		c->ssthresh_pkts = bbr_inflight(s, c, UNIT);
	}
	if (s->mode == DRAIN &&
	    bbr_inflight_then(s, c, c->inflight_pkts) <= bbr_inflight(s, c, UNIT))
		bbr_enter_probe_bw(s, c, sample->random);
}

static inline void bbr_save_cwnd(struct bbr *s, const struct hw_conn *c)
{
	if (s->was_ca_state < HW_CA_RECOVERY && s->mode != PROBE_RTT)
		s->saved_cwnd_pkts = c->cwnd_pkts;
	else
		s->saved_cwnd_pkts = hw_max_u32(s->saved_cwnd_pkts, c->cwnd_pkts);
}

static inline void bbr_end_probe_rtt(struct bbr *s, struct hw_conn *c, u32 random)
{
	if (!s->probe_until_us || (s64)(c->now_us - s->probe_until_us) <= 0)
		return;
	s->min_rtt_at_us = c->now_us;
	c->cwnd_pkts = hw_max_u32(c->cwnd_pkts, s->saved_cwnd_pkts);
	if (s->is_full)
		bbr_enter_probe_bw(s, c, random);
	else
		s->mode = STARTUP;
}

/* ProbeRTT: waits until four packets are in flight, then ends after probe_ms, and not before a
 * whole round has passed. */
static inline void bbr_probe_rtt(struct bbr *s, struct hw_conn *c, u32 random, u32 probe_ms)
{
	c->mark_app_limited = 1;
	if (!s->probe_until_us) {
		if (c->inflight_pkts > HW_BBR_LEAST_PKTS)
			return;
		s->probe_until_us = c->now_us + probe_ms * 1000ull;
		s->probed_a_round = 0;
		s->round_end_pkts = (u32)c->delivered_pkts;
		return;
	}
	s->probed_a_round |= s->starts_round;
	if (s->probed_a_round)
		bbr_end_probe_rtt(s, c, random);
}

static inline void bbr_take_rtt(struct bbr *s, struct hw_conn *c,
				const struct hw_rate_sample *sample, u32 window_ms, u32 probe_ms)
{
	s64 age_us = (s64)(c->now_us - s->min_rtt_at_us);
	int is_old = age_us > (s64)window_ms * 1000;

	if (sample->rtt_us >= 0 &&
	    ((u32)sample->rtt_us < s->min_rtt_us || (is_old && !sample->is_ack_delayed))) {
		s->min_rtt_us = (u32)sample->rtt_us;
		s->min_rtt_at_us = c->now_us;
	}
	if (is_old && !s->idle_restart && s->mode != PROBE_RTT) {
		s->mode = PROBE_RTT;
		bbr_save_cwnd(s, c);
		s->probe_until_us = 0;
	}
	if (s->mode == PROBE_RTT)
		bbr_probe_rtt(s, c, sample->random, probe_ms);
	/* the restart after idle is over once the path delivers packets again */
	if (sample->delivered_pkts > 0)
		s->idle_restart = 0;
}

/* Handles losses, and the beginning and end of Recovery. Returns whether packet conservation
 * determines cwnd. */
static inline int bbr_recover(struct bbr *s, const struct hw_conn *c,
			      const struct hw_rate_sample *sample, u32 *cwnd)
{
	u32 conserved = hw_add_u32(c->inflight_pkts, sample->acked_pkts);
	u8 was = s->was_ca_state;

	if (sample->losses_pkts)
		*cwnd = *cwnd > sample->losses_pkts ? *cwnd - sample->losses_pkts : 1;
	if (c->ca_state == HW_CA_RECOVERY && was != HW_CA_RECOVERY) {
		s->conserves = 1;
		s->round_end_pkts = (u32)c->delivered_pkts;
		*cwnd = conserved;
	} else if (was >= HW_CA_RECOVERY && c->ca_state < HW_CA_RECOVERY) {
		s->conserves = 0;
		*cwnd = hw_max_u32(*cwnd, s->saved_cwnd_pkts);
	}
	s->was_ca_state = c->ca_state;
	if (s->conserves)
		*cwnd = hw_max_u32(*cwnd, conserved);
	return s->conserves;
}

static inline u32 bbr_window(struct bbr *s, const struct hw_conn *c,
			     const struct hw_rate_sample *sample, u32 gain)
{
	u32 acked = sample->acked_pkts;
	u32 cwnd = c->cwnd_pkts;
	u32 target;

	if (!acked || bbr_recover(s, c, sample, &cwnd))
		return cwnd;
	target = hw_add_u32(bbr_bdp(s, bbr_rate(s), gain), bbr_aggregation_pkts(s));
	target = bbr_with_budget(s, c, target);
	if (s->is_full)
		cwnd = hw_min_u32(hw_add_u32(cwnd, acked), target);
	else if (cwnd < target || c->delivered_pkts < INITIAL_PKTS)
		cwnd = hw_add_u32(cwnd, acked);
	return hw_max_u32(cwnd, HW_BBR_LEAST_PKTS);
}

HW_PART bbr_learn(struct bbr *s, const struct hw_conn *c, const struct hw_rate_sample *sample)
{
	if (!s || !c || !sample)
		return 0;
	bbr_take_rate(s, c, sample);
	bbr_take_aggregation(s, c, sample);
	return 0;
}

HW_PART bbr_choose_mode(struct bbr *s, struct hw_conn *c, const struct hw_rate_sample *sample,
			u32 window_ms, u32 probe_ms)
{
	if (!s || !c || !sample)
		return 0;
	bbr_cycle(s, c, sample);
	bbr_leave_startup(s, c, sample);
	bbr_take_rtt(s, c, sample, window_ms, probe_ms);
	return 0;
}

HW_PART bbr_send_by(struct bbr *s, struct hw_conn *c, const struct hw_rate_sample *sample,
		    u32 probe_bw_gain)
{
	u32 cwnd;

	if (!s || !c || !sample)
		return 0;
	if (!s->knows_rtt && c->srtt_us)
		bbr_begin_pacing(s, c);
	bbr_pace(s, c, bbr_rate(s), bbr_pacing_gain(s));
	cwnd = bbr_window(s, c, sample, bbr_cwnd_gain(s, probe_bw_gain));
	cwnd = hw_clamp_u32(cwnd, 1, c->cwnd_clamp_pkts);
	c->cwnd_pkts = s->mode == PROBE_RTT ? hw_min_u32(cwnd, HW_BBR_LEAST_PKTS) : cwnd;
	return 0;
}

static void bbr_control(void *state, const u32 *tun, struct hw_conn *c,
			const struct hw_rate_sample *sample)
{
	bbr_learn(state, c, sample);
	bbr_choose_mode(state, c, sample, tun[MIN_RTT_WINDOW_MS], tun[PROBE_RTT_MS]);
	bbr_send_by(state, c, sample, tun[CWND_GAIN]);
}

static void bbr_init(void *state, const u32 *tun, struct hw_conn *c)
{
	struct bbr *s = state;

	(void)tun;
	s->mode = STARTUP;
	s->min_rtt_us = c->min_rtt_us;
	s->min_rtt_at_us = c->now_us;
	s->epoch_us = c->now_us;
	s->round_end_pkts = (u32)c->delivered_pkts;
	c->ssthresh_pkts = HW_SSTHRESH_INFINITE;
	bbr_forget_policer(s, c);
	bbr_begin_pacing(s, c);
}

static void bbr_event(void *state, const u32 *tun, struct hw_conn *c, u8 event)
{
	struct bbr *s = state;

	(void)tun;
	if (event != HW_EVENT_TX_START || !c->app_limited)
		return;
	s->idle_restart = 1;
	s->epoch_us = c->now_us;
	s->epoch_pkts = 0;
	/* after an idle time, pace at the estimated rate, without the gain of the last phase */
	if (s->mode == PROBE_BW)
		bbr_pace(s, c, bbr_rate(s), UNIT);
	else if (s->mode == PROBE_RTT)
		bbr_end_probe_rtt(s, c, c->snd_nxt * 2654435761u);
}

/* Saves cwnd for after Recovery. BBR does not use ssthresh. */
static u32 bbr_ssthresh(void *state, const u32 *tun, struct hw_conn *c)
{
	(void)tun;
	bbr_save_cwnd(state, c);
	return c->ssthresh_pkts;
}

static void bbr_set_state(void *state, const u32 *tun, struct hw_conn *c, u8 new_state)
{
	struct bbr *s = state;

	(void)tun;
	if (new_state != HW_CA_LOSS)
		return;
	s->was_ca_state = HW_CA_LOSS;
	s->full_rate = 0;
	s->starts_round = 1;
	bbr_detect_policer(s, c, 1, 0, c->snd_nxt * 2654435761u);
}

/* Called if a loss proves spurious. Forgets what BBR concluded from the loss: a limit of the
 * path's rate, a policer. */
static u32 bbr_undo_cwnd(void *state, const u32 *tun, struct hw_conn *c, u32 prior_cwnd_pkts)
{
	struct bbr *s = state;

	(void)tun;
	(void)prior_cwnd_pkts;
	s->full_rate = 0;
	s->full_rounds = 0;
	bbr_forget_policer(s, c);
	return c->cwnd_pkts;
}

HW_TABLE struct hw_cc_ops hw_cc_bbr = {
	.name = "bbr",
	.title = "BBR version 1: paces at the delivery rate, two BDP in flight",
	.source = "Cardwell et al., ACM Queue 14(5), 2016; draft-cardwell-iccrg-bbr-00; Linux 6.18",
	.state_bytes = sizeof(struct bbr),
	.flags = HW_CC_OWN_START | HW_CC_PACES,
	.send_windows = 3,
	.n_tunables = HW_COUNT(bbr_tunables),
	.tunables = bbr_tunables,
	.init = bbr_init,
	.control = bbr_control,
	.ssthresh = bbr_ssthresh,
	.set_state = bbr_set_state,
	.event = bbr_event,
	.undo_cwnd = bbr_undo_cwnd,
};
