// SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only)
/*
 * Mega-Start: the application names the rate of the first round trip, and no router is asked
 * (Scharf, "Fast Startup Internet Congestion Control", 2011, section 4.4.3.3): Q = Q_req (eq.
 * 4.13), W = Q tau/MTU, paced; recovery as Jump-Start's (eq. 4.11). Instead of a rate the
 * application may name a deadline (eq. 7.1). Rates are of IP packets. Valid for round trips
 * below 8 s.
 */
#include "../port/first_flight.h"

enum { RATE, AUTOMATIC, CHUNK, AFTER_IDLE, IGNORE_WINDOW };

static const struct hw_tunable mega_start_tunables[] = {
	[RATE] = { "ms_rate_kbps", "kbit/s", "rate if the application names none", 10000, 1,
		   100000000 },
	[AUTOMATIC] = { "ms_automatic", "bool", "act even if the application names no rate", 1, 0,
			1 },
	[CHUNK] = HW_TUNABLE_CHUNK,
	[AFTER_IDLE] = HW_TUNABLE_AFTER_IDLE,
	[IGNORE_WINDOW] = HW_TUNABLE_IGNORE_WINDOW,
};

static void mega_start_event(void *state, const u32 *tun, struct hw_conn *c, u8 event)
{
	struct hw_flight *f = state;
	u64 rate_Bps;
	u32 pkts;

	if (hw_flight_may_begin(f, c, event, tun[AFTER_IDLE])) {
		rate_Bps = hw_initial_rate_Bps(c, tun[AUTOMATIC] ? tun[RATE] * 125ull : 0,
					       hw_unsent_bytes(c), c->srtt_us, 0);
		pkts = hw_qs_window_pkts(rate_Bps, c->srtt_us, c->mss_bytes, c->header_bytes);
		if (pkts <= c->cwnd_pkts)
			return;
		hw_flight_begin(f, c, pkts, rate_Bps, tun[CHUNK]);
		c->ignore_peer_window = tun[IGNORE_WINDOW] != 0;
	}
	if (event == HW_EVENT_COMPLETE_CWR && hw_flight_recovered(f, c, 1))
		hw_flight_set_recovered_cwnd(f, c);
}

static void mega_start_pkts_acked(void *state, const u32 *tun, struct hw_conn *c,
				  const struct hw_ack *ack)
{
	(void)tun;
	(void)ack;
	hw_flight_acked(state, c, 1);
}

static u32 mega_start_grow(void *state, const u32 *tun, struct hw_conn *c, u32 acked_pkts)
{
	(void)state;
	(void)tun;
	return hw_slow_start(c, acked_pkts);
}

static void mega_start_set_state(void *state, const u32 *tun, struct hw_conn *c, u8 new_state)
{
	struct hw_flight *f = state;

	(void)tun;
	(void)hw_flight_lost(f, c, new_state);
	if (new_state == HW_CA_OPEN && hw_flight_recovered(f, c, 0))
		hw_flight_set_recovered_cwnd(f, c);
}

HW_TABLE struct hw_startup_ops hw_startup_mega_start = {
	.name = "mega-start",
	.suffix = "ms",
	.title = "Mega-Start: the application's rate paced over the first round trip",
	.source = "Scharf 2011, eq. 4.13 and 4.11",
	.state_bytes = sizeof(struct hw_flight),
	.paces = 1,
	.n_tunables = HW_COUNT(mega_start_tunables),
	.tunables = mega_start_tunables,
	.pkts_acked = mega_start_pkts_acked,
	.slow_start = mega_start_grow,
	.set_state = mega_start_set_state,
	.event = mega_start_event,
};
