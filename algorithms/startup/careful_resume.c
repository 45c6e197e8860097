// SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only)
/*
 * Careful Resume (RFC 9959): tries half of the window of an earlier connection to the same
 * destination, once the initial window has arrived and the round-trip time resembles the saved
 * one.
 *
 *   Reconnaissance  the initial window, without loss
 *   Unvalidated     cwnd = jump = min(saved/2, bound), paced over the round trip
 *   Validating      from the first ACK of the jump, cwnd = packets in flight
 *   Safe Retreat    from a loss in the jump, half of the packets known to have arrived
 *   Normal          ordinary congestion control
 *
 * If the stack saves windows and round-trip times per destination, these are used. In the
 * kernel, port/bpf/paths.h saves them, limits their lifetime and lets one connection use them
 * at a time. Otherwise the tunables give them. Without saved values the startup is slow start.
 */
#include "../port/first_flight.h"

enum { SAVED_CWND, SAVED_RTT, MAX_JUMP, CHUNK };

static const struct hw_tunable careful_resume_tunables[] = {
	[SAVED_CWND] = { "cr_saved_cwnd_pkts", "packets",
			 "window of an earlier connection; 0: none", 0, 0, 1u << 24 },
	[SAVED_RTT] = { "cr_saved_rtt_us", "us", "smallest round trip of that earlier connection",
			0, 0, 1u << 24 },
	[MAX_JUMP] = { "cr_max_jump_pkts", "packets", "largest window of the jump", 1u << 24, 1,
		       1u << 24 },
	[CHUNK] = HW_TUNABLE_CHUNK,
};

enum careful_resume_phase {
	NORMAL = 0,
	RECONNAISSANCE = 1,
	UNVALIDATED = 2,
	VALIDATING = 3,
	SAFE_RETREAT = 4,
};

struct careful_resume {
	struct hw_flight flight; /* the jump */
	u32 initial_pkts;	 /* packets of the initial window that are not acknowledged yet */
	u32 pipe_pkts;		 /* PipeSize: packets that the path is known to carry */
	u32 phase;		 /* enum careful_resume_phase */
};

static void careful_resume_begin(struct careful_resume *s, const struct hw_conn *c)
{
	s->phase = RECONNAISSANCE;
	s->initial_pkts = c->cwnd_pkts;
	s->flight.phase = HW_FLIGHT_NONE;
}

static void careful_resume_init(void *state, const u32 *tun, struct hw_conn *c)
{
	(void)tun;
	careful_resume_begin(state, c);
}

/* The window of the jump; 0 if no window is saved or the path's RTT does not resemble the saved
 * one. */
static u32 careful_resume_jump_pkts(const u32 *tun, const struct hw_conn *c)
{
	u32 saved_pkts = c->saved_cwnd_pkts ? c->saved_cwnd_pkts : tun[SAVED_CWND];
	u32 saved_us = c->saved_cwnd_pkts ? c->saved_rtt_us : tun[SAVED_RTT];

	if (c->no_fast_start || !saved_pkts || !c->srtt_us || c->min_rtt_us == HW_U32_MAX)
		return 0;
	if (saved_us && !hw_saved_holds(c, saved_us))
		return 0;
	return hw_min_u32(saved_pkts / 2, tun[MAX_JUMP]);
}

static void careful_resume_pkts_acked(void *state, const u32 *tun, struct hw_conn *c,
				      const struct hw_ack *ack)
{
	struct careful_resume *s = state;
	u32 jump_pkts;

	switch (s->phase) {
	case RECONNAISSANCE:
		s->initial_pkts -= hw_min_u32(s->initial_pkts, ack->acked_pkts);
		if (s->initial_pkts || !c->app_queued_bytes)
			return;
		jump_pkts = careful_resume_jump_pkts(tun, c);
		s->phase = NORMAL;
		if (jump_pkts <= c->cwnd_pkts || c->ssthresh_pkts < HW_SSTHRESH_INFINITE)
			return;
		s->phase = UNVALIDATED;
		s->pipe_pkts = c->inflight_pkts;
		hw_flight_begin(&s->flight, c, jump_pkts, hw_rate_of_pkts(c, jump_pkts),
				tun[CHUNK]);
		return;
	case UNVALIDATED:
	case VALIDATING:
		hw_flight_acked(&s->flight, c, c->inflight_pkts);
		s->pipe_pkts = hw_add_u32(s->pipe_pkts, ack->acked_pkts);
		s->phase = s->flight.phase == HW_FLIGHT_PROBING	     ? UNVALIDATED
			   : s->flight.phase == HW_FLIGHT_VALIDATION ? VALIDATING
								     : NORMAL;
		return;
	case SAFE_RETREAT:
		s->pipe_pkts = hw_add_u32(s->pipe_pkts, ack->acked_pkts);
		if (hw_after(s->flight.end_seq, c->snd_una))
			return;
		/* the receiver has acknowledged the whole jump */
		c->ssthresh_pkts = hw_max_u32(hw_min_u32(s->pipe_pkts, s->flight.paced_pkts), 2);
		s->phase = NORMAL;
	}
}

static u32 careful_resume_grow(void *state, const u32 *tun, struct hw_conn *c, u32 acked_pkts)
{
	struct careful_resume *s = state;

	(void)tun;
	if (s->phase == UNVALIDATED || s->phase == SAFE_RETREAT)
		return 0;
	return hw_slow_start(c, acked_pkts);
}

static void careful_resume_set_state(void *state, const u32 *tun, struct hw_conn *c, u8 new_state)
{
	struct careful_resume *s = state;

	(void)tun;
	if (new_state < HW_CA_CWR)
		return;
	if (hw_flight_lost(&s->flight, c, new_state) && new_state != HW_CA_LOSS) {
		/* the stack reduces cwnd to ssthresh: half of the packets known to have arrived */
		c->ssthresh_pkts = hw_max_u32(hw_min_u32(c->ssthresh_pkts, s->pipe_pkts / 2), 2);
		s->phase = SAFE_RETREAT;
	} else if (s->phase != SAFE_RETREAT || new_state == HW_CA_LOSS) {
		s->phase = NORMAL;
		s->flight.phase = HW_FLIGHT_NONE;
	}
}

/* A connection that was idle may jump again. */
static void careful_resume_event(void *state, const u32 *tun, struct hw_conn *c, u8 event)
{
	struct careful_resume *s = state;

	(void)tun;
	if (event == HW_EVENT_TX_START && s->phase == UNVALIDATED &&
	    s->flight.first_seq != c->snd_nxt) {
		/* the connection was idle, and the whole jump is acknowledged, so the jump is
		 * over */
		c->pacing_rate_Bps = 0;
		c->pacing_chunk_pkts = 0;
		s->phase = NORMAL;
	}
	if (event == HW_EVENT_CWND_RESTART)
		careful_resume_begin(s, c);
}

HW_TABLE struct hw_startup_ops hw_startup_careful_resume = {
	.name = "careful-resume",
	.suffix = "cr",
	.title = "Careful Resume: half the window of an earlier connection, paced, after a check",
	.source = "RFC 9959",
	.state_bytes = sizeof(struct careful_resume),
	.paces = 1,
	.n_tunables = HW_COUNT(careful_resume_tunables),
	.tunables = careful_resume_tunables,
	.init = careful_resume_init,
	.pkts_acked = careful_resume_pkts_acked,
	.slow_start = careful_resume_grow,
	.set_state = careful_resume_set_state,
	.event = careful_resume_event,
};
