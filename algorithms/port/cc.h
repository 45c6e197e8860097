/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/*
 * The endpoint's contract: everything that a congestion control or a startup can read of its
 * connection and do to it.
 *
 * An algorithm is one C file that includes only headers of this folder. It is integer code
 * without globals. Every call receives its state and its tunables, so any number of
 * connections and simulations can run in parallel. Time is an argument.
 *
 * A *control* implements congestion avoidance and the reaction to congestion. A *startup*
 * decides how a flow grows while cwnd is below ssthresh. Each is a file of its own; hw_grow()
 * joins them, through the linker for the kernel (bpf/linked.h) and at run time in the
 * simulator. A control may also set cwnd and pacing rate from the start: it then has control()
 * and no startup.
 */
#ifndef HEADWAY_PORT_CC_H
#define HEADWAY_PORT_CC_H

#include "types.h"
#include "fixed.h"
#include "header.h"
#include "monitor.h"

/* The state that the kernel reserves per socket for a congestion control. A control that
 * combines with startups may have this much state, and so may a startup. A control that owns
 * its start may have twice as much. State that does not fit is in a map attached to the socket. */
#define HW_CC_STATE_BYTES   104
#define HW_FLOW_STATE_BYTES (2 * HW_CC_STATE_BYTES)

/* Properties of a control, beyond its callbacks (hw_cc_ops.flags). */
enum hw_cc_flags {
	HW_CC_OWN_START = 1, /* the control has no startup: it sets cwnd from the first ACK on */
	HW_CC_PACES = 2,     /* the control may set a pacing rate */
	/* The codepoint of the control's data packets if ECN was negotiated: ECT(0), which is
	 * also the default, or ECT(1), which kernels refuse to send under RFC 3168. */
	HW_CC_ECT0 = 4,
	HW_CC_ECT1 = 8,
	/* The control's connections request and accept ECN, whatever the host's default is. As in
	 * Linux (tcp_ca_needs_ecn), all their packets are ECN-capable, from the SYN on. */
	HW_CC_NEEDS_ECN = 16,
	/* The control's RTT samples are in microseconds even if the stack's clock is coarser
	 * (TCP_CONG_RTT_STAMP of Linux 2.6). Each sample is the RTT of the last packet that the
	 * ACK acknowledges. */
	HW_CC_RTT_STAMP = 32,
	/* The control's header is also sent on the SYN and SYN-ACK, if the stack can. on_send is
	 * then called before init, which clears the state, and on_feedback right after init. */
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

/* Other events that the stack reports to a control. */
enum hw_cc_event {
	HW_EVENT_TX_START = 0,	   /* first transmission after nothing was in flight */
	HW_EVENT_CWND_RESTART = 1, /* the stack reduced cwnd after idle */
	HW_EVENT_COMPLETE_CWR = 2, /* end of CWR or Recovery */
	HW_EVENT_LOSS = 3,	   /* retransmission timeout */
};

/* What a control knows about the routers on its path that answer its header (fall_back.h). */
enum hw_routers {
	HW_ROUTERS_UNKNOWN = 0, /* no answer has come back so far */
	HW_ROUTERS_ANSWER = 1,	/* routers answer, or have been silent only briefly */
	HW_ROUTERS_ABSENT = 2,	/* no router answers: the control uses its loss-based law */
};

/* The outcome of a Quick-Start request (RFC 4782). */
enum hw_grant {
	HW_GRANT_NONE = 0,	/* never asked */
	HW_GRANT_REQUESTED = 1, /* no answer yet */
	HW_GRANT_APPROVED = 2,	/* granted_rate_Bps may be used now */
	HW_GRANT_DENIED = 3,	/* refused, or the answer was missing or not valid */
	HW_GRANT_USED = 4,	/* the startup sends at the rate, which the stack reports */
	HW_GRANT_DECLINED = 5,	/* the startup does not use the rate; the stack reports 0 */
	HW_GRANT_DISABLED = 6,	/* no more requests on this connection */
};

/* The part of a connection that algorithms can read and set. The stack fills in the fields
 * before each call, and applies those that an algorithm may set. */
struct hw_conn {
	/* What an algorithm may set. */
	u32 cwnd_pkts; /* congestion window */
	u32 cwnd_cnt;  /* progress towards the next packet of cwnd, in ACKed packets (or ACKs) */
	u32 ssthresh_pkts;   /* in Recovery the stack moves cwnd to ssthresh */
	u32 cwnd_clamp_pkts; /* read only: upper bound of cwnd */
	u64 pacing_rate_Bps; /* IP bytes per second; 0 leaves pacing to the stack */

