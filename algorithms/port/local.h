/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/*
 * Shared by the controls of local router assistance (monitor.h): a window that only the
 * monitor's values change. According to "RAPPEP", section III.B, the sender sees congestion
 * before it causes loss, so each loss comes from the medium: ssthresh is cwnd, and the window
 * is restored after Recovery and after a timeout. A control spreads the change of a round trip
 * over the acknowledged packets of the window at the round's beginning. Each change is
 * therefore applied once, whatever the round trip and the monitor's interval are.
 *
 * Choices made here, where the paper leaves something open:
 * - The first window is the link's spare capacity, shared among the connections that are being
 *   opened, as Quick-Start's routers approve a rate (RFC 4782), and paced over a round trip.
 *   The monitor sees each connection before its data, so all that begin at once get a share.
 *   After a short idle time the flow gets a first window again, shared among all connections
 *   that are present. start=plain is the paper's start: the stack's window, and the law from
 *   there on.
 * - A window that the flow does not fill does not change; it counts as filled if at most an
 *   eighth of it plus three packets is unused.
 * - In Loss, after a timeout, cwnd grows by the acknowledged packets, up to the law's window.
 * - An idle time halves the window for each of its round trips, down to ten packets, because
 *   the window would arrive at the link in one burst.
 * - Without a monitor, or before its first interval is over, the law is Reno's.
 *
 * Such a control owns its start and cwnd (hw_cc_ops.control). Its state is struct hw_local, or
 * begins with it. It uses the four callbacks defined here, and computes its law between calls
 * of hw_local_begins() and hw_local_steps(). Valid for any window.
 */
#ifndef HEADWAY_PORT_LOCAL_H
#define HEADWAY_PORT_LOCAL_H

#include "first_flight.h"
#include "load_factor.h"

#define HW_LOCAL_SPARE_PKTS 3
#define HW_LOCAL_FIRST_PKTS 10

/* Tunables of the controls of local router assistance: all have the first, those with additive
 * increase also the second. */
enum { HW_LOCAL_START, HW_LOCAL_ALPHA };
enum hw_local_start { HW_LOCAL_PLAIN = 0, HW_LOCAL_APPROVED = 1 };
#define HW_LOCAL_TUNABLE_START                                               \
	{ "start",                                                           \
	  "plain|approved",                                                  \
	  "first window: the stack's, or what the link has to spare, paced", \
	  HW_LOCAL_APPROVED,                                                 \
	  HW_LOCAL_PLAIN,                                                    \
	  HW_LOCAL_APPROVED }

#define HW_LOCAL_TUNABLE_ALPHA \
	{ "alpha", "packets", "growth per round trip for an RTT of t_rho, 200 ms", 1, 1, 64 }

struct hw_local {
	struct hw_monitor monitor; /* what the monitor published, as last read */
	struct hw_flight flight;   /* the paced flight of the first window */
	/* the window stays at least this large if few packets of the flight leave */
	u32 flight_least_pkts;
	u32 window_pkts; /* the window that the control's law sets */
	/* fraction of a packet by which the window exceeds window_pkts, in units of 2^-30 */
	u32 fraction;
	u32 round_pkts; /* window at the beginning of the present round trip */
	u32 round_end;	/* sequence number whose ACK ends the present round trip */
};

_Static_assert(sizeof(struct hw_local) <= HW_FLOW_STATE_BYTES, "state of a control");

static inline void hw_local_on_monitor(void *state, const u32 *tun, struct hw_conn *c,
				       const struct hw_monitor *monitor)
{
	struct hw_local *l = state;

	(void)tun;
	if (!l->monitor.intervals)
		l->window_pkts = c->cwnd_pkts;
	l->monitor = *monitor;
}

static inline int hw_local_falls_back(const struct hw_local *l)
{
	return !l->monitor.intervals;
}

/* Reno's law, used while no router algorithm at the sending device publishes measurements
 * (monitor.h). It also sets the window in Recovery: the stack does not, because these controls own
 * cwnd. */
static inline void hw_local_uses_reno(struct hw_conn *c, const struct hw_rate_sample *sample)
{
	if (c->ca_state == HW_CA_CWR || c->ca_state == HW_CA_RECOVERY)
		c->cwnd_pkts = hw_max_u32(hw_min_u32(c->cwnd_pkts, c->ssthresh_pkts), 1);
	else if (hw_add_u32(sample->prior_inflight_pkts, HW_LOCAL_SPARE_PKTS) >= c->cwnd_pkts)
		hw_reno_grow(c, c->counts_acks ? sample->acked_pkts != 0 : sample->acked_pkts);
}

