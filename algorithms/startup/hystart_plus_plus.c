// SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only)
/*
 * HyStart++ (RFC 9406): when the round trips of a round have grown, slow start continues at a
 * quarter of its pace for five rounds (conservative slow start, CSS). Slow start then ends, or
 * resumes at full pace if the longer round trips turn out to be jitter.
 *
 * It acts only in the initial slow start, while ssthresh is infinite. The RFC's L limits
 * growth per ACK to 8 packets if packets are not paced. On stacks that count ACK events, each
 * ACK counts as one packet. Valid for round trips below half an hour.
 */
#include "../port/cc.h"

#define MIN_THRESH_US  4000
#define MAX_THRESH_US  16000
#define THRESH_DIVISOR 8
#define RTT_SAMPLES    8
#define GROWTH_DIVISOR 4
#define MAX_PER_ACK    8

enum { CSS_ROUNDS };

static const struct hw_tunable hystart_pp_tunables[] = {
	[CSS_ROUNDS] = { "css_rounds", "rounds", "duration of conservative slow start", 5, 1, 100 },
};

struct hystart_pp {
	u32 last_round_rtt_us; /* minimum RTT of the previous round; HW_U32_MAX: unknown */
	u32 round_rtt_us;      /* minimum RTT of this round so far */
	u32 samples;
	u32 end_seq;	     /* the round is over when this sequence number is acknowledged */
	u32 css_baseline_us; /* minimum RTT of the round in which CSS began */
	u32 css_rounds;	     /* rounds that ended in CSS, with the round in which CSS began */
	u32 css_pkts;	     /* packets ACKed in CSS that have not led to growth of cwnd yet */
	u32 in_css;
};

static void hystart_pp_start_round(struct hystart_pp *s, const struct hw_conn *c)
{
	s->last_round_rtt_us = s->round_rtt_us;
	s->round_rtt_us = HW_U32_MAX;
	s->samples = 0;
	s->end_seq = c->snd_nxt;
}

static void hystart_pp_reset(struct hystart_pp *s, const struct hw_conn *c)
{
	s->round_rtt_us = HW_U32_MAX;
	s->in_css = 0;
	s->css_rounds = 0;
	s->css_pkts = 0;
	s->css_baseline_us = HW_U32_MAX;
	hystart_pp_start_round(s, c);
}

static void hystart_pp_init(void *state, const u32 *tun, struct hw_conn *c)
{
	(void)tun;
	hystart_pp_reset(state, c);
}

/* RFC 9406 section 4.2: compares the round's minimum RTT with that of the previous round, or in
 * CSS with that of the round in which CSS began. */
static void hystart_pp_compare(struct hystart_pp *s)
{
	u32 thresh_us;

	if (s->samples < RTT_SAMPLES || s->round_rtt_us == HW_U32_MAX)
		return;
	if (s->in_css) {
		if (s->round_rtt_us < s->css_baseline_us) {
			s->css_baseline_us = HW_U32_MAX;
			s->in_css = 0;
		}
		return;
	}
	if (s->last_round_rtt_us == HW_U32_MAX)
		return;
	thresh_us =
		hw_clamp_u32(s->last_round_rtt_us / THRESH_DIVISOR, MIN_THRESH_US, MAX_THRESH_US);
	if (s->round_rtt_us >= hw_add_u32(s->last_round_rtt_us, thresh_us)) {
		s->css_baseline_us = s->round_rtt_us;
		s->in_css = 1;
		s->css_rounds = 0;
		s->css_pkts = 0;
	}
}

static void hystart_pp_pkts_acked(void *state, const u32 *tun, struct hw_conn *c,
				  const struct hw_ack *ack)
{
	struct hystart_pp *s = state;

	if (c->ssthresh_pkts < HW_SSTHRESH_INFINITE)
		return;
	if (ack->rtt_us >= 0) {
		s->round_rtt_us = hw_min_u32(s->round_rtt_us, (u32)ack->rtt_us);
		s->samples = hw_add_u32(s->samples, 1);
		hystart_pp_compare(s);
	}
	if (hw_after(s->end_seq, c->snd_una))
		return;
	if (s->in_css && ++s->css_rounds >= tun[CSS_ROUNDS]) {
		c->ssthresh_pkts = hw_max_u32(c->cwnd_pkts, 2);
		return;
	}
	hystart_pp_start_round(s, c);
}

static u32 hystart_pp_grow(void *state, const u32 *tun, struct hw_conn *c, u32 acked_pkts)
{
	struct hystart_pp *s = state;

	(void)tun;
	if (c->ssthresh_pkts < HW_SSTHRESH_INFINITE)
		return hw_slow_start(c, acked_pkts);
	if (!c->paced)
		acked_pkts = hw_min_u32(acked_pkts, MAX_PER_ACK);
	if (s->in_css) {
		s->css_pkts = hw_add_u32(s->css_pkts, acked_pkts);
		acked_pkts = s->css_pkts / GROWTH_DIVISOR;
		s->css_pkts -= acked_pkts * GROWTH_DIVISOR;
		if (!acked_pkts)
			return 0;
	}
	return hw_slow_start(c, acked_pkts);
}

/* After an idle time HyStart++ begins anew. */
static void hystart_pp_event(void *state, const u32 *tun, struct hw_conn *c, u8 event)
{
	(void)tun;
	if (event == HW_EVENT_CWND_RESTART)
		hystart_pp_reset(state, c);
}

static void hystart_pp_set_state(void *state, const u32 *tun, struct hw_conn *c, u8 new_state)
{
	(void)tun;
	/* a loss makes ssthresh finite, which ends HyStart++; if the reduction is undone, it
	 * begins anew */
	if (new_state >= HW_CA_CWR)
		hystart_pp_reset(state, c);
}

HW_TABLE struct hw_startup_ops hw_startup_hystart_plus_plus = {
	.name = "hystart-plus-plus",
	.suffix = "hp",
	.title = "HyStart++: slower slow start once delays grow, and back if they were jitter",
	.source = "RFC 9406",
	.state_bytes = sizeof(struct hystart_pp),
	.n_tunables = HW_COUNT(hystart_pp_tunables),
	.tunables = hystart_pp_tunables,
	.init = hystart_pp_init,
	.pkts_acked = hystart_pp_pkts_acked,
	.slow_start = hystart_pp_grow,
	.set_state = hystart_pp_set_state,
	.event = hystart_pp_event,
};
