/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/*
 * The endpoint's contract: all that a congestion control or a startup may know
 * of its connection, and all that it may do.
 *
 * An algorithm is one C file that includes only headers of this folder. It is
 * integer code without globals: its state and its tunables are handed to every
 * call, so any number of connections and simulations run side by side. Time is
 * an argument.
 *
 * A *control* says how a flow goes on: congestion avoidance and the answer to
 * congestion. A *startup* says how a flow grows while cwnd is below ssthresh.
 * The two are written apart and joined by hw_grow(): by the linker for
 * the kernel (bpf/linked.h), at run time in the simulator. A control may also own its start, cwnd
 * and pacing rate altogether: it then has control() and no startup.
 */
#ifndef HEADWAY_PORT_CC_H
#define HEADWAY_PORT_CC_H

#include "types.h"
#include "fixed.h"
#include "header.h"
#include "monitor.h"

/* What the kernel gives a congestion control per socket. A control that startups join
 * has at most so much state, and so has a startup; one that owns its start has the room
 * of both. What does not fit together lies in a map that goes with the socket. */
#define HW_CC_STATE_BYTES   104
#define HW_FLOW_STATE_BYTES (2 * HW_CC_STATE_BYTES)

/* What a control is, beyond its callbacks (hw_cc_ops.flags). */
enum hw_cc_flags {
	HW_CC_OWN_START = 1, /* no startup joins it: it answers for cwnd from the first ACK on */
	HW_CC_PACES = 2,     /* it may set a pacing rate */
	/* Its data packets carry ECT(0) where ECN was negotiated, as those of a control do
	 * that says nothing of it, or ECT(1), which kernels refuse to send by RFC 3168. */
	HW_CC_ECT0 = 4,
	HW_CC_ECT1 = 8,
	/* It asks for ECN and grants it, whatever the host's default is, and as in Linux
	 * (tcp_ca_needs_ecn) all that it sends is capable of ECN, from the SYN on. */
	HW_CC_NEEDS_ECN = 16,
	/* Its RTT samples are in microseconds also where the stack's clock is coarser
	 * (TCP_CONG_RTT_STAMP of Linux 2.6): of the last packet that an ACK acknowledges. */
	HW_CC_RTT_STAMP = 32,
	/* Its header goes out on the SYN and SYN-ACK, too, where the stack can: on_send then
	 * comes before init, which clears the state, and what came back right after it. */
	HW_CC_ASKS_ON_SYN = 64,
};

/* ssthresh before the first congestion event. */
#define HW_SSTHRESH_INFINITE 0x7fffffffu

/* The sender's states, as Linux names them (tcp_ca_state). */
enum hw_ca_state {
	HW_CA_OPEN = 0,	    /* nothing unusual */
	HW_CA_DISORDER = 1, /* duplicate ACKs or SACKs were seen */
	HW_CA_CWR = 2,	    /* cwnd is being reduced without a loss */
	HW_CA_RECOVERY = 3, /* fast recovery */
	HW_CA_LOSS = 4,	    /* after a retransmission timeout */
};

/* What else the stack tells a control. */
enum hw_cc_event {
	HW_EVENT_TX_START = 0,	   /* first transmission after nothing was in flight */
	HW_EVENT_CWND_RESTART = 1, /* the stack reduced cwnd after idle */
	HW_EVENT_COMPLETE_CWR = 2, /* end of CWR or Recovery */
	HW_EVENT_LOSS = 3,	   /* retransmission timeout */
};

/* What a control with a header knows of its protocol's routers on the path (fall_back.h). */
enum hw_routers {
	HW_ROUTERS_UNKNOWN = 0, /* nothing came back so far */
	HW_ROUTERS_ANSWER = 1,	/* they have, and are not silent for long */
	HW_ROUTERS_ABSENT = 2,	/* none answers: it goes on by its loss-based law */
};

/* What became of a Quick-Start request (RFC 4782). */
enum hw_grant {
	HW_GRANT_NONE = 0,	/* never asked */
	HW_GRANT_REQUESTED = 1, /* no answer yet */
	HW_GRANT_APPROVED = 2,	/* granted_rate_Bps may be used now */
	HW_GRANT_DENIED = 3,	/* refused, or the answer was missing or not valid */
	HW_GRANT_USED = 4,	/* the startup sends at the rate; the stack reports it */
	HW_GRANT_DECLINED = 5,	/* the startup has no use for it; the stack reports 0 */
	HW_GRANT_DISABLED = 6,	/* no more requests on this connection */
};

/* A connection as its algorithms see it. The stack fills in what they may know, and takes
 * over what they set. */
