/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/*
 * The first flight of a fast startup: a window that is chosen at once and paced over one round
 * trip. Its phases are those of Scharf, "Fast Startup Internet Congestion Control" (2011),
 * section 4.4: probing (the window is paced out), validation (its ACKs come back), then
 * ordinary congestion control. If packets of the flight are lost, the window after recovery is
 * computed from the number that arrived (eq. 4.11), as in Jump-Start.
 *
 * A flight begins with the first data of a connection, or with the first data after an idle time
 * for which the stack reduced cwnd. A flight needs a known round-trip time, which a retransmitted
 * SYN or SYN-ACK does not give.
 */
#ifndef HEADWAY_PORT_FIRST_FLIGHT_H
#define HEADWAY_PORT_FIRST_FLIGHT_H

#include "initial_rate.h"
#include "../header/quick_start.h"

enum hw_flight_phase {
	HW_FLIGHT_NONE = 0,
	HW_FLIGHT_PROBING = 1,
	HW_FLIGHT_VALIDATION = 2,
	HW_FLIGHT_RECOVERY = 3, /* packets of the flight were lost */
};

struct hw_flight {
	u32 first_seq; /* sequence number of the flight's first byte */
	u32 end_seq;   /* sequence number after the flight's last byte; known from validation on */
	/* number of packets sent before the flight, without retransmissions */
	u32 sent_before_pkts;
	u32 retrans_before_pkts;
	u32 paced_pkts;	   /* N_pacing; known from validation on */
	u32 retrans_pkts;  /* N_rtx */
	u32 ssthresh_pkts; /* ssthresh after the reduction, to recognize an undone reduction */
	u8 phase;	   /* enum hw_flight_phase */
	/* 1: the stack reduced cwnd after idle, so a flight begins with the next packet */
	u8 after_idle;
};

/* The default chunk, 3 packets, is the burst that RFC 3390's initial window allows (thesis
 * section 5.3.2.2). */
#define HW_TUNABLE_CHUNK \
	{ "pacing_chunk_pkts", "packets", "packets that pacing sends together", 3, 1, 64 }
#define HW_TUNABLE_AFTER_IDLE \
	{ "after_idle", "bool", "act after idle times, too, not only at the start", 1, 0, 1 }
#define HW_TUNABLE_IGNORE_WINDOW                                                     \
	{ "ignore_peer_window",                                                      \
	  "bool",                                                                    \
	  "sends beyond the peer's window in the first round trip (simulator only)", \
	  0,                                                                         \
	  0,                                                                         \
	  1 }

/* The number of packets that the connection has sent, without retransmissions, modulo 2^32. */
static inline u32 hw_new_pkts(const struct hw_conn *c)
{
	return c->sent_pkts - c->retrans_pkts;
}

/* The number of packets that carry so many bytes of payload, rounded up. */
static inline u32 hw_pkts_of(u64 bytes, u32 mss_bytes)
{
	return hw_saturate_u32(hw_div_u64(bytes + mss_bytes - (mss_bytes != 0), mss_bytes));
}

/* The bytes that are still to be sent: the queued data, or the rest of the announced volume if
 * that is more. */
static inline u32 hw_unsent_bytes(const struct hw_conn *c)
{
	u32 sent_bytes = hw_saturate_u32((u64)hw_new_pkts(c) * c->mss_bytes);
	u32 announced = c->app_data_bytes > sent_bytes ? c->app_data_bytes - sent_bytes : 0;

	return hw_max_u32(c->app_queued_bytes, announced);
}

/* The rate, in IP bytes per second, that sends so many packets in one round trip. */
static inline u64 hw_rate_of_pkts(const struct hw_conn *c, u32 pkts)
{
	u64 bytes = (u64)pkts * hw_min_u32(c->mss_bytes + c->header_bytes, 1u << 16);

	return hw_div_u64(hw_min_u32(hw_saturate_u32(bytes), 1u << 31) * 1000000ull, c->srtt_us);
}

/* Ends the pacing of the flight. From now on ACKs clock the packets. */
static inline void hw_flight_stop_pacing(struct hw_flight *f, struct hw_conn *c)
{
	f->phase = HW_FLIGHT_VALIDATION;
	f->end_seq = c->snd_nxt;
	f->paced_pkts = hw_new_pkts(c) - f->sent_before_pkts;
	c->pacing_rate_Bps = 0;
	c->pacing_chunk_pkts = 0;
	c->ignore_peer_window = 0;
}

/* Returns whether a flight may begin at this event: a transmission start at the connection's
 * beginning or after an idle time. The stack reports HW_EVENT_CWND_RESTART before that
 * HW_EVENT_TX_START. */
