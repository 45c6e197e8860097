// SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only)
/*
 * HighSpeed TCP (RFC 3649): the larger the window w, the more it grows per window (by a(w)
 * packets), and the smaller is the fraction b(w) by which a loss reduces it. A window of 83,000
 * packets then needs a loss ratio of 1e-7 instead of Reno's 2e-10. Up to 38 packets the law is
 * Reno's.
 *
 * a and b come from the table of RFC 3649, appendix B, which follows from the equations in
 * section 5: b falls from 0.5 at 38 packets to 0.1 at 83,000 with the logarithm of w, and a(w)
 * = w^2 p(w) 2 b(w)/(2 - b(w)) with p(w) = 0.078/w^1.2.
 *
 * As in Linux (tcp_highspeed.c): between two rows of the table, a and b are those of the upper
 * row, so growth is up to one packet per window more than the equation gives. A loss uses the b
 * of the last growth above ssthresh, so the loss that ends slow start halves the window. ACK
 * events are counted, whatever the stack counts. Beyond 89,053 packets the last row applies.
 * Valid for windows below 16 million packets.
 */
#include "../port/reno_law.h"

/* Rows of RFC 3649's table: the largest window of the row, and the fraction b << 8. The number
 * of the row, from 1, is a. */
static const struct {
	u32 cwnd_pkts;
	u32 part_256;
} highspeed_rows[] = {
	{ 38, 128 },   { 118, 112 },  { 221, 104 },  { 347, 98 },   { 495, 93 },   { 663, 89 },
	{ 851, 86 },   { 1058, 83 },  { 1284, 81 },  { 1529, 78 },  { 1793, 76 },  { 2076, 74 },
	{ 2378, 72 },  { 2699, 71 },  { 3039, 69 },  { 3399, 68 },  { 3778, 66 },  { 4177, 65 },
	{ 4596, 64 },  { 5036, 62 },  { 5497, 61 },  { 5979, 60 },  { 6483, 59 },  { 7009, 58 },
	{ 7558, 57 },  { 8130, 56 },  { 8726, 55 },  { 9346, 54 },  { 9991, 53 },  { 10661, 52 },
	{ 11358, 52 }, { 12082, 51 }, { 12834, 50 }, { 13614, 49 }, { 14424, 48 }, { 15265, 48 },
	{ 16137, 47 }, { 17042, 46 }, { 17981, 45 }, { 18955, 45 }, { 19965, 44 }, { 21013, 43 },
	{ 22101, 43 }, { 23230, 42 }, { 24402, 41 }, { 25618, 41 }, { 26881, 40 }, { 28193, 39 },
	{ 29557, 39 }, { 30975, 38 }, { 32450, 38 }, { 33986, 37 }, { 35586, 36 }, { 37253, 36 },
	{ 38992, 35 }, { 40808, 35 }, { 42707, 34 }, { 44694, 33 }, { 46776, 33 }, { 48961, 32 },
	{ 51258, 32 }, { 53677, 31 }, { 56230, 30 }, { 58932, 30 }, { 61799, 29 }, { 64851, 28 },
	{ 68113, 28 }, { 71617, 27 }, { 75401, 26 }, { 79517, 26 }, { 84035, 25 }, { 89053, 24 },
};

#define LAST_ROW  (HW_COUNT(highspeed_rows) - 1)
#define HALF_STEP 64 /* half of the smallest power of two above the number of rows */

struct highspeed {
	u32 cwnd_pkts;	   /* the window for which a and b were last looked up */
	u32 increase_pkts; /* a, per window */
	u32 part_256;	   /* b << 8 */
};

static void highspeed_init(void *state, const u32 *tun, struct hw_conn *c)
{
	(void)tun;
	(void)c;
	*(struct highspeed *)state = (struct highspeed){ 0, 1, highspeed_rows[0].part_256 };
}

/* Finds the row of the table for a window by binary search; at most LAST_ROW. */
static u32 highspeed_row(u32 cwnd_pkts)
{
	u32 row = 0;
	u32 step;

	for (step = HALF_STEP; step; step /= 2)
		if (row + step <= LAST_ROW && highspeed_rows[row + step - 1].cwnd_pkts < cwnd_pkts)
			row += step;
	return row;
}

static void highspeed_cong_avoid(void *state, const u32 *tun, struct hw_conn *c, u32 acked_pkts)
{
	struct highspeed *s = state;

	(void)tun;
	(void)acked_pkts;
	if (s->cwnd_pkts != c->cwnd_pkts) {
		u32 row = highspeed_row(c->cwnd_pkts);

		s->cwnd_pkts = c->cwnd_pkts;
		s->increase_pkts = row + 1;
		s->part_256 = highspeed_rows[row].part_256;
	}
	if (c->cwnd_pkts >= c->cwnd_clamp_pkts)
		return;
	c->cwnd_cnt = hw_add_u32(c->cwnd_cnt, s->increase_pkts);
	if (c->cwnd_cnt >= c->cwnd_pkts) {
		c->cwnd_cnt -= c->cwnd_pkts;
		c->cwnd_pkts++;
	}
}

static u32 highspeed_ssthresh(void *state, const u32 *tun, struct hw_conn *c)
{
	const struct highspeed *s = state;

	(void)tun;
	return hw_max_u32(c->cwnd_pkts - hw_scale_u32(c->cwnd_pkts, s->part_256, 256), 2);
}

HW_TABLE struct hw_cc_ops hw_cc_highspeed = {
	.name = "highspeed",
	.title = "HighSpeed TCP: growth and reduction depend on the window",
	.source = "RFC 3649; Linux tcp_highspeed.c",
	.startup = "slow-start",
	.state_bytes = sizeof(struct highspeed),
	.init = highspeed_init,
	.cong_avoid = highspeed_cong_avoid,
	.ssthresh = highspeed_ssthresh,
	.min_cwnd = hw_reno_min_cwnd,
};
