// SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only)
/*
 * TCP Prague: a scalable control for L4S (RFC 9331; tcp_prague.c, version 0.7, which is newer than
 * draft-briscoe-iccrg-prague-congestion-control-04). The window shrinks by half of the fraction
 * alpha of packets that were marked, at most once per round trip. It grows by one packet per round
 * trip, but only with packets that were not marked. Flows with round trips below 25 ms grow and
 * shrink as if theirs were 25 ms (the virtual round trip), so short paths get no larger rate.
 * Packets are paced.
 *
 * The law needs Accurate ECN. Without it the law is Reno's: one packet per round trip, half after a
 * loss, no pacing.
 *
 * Differences from version 0.7:
 * - The packet size stays, so rates below 1 Mbit/s have the packets of higher rates.
 * - A mark reduces the window as soon as the (virtual) round trip after the last reduction is over.
 *   Version 0.7 waits until the stack enters CWR again, which it does once per real round trip.
 * - cwnd follows the window by one packet for every two that arrive, which is one per delayed ACK,
 *   and not by one per ACK, of which offloads leave few.
 * - The window grows only if half of it was in use, because a small receive window would otherwise
 *   let it grow without end.
 * - The pacing rate always swings by 3 %, in version 0.7 only with windows of up to 4 packets, where
 *   it has a rate instead of a window.
 *
 * Valid to windows of 2^24 packets and round trips of 16 s.
 */
#include "../port/cc.h"

enum { VIRTUAL_RTT_US, TRANSITION_ROUNDS, SHIFT_G, FIRST_MARK };
enum { HALVE, AVERAGE };

static const struct hw_tunable prague_tunables[] = {
	[VIRTUAL_RTT_US] = { "virtual_rtt_us", "us",
			     "shorter round trips count as this one; 0: every flow uses its own",
			     25000, 0, 100000 },
	[TRANSITION_ROUNDS] = { "transition_rounds", "round trips",
				"after slow start, until virtual_rtt_us applies", 4, 0, 1000000 },
	[SHIFT_G] = { "shift_g", "bits", "a round trip has the weight g = 2^-shift_g in alpha", 4,
		      0, 10 },
	[FIRST_MARK] = { "first_mark", "halve|average",
			 "the first mark halves the window and alpha begins at 0, or alpha begins "
			 "at 1",
			 HALVE, HALVE, AVERAGE },
};

#define WINDOW_SHIFT 20
#define ONE_PKT	     (1ull << WINDOW_SHIFT)
#define MAX_WINDOW   (ONE_PKT << 24)
#define ALPHA_SHIFT  24
#define ALPHA_ONE    (1ull << ALPHA_SHIFT)
/* The window and the rate (100 kbit/s) that always remain. Below the smallest window, pacing alone
 * lowers the rate. */
#define LEAST_PKTS 2
#define LEAST_BPS  12500 /* bytes per second */
/* Growth by one packet means packets of this size. */
#define FULL_BYTES  1500
#define SMALL_BYTES 150
/* Pacing is faster by 4/128 in the first half of every round trip and slower in the second, so that
 * a queue with a threshold marks some packets of every round trip. */
#define SWING	    4
#define SWING_SHIFT 7
/* Packets that leave together take at most 2^-12 s (0.24 ms) at the pacing rate. */
#define BURST_SHIFT 12
#define MAX_RTT_US  (1u << 24)
#define MAX_ACKED   (1u << 16)

struct prague {
	u64 window;	    /* packets << WINDOW_SHIFT; cwnd follows it */
	u64 prior_window;   /* before the last loss */
	u64 alpha_sum;	    /* alpha << (ALPHA_SHIFT + shift_g) */
	u64 round_us;	    /* when the present round began */
	u64 reduced_us;	    /* when a mark last reduced the window */
	u32 round_end;	    /* sequence number whose ACK ends the round */
	u32 reduced_end;    /* the same for the round after the last reduction */
	u32 delivered_pkts; /* the connection's counts when the round began */
	u32 delivered_ce_pkts;
	u32 seen_ce_pkts; /* delivered_ce_pkts at the last ACK */
	u32 rounds;	  /* since slow start ended; stops at its largest value */
	u8 is_scalable;	  /* both ends have negotiated Accurate ECN */
	u8 has_mark;	  /* a mark has arrived, so a queue on the path marks */
	u8 in_loss;	  /* until a loss is repaired the window does not grow */
};

