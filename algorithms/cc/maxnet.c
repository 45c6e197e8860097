// SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only)
/*
 * MaxNet's source: sets the window by the price of the most expensive router on the path
 * (Suchara, Witt, Wydrowski, "TCP MaxNet: Implementation and Experiments on the WAN in Lab",
 * 2005, figure 2 and section III.C). After every ACK that acknowledges data:
 *
 *   eta <- eta + p1/cwnd - p2 price/baseRTT interval
 *   est <- p3 exp(eta - p4 price/baseRTT)
 *   cwnd moves to est, by at most +maxIncrement or -maxDecrement
 *
 * In equilibrium cwnd/baseRTT = p1/(p2 price interval): all flows limited by the same router
 * have the same rate, whatever their RTT. N such flows make the router's price N p1/(p2
 * interval mu C), with C in packets per second. This requires a constant interval: with the
 * time between ACKs in its place, cwnd would cancel out.
 *
 * The paper gives no units of price and interval. With both in seconds its law has no stable
 * equilibrium on the paper's own path: the loop through the exponential crosses over at p4/RTT.
 * p4 = 15 is ten times the bound below which Paganini, Wang, Doyle, Low (ToN 13(1), 2005), who
 * proposed the law, prove stability (pi/2). The law here therefore multiplies the price by
 * `price_scale`, 1/32 by default, with interval = 2 s; docs/maxnet.md has the analysis and what
 * else was tried. price_scale=1024,interval_ms=1000 is the law in seconds.
 *
 * In the printed law eta grows too far, because cwnd may follow est by only two packets per ACK,
 * and it then takes long to fall: on a path without congestion the start never ends. Here eta waits
 * for cwnd (anti-windup). This does not change the equilibrium; anti_windup=off gives the printed
 * law. eta also does not change while the flow does not use its cwnd. eta is never below 0, because
 * est would then be below p3. The first value of eta makes est equal to cwnd.
 *
 * The window has a fractional part: over several round trips, cwnd alternates between the whole
 * numbers below and above. The window is at least two packets. Losses and marks change nothing: the
 * law's window also applies in Recovery. In Loss, after a timeout, TCP sets cwnd (section III.C),
 * and the law continues from there with its previous eta.
 *
 * Until a router answers, and when none answers any more (fall_back.h), the law is Reno's (RFC
 * 5681). A silent bottleneck goes unnoticed if another router on the path answers.
 *
 * The exponential is hw_exp(), within 1e-6. Valid for windows below 2^31 packets.
 */
#include "../port/cc.h"
#include "../port/exponential.h"
#include "../port/fall_back.h"
#include "../header/maxnet.h"

enum {
	P1,
	P2,
	P3,
	P4,
	MAX_INCREMENT,
	MAX_DECREMENT,
	INTERVAL_MS,
	PRICE_SCALE,
	PATIENCE,
	ANTI_WINDUP
};

static const struct hw_tunable maxnet_tunables[] = {
	[P1] = { "p1", "packets", "eta rises by p1/cwnd per ACK", 6, 1, 1000 },
	[P2] = { "p2", "1", "weight of the price in the decrease of eta", 1, 1, 1000 },
	[P3] = { "p3", "packets", "target window if the exponent of the law is 0", 2, 1, 1000 },
	[P4] = { "p4", "1", "weight of the price in the exponent of the target window", 15, 0,
		 1000 },
	[MAX_INCREMENT] = { "max_increment", "packets", "largest growth of cwnd per ACK", 2, 1,
			    1000 },
	[MAX_DECREMENT] = { "max_decrement", "packets", "largest reduction of cwnd per ACK", 20, 1,
			    1000 },
	[INTERVAL_MS] = { "interval_ms", "ms", "constant interval in the law", 2000, 1, 100000 },
	[PRICE_SCALE] = { "price_scale", "1/1024", "factor by which the law multiplies the price",
			  32, 1, 4096 },
	[PATIENCE] = HW_PATIENCE,
	[ANTI_WINDUP] = { "anti_windup", "bool",
			  "eta does not grow while cwnd is below the target window", 1, 0, 1 },
};

#define WINDOW_SHIFT HW_VALUE_SHIFT
#define ONE_PKT	     (1 << WINDOW_SHIFT)
#define LEAST_PKTS   2
#define MOST_PKTS    0x7fffffffu
/* The flow counts as using its whole cwnd if at most so many packets of cwnd are unused
 * (tcp_max_burst of Linux 2.6). */
#define SLACK_PKTS 3
/* Bounds that prevent overflow: the price is at most 4096 base RTTs, and the exponent is larger
 * than any window needs. */
#define RATIO_MOST (1ull << (HW_EXP_SHIFT + 12))
#define ETA_MOST   (1ll << (HW_EXP_SHIFT + 20))