/* A flow's equal share of a rate among `flows` flows, in packets per round trip with 16
 * fractional bits. */
static inline u64 hw_local_share(const struct hw_conn *c, u64 rate_Bps, u32 flows)
{
	u64 rtt_us = hw_min_u32(c->min_rtt_us, HW_LOAD_MAX_INTERVALS * HW_LOAD_INTERVAL_US);
	u64 bytes = hw_min_u64(rate_Bps, 1ull << 35) * rtt_us / 1000000;
	u64 pkt_bytes = (u64)c->mss_bytes + c->header_bytes;

	return hw_div_u64(bytes << 16, hw_max_u32(hw_saturate_u32(pkt_bytes), 1)) /
	       hw_max_u32(flows, 1);
}

/* The part of the capacity that was unused both in the last control interval and in the last
 * load interval. */
static inline u64 hw_local_unused_Bps(const struct hw_monitor *m)
{
	u64 part = 0;

	if (m->capacity_Bps <= m->output_Bps)
		return 0;
	if (m->capacity_bytes > m->demand_bytes)
		part = hw_div_u64((m->capacity_bytes - m->demand_bytes) << 16, m->capacity_bytes);
	return hw_min_u64(m->capacity_Bps - m->output_Bps,
			  hw_min_u64(m->capacity_Bps, 1ull << 35) * part >> 16);
}

/* Begins a paced flight that lasts one round trip: `pkts` packets plus the flow's equal share of
 * a rate. Does nothing if that is not more than cwnd. */
static inline void hw_local_approve_flight(struct hw_local *l, struct hw_conn *c, u64 rate_Bps,
					   u32 pkts, u32 flows)
{
	pkts = hw_add_u32(pkts, hw_saturate_u32(hw_local_share(c, rate_Bps, flows) >> 16));
	if (pkts <= c->cwnd_pkts)
		return;
	l->flight_least_pkts = hw_max_u32(c->cwnd_pkts, HW_LOCAL_FIRST_PKTS);
	hw_flight_begin(&l->flight, c, pkts, hw_rate_of_pkts(c, pkts), 1);
	l->window_pkts = c->cwnd_pkts;
}

/*
 * Called when data is about to leave at the beginning or after an idle time. At the beginning,
 * each connection that is being opened gets an equal part of the unused capacity, but at most
 * an equal part of the whole capacity among all connections. It gets nothing if the monitor has
 * not seen any connection being opened. After an idle time of up to two round trips it gets an
 * equal part of the unused capacity among all present connections, because other idle
 * connections may begin at the same time.
 */
static inline void hw_local_start_flight(struct hw_local *l, struct hw_conn *c, u8 event)
{
	const struct hw_monitor *m = &l->monitor;
	u64 rate_Bps;

	l->flight.after_idle = c->sent_pkts && c->idle_us / 2 <= c->srtt_us;
	if (!hw_flight_may_begin(&l->flight, c, event, 0))
		return;
	if (c->sent_pkts) {
		hw_local_approve_flight(l, c, hw_local_unused_Bps(m), 0, hw_max_u32(m->present, 1));
	} else if (m->opening) {
		rate_Bps = hw_min_u64(hw_local_unused_Bps(m) / m->opening,
				      m->capacity_Bps / hw_add_u32(m->flows, m->opening));
		hw_local_approve_flight(l, c, rate_Bps, 0, 1);
	}
}

/*
 * Handles the first ACK of an approved flight: the window becomes the number of packets that
 * have left. If the peer's window limited that number (a SYN announces at most 64 KiB), the
 * flow also gets an equal part of the capacity that is unused now.
 */
static inline void hw_local_flight_acked(struct hw_local *l, struct hw_conn *c)
{
	struct hw_flight *f = &l->flight;
	u32 approved_pkts = l->window_pkts;

	if (f->phase != HW_FLIGHT_PROBING)
		return;
	hw_flight_acked(f, c, l->flight_least_pkts);
	if (f->phase == HW_FLIGHT_PROBING)
		return;
	l->window_pkts = hw_min_u32(approved_pkts, hw_max_u32(f->paced_pkts, l->flight_least_pkts));
	if (c->ca_state < HW_CA_CWR && c->app_queued_bytes >= c->mss_bytes &&
	    l->window_pkts < approved_pkts / 8 * 7)
		hw_local_approve_flight(l, c, hw_local_unused_Bps(&l->monitor), l->window_pkts,
					hw_add_u32(l->monitor.flows, l->monitor.opening));
}

/* Called on an ACK before the law. Returns for how many packets the law changes the window; 0:
 * it does not. */