static inline u32 prague_alpha(const struct prague *s, const u32 *tun)
{
	return (u32)(s->alpha_sum >> tun[SHIFT_G]);
}

static inline u32 prague_pkt_bytes(const struct hw_conn *c)
{
	return hw_clamp_u32(hw_add_u32(c->mss_bytes, c->header_bytes), SMALL_BYTES, 1u << 16);
}

static inline u32 prague_rtt_us(const struct hw_conn *c)
{
	return hw_clamp_u32(c->srtt_us, 1, MAX_RTT_US);
}

/* The round trip by which the flow grows and shrinks. */
static inline u32 prague_virtual_rtt_us(const struct prague *s, const u32 *tun,
					const struct hw_conn *c)
{
	if (!s->is_scalable || hw_in_slow_start(c) || s->rounds < tun[TRANSITION_ROUNDS])
		return prague_rtt_us(c);
	return hw_max_u32(prague_rtt_us(c), tun[VIRTUAL_RTT_US]);
}

/* Whether a round that began at from_us and ends with the ACK of `end` is over. */
static inline int prague_is_over(const struct prague *s, const u32 *tun, const struct hw_conn *c,
				 u64 from_us, u32 end)
{
	u32 virtual_us = prague_virtual_rtt_us(s, tun, c);

	if (hw_after(end, c->snd_una))
		return 0;
	return virtual_us <= prague_rtt_us(c) || c->now_us - from_us >= virtual_us;
}

static inline void prague_begin_round(struct prague *s, const struct hw_conn *c)
{
	s->round_us = c->now_us;
	s->round_end = c->snd_nxt;
	s->delivered_pkts = (u32)c->delivered_pkts;
	s->delivered_ce_pkts = c->delivered_ce_pkts;
}

/* alpha = (1 - g) alpha + g F, with the fraction F of this round's packets that were marked. The
 * sum keeps what a division by 2^shift_g would lose. */
static inline void prague_end_round(struct prague *s, const u32 *tun, const struct hw_conn *c)
{
	u32 delivered_pkts = (u32)c->delivered_pkts - s->delivered_pkts;
	u64 marked = (u64)(c->delivered_ce_pkts - s->delivered_ce_pkts) << ALPHA_SHIFT;
	u64 fraction = marked / hw_max_u32(delivered_pkts, 1);

	if (s->has_mark)
		s->alpha_sum += hw_min_u64(fraction, ALPHA_ONE) - (s->alpha_sum >> tun[SHIFT_G]);
	if (!hw_in_slow_start(c))
		s->rounds = hw_add_u32(s->rounds, 1);
	prague_begin_round(s, c);
}

/* Keeps the window between the smallest rate, or two packets if those are less, and the clamp. */
static inline void prague_bound(struct prague *s, const struct hw_conn *c)
{
	u64 least_bytes = (u64)LEAST_BPS * prague_rtt_us(c) / 1000000;
	u64 least = (least_bytes << WINDOW_SHIFT) / prague_pkt_bytes(c);
	u64 most = hw_min_u64((u64)c->cwnd_clamp_pkts << WINDOW_SHIFT, MAX_WINDOW);

	least = hw_min_u64(least, LEAST_PKTS * ONE_PKT);
	s->window = hw_min_u64(s->window > least ? s->window : least, most);
	if (!s->window)
		s->window = 1;
}

static inline u32 prague_cwnd(u64 window, const struct hw_conn *c)
{
	u32 pkts = hw_saturate_u32((window + ONE_PKT - 1) >> WINDOW_SHIFT);

	return hw_min_u32(hw_max_u32(pkts, LEAST_PKTS), c->cwnd_clamp_pkts);
}

static inline void prague_reduce(struct prague *s, const struct hw_conn *c, u64 alpha)
{
	s->window -= hw_part_u64(s->window, alpha << (32 - ALPHA_SHIFT - 1));
	s->reduced_us = c->now_us;
	s->reduced_end = c->snd_nxt;
}

/* Responds to an ACK that reports marks. Under RFC 3168 a mark costs what a loss costs. */
static inline void prague_take_marks(struct prague *s, const u32 *tun, const struct hw_conn *c)
{
	int is_first = !s->has_mark;
	u64 alpha = s->is_scalable ? prague_alpha(s, tun) : ALPHA_ONE;

	s->has_mark = 1;
	if (s->in_loss)
		return;
	if (is_first && tun[FIRST_MARK] == HALVE)
		prague_reduce(s, c, ALPHA_ONE);
	else if (prague_is_over(s, tun, c, s->reduced_us, s->reduced_end))
		prague_reduce(s, c, alpha);
}

