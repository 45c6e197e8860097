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

/* The size of the state that the kernel reserves per socket for a congestion control. A control
 * that combines with startups may have this much state, and so may a startup. A control that
 * owns its start may have twice as much. A map attached to the socket holds the state that does
 * not fit. */
#define HW_CC_STATE_BYTES   104
#define HW_FLOW_STATE_BYTES (2 * HW_CC_STATE_BYTES)

#define HW_MAX_READINGS 24

/* Properties of a control, beyond its callbacks (hw_cc_ops.flags). */
enum hw_cc_flags {
	HW_CC_OWN_START = 1, /* the control has no startup: it sets cwnd from the first ACK on */
	HW_CC_PACES = 2,     /* the control may set a pacing rate */
	/* With ECN negotiated, the control's data packets have the codepoint ECT(1) instead of
	 * the default ECT(0). Kernels refuse to send ECT(1) under RFC 3168. */
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
	/* The receiver's ACKs tell exactly which packets were marked CE: ECE is set if the packets
	 * that the ACK newly acknowledges were marked, and a change is acknowledged immediately
	 * (RFC 8257 section 3.2). The control also needs HW_CC_NEEDS_ECN. */
	HW_CC_ECHOES_CE = 128,
	/* The control's connections request and accept Accurate ECN (RFC 9768), whatever the host's
	 * default is, and no other ECN: without it their packets are not ECN-capable. The control
	 * also needs HW_CC_NEEDS_ECN. */
	HW_CC_ACCURATE_ECN = 256,
	/* At most pacing_chunk_pkts packets leave together, if the stack can limit them. The
	 * simulator can, kernels cannot. */
	HW_CC_SHORT_BURSTS = 512,
};

/* ssthresh before the first congestion event. */
#define HW_SSTHRESH_INFINITE 0x7fffffffu

/* The sender's states, as Linux names them (tcp_ca_state). */
enum hw_ca_state {
	HW_CA_OPEN = 0,	    /* nothing unusual */
	HW_CA_DISORDER = 1, /* duplicate ACKs or SACKs have arrived, no loss is detected yet */
	/* cwnd is being reduced, but not because of a loss; for example after an ECN mark */
	HW_CA_CWR = 2,
	HW_CA_RECOVERY = 3, /* fast recovery */
	HW_CA_LOSS = 4,	    /* after a retransmission timeout */
};

/* Other events that the stack reports to a control. */
enum hw_cc_event {
	HW_EVENT_TX_START = 0,	   /* transmission begins while nothing is in flight */
	HW_EVENT_CWND_RESTART = 1, /* the stack is about to reduce cwnd after idle */
	HW_EVENT_COMPLETE_CWR = 2, /* CWR or Recovery has ended */
	HW_EVENT_LOSS = 3,	   /* retransmission timeout */
};

/* What both ends of a connection have negotiated. */
enum hw_ecn {
	HW_ECN_NONE = 0,     /* no ECN, or a path that lets no marks or no feedback through */
	HW_ECN_CLASSIC = 1,  /* the ECN of RFC 3168 */
	HW_ECN_ACCURATE = 2, /* Accurate ECN (RFC 9768) */
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
	HW_GRANT_APPROVED = 2,	/* routers approved granted_rate_Bps, which may be used now */
	/* a router or the receiver refused, or the response was missing or not valid */
	HW_GRANT_DENIED = 3,
	HW_GRANT_USED = 4,     /* the startup sends at the rate, which the stack reports */
	HW_GRANT_DECLINED = 5, /* the startup does not use the rate; the stack reports 0 */
	HW_GRANT_DISABLED = 6, /* no more requests on this connection */
};

/* The part of a connection that algorithms can read and set. The stack fills in the fields
 * before each call, and applies those that an algorithm may set. */
struct hw_conn {
	/* Fields that an algorithm may set. */
	u32 cwnd_pkts; /* congestion window */
	/* progress towards cwnd's next growth by one packet, in ACKed packets (or ACKs) */
	u32 cwnd_cnt;
	u32 ssthresh_pkts;   /* slow-start threshold; in Recovery the stack moves cwnd to it */
	u32 cwnd_clamp_pkts; /* read only: upper bound of cwnd */
	u64 pacing_rate_Bps; /* IP bytes per second; 0 leaves pacing to the stack */

	/* Fields that an algorithm may read. */
	u64 now_us;	    /* monotonic clock; only differences are meaningful */
	u64 delivered_pkts; /* packets known to have arrived at the receiver, in or out of order */
	u32 snd_una;	    /* first sequence number not acknowledged, modulo 2^32 */
	u32 snd_nxt;	    /* next sequence number to be sent */
	u32 srtt_us;	    /* smoothed round-trip time; 0 before the first sample */
	u32 min_rtt_us;	    /* smallest RTT sample; HW_U32_MAX before the first sample */
	u32 mss_bytes;	    /* payload bytes of a full packet */
	u32 inflight_pkts;  /* packets in flight, as the stack estimates after the latest ACK */
	u32 idle_us;	    /* time since the last transmission; only with HW_EVENT_TX_START */
	u32 app_queued_bytes; /* bytes that the application has written and TCP has not sent yet */
	u8 ca_state;	      /* enum hw_ca_state */
	/* cwnd limited the sender since the last ACK, so cwnd may grow; in control(): at any point
	 * in the last round trip */
	u8 cwnd_limited;
	u8 counts_acks; /* 1: growth counts ACK events (Linux up to 2.6.x), 0: ACKed packets */
	u8 paced;	/* 1: the stack spaces this connection's packets */