	/* What an algorithm may read. */
	u64 now_us;	      /* monotonic clock; only differences are meaningful */
	u64 delivered_pkts;   /* packets known to have arrived, in or out of order */
	u32 snd_una;	      /* first sequence number not acknowledged, modulo 2^32 */
	u32 snd_nxt;	      /* next sequence number to be sent */
	u32 srtt_us;	      /* smoothed round-trip time; 0 before the first sample */
	u32 min_rtt_us;	      /* smallest; HW_U32_MAX before the first sample */
	u32 mss_bytes;	      /* payload of a full packet */
	u32 inflight_pkts;    /* the stack's estimate after the latest ACK */
	u32 idle_us;	      /* HW_EVENT_TX_START only: time since the last transmission */
	u32 app_queued_bytes; /* written by the application, not sent yet */
	u8 ca_state;	      /* enum hw_ca_state */
	u8 cwnd_limited;      /* cwnd limited the sender since the last ACK, so cwnd may grow */
	u8 counts_acks; /* 1: growth counts ACK events (Linux up to 2.6.x), 0: ACKed packets */
	u8 paced;	/* the stack spaces this connection's packets */

	/* What an algorithm that paces may also set. For a startup, a chunk is the exact number
	 * of packets that leave together. For a control it is their minimum number, as with
	 * segmentation offload. */
	u32 pacing_chunk_pkts; /* packets that leave together; 0: the stack chooses */
	u8 ignore_peer_window; /* send more than the peer's window allows, if the stack can */
	u8 request_code;       /* ask for this Quick-Start rate code on the next data packet */
	u8 grant;	       /* enum hw_grant; a startup sets USED, DECLINED and DISABLED */

	/* What an algorithm that paces may also read. */
	u8 ecn;		       /* both ends agreed on ECN (RFC 3168) */
	u32 peer_window_bytes; /* receive window of the peer */
	u32 header_bytes;      /* headers of a full data packet: IP, TCP and TCP options */
	u32 sent_pkts;	       /* data packets ever sent, with retransmissions; wraps */
	u32 retrans_pkts;      /* retransmissions ever sent; wraps */
	u32 app_data_bytes;    /* bytes that the application announced; 0: unknown */
	u64 asked_rate_Bps;    /* initial rate the application asks for, IP bytes/s; 0: none */
	u64 granted_rate_Bps;  /* rate that routers approved; valid with HW_GRANT_APPROVED */
	u32 saved_cwnd_pkts;   /* window of an earlier connection to this peer; 0: none */
	u32 saved_rtt_us;      /* smallest round trip of that connection */
	u32 deadline_us;       /* time left until the queued data should have arrived; 0: none */
	u8 stabilize;	       /* the application never needs more than the rate it asked for */
	u8 no_fast_start;      /* the application wants a normal start */

	/* A control with a header sets these two fields to report to the stack. */
	u8 routers; /* enum hw_routers */
	/* how often the control has fallen back to its loss-based law; the stack may reset
	 * it to 0 */
	u32 fall_backs;

