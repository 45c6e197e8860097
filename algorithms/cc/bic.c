// SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only)
/*
 * BIC (Xu, Harfoush and Rhee, "Binary Increase Congestion Control (BIC) for Fast
 * Long-Distance Networks", INFOCOM 2004) as Linux runs it (tcp_bic.c, 2.6.24 to 6.x).
 *
 * W_max is the window of the last loss. Below W_max, cwnd grows per window by a quarter of its
 * distance to W_max, but at most by max_increment packets. Close to W_max (less than eight packets
 * below or four above, where a quarter of the distance is less than a whole packet) growth by one
 * packet takes five windows. Further above W_max, growth accelerates until it is linear again. Up
 * to low_window the law is Reno's.
 *
 * Growth is scaled by an estimate of packets per ACK, to correct for delayed ACKs on stacks
 * that count ACKs. Linux 6.x counts packets (tcp_cong_avoid_ai with the number acknowledged)
 * but still applies the correction. With an ACK for every second packet it therefore grows
 * twice as fast as its constants say. So does this file on stacks that count packets.
 *
 * Differences from the paper, as in Linux: a step is a quarter of the gap, not half, and a
 * loss keeps 0.8 of the window, not 0.875. Differences from Linux 2.6: undo returns to the
 * window before the reduction, as in later kernels, not to W_max. Products saturate instead of
 * wrapping. The clock is HZ = 1000. Valid for any window.
 */
#include "../port/cc.h"
#include "../port/bic_law.h"

#define REFRESH_MS  (1000 / 32) /* the growth counter cnt is recomputed at least this often */
#define FIRST_COUNT 20		/* before the first loss, cwnd grows by at least 5 % per window */
#define B	    4		/* a step of cwnd is its distance to W_max divided by this */
#define SMOOTH_PART 20		/* close to W_max, growth by B packets takes this many windows */

enum { FAST_CONVERGENCE, MAX_INCREMENT, LOW_WINDOW, BETA, INITIAL_SSTHRESH };

static const struct hw_tunable bic_tunables[] = {
	[FAST_CONVERGENCE] = { "fast_convergence", "bool",
			       "a flow whose window shrinks lowers its W_max further", 1, 0, 1 },
	[MAX_INCREMENT] = { "max_increment", "packets", "largest growth of cwnd per window", 16, 1,
			    65535 },
	[LOW_WINDOW] = { "low_window", "packets", "up to this cwnd the law is Reno's", 14, 0,
			 65535 },
	[BETA] = { "beta", "1/1024", "fraction of cwnd that remains after congestion", 819, 512,
		   1000 },
	[INITIAL_SSTHRESH] = { "initial_ssthresh", "packets",
			       "ssthresh at the start; 0: infinite (Linux up to 2.6.20: 100)", 0, 0,
			       1000000 },
};

struct bic {
	u32 cnt;	   /* cwnd grows by one packet per so many ACKs (or ACKed packets) */
	u32 last_max_pkts; /* W_max; 0 before the first loss and after a timeout */
	u32 last_cwnd_pkts;
	u32 last_ms;	 /* when cnt was last computed */
	u32 delayed_ack; /* packets per ACK << 4 */
};

static void bic_reset(struct bic *s)
{
	*s = (struct bic){ .delayed_ack = HW_ACK_RATIO_START };
}

static void bic_init(void *state, const u32 *tun, struct hw_conn *c)
{
	bic_reset(state);
	if (tun[INITIAL_SSTHRESH])
		c->ssthresh_pkts = tun[INITIAL_SSTHRESH];
}

/* Computes cnt from the distance between cwnd and W_max. */
static u32 bic_count(const u32 *tun, u32 w_max_pkts, u32 cwnd_pkts)
{
	u32 smooth = hw_scale_u32(cwnd_pkts, SMOOTH_PART, B);
	u32 beyond_pkts;

	if (cwnd_pkts < w_max_pkts) {
		u32 step_pkts = (w_max_pkts - cwnd_pkts) / B;

		if (step_pkts <= 1)
			return smooth;
		return cwnd_pkts / hw_min_u32(step_pkts, tun[MAX_INCREMENT]);
	}
	beyond_pkts = cwnd_pkts - w_max_pkts;
	if (beyond_pkts < B)
		return smooth;
	if (beyond_pkts < tun[MAX_INCREMENT] * (B - 1))
		return hw_scale_u32(cwnd_pkts, B - 1, beyond_pkts);
	return cwnd_pkts / tun[MAX_INCREMENT];
}

static void bic_update(struct bic *s, const u32 *tun, u32 cwnd_pkts, u32 now_ms)
{
	if (s->last_cwnd_pkts == cwnd_pkts && (s32)(now_ms - s->last_ms) <= REFRESH_MS)
		return;
	s->last_cwnd_pkts = cwnd_pkts;
	s->last_ms = now_ms;
	if (cwnd_pkts <= tun[LOW_WINDOW]) {
		s->cnt = cwnd_pkts;
		return;
	}
	s->cnt = bic_count(tun, s->last_max_pkts, cwnd_pkts);
	if (!s->last_max_pkts)
		s->cnt = hw_min_u32(s->cnt, FIRST_COUNT);
	s->cnt = hw_acks_for_pkts(s->cnt, s->delayed_ack);
}

static void bic_pkts_acked(void *state, const u32 *tun, struct hw_conn *c, const struct hw_ack *ack)
{
	struct bic *s = state;

	(void)tun;
	if (c->ca_state == HW_CA_OPEN)
		s->delayed_ack = hw_ack_ratio(s->delayed_ack, ack->acked_pkts);
}

static void bic_cong_avoid(void *state, const u32 *tun, struct hw_conn *c, u32 acked_pkts)
{
	struct bic *s = state;

	bic_update(s, tun, c->cwnd_pkts, hw_clock_ms(c->now_us));
	hw_additive_increase(c, s->cnt, acked_pkts);
}

static u32 bic_ssthresh(void *state, const u32 *tun, struct hw_conn *c)
{
	struct bic *s = state;

	s->last_max_pkts =
		hw_bic_w_max(c->cwnd_pkts, s->last_max_pkts, tun[BETA], tun[FAST_CONVERGENCE]);
	if (c->cwnd_pkts <= tun[LOW_WINDOW])
		return hw_max_u32(c->cwnd_pkts / 2, 2);
	return hw_bic_ssthresh(c->cwnd_pkts, tun[BETA]);
}

static void bic_set_state(void *state, const u32 *tun, struct hw_conn *c, u8 new_state)
{
	(void)tun;
	(void)c;
	if (new_state == HW_CA_LOSS)
		bic_reset(state);
}

HW_TABLE struct hw_cc_ops hw_cc_bic = {
	.name = "bic",
	.title = "BIC: binary search for the window of the last loss",
	.source = "Xu, Harfoush, Rhee 2004; Linux tcp_bic.c",
	.startup = "slow-start",
	.state_bytes = sizeof(struct bic),
	.n_tunables = HW_COUNT(bic_tunables),
	.tunables = bic_tunables,
	.init = bic_init,
	.pkts_acked = bic_pkts_acked,
	.cong_avoid = bic_cong_avoid,
	.ssthresh = bic_ssthresh,
	.set_state = bic_set_state,
};