	/* Further fields that an algorithm that paces may set. For a startup, a chunk is the
	 * exact number of packets that leave together. For a control it is their minimum number,
	 * as with segmentation offload. */
	u32 pacing_chunk_pkts; /* packets that leave together; 0: the stack chooses */
	/* 1: send more than the peer's receive window allows, if the stack can */
	u8 ignore_peer_window;
	u8 request_code; /* Quick-Start rate code to request with the next data packet; 0: none */
	u8 grant;	 /* enum hw_grant; a startup sets USED, DECLINED and DISABLED */

	/* Further fields that an algorithm that paces may read. */
	u8 ecn;		       /* enum hw_ecn */
	u32 peer_window_bytes; /* receive window of the peer */
	u32 header_bytes;      /* headers of a full data packet: IP, TCP and TCP options */
	u32 sent_pkts;	       /* data packets ever sent, with retransmissions; wraps */
	u32 retrans_pkts;      /* retransmissions ever sent; wraps */
	u32 app_data_bytes;    /* bytes that the application announced; 0: unknown */
	u64 asked_rate_Bps;    /* initial rate that the application has set, IP bytes/s; 0: none */
	u64 granted_rate_Bps;  /* rate that routers approved; valid with HW_GRANT_APPROVED */
	u32 saved_cwnd_pkts;   /* window of an earlier connection to this peer; 0: none */
	u32 saved_rtt_us;      /* smallest round trip of that earlier connection */
	/* time until the deadline of the queued data's last byte; 0: no deadline */
	u32 deadline_us;
	/* 1: the application never needs more than the initial rate that it has set */
	u8 stabilize;
	u8 no_fast_start; /* 1: the application wants slow start instead of a fast startup */
	/* 1: the stack reduces cwnd because of a CE mark, and not because of a loss. Valid in
	 * ssthresh() and in the following set_state() */
	u8 by_mark;

	/* Two fields in which a control with a header reports to the stack. */
	u8 routers; /* enum hw_routers */
	/* how often the control has fallen back to its loss-based law; the stack may reset
	 * it to 0 */
	u8 fall_backs;

	/* Fields for controls that take rate samples (control()); 0 for all others. */
	/* 1: the application had no more data when the packets in flight were sent */
	u8 app_limited;
	/* 1: asks the stack to set app_limited for the packets that are in flight now */
	u8 mark_app_limited;
	u8 sack;	    /* 1: both ends use selective acknowledgements */
	u32 lost_pkts;	    /* packets that the stack ever considered lost; wraps */
	u32 pacing_wait_us; /* time until pacing sends the next packet */
	/* packets of delivered_pkts whose ACK echoed a CE mark; with Accurate ECN, packets that
	 * arrived with a mark; wraps. Every control may read it */
	u32 delivered_ce_pkts;
	u64 delivered_us; /* time when delivered_pkts last grew, on now_us's clock */
};

/* What one ACK acknowledged. */
struct hw_ack {
	/* packets newly acknowledged, with SACKed packets if the stack counts those */
	u32 acked_pkts;
	s32 rtt_us; /* RTT sample of this ACK, -1 if it has none */
};

/*
 * A delivery-rate sample of one ACK, as Linux takes it (tcp_rate.c; Cheng, Cardwell, Yeganeh,
 * Jacobson, draft-cheng-iccrg-delivery-rate-estimation). The sample comes from the packet that
 * was sent last among those newly acknowledged: the packets delivered since it left, divided
 * by the longer of the time in which they were sent and the time in which they were
 * acknowledged.
 */
struct hw_rate_sample {
	u64 prior_delivered_pkts; /* delivered_pkts when the sample's packet left */
	s32 delivered_pkts;    /* packets delivered since the sample's packet left; -1: no sample */
	s32 delivered_ce_pkts; /* those of delivered_pkts that were marked CE */
	s32 interval_us; /* length of the sample; -1: no sample, or shorter than the smallest RTT */
	s32 rtt_us;	 /* RTT of the sample's packet, -1 if it has none */
	u32 losses_pkts; /* packets that the stack considers lost since this ACK */
	/* packets in flight when the sample's packet left, with that packet */
	u32 tx_inflight_pkts;
	/* packets that the stack has considered lost since the sample's packet left */
	u32 lost_pkts;
	u32 acked_pkts;		 /* packets newly acknowledged, cumulatively or by SACK */
	u32 prior_inflight_pkts; /* before this ACK */
	u32 random;		 /* uniform over 32 bits, fresh for every call */
	u8 is_app_limited;	 /* 1: the application limited how much was in flight */
	u8 is_retrans;		 /* 1: the sample's packet was a retransmission */
	u8 is_ack_delayed;	 /* 1: a single small packet, whose ACK may have been delayed */
};