struct hw_conn {
	/* What an algorithm may set. */
	u32 cwnd_pkts; /* congestion window */
	u32 cwnd_cnt;  /* progress towards the next packet of cwnd, in ACKed packets (or ACKs) */
	u32 ssthresh_pkts;   /* what cwnd is led to in Recovery */
	u32 cwnd_clamp_pkts; /* read only: upper bound of cwnd */
	u64 pacing_rate_Bps; /* IP bytes per second; 0 leaves pacing to the stack */

	/* What it may know. */
	u64 now_us;	      /* monotonic; only differences mean anything */
	u64 delivered_pkts;   /* packets known to have arrived, in or out of order */
	u32 snd_una;	      /* first sequence number not acknowledged, modulo 2^32 */
	u32 snd_nxt;	      /* next one to be sent */
	u32 srtt_us;	      /* smoothed round-trip time; 0 before the first sample */
	u32 min_rtt_us;	      /* smallest; HW_U32_MAX before the first sample */
	u32 mss_bytes;	      /* payload of a full packet */
	u32 inflight_pkts;    /* the stack's estimate after the latest ACK was taken in */
	u32 idle_us;	      /* HW_EVENT_TX_START only: time since the last transmission */
	u32 app_queued_bytes; /* written by the application, not sent yet */
	u8 ca_state;	      /* enum hw_ca_state */
	u8 cwnd_limited; /* the sender used up cwnd since the last ACK; without it nothing may grow */
	u8 counts_acks; /* 1: growth counts ACK events (Linux up to 2.6.x), 0: ACKed packets */
	u8 paced;	/* the stack spaces this connection's packets */

	/* What an algorithm that paces may set besides. A startup's chunk is what leaves
	 * together; a control's is the least of it, as with segmentation offload. */
	u32 pacing_chunk_pkts; /* packets that leave together; 0 is the stack's choice */
	u8 ignore_peer_window; /* send beyond the peer's window, where the stack can */
	u8 request_code;       /* ask for this Quick-Start rate code on the next data packet */
	u8 grant;	       /* enum hw_grant; a startup sets USED, DECLINED and DISABLED */

	/* And know. */
	u8 ecn;		       /* both ends agreed on ECN (RFC 3168) */
	u32 peer_window_bytes; /* receive window of the peer */
	u32 header_bytes;      /* of a full data packet: IP, TCP and its options */
	u32 sent_pkts;	       /* data packets ever sent, with retransmissions; wraps */
	u32 retrans_pkts;      /* of them, sent again; wraps */
	u32 app_data_bytes;    /* volume the application announced; 0: unknown */
	u64 asked_rate_Bps;    /* first rate the application asked for, IP bytes; 0: none */
	u64 granted_rate_Bps;  /* that routers approved; holds with HW_GRANT_APPROVED */
	u32 saved_cwnd_pkts;   /* of an earlier connection to this destination; 0: none */
	u32 saved_rtt_us;      /* its smallest round trip */
	u32 deadline_us;       /* until the last byte of what waits should have arrived; 0: none */
	u8 stabilize;	       /* the rate that was asked for is all the application ever needs */
	u8 no_fast_start;      /* the application wants to start as ever */

	/* What a control with a header tells of it. */
	u8 routers;	/* enum hw_routers */
	u32 fall_backs; /* how often it has fallen back; the stack may take it and begin at 0 */

	/* For a control that takes rate samples (control()); 0 for all others. */
	u8 app_limited;	     /* what is in flight was, at its time, all there was to send */
	u8 mark_app_limited; /* set 1: what is in flight now is to count as such, too */
	u32 lost_pkts;	     /* packets ever believed lost; wraps */
	u32 pacing_wait_us;  /* until pacing lets the next packet leave */
	u64 delivered_us;    /* when delivered_pkts last grew, on now_us's clock */
};

/* What one ACK told. */
struct hw_ack {
	u32 acked_pkts; /* newly acknowledged cumulatively, or by SACK on stacks that count so */
	s32 rtt_us;	/* sample of this ACK, -1 if it gave none */
};

/*
 * What one ACK told of the rate of delivery, as Linux takes it (tcp_rate.c; Cheng,
 * Cardwell, Yeganeh, Jacobson, draft-cheng-iccrg-delivery-rate-estimation). Of the
 * packets that the ACK newly acknowledges, the one that was sent last gives the sample:
 * what was delivered since it left, over the longer of the times in which that was sent
 * and in which it was acknowledged.
 */
