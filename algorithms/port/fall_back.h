/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/*
 * The fall-back of controls whose protocol needs routers, on a path where no router takes part.
 * The control notices that no answer comes back, reports that (hw_conn.routers) and continues
 * with Reno's law (reno_law.h). It continues to send its header, and returns to its own law as
 * soon as a router answers.
 *
 * A control of such a protocol keeps a struct hw_fall_back in its state and calls hw_asks() when
 *   one of its headers leaves (on_send), hw_answered() when a header with a router's value has come
 *   back (on_feedback), hw_falls_back() with every ACK (pkts_acked or control); which returns
 *   whether Reno's law applies.
 * Under Reno's law, the control grows by hw_reno_grow() and reacts to loss by
 * hw_reno_ssthresh(). The header must show whether a router left it untouched. The control
 * cannot distinguish a stripped option or a receiver that does not answer from routers that do
 * not take part.
 *
 * Time without an answer counts from the first header that left after the latest answer, so
 * idle time does not count.
 */
#ifndef HEADWAY_PORT_FALL_BACK_H
#define HEADWAY_PORT_FALL_BACK_H

#include "reno_law.h"

/* Routers count as absent after at least this time without an answer. */
#define HW_PATIENCE_US 200000

/* The tunable with which a control waits longer than HW_PATIENCE_US. */
#define HW_PATIENCE                                                            \
	{ "patience_rtts",                                                     \
	  "round trips",                                                       \
	  "time without an answer (and 200 ms) after which the law is Reno's", \
	  4,                                                                   \
	  1,                                                                   \
	  1000 }

struct hw_fall_back {
	u64 asked_us;	/* when the first header without an answer left, on now_us's clock */
	u8 asks;	/* 1: a header has left that has not been answered yet */
	u8 alone;	/* 1: the control has fallen back to Reno's law */
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
 * Returns whether Reno's law applies. If routers answered before the fall-back, sets ssthresh
 * to cwnd then, so that the flow does not repeat slow start.
 */
static inline u32 hw_falls_back(struct hw_fall_back *f, struct hw_conn *c, u32 patience_rtts)
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
