// SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only)
/*
 * Quick-Start, the sender's congestion control (RFC 4782 sections 4.1 to 4.8): asks the
 * routers of the path for a rate and, if all approve one, sends its first window at that rate.
 * The stack handles options, nonce and TTL (header/quick_start.h) and reports the outcome in
 * `grant`.
 *
 * Choices that the RFC leaves open follow Scharf, "Fast Startup Internet Congestion Control"
 * (2011), sections 4.5.1, 5.3 and 6.3.3.1: when to send a request, the threshold chi, pacing in
 * chunks, and how ssthresh is set. Where Scharf's hosts differ from the RFC, qs_rules selects
 * the behaviour. Valid for round trips below 8 s. On a stack that cannot send requests, this
 * startup is slow start.
 */
#include "../port/first_flight.h"

#define UNKNOWN_RTT_US 100000  /* RTT assumed while unknown (RFC 4782, section 4.1) */
#define LATEST_US      3000000 /* a grant older than this is not used (RFC 4782, section 4.4) */

enum {
	RATE,
	ACTIVATION,
	AFTER_IDLE,
	MIN_DATA,
	FIT_DATA,
	SSTHRESH,
	SSTHRESH_FACTOR,
	MAX_SSTHRESH,
	CHUNK,
	IGNORE_WINDOW,
	RULES,
};

enum { ASKED_FOR = 1, EARLY = 2, LATE = 3, EARLY_OR_LATE = 4 };
enum { RULES_RFC = 0, RULES_SCHARF = 1 };
enum { SSTHRESH_KEPT = 0, SSTHRESH_SET = 1, SSTHRESH_SET_IF_ASKED = 2 };

static const struct hw_tunable quick_start_tunables[] = {
	[RATE] = { "qs_rate_kbps", "kbit/s", "rate to request if the application names none", 10000,
		   80, 1310720 },
	[ACTIVATION] = { "qs_activation", "never|asked|early|late|auto",
			 "when to send a request: never; asked: if the application names a "
			 "rate; early: in the handshake; late: with data; auto: in the "
			 "handshake if data is known by then, otherwise with data",
			 4, 0, 4 },
	[AFTER_IDLE] = HW_TUNABLE_AFTER_IDLE,
	[MIN_DATA] = { "qs_min_bytes", "bytes", "chi: request a rate only for more data than this",
		       10000, 0, 1u << 30 },
	[FIT_DATA] = { "qs_fit_data", "bool",
		       "request at most the rate that sends the data, or the peer's "
		       "window, in one round trip",
		       1, 0, 1 },
	[SSTHRESH] = { "qs_ssthresh", "kept|set|set_if_asked",
		       "ssthresh after a grant: kept (strategy a); set to f times the "
		       "granted window (b); set_if_asked: the same, but only if the full "
		       "rate that the application named was granted (c)",
		       0, 0, 2 },
	[SSTHRESH_FACTOR] = { "qs_ssthresh_permille", "permille",
			      "f, ssthresh as a multiple of the granted window", 1000, 1, 100000 },
	[MAX_SSTHRESH] = { "qs_max_ssthresh_pkts", "packets",
			   "after a grant, slow start is limited above this window (RFC 3742); 0: "
			   "not limited",
			   100, 0, 1u << 24 },
	[CHUNK] = HW_TUNABLE_CHUNK,
	[IGNORE_WINDOW] = HW_TUNABLE_IGNORE_WINDOW,
	[RULES] = { "qs_rules", "rfc|scharf",
		    "the rules of the RFC or of Scharf's hosts. Scharf's hosts request the full "
		    "rate even after losses, round it down, and with a deadline ignore the round "
		    "trip of the request; after a denial, or after a loss in the flight sent at a "
		    "granted rate, they undo the growth of cwnd and restore ssthresh",
		    RULES_RFC, RULES_RFC, RULES_SCHARF },
};