/* Packets that the stack now considers lost. They left together. */
struct hw_lost {
	u32 pkts;	      /* their number */
	u32 seq;	      /* first sequence number, modulo 2^32 */
	u32 end_seq;	      /* sequence number after the last of them */
	u32 tx_inflight_pkts; /* packets in flight when they left, with them */
	u32 lost_pkts;	      /* packets considered lost since they left, with them */
	u32 random;	      /* uniform over 32 bits, fresh for every call */
	u8 is_app_limited;    /* 1: the application limited how much was in flight */
};

/*
 * A control. `state` has state_bytes bytes, zeroed before init; `tun` is the control's
 * tunables in declared order. A null callback means "nothing to do". A null min_cwnd makes
 * ssthresh the floor of rate halving; a min_cwnd may also return more than ssthresh. Either
 * control or cong_avoid is required.
 */
struct hw_cc_ops {
	const char *name;    /* at most 12 characters, to leave room for a startup's suffix */
	const char *title;   /* one line that describes the control to people */
	const char *source;  /* paper or RFC, and the implementation it follows */
	const char *startup; /* name of the default startup; null if the control owns its start */
	u32 state_bytes;
	u32 flags;	  /* enum hw_cc_flags */
	u32 send_windows; /* the send buffer grows to so many windows; 0: two */
	u32 n_tunables;
	u32 n_readings; /* at most HW_MAX_READINGS */
	const struct hw_tunable *tunables;
	const struct hw_counter *readings; /* values of its state that a trace can show */
	/* header that the control owns (header.h); null: no header */
	const struct hw_header *header;

	void (*init)(void *state, const u32 *tun, struct hw_conn *c);
	/* Called after every ACK with new information, in every state. It replaces pkts_acked
	 * and cong_avoid, and the stack's own changes of cwnd: in Recovery, at the end of
	 * Recovery, after idle times, and when the application leaves cwnd unused. Only controls
	 * that own their start have it. ssthresh, set_state, event and undo_cwnd are called as
	 * for other controls. */
	void (*control)(void *state, const u32 *tun, struct hw_conn *c,
			const struct hw_rate_sample *sample);
	/* Called when the stack considers packets lost, before ssthresh and control(). Only controls
	 * with control() have it. It must not change the connection. */
	void (*on_loss)(void *state, const u32 *tun, struct hw_conn *c, const struct hw_lost *lost);
	/* Writes the values of the readings, in declared order. */
	void (*observe)(const void *state, const u32 *tun, const struct hw_conn *c, u64 *values);
	/* Called after every ACK, before cwnd grows. acked_pkts is 0 for duplicate ACKs and
	 * ACKs with only new SACKs; rtt_us is -1 without a sample. The stack linux-2.6 calls it
	 * only if the ACK acknowledged data. */
	void (*pkts_acked)(void *state, const u32 *tun, struct hw_conn *c,
			   const struct hw_ack *ack);
	/* Congestion avoidance: may increase cwnd above ssthresh. acked_pkts is 1 if
	 * c->counts_acks. */
	void (*cong_avoid)(void *state, const u32 *tun, struct hw_conn *c, u32 acked_pkts);
	/* Returns the new ssthresh on congestion; must not change cwnd. */
	u32 (*ssthresh)(void *state, const u32 *tun, struct hw_conn *c);
	/* Called before the stack changes c->ca_state to new_state. */
	void (*set_state)(void *state, const u32 *tun, struct hw_conn *c, u8 new_state);
	void (*event)(void *state, const u32 *tun, struct hw_conn *c, u8 event);
	/* Returns the cwnd to restore after a reduction that proved spurious. */
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
	 * Passes to the control what the monitor of this machine's outgoing link has published
	 * (monitor.h). Called before control() or pkts_acked() on every ACK with new information,
	 * and before HW_EVENT_TX_START, but not if nothing has been published. It must not change
	 * the connection.
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
	/* two letters; a control with this startup has the name control_suffix */
	const char *suffix;
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

/* Shortest part of a retransmission timeout that is not the smoothed RTT. */
#define HW_LEAST_TIMEOUT_US 200000

/*
 * Whether this event is the start of a transmission after an idle time of about a timeout, after
 * which the stack has reduced cwnd. Controls that set cwnd or ssthresh after idle times do so
 * now: the stack reduces cwnd after HW_EVENT_CWND_RESTART, and replaces what they set then.
 */
static inline u32 hw_follows_idle(const struct hw_conn *c, u8 event)
{
	return event == HW_EVENT_TX_START && c->idle_us > HW_LEAST_TIMEOUT_US &&
	       c->idle_us - HW_LEAST_TIMEOUT_US > c->srtt_us;
}

/* Whether the connection is in slow start: cwnd is below ssthresh. Linux 2.6 also counts cwnd ==
 * ssthresh as slow start. */
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

/* Standard slow start (RFC 5681) up to ssthresh. Returns how many of acked_pkts are left after
 * that. Startups that only observe slow start use it. */
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

/* Increases cwnd on one ACK: by the startup below ssthresh, by the control above. */
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