struct maxnet {
	struct hw_fall_back fall_back;
	s64 eta;    /* << HW_EXP_SHIFT */
	u64 window; /* packets << WINDOW_SHIFT */
	/* latest price that the receiver echoed, in HW_PRICE_NS; 0: no router has answered */
	u32 price;
	/* integral of the window minus cwnd, in (packets << WINDOW_SHIFT) times round trips */
	s32 owed;
	u8 is_priced;  /* 1: MaxNet's law applies, 0: Reno's */
	u8 is_held;    /* cwnd grew by max_increment, but is still below the target window est */
	u8 extra_pkts; /* 1: cwnd is MaxNet's window rounded up, 0: rounded down */
	u8 unused[5];
};

/* The ratio price/baseRTT times price_scale, << HW_EXP_SHIFT, at most RATIO_MOST. */
static u64 maxnet_ratio(const struct maxnet *s, const u32 *tun, const struct hw_conn *c)
{
	u64 price_us = (u64)s->price * (HW_PRICE_NS / 1000);
	u64 ratio = hw_div_u64((price_us * tun[PRICE_SCALE]) << (HW_EXP_SHIFT - 10), c->min_rtt_us);

	return ratio < RATIO_MOST ? ratio : RATIO_MOST;
}

static s64 maxnet_bounded(s64 eta)
{
	if (eta < 0)
		return 0;
	return eta < ETA_MOST ? eta : ETA_MOST;
}

/* Makes MaxNet's window equal to TCP's cwnd. */
static void maxnet_adopt_window(struct maxnet *s, const struct hw_conn *c)
{
	u32 pkts = hw_clamp_u32(c->cwnd_pkts, LEAST_PKTS, MOST_PKTS);

	s->window = (u64)pkts << WINDOW_SHIFT;
	s->owed = 0;
	s->extra_pkts = 0;
	s->is_held = 0;
}

/* Called when routers answer for the first time, or again after they were silent. Sets eta so
 * that the target window est equals cwnd. */
static void maxnet_begin(struct maxnet *s, const u32 *tun, const struct hw_conn *c)
{
	u64 ratio = maxnet_ratio(s, tun, c);

	maxnet_adopt_window(s, c);
	s->eta = maxnet_bounded(hw_ln_roughly(s->window / tun[P3]) + (s64)(ratio * tun[P4]));
	s->is_priced = 1;
}

/* Step 1 of the paper's figure 2: increases and decreases eta. Returns the target window,
 * packets << WINDOW_SHIFT. */
static u64 maxnet_target(struct maxnet *s, const u32 *tun, u64 ratio, u32 may_grow)
{
	u64 up = ((u64)tun[P1] << (HW_EXP_SHIFT + WINDOW_SHIFT)) / (s->window | 1);
	u64 down = ratio * tun[P2] * tun[INTERVAL_MS] / 1000; /* below 2^63 */
	s64 eta = s->eta - (s64)down;
	u64 value;

	if ((may_grow && (!s->is_held || !tun[ANTI_WINDUP])) || up < down)
		eta += (s64)up;
	else
		eta = s->eta;
	s->eta = maxnet_bounded(eta);
	value = hw_exp(s->eta - (s64)(ratio * tun[P4]));
	return value < (u64)MOST_PKTS << WINDOW_SHIFT ? value * tun[P3] : value;
}

/* Step 2. */
static u64 maxnet_step(u64 window, u64 target, const u32 *tun, u32 may_grow)
{
	u64 up = (u64)tun[MAX_INCREMENT] << WINDOW_SHIFT;
	u64 down = (u64)tun[MAX_DECREMENT] << WINDOW_SHIFT;

	if (window > target)
		return window - target > down ? window - down : target;
	if (!may_grow)
		return window;
	return target - window > up ? window + up : target;
}

/*
 * Sets cwnd to the window in whole packets, rounded down or up for a round trip or more at a
 * time. cwnd then equals the window on average and does not change with every ACK, which would
 * cause bursts.
 */
static void maxnet_round(struct maxnet *s, struct hw_conn *c, u32 acked_pkts)
{
	u32 whole = (u32)(s->window >> WINDOW_SHIFT);
	u32 acked = hw_min_u32(acked_pkts, whole);
	u32 fraction = (u32)s->window & (ONE_PKT - 1);

	s->owed += (s32)((u64)fraction * acked / hw_max_u32(whole, 1));
	if (s->extra_pkts)
		s->owed -= (s32)((u64)ONE_PKT * acked / hw_max_u32(whole, 1));
	if (s->owed > ONE_PKT / 2)
		s->extra_pkts = 1;
	else if (s->owed < -(ONE_PKT / 2))
		s->extra_pkts = 0;
	c->cwnd_pkts = whole + s->extra_pkts;
}