struct quick_start {
	struct hw_flight flight;
	u32 initial_cwnd_pkts; /* cwnd to return to after a loss in a flight at the start */
	u32 prior_cwnd_pkts;   /* cwnd before the sender used the grant */
	u32 prior_ssthresh_pkts;
	u32 largest_cwnd_pkts; /* largest cwnd since the last loss */
	/* delivered_pkts when all packets from before the flight have arrived */
	u32 delivered_before;
	u32 arrived_pkts; /* the flight's packets that arrived without retransmission */
	/* cwnd when the request was sent; 0: no request waits for its response */
	u32 asked_cwnd_pkts;
	u32 answered_us; /* when the startup first saw the grant */
	u32 asked_us;
	u32 credit;	/* ACKed packets that have not yet led to growth of cwnd */
	u8 has_asked;	/* 1: asked_us is valid */
	u8 is_answered; /* 1: answered_us is valid */
	u8 is_mid;	/* 1: the flight did not begin the connection's data */
	u8 was_granted; /* 1: the connection has used a grant, so RFC 3742 limits slow start */
	u8 was_congested;
	u8 was_denied; /* 1: the request was just denied, so this ACK does not increase cwnd */
	u8 spare[2];
};

/* Flags that determine how the rate code of a request is chosen. */
enum { FITS_DATA = 1, BEYOND_WINDOW = 2, BY_RFC = 4 };

/* The rate code to request; 0: send no request. own_Bps is the rate to request if the
 * application names none. Transfers of up to least_bytes send no request. The function is
 * inlined, because the eBPF program that adds requests to SYNs has no stack space for a call. */
static inline __attribute__((always_inline)) u32 quick_start_choose(const struct quick_start *s,
								    const struct hw_conn *c,
								    u64 own_Bps, u32 least_bytes,
								    u32 how)
{
	u32 rtt_us = c->srtt_us ? c->srtt_us : UNKNOWN_RTT_US;
	u32 pkt_bytes = hw_max_u32(c->mss_bytes + c->header_bytes, 1);
	u64 bytes = hw_unsent_bytes(c);
	u64 rate_Bps;
	u32 code;

	/* eq. 7.1 does not include the round trip for the answer to the request or for the
	 * handshake */
	rate_Bps = hw_initial_rate_Bps(c, own_Bps, bytes, rtt_us, !!(how & BY_RFC));
	if (!rate_Bps || bytes <= least_bytes)
		return 0;
	if (how & FITS_DATA) {
		/* before data has left, ignore the peer's receive window: only its SYN or
		 * SYN-ACK has announced one */
		if (c->sent_pkts && !(how & BEYOND_WINDOW) && c->peer_window_bytes < bytes)
			bytes = c->peer_window_bytes;
		bytes = (u64)hw_pkts_of(bytes, c->mss_bytes) * pkt_bytes;
		rate_Bps = rate_Bps < hw_saturate_u32(bytes) * 1000000ull / rtt_us
				   ? rate_Bps
				   : hw_saturate_u32(bytes) * 1000000ull / rtt_us;
	}
	/* after congestion, request at most the rate that the path has carried since (section
	 * 4.1) */
	if (s && s->was_congested && (how & BY_RFC)) {
		u64 carried_Bps = (u64)hw_saturate_u32((u64)s->largest_cwnd_pkts * pkt_bytes) *
				  1000000 / rtt_us;

		code = hw_min_u32(hw_qs_code_up(rate_Bps), hw_qs_code_down(carried_Bps));
	} else if (how & BY_RFC) {
		code = hw_qs_code_up(rate_Bps);
	} else {
		code = hw_qs_code_down(rate_Bps);
	}
	/* send no request for a rate that is not above that of the present window */
	if (c->srtt_us && hw_qs_window_pkts(hw_qs_rate_Bps(code), rtt_us, c->mss_bytes,
					    c->header_bytes) <= c->cwnd_pkts)
		return 0;
	return code;
}

/* As quick_start_choose(), for an existing connection. It is not inlined: otherwise the verifier
 * would have to check too many paths. */
HW_PART quick_start_choose_later(const struct quick_start *s, const struct hw_conn *c, u64 own_Bps,
				 u32 least_bytes, u32 how)
{
	return s && c ? (int)quick_start_choose(s, c, own_Bps, least_bytes, how) : 0;
}

