/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/*
 * A protocol with routers on a path where none takes part: its control notices that
 * nothing of theirs comes back, says so (hw_conn.routers), goes on by Reno's law
 * (reno_law.h), keeps asking, and returns as soon as a router answers.
 *
 * A control of the protocol keeps a struct hw_fall_back in its state and calls
 *   hw_asks()     when a header of its leaves (on_send),
 *   hw_answered() when one has come back that a router wrote into (on_feedback),
 *   hw_is_alone() with every ACK (pkts_acked or control), which says what holds;
 * where it does, hw_reno_grow() is its growth and hw_reno_ssthresh() its answer to loss.
 * What a router leaves untouched is for the header to show; an option that is stripped,
 * or a receiver that does not answer, show as nothing at all.
 *
 * Time without an answer counts from the first header that left after the latest one, so
 * that an idle sender waits for nothing.
 */
#ifndef HEADWAY_PORT_FALL_BACK_H
#define HEADWAY_PORT_FALL_BACK_H

#include "reno_law.h"

/* Least time without an answer before routers are believed to be absent. */
#define HW_PATIENCE_US 200000

/* The tunable that says how long else. */
#define HW_PATIENCE                                                     \
	{ "patience_rtts",                                              \
	  "round trips",                                                \
	  "without a router's answer, and 200 ms, until it is as Reno", \
	  4,                                                            \
	  1,                                                            \
	  1000 }

struct hw_fall_back {
	u64 asked_us;	/* when the first header left that has no answer, on now_us's clock */
	u8 asks;	/* there is such a one */
	u8 alone;	/* it has fallen back */
	u8 has_answers; /* routers have answered on this connection */
	u8 unused[5];
};

static inline void hw_asks(struct hw_fall_back *f, const struct hw_conn *c)
{
	if (f->asks)
		return;
	f->asks = 1;
	f->asked_us = c->now_us;
}

static inline void hw_answered(struct hw_fall_back *f, struct hw_conn *c)
{
	f->asks = 0;
	f->alone = 0;
	f->has_answers = 1;
	c->routers = HW_ROUTERS_ANSWER;
}

/*
 * Whether the control is to go on without routers. When it begins to, a flow that routers
 * have led is not to start over: ssthresh is what cwnd was.
 */
static inline u32 hw_is_alone(struct hw_fall_back *f, struct hw_conn *c, u32 patience_rtts)
{
	u64 patience_us = (u64)c->srtt_us * patience_rtts;

	if (patience_us < HW_PATIENCE_US)
		patience_us = HW_PATIENCE_US;
	if (f->asks && !f->alone && c->now_us - f->asked_us > patience_us) {
		f->alone = 1;
		c->fall_backs++;
		if (f->has_answers)
			c->ssthresh_pkts = hw_clamp_u32(c->cwnd_pkts, 2, c->ssthresh_pkts);
	}
	if (f->alone)
		c->routers = HW_ROUTERS_ABSENT;
	return f->alone;
}

#endif