static inline int hw_flight_may_begin(struct hw_flight *f, struct hw_conn *c, u8 event,
				      u32 acts_after_idle)
{
	int due;

	if (event == HW_EVENT_CWND_RESTART)
		f->after_idle = acts_after_idle != 0;
	if (event != HW_EVENT_TX_START)
		return 0;
	/* the last ACK has begun a flight of which no packet has left yet */
	if (f->phase == HW_FLIGHT_PROBING && f->first_seq == c->snd_nxt)
		return 0;
	due = (f->after_idle || !c->sent_pkts) && c->srtt_us && c->ca_state == HW_CA_OPEN &&
	      !c->no_fast_start;
	f->after_idle = 0;
	/* nothing is in flight, so the previous flight is over */
	if (f->phase == HW_FLIGHT_PROBING)
		hw_flight_stop_pacing(f, c);
	f->phase = HW_FLIGHT_NONE;
	return due;
}

static inline void hw_flight_begin(struct hw_flight *f, struct hw_conn *c, u32 pkts, u64 rate_Bps,
				   u32 chunk_pkts)
{
	f->phase = HW_FLIGHT_PROBING;
	f->first_seq = c->snd_nxt;
	f->sent_before_pkts = hw_new_pkts(c);
	f->retrans_before_pkts = c->retrans_pkts;
	f->retrans_pkts = 0;
	c->cwnd_pkts = hw_clamp_u32(pkts, 1, hw_max_u32(c->cwnd_clamp_pkts, 1));
	c->cwnd_cnt = 0;
	c->pacing_rate_Bps = rate_Bps;
	c->pacing_chunk_pkts = chunk_pkts;
	/* slow start ends at the window of asked_rate_Bps, because the application never needs a
	 * higher rate (thesis 6.3.3.1) */
	if (c->stabilize && c->asked_rate_Bps)
		c->ssthresh_pkts = hw_clamp_u32(hw_qs_window_pkts(c->asked_rate_Bps, c->srtt_us,
								  c->mss_bytes, c->header_bytes),
						2, HW_SSTHRESH_INFINITE);
}

/* Called on every ACK, before cwnd grows. The first ACK of the flight ends the phase of probing.
 * cwnd is then set to the number of paced packets, at least `least_pkts`. */
static inline void hw_flight_acked(struct hw_flight *f, struct hw_conn *c, u32 least_pkts)
{
	if (f->phase == HW_FLIGHT_PROBING && hw_after(c->snd_una, f->first_seq)) {
		hw_flight_stop_pacing(f, c);
		c->cwnd_pkts = hw_min_u32(c->cwnd_pkts,
					  hw_max_u32(f->paced_pkts, hw_max_u32(least_pkts, 1)));
	}
	if (f->phase == HW_FLIGHT_RECOVERY) {
		/* stop counting retransmissions when the whole flight has arrived: later
		 * retransmissions are of later data */
		if (hw_after(f->end_seq, c->snd_una))
			f->retrans_pkts = c->retrans_pkts - f->retrans_before_pkts;
		/* Recovery ended without HW_EVENT_COMPLETE_CWR, so the stack has undone the
		 * reduction */
		if (c->ca_state <= HW_CA_DISORDER)
			f->phase = HW_FLIGHT_NONE;
	} else if (f->phase == HW_FLIGHT_VALIDATION && !hw_after(f->end_seq, c->snd_una)) {
		f->phase = HW_FLIGHT_NONE;
	}
}

/* Called when the sender's state changes. Returns whether the change means that packets of the
 * flight were lost. */
static inline int hw_flight_lost(struct hw_flight *f, struct hw_conn *c, u8 new_state)
{
	if (new_state < HW_CA_CWR)
		return 0;
	if (f->phase == HW_FLIGHT_PROBING)
		hw_flight_stop_pacing(f, c);
	else if (f->phase != HW_FLIGHT_VALIDATION)
		return 0;
	f->phase = HW_FLIGHT_RECOVERY;
	f->ssthresh_pkts = c->ssthresh_pkts;
	return 1;
}

/* Returns whether this change of state or event ends the recovery from a loss in the flight; the
 * flight is then over. After a timeout the recovery ends when the state changes to Open,
 * otherwise with the event HW_EVENT_COMPLETE_CWR. */
static inline int hw_flight_recovered(struct hw_flight *f, const struct hw_conn *c, int by_event)
{
	if (f->phase != HW_FLIGHT_RECOVERY || (!by_event && c->ca_state != HW_CA_LOSS))
		return 0;
	f->phase = HW_FLIGHT_NONE;
	/* ssthresh is higher than after the reduction, so the stack has undone the reduction */
	return c->ssthresh_pkts <= f->ssthresh_pkts;
}

/* Sets cwnd by eq. 4.11, max((N_pacing - N_rtx)/2, 1). Sets ssthresh to the same value, so that
 * slow start does not resume. */
static inline void hw_flight_set_recovered_cwnd(const struct hw_flight *f, struct hw_conn *c)
{
	u32 arrived = f->paced_pkts - hw_min_u32(f->retrans_pkts, f->paced_pkts);

	c->cwnd_pkts = hw_clamp_u32(arrived / 2, 1, hw_max_u32(c->cwnd_clamp_pkts, 1));
	c->ssthresh_pkts = hw_max_u32(c->cwnd_pkts, 2);
	c->cwnd_cnt = 0;
}

#endif