static u64 quick_start_own_Bps(const u32 *tun)
{
	return tun[ACTIVATION] != ASKED_FOR ? tun[RATE] * 125ull : 0;
}

static u32 quick_start_least_bytes(const u32 *tun)
{
	return tun[ACTIVATION] ? tun[MIN_DATA] : ~0u; /* never */
}

static u32 quick_start_flags(const u32 *tun)
{
	return (tun[FIT_DATA] ? FITS_DATA : 0) | (tun[IGNORE_WINDOW] ? BEYOND_WINDOW : 0) |
	       (tun[RULES] == RULES_RFC ? BY_RFC : 0);
}

static void quick_start_open(void *state, const u32 *tun, struct hw_conn *c)
{
	(void)state;
	if (tun[ACTIVATION] != LATE)
		c->request_code = (u8)quick_start_choose(0, c, quick_start_own_Bps(tun),
							 quick_start_least_bytes(tun),
							 quick_start_flags(tun));
}

static void quick_start_note_answer(struct quick_start *s, const struct hw_conn *c)
{
	if (c->grant != HW_GRANT_APPROVED) {
		s->is_answered = 0;
	} else if (!s->is_answered) {
		s->is_answered = 1;
		s->answered_us = (u32)c->now_us;
	}
}

static void quick_start_init(void *state, const u32 *tun, struct hw_conn *c)
{
	struct quick_start *s = state;

	(void)tun;
	s->initial_cwnd_pkts = c->cwnd_pkts;
	s->largest_cwnd_pkts = c->cwnd_pkts;
	/* the age of a grant from the handshake is measured from now on */
	quick_start_note_answer(s, c);
}

/* Decides once per grant whether to use it, and if so begins the flight. */
static void quick_start_use(struct quick_start *s, const u32 *tun, struct hw_conn *c)
{
	u32 pkts =
		hw_qs_window_pkts(c->granted_rate_Bps, c->srtt_us, c->mss_bytes, c->header_bytes);
	u32 all_of_it = c->asked_rate_Bps && c->granted_rate_Bps >= c->asked_rate_Bps;
	u32 age_us = (u32)c->now_us - s->answered_us;

	c->grant = HW_GRANT_DECLINED;
	if (!c->srtt_us || pkts <= c->cwnd_pkts || c->ca_state != HW_CA_OPEN ||
	    age_us > hw_min_u32(c->srtt_us, LATEST_US))
		return;
	c->grant = HW_GRANT_USED;
	s->was_granted = 1;
	s->credit = 0;
	s->prior_cwnd_pkts = c->cwnd_pkts;
	s->prior_ssthresh_pkts = c->ssthresh_pkts;
	s->is_mid = c->sent_pkts != 0;
	s->delivered_before = (u32)c->delivered_pkts + c->inflight_pkts;
	s->arrived_pkts = 0;
	if (tun[SSTHRESH] == SSTHRESH_SET || (tun[SSTHRESH] == SSTHRESH_SET_IF_ASKED && all_of_it))
		c->ssthresh_pkts = hw_clamp_u32(hw_scale_u32(pkts, tun[SSTHRESH_FACTOR], 1000), 2,
						HW_SSTHRESH_INFINITE);
	hw_flight_begin(&s->flight, c, pkts, c->granted_rate_Bps, tun[CHUNK]);
	c->ignore_peer_window = tun[IGNORE_WINDOW] != 0;
}

/* Sends a request with the next data packet. At most one request leaves per round trip. */
static void quick_start_ask(struct quick_start *s, const u32 *tun, struct hw_conn *c)
{
	if (c->grant == HW_GRANT_REQUESTED || c->grant == HW_GRANT_DISABLED ||
	    (s->has_asked && (u32)c->now_us - s->asked_us < c->srtt_us))
		return;
	c->request_code =
		(u8)quick_start_choose_later(s, c, quick_start_own_Bps(tun),
					     quick_start_least_bytes(tun), quick_start_flags(tun));
	if (c->request_code) {
		s->has_asked = 1;
		s->asked_us = (u32)c->now_us;
		s->asked_cwnd_pkts = c->cwnd_pkts;
	}
}