/* Growth of the window in one round trip, in packets << WINDOW_SHIFT. A flow whose round trip is
 * shorter than the virtual one grows by (RTT / virtual RTT)^2 packets: its rate then grows as
 * quickly as that of a flow with the virtual round trip. */
static inline u64 prague_growth(const struct prague *s, const u32 *tun, const struct hw_conn *c)
{
	u64 virtual_us = prague_virtual_rtt_us(s, tun, c);
	u64 rtt_us = prague_rtt_us(c);
	u64 growth = ONE_PKT;

	if (rtt_us < virtual_us)
		growth = (rtt_us * rtt_us << WINDOW_SHIFT) / (virtual_us * virtual_us);
	return growth * FULL_BYTES / prague_pkt_bytes(c);
}

static inline void prague_grow(struct prague *s, const u32 *tun, struct hw_conn *c, u32 acked_pkts)
{
	if (hw_in_slow_start(c)) {
		acked_pkts = hw_slow_start(c, acked_pkts);
		s->window = (u64)c->cwnd_pkts << WINDOW_SHIFT;
	}
	acked_pkts = hw_min_u32(acked_pkts, MAX_ACKED);
	s->window += (acked_pkts * prague_growth(s, tun, c) << WINDOW_SHIFT) / s->window;
}

/* Moves cwnd towards the window. When it shrinks, slow start is over. */
static inline void prague_follow(const struct prague *s, struct hw_conn *c, u32 acked_pkts)
{
	u32 goal_pkts = prague_cwnd(s->window, c);
	u32 step_pkts = hw_max_u32(acked_pkts - acked_pkts / 2, 1);

	if (c->cwnd_pkts > goal_pkts) {
		c->cwnd_pkts -= hw_min_u32(step_pkts, c->cwnd_pkts - goal_pkts);
		c->ssthresh_pkts = c->cwnd_pkts;
	} else {
		c->cwnd_pkts += hw_min_u32(step_pkts, goal_pkts - c->cwnd_pkts);
	}
}

static inline void prague_pace(const struct prague *s, const u32 *tun, struct hw_conn *c)
{
	u64 window = hw_min_u64(s->window, (u64)c->cwnd_pkts << WINDOW_SHIFT);
	u64 rate_Bps, swing_Bps;

	if (!s->is_scalable || !c->srtt_us)
		return;
	rate_Bps = (window * prague_pkt_bytes(c) >> WINDOW_SHIFT) * 1000000 / prague_rtt_us(c);
	if (rate_Bps < LEAST_BPS)
		rate_Bps = LEAST_BPS;
	swing_Bps = rate_Bps * SWING >> SWING_SHIFT;
	if (c->cwnd_pkts < c->ssthresh_pkts / 2)
		rate_Bps *= 2;
	else if (c->now_us - s->round_us < prague_virtual_rtt_us(s, tun, c) / 2)
		rate_Bps += swing_Bps;
	else
		rate_Bps -= swing_Bps;
	c->pacing_rate_Bps = rate_Bps;
	c->pacing_chunk_pkts = hw_clamp_u32(
		hw_saturate_u32((rate_Bps >> BURST_SHIFT) / prague_pkt_bytes(c)), 1, 1u << 16);
}

static void prague_init(void *state, const u32 *tun, struct hw_conn *c)
{
	struct prague *s = state;

	s->window = hw_min_u64((u64)c->cwnd_pkts << WINDOW_SHIFT, MAX_WINDOW);
	s->is_scalable = c->ecn == HW_ECN_ACCURATE;
	s->alpha_sum = tun[FIRST_MARK] == AVERAGE ? ALPHA_ONE << tun[SHIFT_G] : 0;
	s->seen_ce_pkts = c->delivered_ce_pkts;
	s->reduced_us = c->now_us;
	s->reduced_end = c->snd_una;
	prague_begin_round(s, c);
	prague_pace(s, tun, c);
}

