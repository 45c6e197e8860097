// SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only)
/*
 * Initial-Start: a larger initial window, sent at once or paced over a round trip, followed by
 * slow start with unmodified recovery (Scharf, "Fast Startup Internet Congestion Control",
 * 2011, section 4.4.2.2; RFC 6928).
 *
 * If the stack begins with one packet because the handshake timed out, that window stays.
 */
#include "../port/first_flight.h"

enum { WINDOW, PACED, CHUNK, AFTER_IDLE, IGNORE_WINDOW };

static const struct hw_tunable initial_start_tunables[] = {
	[WINDOW] = { "is_window_pkts", "packets", "initial window", 10, 1, 65535 },
	[PACED] = { "is_paced", "bool", "pace the initial window over one round trip", 0, 0, 1 },
	[CHUNK] = HW_TUNABLE_CHUNK,
	[AFTER_IDLE] = HW_TUNABLE_AFTER_IDLE,
	[IGNORE_WINDOW] = HW_TUNABLE_IGNORE_WINDOW,
};

static void initial_start_init(void *state, const u32 *tun, struct hw_conn *c)
{
	(void)state;
	if (c->cwnd_pkts > 1 && !c->no_fast_start)
		c->cwnd_pkts = hw_min_u32(tun[WINDOW], hw_max_u32(c->cwnd_clamp_pkts, 1));
}

static void initial_start_event(void *state, const u32 *tun, struct hw_conn *c, u8 event)
{
	struct hw_flight *f = state;
	u64 rate_Bps = 0;
	int restart = f->after_idle;

	if (!hw_flight_may_begin(f, c, event, tun[AFTER_IDLE]))
		return;
	if (tun[PACED])
		rate_Bps = hw_rate_of_pkts(c, hw_max_u32(c->cwnd_pkts, tun[WINDOW]));
	if (restart || rate_Bps)
		hw_flight_begin(f, c, hw_max_u32(c->cwnd_pkts, restart ? tun[WINDOW] : 1), rate_Bps,
				rate_Bps ? tun[CHUNK] : 0);
	c->ignore_peer_window = tun[IGNORE_WINDOW] != 0;
}

static void initial_start_pkts_acked(void *state, const u32 *tun, struct hw_conn *c,
				     const struct hw_ack *ack)
{
	(void)tun;
	(void)ack;
	c->ignore_peer_window = 0;
	/* even if fewer packets were sent, cwnd becomes the initial window */
	hw_flight_acked(state, c, c->cwnd_pkts);
}

static u32 initial_start_grow(void *state, const u32 *tun, struct hw_conn *c, u32 acked_pkts)
{
	(void)state;
	(void)tun;
	return hw_slow_start(c, acked_pkts);
}

static void initial_start_set_state(void *state, const u32 *tun, struct hw_conn *c, u8 new_state)
{
	(void)tun;
	(void)hw_flight_lost(state, c, new_state);
}

HW_TABLE struct hw_startup_ops hw_startup_initial_start = {
	.name = "initial-start",
	.suffix = "is",
	.title = "Initial-Start: a larger initial window, paced on request",
	.source = "Scharf 2011, section 4.4.2.2; RFC 6928",
	.state_bytes = sizeof(struct hw_flight),
	.paces = 1,
	.n_tunables = HW_COUNT(initial_start_tunables),
	.tunables = initial_start_tunables,
	.init = initial_start_init,
	.pkts_acked = initial_start_pkts_acked,
	.slow_start = initial_start_grow,
	.set_state = initial_start_set_state,
	.event = initial_start_event,
};