/* The number of the flight's packets that have arrived without retransmission. All
 * retransmissions are subtracted, even those that are still in flight, so the result is never
 * too large. When they arrive they count in delivered_pkts again. */
static u32 quick_start_arrived(struct quick_start *s, const struct hw_conn *c)
{
	s32 delivered = (s32)((u32)c->delivered_pkts - s->delivered_before);
	u32 copies = c->retrans_pkts - s->flight.retrans_before_pkts;
	u32 pkts = delivered < 0 ? 0 : hw_min_u32((u32)delivered, s->flight.paced_pkts);

	s->arrived_pkts = hw_max_u32(s->arrived_pkts, pkts - hw_min_u32(copies, pkts));
	return s->arrived_pkts;
}

/* The window after a loss in the flight: the window that the connection would have if the
 * request had been denied. */
static u32 quick_start_retreat(const struct quick_start *s, const u32 *tun, const struct hw_conn *c)
{
	u32 pkts = s->initial_cwnd_pkts;

	if (tun[RULES] == RULES_SCHARF)
		return hw_min_u32(c->cwnd_pkts, s->prior_cwnd_pkts);
	if (s->is_mid)
		pkts = hw_min_u32(s->flight.paced_pkts / 2, s->prior_cwnd_pkts);
	return hw_min_u32(c->ssthresh_pkts, pkts);
}

/* The ssthresh after a loss in the flight: half of the packets that arrived (section 4.6), or
 * with qs_rules=scharf the ssthresh from before the flight. */
static u32 quick_start_limit(struct quick_start *s, const u32 *tun, const struct hw_conn *c)
{
	if (tun[RULES] == RULES_SCHARF)
		return s->prior_ssthresh_pkts;
	return quick_start_arrived(s, c) / 2;
}

/*
 * Slow start while a loss of the flight is repaired (section 4.6): in Recovery cwnd follows
 * ssthresh. ssthresh begins at the window of a denied request and grows by one per ACK of new
 * data (as after a timeout, RFC 3465 section 2.3), up to quick_start_limit(). Without this
 * growth a large flight would be retransmitted with a small window.
 */
static void quick_start_repair(struct quick_start *s, const u32 *tun, struct hw_conn *c,
			       const struct hw_ack *ack)
{
	u32 limit_pkts = quick_start_limit(s, tun, c);

	if (s->flight.phase != HW_FLIGHT_RECOVERY || c->ca_state != HW_CA_RECOVERY ||
	    !ack->acked_pkts || c->ssthresh_pkts != s->flight.ssthresh_pkts ||
	    c->ssthresh_pkts >= limit_pkts)
		return;
	c->ssthresh_pkts++;
	s->flight.ssthresh_pkts = c->ssthresh_pkts;
}

static void quick_start_event(void *state, const u32 *tun, struct hw_conn *c, u8 event)
{
	struct quick_start *s = state;
	int is_first = !c->sent_pkts;

	if (event == HW_EVENT_COMPLETE_CWR && hw_flight_recovered(&s->flight, c, 1)) {
		u32 least_pkts = tun[RULES] == RULES_RFC ? hw_max_u32(c->cwnd_pkts, 2) : 2;

		c->ssthresh_pkts = hw_max_u32(quick_start_limit(s, tun, c), least_pkts);
	}
	quick_start_note_answer(s, c);
	if (!hw_flight_may_begin(&s->flight, c, event, tun[AFTER_IDLE]))
		return;
	if (c->grant == HW_GRANT_APPROVED)
		quick_start_use(s, tun, c);
	else if (!is_first || (c->grant == HW_GRANT_NONE && tun[ACTIVATION] != EARLY))
		quick_start_ask(s, tun, c);
}

/* Scharf's interpretation of the RFC (section 4.5.3.1): if a request is denied, undoes the
 * growth of cwnd since the request. */
static void quick_start_revert(struct quick_start *s, const u32 *tun, struct hw_conn *c)
{
	s->was_denied = 0;
	if (!s->asked_cwnd_pkts || c->grant == HW_GRANT_REQUESTED)
		return;
	if (tun[RULES] == RULES_SCHARF && c->grant == HW_GRANT_DENIED &&
	    c->ca_state == HW_CA_OPEN) {
		c->cwnd_pkts = hw_min_u32(c->cwnd_pkts, s->asked_cwnd_pkts);
		s->was_denied = 1;
	}
	s->asked_cwnd_pkts = 0;
}

