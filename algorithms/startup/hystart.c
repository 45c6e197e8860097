// SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only)
/*
 * HyStart: ends slow start before a loss, when a train of ACKs spans half the minimum round
 * trip, or when the round trips of a round have grown (Ha and Rhee, "Taming the Elephants: New
 * TCP Slow Start", 2008; Linux 6.1 tcp_cubic.c).
 *
 * In Linux, HyStart shares CUBIC's state. Here HyStart has its own minimum RTT. It uses every
 * sample, also those of the first second after a loss, which CUBIC ignores. Valid for round
 * trips below half an hour.
 */
#include "../port/cc.h"

#define MIN_SAMPLES	  8
#define DELAY_STEP_MIN_US 4000
#define DELAY_STEP_MAX_US 16000
#define ACK_DELAY_MAX_US  1000
/* bytes that segmentation and receive offload may hold back */
#define BURST_BYTES (4 * 65536ull)

enum { LOW_WINDOW, DETECT, ACK_DELTA };
enum { DETECT_TRAIN = 1, DETECT_DELAY = 2 };

static const struct hw_tunable hystart_tunables[] = {
	[LOW_WINDOW] = { "hystart_low_window", "packets",
			 "below this cwnd HyStart does not end slow start", 16, 0, 65535 },
	[DETECT] = { "hystart_detect", "mask",
		     "what ends slow start, as a sum: 1 ACK train, 2 longer RTTs", 3, 0, 3 },
	[ACK_DELTA] = { "hystart_ack_delta_us", "us", "largest gap between ACKs of one train", 2000,
			1, 1000000 },
};

struct hystart {
	u32 round_start_us;
	u32 last_ack_us; /* time of the latest ACK of the train */
	u32 end_seq;	 /* the round is over when this sequence number is acknowledged */
	u32 round_rtt_us;
	u32 min_rtt_us; /* 0 before the first sample */
	u32 samples;
	u32 found; /* 1: HyStart has ended slow start; a timeout resets it */
};

static void hystart_start_round(struct hystart *s, const struct hw_conn *c)
{
	s->round_start_us = (u32)c->now_us;
	s->last_ack_us = (u32)c->now_us;
	s->end_seq = c->snd_nxt;
	s->round_rtt_us = HW_U32_MAX;
	s->samples = 0;
}

static void hystart_init(void *state, const u32 *tun, struct hw_conn *c)
{
	(void)tun;
	hystart_start_round(state, c);
}

/* How long segmentation and receive offload may delay ACKs. The bound assumes the stack's
 * sending rate in slow start: the pacing rate, or twice cwnd per round trip. */
static u32 hystart_ack_delay_us(const struct hw_conn *c)
{
	u64 rate_Bps = c->pacing_rate_Bps;

	if (!rate_Bps && c->srtt_us)
		rate_Bps = 2ull * c->cwnd_pkts * c->mss_bytes * 1000000 / c->srtt_us;
	if (!rate_Bps)
		return 0;
	return hw_min_u32(hw_saturate_u32(BURST_BYTES * 1000000 / rate_Bps), ACK_DELAY_MAX_US);
}

static int hystart_train_is_long(struct hystart *s, const u32 *tun, const struct hw_conn *c)
{
	u32 now_us = (u32)c->now_us;
	u32 limit_us;

	if (now_us - s->last_ack_us > tun[ACK_DELTA])
		return 0;
	s->last_ack_us = now_us;
	limit_us = s->min_rtt_us + hystart_ack_delay_us(c);
	/* without pacing the limit is half a round trip; with pacing it is twice as long,
	 * because pacing alone stretches a train of ACKs over half a round trip */
	if (!c->paced)
		limit_us /= 2;
	return now_us - s->round_start_us > limit_us;
}

static int hystart_delay_has_grown(struct hystart *s, u32 rtt_us)
{
	s->round_rtt_us = hw_min_u32(s->round_rtt_us, rtt_us);
	if (s->samples < MIN_SAMPLES) {
		s->samples++;
		return 0;
	}
	return s->round_rtt_us > s->min_rtt_us + hw_clamp_u32(s->min_rtt_us / 8, DELAY_STEP_MIN_US,
							      DELAY_STEP_MAX_US);
}

static void hystart_pkts_acked(void *state, const u32 *tun, struct hw_conn *c,
			       const struct hw_ack *ack)
{
	struct hystart *s = state;
	u32 rtt_us;

	if (ack->rtt_us < 0)
		return;
	rtt_us = hw_max_u32((u32)ack->rtt_us, 1);
	if (!s->min_rtt_us || s->min_rtt_us > rtt_us)
		s->min_rtt_us = rtt_us;
	if (s->found || !hw_in_slow_start(c))
		return;
	if (hw_after(c->snd_una, s->end_seq))
		hystart_start_round(s, c);
	if (c->cwnd_pkts < tun[LOW_WINDOW])
		return;
	if ((tun[DETECT] & DETECT_TRAIN) && hystart_train_is_long(s, tun, c))
		s->found = 1;
	if ((tun[DETECT] & DETECT_DELAY) && hystart_delay_has_grown(s, rtt_us))
		s->found = 1;
	if (s->found)
		c->ssthresh_pkts = c->cwnd_pkts;
}

static u32 hystart_grow(void *state, const u32 *tun, struct hw_conn *c, u32 acked_pkts)
{
	(void)state;
	(void)tun;
	return hw_slow_start(c, acked_pkts);
}

static void hystart_set_state(void *state, const u32 *tun, struct hw_conn *c, u8 new_state)
{
	struct hystart *s = state;

	(void)tun;
	if (new_state == HW_CA_LOSS) {
		s->found = 0;
		s->min_rtt_us = 0;
		hystart_start_round(s, c);
	}
}

HW_TABLE struct hw_startup_ops hw_startup_hystart = {
	.name = "hystart",
	.suffix = "hs",
	.title = "Slow start that ends when ACK trains or delays grow",
	.source = "Ha, Rhee 2008; Linux 6.1 tcp_cubic.c",
	.state_bytes = sizeof(struct hystart),
	.n_tunables = HW_COUNT(hystart_tunables),
	.tunables = hystart_tunables,
	.init = hystart_init,
	.pkts_acked = hystart_pkts_acked,
	.slow_start = hystart_grow,
	.set_state = hystart_set_state,
};