	/* For a control that takes rate samples (control()); 0 for all others. */
	u8 app_limited; /* the application had no more data when the packets in flight were sent */
	u8 mark_app_limited; /* 1: the stack then sets this for the packets in flight, too */
	u32 lost_pkts;	     /* packets ever believed lost; wraps */
	u32 pacing_wait_us;  /* time until pacing sends the next packet */
	u64 delivered_us;    /* when delivered_pkts last grew, on now_us's clock */
};

/* What one ACK reported. */
struct hw_ack {
	u32 acked_pkts; /* newly acknowledged; includes SACKed packets if the stack counts them */
	s32 rtt_us;	/* RTT sample of this ACK, -1 if it has none */
};

/*
 * A delivery-rate sample of one ACK, as Linux takes it (tcp_rate.c; Cheng, Cardwell, Yeganeh,
 * Jacobson, draft-cheng-iccrg-delivery-rate-estimation). The sample comes from the packet that
 * was sent last among those newly acknowledged: the packets delivered since it left, divided
 * by the longer of the time in which they were sent and the time in which they were
 * acknowledged.
 */
struct hw_rate_sample {
	u64 prior_delivered_pkts; /* delivered_pkts when that packet left */
	s32 delivered_pkts;	  /* delivered since that packet left; -1: no sample */
	s32 delivered_ce_pkts;	  /* of these packets, those marked CE */
	s32 interval_us;	  /* -1: no sample, or shorter than the smallest round trip */
	s32 rtt_us;		  /* RTT of the packet that was sent last, -1 without one */
	u32 losses_pkts;	  /* believed lost with this ACK */
	u32 acked_pkts;		  /* newly acknowledged, cumulatively or by SACK */
	u32 prior_inflight_pkts;  /* before this ACK */
	u32 random;		  /* uniform over 32 bits, fresh for every call */
	u8 is_app_limited;	  /* the application limited what was sent */
	u8 is_retrans;		  /* the packet was a retransmission */
	u8 is_ack_delayed;	  /* one small packet: its ACK may have been delayed */
};

/*
 * A control. `state` has state_bytes bytes, zeroed before init; `tun` is the control's
 * tunables in declared order. A null callback means "nothing to do". A null min_cwnd makes
 * ssthresh the floor of rate halving; a min_cwnd may also return more than ssthresh. Either
 * control or cong_avoid is required.
 */
struct hw_cc_ops {
	const char *name;    /* at most 12 characters, to leave room for a startup's suffix */
	const char *title;   /* one line for people */
	const char *source;  /* paper or RFC, and the implementation it follows */
	const char *startup; /* the default startup; null if the control owns its start */
	u32 state_bytes;
	u32 flags;	  /* enum hw_cc_flags */
	u32 send_windows; /* the stack grows the send buffer to so many windows; 0: two */
	u32 n_tunables;
	const struct hw_tunable *tunables;
	const struct hw_header *header; /* header that the control owns (header.h); null: none */

	void (*init)(void *state, const u32 *tun, struct hw_conn *c);
	/* Called after every ACK with new information, in every state. It replaces pkts_acked,
	 * cong_avoid and the stack's own changes of cwnd in Recovery, at its end, after idle
	 * times and when the application leaves cwnd unused. Only controls that own their start
	 * have it. ssthresh, set_state, event and undo_cwnd are called as for other controls. */
	void (*control)(void *state, const u32 *tun, struct hw_conn *c,
			const struct hw_rate_sample *sample);
	/* Called after every ACK, before cwnd grows. acked_pkts is 0 for duplicate ACKs and
	 * ACKs with only new SACKs; rtt_us is -1 without a sample. The stack linux-2.6 calls it
	 * only if the ACK acknowledged data. */
	void (*pkts_acked)(void *state, const u32 *tun, struct hw_conn *c,
			   const struct hw_ack *ack);
	/* Lets cwnd grow above ssthresh; acked_pkts is 1 if c->counts_acks. */
	void (*cong_avoid)(void *state, const u32 *tun, struct hw_conn *c, u32 acked_pkts);
	/* Returns the new ssthresh on congestion; must not change cwnd. */
	u32 (*ssthresh)(void *state, const u32 *tun, struct hw_conn *c);
	/* Called before c->ca_state changes to new_state. */
	void (*set_state)(void *state, const u32 *tun, struct hw_conn *c, u8 new_state);
	void (*event)(void *state, const u32 *tun, struct hw_conn *c, u8 event);
	/* Returns the cwnd to restore after a reduction that proved unnecessary. */
	u32 (*undo_cwnd)(void *state, const u32 *tun, struct hw_conn *c, u32 prior_cwnd_pkts);
	u32 (*min_cwnd)(void *state, const u32 *tun, struct hw_conn *c);