struct hw_rate_sample {
	u64 prior_delivered_pkts; /* delivered_pkts when that packet left */
	s32 delivered_pkts;	  /* since then; -1: no sample */
	s32 delivered_ce_pkts;	  /* of them, marked CE */
	s32 interval_us;	  /* -1: no sample, or shorter than the smallest round trip */
	s32 rtt_us;		  /* of the packet that was sent last, -1 without one */
	u32 losses_pkts;	  /* believed lost with this ACK */
	u32 acked_pkts;		  /* newly acknowledged, cumulatively or by SACK */
	u32 prior_inflight_pkts;  /* before this ACK */
	u32 random;		  /* uniform over 32 bits, fresh for every call */
	u8 is_app_limited;	  /* the application limited what was sent */
	u8 is_retrans;		  /* the packet had been sent again */
	u8 is_ack_delayed;	  /* one small packet: its ACK may have been delayed */
};

/*
 * A control. `state` has state_bytes bytes, zeroed before init; `tun` is the
 * control's tunables in declared order. A null callback means "nothing to do";
 * a null min_cwnd means ssthresh is the floor of rate halving; one of its own may also be
 * above ssthresh. Either control or cong_avoid must be there.
 */
struct hw_cc_ops {
	const char *name;    /* at most 12 characters, so that a pair's name fits 15 */
	const char *title;   /* one line for people */
	const char *source;  /* paper or RFC, and the implementation it follows */
	const char *startup; /* the startup it has when none is named; none with its own start */
	u32 state_bytes;
	u32 flags;	  /* enum hw_cc_flags */
	u32 send_windows; /* windows of data that a growing send buffer has room for; 0: 2 */
	u32 n_tunables;
	const struct hw_tunable *tunables;
	const struct hw_header *header; /* that it owns (header.h); null: none */

	void (*init)(void *state, const u32 *tun, struct hw_conn *c);
	/* After every ACK that brought news, in every state, instead of pkts_acked and
	 * cong_avoid and of what the stack does to cwnd in Recovery, at its end, after
	 * idle times and where the application leaves it unused. Only with an own start;
	 * ssthresh, set_state, event and undo_cwnd come as ever. */
	void (*control)(void *state, const u32 *tun, struct hw_conn *c,
			const struct hw_rate_sample *sample);
	/* After every ACK, before growth: with acked_pkts 0 where it only SACKs or repeats,
	 * and rtt_us -1 where it gives no sample. linux-2.6: only where it acknowledged data. */
	void (*pkts_acked)(void *state, const u32 *tun, struct hw_conn *c,
			   const struct hw_ack *ack);
	/* Growth above ssthresh; acked_pkts is 1 where c->counts_acks. */
	void (*cong_avoid)(void *state, const u32 *tun, struct hw_conn *c, u32 acked_pkts);
	/* The new ssthresh on congestion; does not change cwnd. */
	u32 (*ssthresh)(void *state, const u32 *tun, struct hw_conn *c);
	/* Called before c->ca_state changes to new_state. */
	void (*set_state)(void *state, const u32 *tun, struct hw_conn *c, u8 new_state);
	void (*event)(void *state, const u32 *tun, struct hw_conn *c, u8 event);
	/* cwnd to return to when a reduction proved unnecessary. */
	u32 (*undo_cwnd)(void *state, const u32 *tun, struct hw_conn *c, u32 prior_cwnd_pkts);
	u32 (*min_cwnd)(void *state, const u32 *tun, struct hw_conn *c);

	/*
	 * With a header. on_send: a packet with data is about to leave; header has its
	 * decoded fields, zero but for what goes back to the peer, and the control fills in
	 * its own. Returns whether it goes out. on_feedback: the receiver's answer has come
	 * back, before the ACK that brought it is taken in; cwnd, ssthresh and the pacing
	 * rate may be set.
	 */
	u32 (*on_send)(void *state, const u32 *tun, struct hw_conn *c, void *header);
	void (*on_feedback)(void *state, const u32 *tun, struct hw_conn *c, const void *header);

	/*
	 * What the link by which this machine's packets leave publishes (monitor.h), before
	 * control() or pkts_acked() on every ACK that brought news, and before
	 * HW_EVENT_TX_START; not called where nothing is published or known. Nothing may be
	 * set.
	 */
	void (*on_monitor)(void *state, const u32 *tun, struct hw_conn *c,
			   const struct hw_monitor *monitor);
};

/*
 * A startup, under the same rules. slow_start returns the part of acked_pkts
 * that is left for congestion avoidance after ssthresh was reached.
 *
 * In Recovery cwnd goes down to ssthresh by the stack's rules. A startup that wants its
 * own window there sets both in set_state; from then on cwnd follows ssthresh, also up.
 *
 * open comes before a SYN or SYN-ACK leaves, where the stack can: nothing is known
 * but the application's announcements, and only request_code may be set. The state
 * is cleared after it.
 */