static inline u32 hw_local_begins(struct hw_local *l, struct hw_conn *c,
				  const struct hw_rate_sample *sample)
{
	u32 used_pkts = hw_add_u32(sample->prior_inflight_pkts, HW_LOCAL_SPARE_PKTS);

	if (hw_local_falls_back(l)) {
		/* no monitor is attached any more that would confirm the data by which the
		 * flight began */
		if (l->flight.phase == HW_FLIGHT_PROBING)
			hw_flight_stop_pacing(&l->flight, c);
		hw_local_uses_reno(c, sample);
		return 0;
	}
	hw_local_flight_acked(l, c);
	l->window_pkts = hw_clamp_u32(l->window_pkts, 1, hw_max_u32(c->cwnd_clamp_pkts, 1));
	if (c->ca_state == HW_CA_LOSS) {
		c->cwnd_pkts =
			hw_min_u32(hw_add_u32(c->cwnd_pkts, sample->acked_pkts), l->window_pkts);
		return 0;
	}
	c->cwnd_pkts = l->window_pkts;
	if (!l->round_pkts || !hw_after(l->round_end, c->snd_una)) {
		l->round_pkts = c->cwnd_pkts;
		l->round_end = c->snd_nxt;
	}
	if (l->flight.phase == HW_FLIGHT_PROBING ||
	    hw_add_u32(used_pkts, c->cwnd_pkts / 8) < c->cwnd_pkts)
		return 0;
	return hw_min_u32(sample->acked_pkts, l->round_pkts);
}

/* How much of a change per round trip (with 16 fractional bits) applies to pkts of the round's
 * packets; the result has 30 fractional bits. */
static inline u64 hw_local_part(const struct hw_local *l, u64 per_rtt, u32 pkts)
{
	return (per_rtt << (HW_STEP_SHIFT - 16)) / hw_max_u32(l->round_pkts, 1) * pkts;
}

/*
 * The additive growth for pkts of the round's packets. In a round trip it is alpha (d/t_rho)^2
 * packets, but at most a tenth of a flow's fair share of the capacity, which is the part of the
 * traffic that XCP shuffles. The queue at which flows converge therefore does not grow with
 * their number.
 */
static inline u64 hw_local_additive(const struct hw_local *l, const struct hw_conn *c, u32 alpha,
				    u32 pkts)
{
	const struct hw_monitor *m = &l->monitor;
	u64 scale = hw_additive_scale(c->min_rtt_us, HW_LOAD_INTERVAL_US) * alpha;

	scale = hw_min_u64(scale, hw_local_share(c, m->capacity_Bps, m->flows) / 10);
	return hw_local_part(l, scale, pkts);
}

/* Changes the window by what the control's law adds and takes, each with 30 fractional bits. */
static inline void hw_local_steps(struct hw_local *l, struct hw_conn *c, u64 add, u64 take)
{
	if (add >= take)
		hw_window_grow(c, &l->fraction, add - take);
	else
		hw_window_shrink(c, &l->fraction, take - add);
	l->window_pkts = c->cwnd_pkts;
	c->ssthresh_pkts = hw_max_u32(c->cwnd_pkts, 2);
}

static inline u32 hw_local_ssthresh(void *state, const u32 *tun, struct hw_conn *c)
{
	const struct hw_local *l = state;

	if (hw_local_falls_back(l))
		return hw_reno_ssthresh(state, tun, c);
	return hw_max_u32(l->window_pkts, 2);
}

static inline u32 hw_local_min_cwnd(void *state, const u32 *tun, struct hw_conn *c)
{
	if (hw_local_falls_back(state))
		return hw_reno_min_cwnd(state, tun, c);
	return c->ssthresh_pkts;
}

static inline void hw_local_event(void *state, const u32 *tun, struct hw_conn *c, u8 event)
{
	struct hw_local *l = state;
	u32 trips, least_pkts = hw_min_u32(l->window_pkts, HW_LOCAL_FIRST_PKTS);

	if (event != HW_EVENT_TX_START || hw_local_falls_back(l) || !c->srtt_us)
		return;
	trips = hw_min_u32(c->idle_us / c->srtt_us, 31);
	l->window_pkts = hw_max_u32(l->window_pkts >> trips, least_pkts);
	if (trips && c->ca_state == HW_CA_OPEN)
		c->cwnd_pkts = hw_max_u32(l->window_pkts, 1);
	if (tun[HW_LOCAL_START] == HW_LOCAL_APPROVED)
		hw_local_start_flight(l, c, event);
}

#endif
