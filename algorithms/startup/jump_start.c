// SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only)
/*
 * Jump-Start: sends what the application has queued in the first round trip, paced (Liu,
 * Allman, Jin, Wang: "Congestion Control Without a Startup Phase", 2007), within the bounds of
 * Scharf, "Fast Startup Internet Congestion Control" (2011), section 4.4.3.2:
 *
 *   Q = min(min(s, K_data)/tau, K_rate)		(eq. 4.12)
 *   cwnd after recovery = max((N_pacing - N_rtx)/2, 1)	(eq. 4.11)
 *
 * The original scheme is js_max_bytes=0,js_max_rate_kbps=0. Jump-Start is only used if it
 * sends more than the initial window. Valid for round trips below 8 s.
 */
#include "../port/first_flight.h"

enum { MAX_BYTES, MAX_RATE, CHUNK, AFTER_IDLE, IGNORE_WINDOW };

static const struct hw_tunable jump_start_tunables[] = {
	[MAX_BYTES] = { "js_max_bytes", "bytes",
			"K_data: largest payload of the first round trip; 0: no bound", 65535, 0,
			1u << 30 },
	[MAX_RATE] = { "js_max_rate_kbps", "kbit/s", "K_rate: highest payload rate; 0: no bound",
		       10000, 0, 100000000 },
	[CHUNK] = HW_TUNABLE_CHUNK,
	[AFTER_IDLE] = HW_TUNABLE_AFTER_IDLE,
	[IGNORE_WINDOW] = HW_TUNABLE_IGNORE_WINDOW,
};

/* The number of packets to send in the first round trip. Bounds in bytes are rounded down to
 * whole packets. */
static u32 jump_start_pkts(const u32 *tun, const struct hw_conn *c)
{
	u32 mss_bytes = hw_max_u32(c->mss_bytes, 1);
	u32 pkts = hw_pkts_of(hw_unsent_bytes(c), mss_bytes);

	if (tun[MAX_BYTES])
		pkts = hw_min_u32(pkts, tun[MAX_BYTES] / mss_bytes);
	if (tun[MAX_RATE]) {
		/* the product of kbit/s and us is in 1/1000 bits */
		u64 bytes = (u64)tun[MAX_RATE] * c->srtt_us / 8000;

		pkts = hw_min_u32(pkts, hw_saturate_u32(bytes / mss_bytes));
	}
	if (!tun[IGNORE_WINDOW])
		pkts = hw_min_u32(pkts, c->peer_window_bytes / mss_bytes);
	return pkts;
}

static void jump_start_event(void *state, const u32 *tun, struct hw_conn *c, u8 event)
{
	struct hw_flight *f = state;
	u32 pkts;

	if (hw_flight_may_begin(f, c, event, tun[AFTER_IDLE])) {
		pkts = jump_start_pkts(tun, c);
		if (pkts <= c->cwnd_pkts)
			return;
		hw_flight_begin(f, c, pkts, hw_rate_of_pkts(c, pkts), tun[CHUNK]);
		c->ignore_peer_window = tun[IGNORE_WINDOW] != 0;
	}
	if (event == HW_EVENT_COMPLETE_CWR && hw_flight_recovered(f, c, 1))
		hw_flight_set_recovered_cwnd(f, c);
}

static void jump_start_pkts_acked(void *state, const u32 *tun, struct hw_conn *c,
				  const struct hw_ack *ack)
{
	(void)tun;
	(void)ack;
	hw_flight_acked(state, c, 1);
}

static u32 jump_start_grow(void *state, const u32 *tun, struct hw_conn *c, u32 acked_pkts)
{
	(void)state;
	(void)tun;
	return hw_slow_start(c, acked_pkts);
}

static void jump_start_set_state(void *state, const u32 *tun, struct hw_conn *c, u8 new_state)
{
	struct hw_flight *f = state;

	(void)tun;
	(void)hw_flight_lost(f, c, new_state);
	if (new_state == HW_CA_OPEN && hw_flight_recovered(f, c, 0))
		hw_flight_set_recovered_cwnd(f, c);
}

HW_TABLE struct hw_startup_ops hw_startup_jump_start = {
	.name = "jump-start",
	.suffix = "js",
	.title = "Jump-Start: queued data paced over the first round trip, bounded",
	.source = "Liu et al. 2007; Scharf 2011, eq. 4.11 and 4.12",
	.state_bytes = sizeof(struct hw_flight),
	.paces = 1,
	.n_tunables = HW_COUNT(jump_start_tunables),
	.tunables = jump_start_tunables,
	.pkts_acked = jump_start_pkts_acked,
	.slow_start = jump_start_grow,
	.set_state = jump_start_set_state,
	.event = jump_start_event,
};