struct hw_startup_ops {
	const char *name;
	const char *suffix; /* two letters; the kernel's name of a pair is control_suffix */
	const char *title;
	const char *source;
	u32 state_bytes;
	u32 paces; /* 1: may set a pacing rate */
	u32 n_tunables;
	const struct hw_tunable *tunables;

	void (*open)(void *state, const u32 *tun, struct hw_conn *c);
	void (*init)(void *state, const u32 *tun, struct hw_conn *c);
	void (*pkts_acked)(void *state, const u32 *tun, struct hw_conn *c,
			   const struct hw_ack *ack);
	u32 (*slow_start)(void *state, const u32 *tun, struct hw_conn *c, u32 acked_pkts);
	void (*set_state)(void *state, const u32 *tun, struct hw_conn *c, u8 new_state);
	void (*event)(void *state, const u32 *tun, struct hw_conn *c, u8 event);
};

/* In the place of a startup where the control owns its start: leaves all growth to it. */
static inline u32 hw_no_growth(void *state, const u32 *tun, struct hw_conn *c, u32 acked_pkts)
{
	(void)state;
	(void)tun;
	(void)c;
	return acked_pkts;
}

#define HW_OWN_START { .name = "", .suffix = "", .slow_start = hw_no_growth }

/* Below ssthresh. Linux up to 2.6.x still counts cwnd == ssthresh as slow start. */
static inline int hw_in_slow_start(const struct hw_conn *c)
{
	return c->cwnd_pkts < c->ssthresh_pkts ||
	       (c->counts_acks && c->cwnd_pkts == c->ssthresh_pkts);
}

/*
 * One packet for every w packets (or ACKs) acknowledged. Linux 2.6 spends one
 * event on the increment itself and carries nothing over; later kernels carry
 * the rest and never lose an ACKed packet (tcp_cong_avoid_ai).
 */
static inline void hw_additive_increase(struct hw_conn *c, u32 w, u32 acked_pkts)
{
	w = hw_max_u32(w, 1);
	if (c->counts_acks) {
		if (c->cwnd_cnt >= w) {
			c->cwnd_pkts = hw_min_u32(hw_add_u32(c->cwnd_pkts, 1), c->cwnd_clamp_pkts);
			c->cwnd_cnt = 0;
		} else {
			c->cwnd_cnt++;
		}
		return;
	}
	if (c->cwnd_cnt >= w) {
		c->cwnd_cnt = 0;
		c->cwnd_pkts = hw_add_u32(c->cwnd_pkts, 1);
	}
	c->cwnd_cnt = hw_add_u32(c->cwnd_cnt, acked_pkts);
	if (c->cwnd_cnt >= w) {
		u32 whole = c->cwnd_cnt / w;

		c->cwnd_cnt -= whole * w;
		c->cwnd_pkts = hw_add_u32(c->cwnd_pkts, whole);
	}
	c->cwnd_pkts = hw_min_u32(c->cwnd_pkts, c->cwnd_clamp_pkts);
}

/* Standard slow start (RFC 5681), shared by every startup that only watches it:
 * up to ssthresh, and the rest of acked_pkts comes back. */
static inline u32 hw_slow_start(struct hw_conn *c, u32 acked_pkts)
{
	u32 cwnd;

	if (c->counts_acks) {
		/* 2.6: an ACK in slow start is spent there, also the one that ends it; it
		 * counts for a whole window, on top of what is left from before */
		c->cwnd_cnt = hw_add_u32(c->cwnd_cnt, c->cwnd_pkts);
		while (c->cwnd_cnt >= c->cwnd_pkts) {
			c->cwnd_cnt -= c->cwnd_pkts;
			if (c->cwnd_pkts < c->cwnd_clamp_pkts)
				c->cwnd_pkts++;
		}
		return 0;
	}
	cwnd = hw_min_u32(hw_add_u32(c->cwnd_pkts, acked_pkts), c->ssthresh_pkts);
	acked_pkts -= cwnd - c->cwnd_pkts;
	c->cwnd_pkts = hw_min_u32(cwnd, c->cwnd_clamp_pkts);
	return acked_pkts;
}

/* A startup and a control joined: one flow's growth on one ACK. */
static inline __attribute__((always_inline)) void
hw_grow(const struct hw_cc_ops *cc, void *cc_state, const u32 *cc_tun,
	const struct hw_startup_ops *startup, void *startup_state, const u32 *startup_tun,
	struct hw_conn *c, u32 acked_pkts)
{
	if (!c->cwnd_limited)
		return;
	if (hw_in_slow_start(c)) {
		acked_pkts = startup->slow_start(startup_state, startup_tun, c, acked_pkts);
		if (!acked_pkts)
			return;
	}
	cc->cong_avoid(cc_state, cc_tun, c, acked_pkts);
}

#endif
