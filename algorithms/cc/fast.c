// SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only)
/*
 * FAST: adjusts the window by delay so that alpha packets of the flow stay in the queue
 * (draft-jin-wei-low-tcp- fast-01; Jin, Wei, Low, "FAST TCP: motivation, architecture,
 * algorithms, performance", IEEE Infocom 2004). In equilibrium each flow gets alpha/(RTT -
 * base RTT) packets per second, independent of its RTT, and the queue holds the sum of all
 * alphas.
 *
 * Variants: the draft computes the window once per round trip. Its alpha depends on the link's rate
 * (20 packets up to 100 Mbit/s, 200 at 1 Gbit/s, 500 at 2.5, 2000 at 10), and it averages the RTT
 * over about a third of a window. The ns-2 module computes the window every 10 ms with alpha = 100.
 * The default is the draft's law with alpha = 20, because FAST's authors specified this law and it
 * depends on no clock; an alpha of 20 fits the links of the papers. update_us = 10000 and alpha =
 * 100 give the module's law.
 *
 * Left out: the module spreads increments over a round trip and averages the RTT for longer
 * (1/256); the prototype keeps the window in every other round trip. The draft increases the window
 * multiplicatively until the queueing delay exceeds a threshold. Here the startup increases the
 * window until this threshold is exceeded; the threshold is the ns-2 module's. Losses halve the
 * window as in NewReno. The window is at most doubled per update (Infocom 2004).
 *
 * Valid for windows below 2^24 packets and round trips below 16.7 s.
 */
#include "../port/cc.h"
#include "../port/delay.h"
#include "../port/reno_law.h"

enum { ALPHA, GAMMA, UPDATE_US, MI_THRESHOLD_US };

static const struct hw_tunable fast_tunables[] = {
	[ALPHA] = { "alpha", "packets", "packets that each flow keeps in the queue", 20, 1,
		    100000 },
	[GAMMA] = { "gamma", "1/256",
		    "part of the distance to the equilibrium that one update covers", 128, 1, 256 },
	[UPDATE_US] = { "update_us", "us", "time between updates of the window; 0: a round trip", 0,
			0, 1000000 },
	[MI_THRESHOLD_US] = { "mi_threshold_us", "us", "mean queueing delay that ends slow start",
			      750, 1, 10000000 },
};

#define WINDOW_MOST ((1u << 24) - 1)

struct fast {
	struct hw_round round;
	u64 updated_us;	 /* time of the last update of the window, on now_us's clock */
	u32 rtt_x256;	 /* average RTT in 1/256 us; 0 before the first sample */
	u32 window_x256; /* cwnd with its fraction, packets << 8 */
};

/* Adds an RTT sample to the average, with the weight 3/cwnd, at most 1/8. */
static void fast_average(struct fast *s, u32 cwnd_pkts, s32 rtt_us)
{
	u32 sample = hw_clamp_u32((u32)rtt_us, 1, HW_RTT_MOST_US) << 8;
	u32 weight = hw_max_u32(cwnd_pkts, 24);

	if (rtt_us < 0)
		return;
	if (!s->rtt_x256)
		s->rtt_x256 = sample;
	else if (sample > s->rtt_x256)
		s->rtt_x256 += (u32)(3ull * (sample - s->rtt_x256) / weight);
	else
		s->rtt_x256 -= (u32)(3ull * (s->rtt_x256 - sample) / weight);
}

static u32 fast_rtt_us(const struct fast *s)
{
	return s->rtt_x256 >> 8;
}

/* Begins a new round. At the end of that round the window is updated next. */
static void fast_restart(struct fast *s, const struct hw_conn *c)
{
	hw_begin_round(&s->round, c);
	s->updated_us = c->now_us;
}

static void fast_init(void *state, const u32 *tun, struct hw_conn *c)
{
	(void)tun;
	fast_restart(state, c);
}

static void fast_pkts_acked(void *state, const u32 *tun, struct hw_conn *c,
			    const struct hw_ack *ack)
{
	struct fast *s = state;

	hw_sample_rtt(&s->round, ack->rtt_us);
	fast_average(s, c->cwnd_pkts, ack->rtt_us);
	if (hw_in_slow_start(c) && fast_rtt_us(s) > s->round.base_us + tun[MI_THRESHOLD_US]) {
		hw_leave_slow_start(c);
		fast_restart(s, c);
	}
}

/* The draft's law, in 1/256 of packets: w <- w + gamma (alpha - packets of w that are queued). */
static u32 fast_window(const struct fast *s, const u32 *tun)
{
	u64 w = s->window_x256;
	u64 base = (u64)s->round.base_us << 8;
	u64 rtt = s->rtt_x256;
	u64 queued = rtt > base ? w * (rtt - base) / rtt : 0;
	u64 wanted = (u64)tun[ALPHA] << 8;
	u64 most = 2 * w < (u64)WINDOW_MOST << 8 ? 2 * w : (u64)WINDOW_MOST << 8;

	if (wanted < queued)
		return (u32)(w - ((queued - wanted) * tun[GAMMA] >> 8));
	w += (wanted - queued) * tun[GAMMA] >> 8;
	return (u32)(w < most ? w : most);
}

static int fast_is_due(const struct fast *s, const u32 *tun, const struct hw_conn *c)
{
	if (!s->rtt_x256)
		return 0;
	if (!tun[UPDATE_US])
		return hw_round_is_over(&s->round, c);
	return (s64)(c->now_us - s->updated_us) >= (s64)tun[UPDATE_US];
}

static void fast_cong_avoid(void *state, const u32 *tun, struct hw_conn *c, u32 acked_pkts)
{
	struct fast *s = state;

	(void)acked_pkts;
	if (!fast_is_due(s, tun, c))
		return;
	fast_restart(s, c);
	/* the stack or a startup has changed cwnd since the last update: continue from the new
	 * cwnd */
	if (s->window_x256 >> 8 != c->cwnd_pkts)
		s->window_x256 = hw_min_u32(c->cwnd_pkts, WINDOW_MOST) << 8;
	s->window_x256 = fast_window(s, tun);
	hw_set_window(c, s->window_x256 >> 8);
}

/* Begins a new round at the end of a recovery, because earlier measurements do not apply to the
 * new window. */
static void fast_set_state(void *state, const u32 *tun, struct hw_conn *c, u8 new_state)
{
	(void)tun;
	if (new_state == HW_CA_OPEN)
		fast_restart(state, c);
}

HW_TABLE struct hw_cc_ops hw_cc_fast = {
	.name = "fast",
	.title = "FAST: keeps alpha packets in the queue, by delay",
	.source = "draft-jin-wei-low-tcp-fast-01; Jin, Wei, Low, Infocom 2004",
	.startup = "slow-start",
	.state_bytes = sizeof(struct fast),
	.flags = HW_CC_RTT_STAMP,
	.n_tunables = HW_COUNT(fast_tunables),
	.tunables = fast_tunables,
	.init = fast_init,
	.pkts_acked = fast_pkts_acked,
	.cong_avoid = fast_cong_avoid,
	.ssthresh = hw_reno_ssthresh,
	.set_state = fast_set_state,
	.min_cwnd = hw_reno_min_cwnd,
};