static void prague_control(void *state, const u32 *tun, struct hw_conn *c,
			   const struct hw_rate_sample *sample)
{
	struct prague *s = state;
	u32 marked_pkts = c->delivered_ce_pkts - s->seen_ce_pkts;
	u32 acked_pkts = sample->acked_pkts;
	int is_used = c->cwnd_limited || sample->prior_inflight_pkts >= c->cwnd_pkts / 2;

	s->seen_ce_pkts = c->delivered_ce_pkts;
	if (marked_pkts)
		prague_take_marks(s, tun, c);
	if (acked_pkts > marked_pkts && !s->in_loss && !c->app_limited && is_used)
		prague_grow(s, tun, c, acked_pkts - marked_pkts);
	prague_bound(s, c);
	prague_follow(s, c, acked_pkts);
	if (prague_is_over(s, tun, c, s->round_us, s->round_end))
		prague_end_round(s, tun, c);
	prague_pace(s, tun, c);
}

static inline void prague_lose(struct prague *s)
{
	s->prior_window = s->window;
	s->window -= s->window / 2;
	s->in_loss = 1;
}

/* A mark changes the window in control(), so it leaves ssthresh as it is. */
static u32 prague_ssthresh(void *state, const u32 *tun, struct hw_conn *c)
{
	const struct prague *s = state;

	(void)tun;
	if (c->by_mark)
		return c->ssthresh_pkts;
	return hw_clamp_u32(prague_cwnd(s->window - s->window / 2, c), LEAST_PKTS,
			    hw_max_u32(c->cwnd_pkts, LEAST_PKTS));
}

static void prague_set_state(void *state, const u32 *tun, struct hw_conn *c, u8 new_state)
{
	struct prague *s = state;

	(void)tun;
	if (new_state == HW_CA_RECOVERY && c->ca_state != HW_CA_RECOVERY)
		prague_lose(s);
	else if (new_state == HW_CA_OPEN)
		s->in_loss = 0;
}

/* A timeout is handled here and not in set_state, so that a window has one reduction. */
static void prague_event(void *state, const u32 *tun, struct hw_conn *c, u8 event)
{
	(void)tun;
	(void)c;
	if (event == HW_EVENT_LOSS)
		prague_lose(state);
}

static u32 prague_undo_cwnd(void *state, const u32 *tun, struct hw_conn *c, u32 prior_cwnd_pkts)
{
	struct prague *s = state;

	(void)tun;
	(void)prior_cwnd_pkts;
	if (s->prior_window > s->window)
		s->window = s->prior_window;
	s->in_loss = 0;
	return hw_max_u32(c->cwnd_pkts, prague_cwnd(s->window, c));
}

static const struct hw_counter prague_readings[] = {
	{ "alpha_ppm", "1/1000000", "average fraction of marked packets", 1 },
	{ "window_millipkts", "1/1000 packet", "window with its fraction", 1 },
	{ "virtual_rtt_us", "us", "round trip by which the flow grows and shrinks", 1 },
	{ "is_scalable", "bool", "both ends have negotiated Accurate ECN", 1 },
};

static void prague_observe(const void *state, const u32 *tun, const struct hw_conn *c, u64 *values)
{
	const struct prague *s = state;

	values[0] = (u64)prague_alpha(s, tun) * 1000000 >> ALPHA_SHIFT;
	values[1] = s->window * 1000 >> WINDOW_SHIFT;
	values[2] = prague_virtual_rtt_us(s, tun, c);
	values[3] = s->is_scalable;
}

_Static_assert(sizeof(struct prague) <= HW_CC_STATE_BYTES, "a socket has no more room");
_Static_assert(HW_COUNT(prague_readings) <= HW_MAX_READINGS, "readings of a control");

HW_TABLE struct hw_cc_ops hw_cc_prague = {
	.name = "prague",
	.title = "TCP Prague: the scalable control of L4S, for queues that mark early",
	.source = "RFC 9331; draft-briscoe-iccrg-prague-congestion-control-04; tcp_prague.c 0.7",
	.state_bytes = sizeof(struct prague),
	.flags = HW_CC_OWN_START | HW_CC_PACES | HW_CC_ECT1 | HW_CC_NEEDS_ECN | HW_CC_ACCURATE_ECN |
		 HW_CC_SHORT_BURSTS,
	.n_tunables = HW_COUNT(prague_tunables),
	.n_readings = HW_COUNT(prague_readings),
	.tunables = prague_tunables,
	.readings = prague_readings,
	.init = prague_init,
	.control = prague_control,
	.observe = prague_observe,
	.ssthresh = prague_ssthresh,
	.set_state = prague_set_state,
	.event = prague_event,
	.undo_cwnd = prague_undo_cwnd,
};