static void quick_start_pkts_acked(void *state, const u32 *tun, struct hw_conn *c,
				   const struct hw_ack *ack)
{
	struct quick_start *s = state;

	s->largest_cwnd_pkts = hw_max_u32(s->largest_cwnd_pkts, c->cwnd_pkts);
	/* QS mode ends with the first ACK of data that was sent in it; cwnd is then the number
	 * of packets sent in it (section 4.4). ACKs of earlier data do not end it */
	hw_flight_acked(&s->flight, c, s->prior_cwnd_pkts);
	quick_start_repair(s, tun, c, ack);
	quick_start_note_answer(s, c);
	quick_start_revert(s, tun, c);
	if (c->grant == HW_GRANT_APPROVED)
		quick_start_use(s, tun, c);
}

/* Slow start limited as in RFC 3742, also while ssthresh is infinite: above limit_pkts, cwnd
 * grows by at most half of limit_pkts per round trip. */
static u32 quick_start_grow(void *state, const u32 *tun, struct hw_conn *c, u32 acked_pkts)
{
	struct quick_start *s = state;
	u32 limit_pkts = tun[MAX_SSTHRESH];
	u32 k;

	if (s->flight.phase == HW_FLIGHT_PROBING || s->was_denied)
		return 0;
	if (!s->was_granted || !limit_pkts || c->cwnd_pkts <= limit_pkts)
		return hw_slow_start(c, acked_pkts);
	k = hw_max_u32(hw_scale_u32(c->cwnd_pkts, 2, limit_pkts), 1);
	s->credit = hw_add_u32(s->credit, acked_pkts);
	if (s->credit < k)
		return 0;
	acked_pkts = s->credit / k;
	s->credit -= acked_pkts * k;
	return hw_slow_start(c, acked_pkts);
}

/* After a loss in QS mode or validation, continues as if the request had been denied (section
 * 4.6). */
static void quick_start_set_state(void *state, const u32 *tun, struct hw_conn *c, u8 new_state)
{
	struct quick_start *s = state;
	int is_repaired;

	if (new_state < HW_CA_CWR)
		return;
	if (c->ca_state < HW_CA_CWR)
		s->largest_cwnd_pkts = 0;
	s->was_congested = 1;
	is_repaired = s->flight.phase == HW_FLIGHT_RECOVERY;
	if (!hw_flight_lost(&s->flight, c, new_state) && !is_repaired)
		return;
	if (tun[RULES] == RULES_RFC) {
		c->grant = HW_GRANT_DISABLED;
		c->request_code = 0;
	} else {
		s->was_granted = 0;
	}
	/* after a timeout, even one during the repair, the stack's slow start retransmits */
	if (new_state == HW_CA_LOSS) {
		c->ssthresh_pkts = hw_max_u32(quick_start_limit(s, tun, c), 2);
		s->flight.phase = HW_FLIGHT_NONE;
		return;
	}
	if (is_repaired)
		return;
	c->ssthresh_pkts = hw_max_u32(quick_start_retreat(s, tun, c), 2);
	c->cwnd_pkts = hw_min_u32(c->cwnd_pkts, c->ssthresh_pkts);
	quick_start_arrived(s, c);
	s->flight.ssthresh_pkts = c->ssthresh_pkts;
}

HW_TABLE struct hw_startup_ops hw_startup_quick_start = {
	.name = "quick-start",
	.suffix = "qs",
	.title = "Quick-Start: the rate that all routers of the path approve",
	.source = "RFC 4782; Scharf 2011",
	.state_bytes = sizeof(struct quick_start),
	.paces = 1,
	.n_tunables = HW_COUNT(quick_start_tunables),
	.tunables = quick_start_tunables,
	.open = quick_start_open,
	.init = quick_start_init,
	.pkts_acked = quick_start_pkts_acked,
	.slow_start = quick_start_grow,
	.set_state = quick_start_set_state,
	.event = quick_start_event,
};