	/*
	 * For controls that own a header. on_send is called before a packet with data leaves.
	 * `header` has the decoded fields: those that answer the peer are set, the control
	 * fills in the others. It returns whether the header is sent. on_feedback is called
	 * with the receiver's answer, before the ACK that carried it is processed. It may set
	 * cwnd, ssthresh and the pacing rate.
	 */
	u32 (*on_send)(void *state, const u32 *tun, struct hw_conn *c, void *header);
	void (*on_feedback)(void *state, const u32 *tun, struct hw_conn *c, const void *header);

	/*
	 * Receives what the monitor of this machine's outgoing link publishes (monitor.h).
	 * Called before control() or pkts_acked() on every ACK with new information, and before
	 * HW_EVENT_TX_START, but not if nothing has been published. It must not change the
	 * connection.
	 */
	void (*on_monitor)(void *state, const u32 *tun, struct hw_conn *c,
			   const struct hw_monitor *monitor);
};

/*
 * A startup; the rules are those of struct hw_cc_ops. slow_start returns how many of acked_pkts
 * are left for congestion avoidance when cwnd reaches ssthresh.
 *
 * In Recovery the stack reduces cwnd to ssthresh. A startup that chooses the window in Recovery
 * sets both cwnd and ssthresh in set_state; from then on the stack moves cwnd to ssthresh, even
 * if that is higher.
 *
 * open is called before a SYN or SYN-ACK leaves, if the stack can. Then only the application's
 * hints are known, and open may set only request_code. The state is cleared afterwards.
 */
struct hw_startup_ops {
	const char *name;
	const char *suffix; /* two letters; with this startup a control's name is control_suffix */
	const char *title;
	const char *source;
	u32 state_bytes;
	u32 paces; /* 1: the startup may set a pacing rate */
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

/* slow_start of controls that own their start: leaves all growth to the control. */
static inline u32 hw_no_growth(void *state, const u32 *tun, struct hw_conn *c, u32 acked_pkts)
{
	(void)state;
	(void)tun;
	(void)c;
	return acked_pkts;
}

#define HW_OWN_START { .name = "", .suffix = "", .slow_start = hw_no_growth }

/* Whether cwnd is below ssthresh. Linux 2.6 also counts cwnd == ssthresh as slow start. */
static inline int hw_in_slow_start(const struct hw_conn *c)
{
	return c->cwnd_pkts < c->ssthresh_pkts ||
	       (c->counts_acks && c->cwnd_pkts == c->ssthresh_pkts);
}

/*
 * Adds one packet to cwnd for every w ACKed packets (or ACKs). In Linux 2.6 the ACK that
 * increments cwnd is not counted, and no remainder is kept. Later kernels keep the remainder
 * and count every ACKed packet (tcp_cong_avoid_ai).
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

/* Standard slow start (RFC 5681) up to ssthresh; returns the rest of acked_pkts. All startups
 * that only observe slow start share it. */
static inline u32 hw_slow_start(struct hw_conn *c, u32 acked_pkts)
{
	u32 cwnd;

	if (c->counts_acks) {
		/* Linux 2.6 adds cwnd to cwnd_cnt on every ACK in slow start, even on the ACK
		 * that ends it */
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

/* Lets cwnd grow on one ACK, by the startup below ssthresh and by the control above. */
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
