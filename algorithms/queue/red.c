// SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only)
/*
 * Random Early Detection (Floyd and Jacobson, IEEE/ACM Transactions on
 * Networking 1(4), 1993) with the gentle slope above max_th (Floyd, 2000) and
 * ECN (RFC 3168).
 *
 * The average is in packets. While the link was idle it decays as if small packets had been
 * arriving at the link's rate. Drops are spread evenly: with probability p/(1 - count p),
 * where count packets have passed since the last drop.
 *
 * Valid for queues below 2^24 packets.
 */
#include "../port/queue.h"

#define AVERAGE_SHIFT  24 /* fractional bits of the average in packets */
#define FRACTION_SHIFT 32 /* fractional bits of probabilities and of the decay */
#define FRACTION_ONE   (1ull << FRACTION_SHIFT)
/* after so many small packets an idle link's average counts as 0 */
#define DECAY_MAX_PKTS (1u << 20)

enum { MIN_TH, MAX_TH, MAX_P, WEIGHT_SHIFT, MEAN_BYTES, GENTLE, ECN };

static const struct hw_tunable red_tunables[] = {
	[MIN_TH] = { "min_th_pkts", "packets", "average queue below which nothing is dropped", 5, 1,
		     1000000 },
	[MAX_TH] = { "max_th_pkts", "packets",
		     "average queue at which the drop probability is max_p", 15, 1, 1000000 },
	[MAX_P] = { "max_p_permille", "1/1000", "drop probability at max_th", 100, 1, 1000 },
	[WEIGHT_SHIFT] = { "weight_shift", "bits",
			   "a sample has the weight 2^-shift in the average", 9, 1, 16 },
	[MEAN_BYTES] = { "mean_bytes", "bytes",
			 "packet size with which the average decays while the link is idle", 500, 1,
			 65535 },
	[GENTLE] = { "gentle", "bool", "the drop probability rises to 1 at twice max_th", 1, 0, 1 },
	[ECN] = { "ecn", "bool", "mark ECN-capable packets instead of dropping them", 0, 0, 1 },
};

struct red {
	u64 average; /* packets << 24 */
	u32 count;   /* packets since the last early drop, + 1; 0 below min_th */
};

static void red_update_average(struct red *s, const u32 *tun, const struct hw_link *link)
{
	u64 sample = (u64)link->queue_pkts << AVERAGE_SHIFT;

	if (link->queue_pkts) {
		if (sample > s->average)
			s->average += (sample - s->average) >> tun[WEIGHT_SHIFT];
		else
			s->average -= (s->average - sample) >> tun[WEIGHT_SHIFT];
	} else {
		/* the average gets one sample of 0 for this arrival, and one for each packet
		 * that could have arrived while the link was idle */
		u64 sent = hw_div_u64((u64)link->idle_us * hw_saturate_u32(link->rate_Bps),
				      (u64)tun[MEAN_BYTES] * 1000000);
		u32 n = sent < DECAY_MAX_PKTS ? (u32)sent + 1 : DECAY_MAX_PKTS;
		u64 decay = hw_power(FRACTION_ONE - (FRACTION_ONE >> tun[WEIGHT_SHIFT]), n);

		/* no overflow: the average is below 2^48, and is shifted by 16 bits before and
		 * after the product */
		s->average = (s->average >> 16) * decay >> (FRACTION_SHIFT - 16);
	}
}

/* The drop probability at the average queue, << 32. Later, drops are spread evenly. */
static u64 red_probability(const struct red *s, const u32 *tun)
{
	u64 min = (u64)tun[MIN_TH] << AVERAGE_SHIFT;
	u64 max = (u64)hw_max_u32(tun[MAX_TH], tun[MIN_TH] + 1) << AVERAGE_SHIFT;
	u64 max_p = FRACTION_ONE * tun[MAX_P] / 1000;

	if (s->average < min)
		return 0;
	if (s->average < max)
		return ((s->average - min) >> 16) * max_p / ((max - min) >> 16);
	if (tun[GENTLE] && s->average < 2 * max)
		return max_p + ((s->average - max) >> 16) * (FRACTION_ONE - max_p) / (max >> 16);
	return FRACTION_ONE;
}

/* Whether RED drops or marks this packet. */
static int red_strikes(struct red *s, const u32 *tun, u32 random)
{
	u64 p = red_probability(s, tun);
	u64 spent;

	if (!p) {
		s->count = 0;
		return 0;
	}
	if (p < FRACTION_ONE) {
		s->count = hw_add_u32(s->count, 1);
		spent = (s->count - 1) * p;
		if (spent < FRACTION_ONE && random >= hw_div_u64(p << 32, FRACTION_ONE - spent))
			return 0;
	}
	s->count = 1;
	return 1;
}

static u32 red_enqueue(void *state, const u32 *tun, const struct hw_link *link,
		       const struct hw_packet *pkt, struct hw_held *held)
{
	struct red *s = state;

	(void)held;
	red_update_average(s, tun, link);
	if (hw_link_is_full(link, pkt)) {
		s->count = s->count ? 1 : 0;
		return HW_DROP_FULL;
	}
	if (!red_strikes(s, tun, link->random))
		return HW_PASS;
	if (tun[ECN] && pkt->ecn)
		return HW_MARK;
	return HW_DROP_EARLY;
}

HW_TABLE struct hw_queue_ops hw_queue_red = {
	.name = "red",
	.title = "Random Early Detection, gentle, optionally marking ECN",
	.source = "Floyd, Jacobson 1993; Floyd 2000 (gentle); RFC 3168",
	.state_bytes = sizeof(struct red),
	.n_tunables = HW_COUNT(red_tunables),
	.tunables = red_tunables,
	.enqueue = red_enqueue,
};