static void maxnet_law(struct maxnet *s, const u32 *tun, struct hw_conn *c, u32 acked_pkts,
		       u32 may_grow)
{
	u64 least = (u64)LEAST_PKTS << WINDOW_SHIFT;
	u64 most = (u64)hw_clamp_u32(c->cwnd_clamp_pkts, LEAST_PKTS, MOST_PKTS) << WINDOW_SHIFT;
	u64 ratio = maxnet_ratio(s, tun, c);

	u64 target = maxnet_target(s, tun, ratio, may_grow);

	s->is_held = target > s->window + ((u64)tun[MAX_INCREMENT] << WINDOW_SHIFT);
	s->window = maxnet_step(s->window, target, tun, may_grow);
	s->window = s->window > least ? s->window : least;
	s->window = s->window < most ? s->window : most;
	maxnet_round(s, c, acked_pkts);
}

/* Congestion avoidance without a price: Reno's growth. Reno's reduction happens when Recovery
 * begins. */
static void maxnet_as_reno(struct hw_conn *c, u32 acked_pkts, u32 may_grow)
{
	if (!may_grow || c->ca_state == HW_CA_CWR || c->ca_state == HW_CA_RECOVERY)
		return;
	hw_reno_grow(c, c->counts_acks ? 1 : acked_pkts);
}

/* Returns whether a router answers. Switches to MaxNet's law when routers answer, and to Reno's
 * when they are silent. */
static void maxnet_check_routers(struct maxnet *s, const u32 *tun, struct hw_conn *c)
{
	u32 is_alone = hw_falls_back(&s->fall_back, c, tun[PATIENCE]);

	if (is_alone || !s->price || c->min_rtt_us == HW_U32_MAX)
		s->is_priced = 0;
	else if (!s->is_priced)
		maxnet_begin(s, tun, c);
}

static void maxnet_control(void *state, const u32 *tun, struct hw_conn *c,
			   const struct hw_rate_sample *sample)
{
	struct maxnet *s = state;
	u32 may_grow = hw_add_u32(sample->prior_inflight_pkts, SLACK_PKTS) >= c->cwnd_pkts;

	maxnet_check_routers(s, tun, c);
	if (!sample->acked_pkts)
		return;
	if (s->is_priced && c->ca_state != HW_CA_LOSS) {
		maxnet_law(s, tun, c, sample->acked_pkts, may_grow);
		return;
	}
	maxnet_as_reno(c, sample->acked_pkts, may_grow);
	maxnet_adopt_window(s, c);
}

static void maxnet_init(void *state, const u32 *tun, struct hw_conn *c)
{
	(void)tun;
	c->ssthresh_pkts = HW_SSTHRESH_INFINITE;
	maxnet_adopt_window(state, c);
}

static void maxnet_set_state(void *state, const u32 *tun, struct hw_conn *c, u8 new_state)
{
	struct maxnet *s = state;

	(void)tun;
	if (!s->is_priced && c->ca_state < HW_CA_CWR &&
	    (new_state == HW_CA_CWR || new_state == HW_CA_RECOVERY))
		c->cwnd_pkts = hw_min_u32(c->cwnd_pkts, c->ssthresh_pkts);
}

/* Undoes the reduction of cwnd by a timeout or by Reno's law. Losses never reduce MaxNet's own
 * window. */
static u32 maxnet_undo_cwnd(void *state, const u32 *tun, struct hw_conn *c, u32 prior_cwnd_pkts)
{
	struct maxnet *s = state;
	u32 pkts = hw_max_u32(c->cwnd_pkts, prior_cwnd_pkts);

	(void)tun;
	if (!s->is_priced || c->ca_state == HW_CA_LOSS)
		s->window = (u64)hw_clamp_u32(pkts, LEAST_PKTS, MOST_PKTS) << WINDOW_SHIFT;
	return pkts;
}

static u32 maxnet_on_send(void *state, const u32 *tun, struct hw_conn *c, void *header)
{
	struct maxnet *s = state;

	(void)tun;
	((struct hw_maxnet_fields *)header)->price = 0;
	hw_asks(&s->fall_back, c);
	return 1;
}

static void maxnet_on_feedback(void *state, const u32 *tun, struct hw_conn *c, const void *header)
{
	const struct hw_maxnet_fields *option = header;
	struct maxnet *s = state;

	(void)tun;
	if (!option->echo)
		return; /* no router wrote */
	s->price = option->echo;
	hw_answered(&s->fall_back, c);
}

HW_TABLE struct hw_cc_ops hw_cc_maxnet = {
	.name = "maxnet",
	.title = "MaxNet: sets the window by the highest price of the path's routers",
	.source = "Suchara, Witt, Wydrowski 2005, figure 2",
	.state_bytes = sizeof(struct maxnet),
	.flags = HW_CC_OWN_START,
	.n_tunables = HW_COUNT(maxnet_tunables),
	.tunables = maxnet_tunables,
	.header = &hw_header_maxnet,
	.init = maxnet_init,
	.control = maxnet_control,
	.ssthresh = hw_reno_ssthresh,
	.set_state = maxnet_set_state,
	.undo_cwnd = maxnet_undo_cwnd,
	.on_send = maxnet_on_send,
	.on_feedback = maxnet_on_feedback,
};
