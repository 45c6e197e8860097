// SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only)
/*
 * Vegas: keeps between alpha and beta packets of a flow in the queue (Brakmo, Peterson, "TCP
 * Vegas: End to End Congestion Avoidance on a Global Internet", IEEE JSAC 13(8), 1995) as in
 * Linux (tcp_vegas.c). Once per round trip the window is compared with the window that the
 * present rate needs at the smallest RTT seen: the difference, cwnd (1 - base RTT/RTT)
 * packets, is queued. If fewer than alpha are queued, cwnd grows by one packet; if more than
 * beta, it shrinks by one. More than gamma end slow start, and cwnd falls to the window of
 * that rate. If n flows share a link, their queue has n alpha to n beta packets. The rate of
 * each is its number of queued packets divided by the queueing delay, whatever its RTT.
 *
 * As in Linux, and unlike the paper: RTT is the smallest of a round; slow start doubles in
 * every round (the startup does that); the stack handles retransmissions; with fewer than
 * three samples in a round, or outside Open, growth is Reno's; after idle times the smallest
 * RTT is measured anew.
 *
 * Differences from Linux: packets in the queue are not rounded to whole or half packets before
 * the comparison; rounds also end while the application does not use the whole window.
 *
 * Valid for windows below 2^24 packets and round trips below 16.7 s.
 */
#include "../port/cc.h"
#include "../port/delay.h"
#include "../port/reno_law.h"

enum { ALPHA, BETA, GAMMA };

static const struct hw_tunable vegas_tunables[] = {
	[ALPHA] = { "alpha", "packets", "cwnd grows if fewer packets of the flow are queued", 2, 1,
		    10000 },
	[BETA] = { "beta", "packets", "cwnd shrinks if more packets of the flow are queued", 4, 1,
		   10000 },
	[GAMMA] = { "gamma", "packets", "slow start ends if more packets of the flow are queued", 1,
		    1, 10000 },
};

#define LEAST_SAMPLES 3 /* of three RTT samples, delayed ACKs distort at most two */

/* What congestion avoidance does to cwnd after a round. */
enum vegas_due { NOTHING, RENO, COMPARE, LEAVE_START };

struct vegas {
	struct hw_round round;
	u32 queued_x256; /* packets that were queued in the last round, << 8 */
	u8 due;		 /* enum vegas_due */
	u8 is_off;	 /* 1: the state is not Open, so growth is Reno's */
};

static void vegas_restart(struct vegas *s, const struct hw_conn *c)
{
	hw_begin_round(&s->round, c);
	s->due = NOTHING;
}

static void vegas_init(void *state, const u32 *tun, struct hw_conn *c)
{
	(void)tun;
	vegas_restart(state, c);
}

static void vegas_pkts_acked(void *state, const u32 *tun, struct hw_conn *c,
			     const struct hw_ack *ack)
{
	struct vegas *s = state;
	struct hw_round *round = &s->round;

	hw_sample_rtt(round, ack->rtt_us);
	if (s->is_off || !hw_round_is_over(round, c))
		return;
	s->due = RENO;
	if (round->count >= LEAST_SAMPLES) {
		s->due = COMPARE;
		s->queued_x256 = hw_queued_x256(c->cwnd_pkts, round->base_us, round->least_us);
		if (hw_in_slow_start(c) && s->queued_x256 > tun[GAMMA] << 8) {
			s->due = LEAVE_START;
			hw_leave_slow_start(c);
		}
	}
	hw_begin_round(round, c);
}

static void vegas_cong_avoid(void *state, const u32 *tun, struct hw_conn *c, u32 acked_pkts)
{
	struct vegas *s = state;
	u8 due = s->is_off ? RENO : s->due;

	s->due = NOTHING;
	switch (due) {
	case RENO:
		hw_additive_increase(c, c->cwnd_pkts, acked_pkts);
		break;
	case LEAVE_START:
		/* set cwnd to what the present rate needs at the smallest RTT, plus one packet
		 * for rounding */
		hw_set_window(c, c->cwnd_pkts - hw_min_u32(s->queued_x256 >> 8, c->cwnd_pkts) + 1);
		break;
	case COMPARE:
		if (s->queued_x256 > tun[BETA] << 8)
			hw_set_window(c, c->cwnd_pkts - 1);
		else if (s->queued_x256 < tun[ALPHA] << 8)
			hw_set_window(c, hw_add_u32(c->cwnd_pkts, 1));
		break;
	}
}

static void vegas_set_state(void *state, const u32 *tun, struct hw_conn *c, u8 new_state)
{
	struct vegas *s = state;

	(void)tun;
	s->is_off = new_state != HW_CA_OPEN;
	vegas_restart(s, c);
}

static void vegas_event(void *state, const u32 *tun, struct hw_conn *c, u8 event)
{
	struct vegas *s = state;

	(void)tun;
	if (event != HW_EVENT_TX_START && event != HW_EVENT_CWND_RESTART)
		return;
	s->round.base_us = 0;
	vegas_restart(s, c);
}

HW_TABLE struct hw_cc_ops hw_cc_vegas = {
	.name = "vegas",
	.title = "Vegas: between alpha and beta packets in the queue, by delay",
	.source = "Brakmo, Peterson, JSAC 13(8), 1995; Linux tcp_vegas.c",
	.startup = "slow-start",
	.state_bytes = sizeof(struct vegas),
	.flags = HW_CC_RTT_STAMP,
	.n_tunables = HW_COUNT(vegas_tunables),
	.tunables = vegas_tunables,
	.init = vegas_init,
	.pkts_acked = vegas_pkts_acked,
	.cong_avoid = vegas_cong_avoid,
	.ssthresh = hw_reno_ssthresh,
	.set_state = vegas_set_state,
	.event = vegas_event,
	.min_cwnd = hw_reno_min_cwnd,
};
