/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/*
 * The eBPF binding: a control and its startup (pair.h) as a struct_ops congestion control.
 * Before every call it fills in the contract's struct hw_conn from the socket; afterwards it
 * writes back the fields that algorithms may set.
 */
#include "pair.h"

#define HW_AF_INET6 10

#include "application.h"

/* The kernel's jiffies per second, set before load; 0: not known, and idle times are not
 * reported. */
const volatile u32 hw_kernel_hz = 0;

/* Counters over all connections of this object. `headwayctl status` prints them, with the names
 * of the fields from the object's type information. */
struct hw_counters {
	u64 connections;
	u64 acks; /* ACKs of data */
	u64 acked_pkts;
	u64 congestions; /* how often the stack asked for a new ssthresh */
	u64 timeouts;
	u64 undos;
	u64 idle_restarts;
	/* how often the stack did not get the ssthresh that the control returned
	 * (hw_answer_again) */
	u64 lost_answers;
	u64 fall_backs; /* how often a control fell back to its loss-based law, without routers */
#ifdef HW_READS_MONITOR
	/* ACKs and transmission starts of connections whose outgoing device has no monitor */
	u64 unmonitored;
#endif
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct hw_counters);
} hw_counters SEC(".maps");

#define HW_COUNT_UP(field, by)                                                            \
	do {                                                                              \
		u32 hw_zero = 0;                                                          \
		struct hw_counters *hw_cpu = bpf_map_lookup_elem(&hw_counters, &hw_zero); \
                                                                                          \
		if (hw_cpu)                                                               \
			hw_cpu->field += (by);                                            \
	} while (0)

#define HW_PACING_NEEDED   1  /* SK_PACING_NEEDED */
#define HW_ECN_OK	   1  /* TCP_ECN_OK, since 6.15 TCP_ECN_MODE_RFC3168 */
#define HW_ECN_ACCURATE_OK 16 /* TCP_ECN_MODE_ACCECN, since 6.18 */
/* The kernel's default (tcp_min_tso_segs) is 2. With a startup that may send a Quick-Start
 * request in a data packet it is 1: the option cannot be added to one of several packets that
 * share a buffer. */
#ifdef HW_JOINED
#define HW_MIN_TSO_SEGS (hw_part_startup_opens() ? 1 : 2)
#else
#define HW_MIN_TSO_SEGS 2
#endif

/* Which ECN both ends have negotiated. Both bits are set while an opener waits for the answer. */
HW_INLINE u8 hw_ecn_mode(const struct tcp_sock *tp)
{
	if (tp->ecn_flags & HW_ECN_ACCURATE_OK)
		return HW_ECN_ACCURATE;
	return tp->ecn_flags & HW_ECN_OK ? HW_ECN_CLASSIC : HW_ECN_NONE;
}

HW_INLINE u32 hw_inflight(const struct tcp_sock *tp)
{
	return tp->packets_out - (tp->sacked_out + tp->lost_out) + tp->retrans_out;
}

/* Linux's rule: in slow start the sender counts as limited by cwnd if more than half of cwnd was
 * in flight. */
HW_INLINE u8 hw_cwnd_limited(const struct tcp_sock *tp)
{
	if (BPF_CORE_READ_BITFIELD(tp, is_cwnd_limited))
		return 1;
	return tp->snd_cwnd < tp->snd_ssthresh && tp->snd_cwnd < 2 * tp->max_packets_out;
}

/* The bytes that the control's header adds to every packet. The socket's own fields do not
 * include them. */
#ifdef HW_CARRIES
#define HW_CARRIED_BYTES hw_part_header_wire_bytes(0)
#else
#define HW_CARRIED_BYTES 0
#endif

HW_INLINE u32 hw_header_bytes(const struct sock *sk)
{
	u32 ip_bytes = sk->__sk_common.skc_family == HW_AF_INET6 ? 40 : 20;

	return ((const struct tcp_sock *)sk)->tcp_header_len + ip_bytes + HW_CARRIED_BYTES;
}

HW_INLINE u32 hw_mss_bytes(const struct tcp_sock *tp)
{
	return tp->mss_cache - HW_CARRIED_BYTES;
}

/* Fills in the fields that only controls with rate samples read. Other controls get 0. */
HW_INLINE void hw_look_at_rate(struct hw_call *call)
{
	struct hw_conn *c = &call->conn;

	c->app_limited = 0;
	c->mark_app_limited = 0;
	c->sack = 0;
	c->lost_pkts = 0;
	c->pacing_wait_us = 0;
	c->delivered_us = 0;
#ifdef HW_CONTROLS
	const struct tcp_sock *tp = call->tp;

	c->app_limited = tp->app_limited != 0;
	c->sack = BPF_CORE_READ_BITFIELD(tp, rx_opt.sack_ok) != 0;
	c->cwnd_limited = BPF_CORE_READ_BITFIELD(tp, is_cwnd_limited);
	c->lost_pkts = tp->lost;
	c->delivered_us = tp->delivered_mstamp;
	if (tp->tcp_wstamp_ns > tp->tcp_clock_cache)
		c->pacing_wait_us =
			hw_saturate_u32((tp->tcp_wstamp_ns - tp->tcp_clock_cache) / 1000);
#endif
}

/* If the state of control and startup does not fit into icsk_ca_priv, a map attached to the
 * socket holds the rest: the pacing, the startup's state, and also the control's state if that
 * alone does not fit. */
#ifdef HW_STATE_IN_STORAGE
#ifdef HW_CC_IN_STORAGE
#define HW_STORAGE_BYTES HW_FLOW_STATE_BYTES
#else
#define HW_STORAGE_BYTES HW_CC_STATE_BYTES
#endif

#ifdef HW_FOLLOWS_LOSSES
#include "losses.h"
#endif

struct hw_storage {
#ifdef HW_PACES
	struct hw_pacing pacing;
#endif
#ifdef HW_ECHOES_CE
	struct hw_ce_echo ce_echo;
#endif
#ifdef HW_FOLLOWS_LOSSES
	struct hw_losses losses;
#endif
	u64 words[HW_STORAGE_BYTES / 8];
};

struct {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, 1); /* BPF_F_NO_PREALLOC, which this kind of map requires */
	__type(key, int);
	__type(value, struct hw_storage);
} hw_storage SEC(".maps");

/* The memory for state that is not in icsk_ca_priv; null if the allocation fails. */
HW_INLINE void *hw_area(struct sock *sk)
{
	return bpf_sk_storage_get(&hw_storage, sk, 0, 1); /* BPF_SK_STORAGE_GET_F_CREATE */
}
#else
#define HW_STORAGE_BYTES 0

HW_INLINE void *hw_area(struct sock *sk)
{
	return (char *)((struct tcp_sock *)sk)->inet_conn.icsk_ca_priv + hw_cc_bytes;
}
#endif

/* Finds the state of control and startup. Returns 0 if memory for the state cannot be allocated;
 * the caller then does nothing. */
HW_INLINE int hw_find_state(struct hw_call *call)
{
	void *cc_state = call->tp->inet_conn.icsk_ca_priv;
	void *area = hw_area(call->sk);

	if (!area)
		return 0;
#ifdef HW_PACES
	call->pacing = area;
	area += sizeof(struct hw_pacing);
#endif
#ifdef HW_ECHOES_CE
	area += sizeof(struct hw_ce_echo);
#endif
#ifdef HW_FOLLOWS_LOSSES
	call->losses = area;
	area += sizeof(struct hw_losses);
#endif
#ifdef HW_CC_IN_STORAGE
	cc_state = area;
	area += hw_cc_bytes;
#endif
	hw_join(call, cc_state, area);
	return 1;
}

/* Finds the state of control and startup, and fills in struct hw_conn from the socket. Returns 0
 * if memory for the state cannot be allocated; the caller then does nothing. */
HW_INLINE int hw_begin(struct hw_call *call, struct sock *sk)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	struct hw_conn *c = &call->conn;

	call->sk = sk;
	call->tp = tp;
	if (!hw_find_state(call))
		return 0;
	c->pacing_rate_Bps = 0;
	c->pacing_chunk_pkts = 0;
#ifdef HW_PACES
	c->pacing_rate_Bps = call->pacing->rate_Bps;
	c->pacing_chunk_pkts = call->pacing->chunk_pkts;
#endif
	c->cwnd_pkts = tp->snd_cwnd;
	c->cwnd_cnt = tp->snd_cwnd_cnt;
	c->ssthresh_pkts = tp->snd_ssthresh;
	c->cwnd_clamp_pkts = tp->snd_cwnd_clamp;
	c->now_us = tp->tcp_mstamp;
	c->delivered_pkts = tp->delivered;
	c->snd_una = tp->snd_una;
	c->snd_nxt = tp->snd_nxt;
	c->srtt_us = tp->srtt_us >> 3;
	c->min_rtt_us = tp->rtt_min.s[0].v;
	c->mss_bytes = hw_mss_bytes(tp);
	c->inflight_pkts = hw_inflight(tp);
	c->idle_us = 0;
	c->app_queued_bytes = tp->write_seq - tp->snd_nxt;
	c->ca_state = BPF_CORE_READ_BITFIELD(&tp->inet_conn, icsk_ca_state);
	c->cwnd_limited = hw_cwnd_limited(tp);
	c->counts_acks = 0;
	c->paced = sk->sk_pacing_status != 0;
	c->ignore_peer_window = 0;
	c->ecn = hw_ecn_mode(tp);
	/* As tcp_enter_cwr leaves these fields. A loss that a tail loss probe has repaired, and a
	 * drop by the sender's own queue, may look the same. */
	c->by_mark = c->ecn && !tp->undo_marker && !tp->prior_ssthresh;
	c->delivered_ce_pkts = tp->delivered_ce;
	c->peer_window_bytes = tp->snd_wnd;
	c->header_bytes = hw_header_bytes(sk);
	c->sent_pkts = tp->data_segs_out;
	c->retrans_pkts = tp->total_retrans;
	c->routers = HW_ROUTERS_UNKNOWN;
	c->fall_backs = 0;
	hw_refresh_application(call);
	hw_look_at_rate(call);
	return 1;
}

#ifdef HW_PACES
/* Converts a rate in IP bytes, as algorithms set it, to a rate in payload bytes, as the stack
 * paces. */
HW_INLINE u64 hw_payload_rate(const struct sock *sk, u64 rate_Bps)
{
	const struct tcp_sock *tp = (const struct tcp_sock *)sk;
	u32 mss_bytes = hw_mss_bytes(tp);

	return hw_div_u64(rate_Bps * mss_bytes, mss_bytes + hw_header_bytes(sk));
}

/* Ends pacing, but not before the pacing gap after the last packet is over. A packet that left
 * during the gap would get the end of the gap as its timestamp (tcp_wstamp_ns), so its measured
 * round trip would be too short. */
HW_INLINE void hw_end_pacing(struct sock *sk, struct hw_pacing *pacing)
{
	const struct tcp_sock *tp = (const struct tcp_sock *)sk;

	if (!pacing->is_ours || tp->tcp_wstamp_ns > tp->tcp_clock_cache)
		return;
	sk->sk_pacing_status = 0;
	pacing->is_ours = 0;
}

/* Sets the socket's pacing rate. If no queueing discipline paces, TCP itself paces. When the
 * algorithm stops pacing, TCP stops, too, unless TCP paced before the algorithm asked for
 * pacing. */
HW_INLINE void hw_pace(const struct hw_call *call)
{
	struct hw_pacing *pacing = call->pacing;
	struct sock *sk = call->sk;

	pacing->rate_Bps = call->conn.pacing_rate_Bps;
	pacing->chunk_pkts = call->conn.pacing_chunk_pkts;
	if (pacing->rate_Bps) {
		sk->sk_pacing_rate = hw_payload_rate(sk, pacing->rate_Bps);
		if (!sk->sk_pacing_status) {
			sk->sk_pacing_status = HW_PACING_NEEDED;
			pacing->is_ours = 1;
		}
	} else {
		hw_end_pacing(sk, pacing);
	}
}
#endif

/* Writes the fields of struct hw_conn that algorithms may set back to the socket. */
HW_INLINE void hw_end(const struct hw_call *call)
{
	const struct hw_conn *c = &call->conn;
	struct tcp_sock *tp = call->tp;

	tp->snd_cwnd = hw_max_u32(c->cwnd_pkts, 1);
	tp->snd_cwnd_cnt = c->cwnd_cnt;
	tp->snd_ssthresh = c->ssthresh_pkts;
#ifdef HW_PACES
	hw_pace(call);
#endif
#ifdef HW_STARTUP_PACES
	hw_answer(call);
#endif
#ifdef HW_CARRIES
	if (c->fall_backs)
		HW_COUNT_UP(fall_backs, c->fall_backs);
#endif
#ifdef HW_CONTROLS
	if (c->mark_app_limited) {
		u32 until_pkts = tp->delivered + hw_inflight(tp);

		tp->app_limited = until_pkts ? until_pkts : 1; /* 0: not limited */
	}
#endif
}

#ifdef HW_CARRIES
#include "endpoint.h"
#endif

#ifdef HW_ECHOES_CE
#include "ce_echo.h"
#endif

#ifdef HW_READS_MONITOR
#include "monitors.h"

/* Passes to the control what the monitor of the connection's outgoing device has published last. */
HW_INLINE void hw_read_device_monitor(struct hw_call *call)
{
	struct hw_monitor_key key = { .netns = call->sk->__sk_common.skc_net.net->ns.inum };
	struct dst_entry *route = call->sk->sk_dst_cache;
	struct hw_monitor monitor = {};

	if (route) {
		key.device = route->dev->ifindex;
		hw_read_monitor(&key, &monitor);
	}
	if (!monitor.intervals)
		HW_COUNT_UP(unmonitored, 1);
	hw_pair_on_monitor(call, &monitor);
}
#endif

SEC("struct_ops/hw_init")
void BPF_PROG(hw_init, struct sock *sk)
{
	struct hw_call call;
#ifdef HW_PACES
	u32 is_ours;
#endif

	HW_COUNT_UP(connections, 1);
	if (!hw_begin(&call, sk))
		return;
#ifdef HW_PACES
	/* copied first, because clearing the state may overwrite it */
	is_ours = call.pacing->is_ours;
#endif
	/* clear the state here: the kernel passes the ACK of the SYN to pkts_acked before it
	 * calls init, and may call init twice for a socket */
#ifdef HW_CC_IN_STORAGE
	__builtin_memset(call.cc_state, 0, HW_STORAGE_BYTES);
#else
	__builtin_memset(call.cc_state, 0, HW_CC_STATE_BYTES);
#ifdef HW_STATE_IN_STORAGE
	__builtin_memset(call.startup_state, 0, HW_STORAGE_BYTES);
#endif
#endif
#ifdef HW_PACES
	call.pacing->is_ours = is_ours;
#endif
#ifdef HW_ECHOES_CE
	hw_echo_begins(sk);
#endif
#ifdef HW_FOLLOWS_LOSSES
	hw_losses_begin(&call);
#endif
#ifdef HW_STARTUP_PACES
	hw_open_application(&call);
#endif
	hw_pair_init(&call);
	hw_end(&call);
#ifdef HW_CARRIES
	hw_begin_to_carry(sk);
#endif
}

#ifdef HW_CONTROLS
SEC("struct_ops/hw_cong_control")
void BPF_PROG(hw_cong_control, struct sock *sk, u32 ack, int flag, const struct rate_sample *rs)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	struct hw_call call;
	int sampled = rs->prior_mstamp != 0;
	struct hw_rate_sample sample = {
		.prior_delivered_pkts = rs->prior_delivered,
		.delivered_pkts = sampled ? rs->delivered : -1,
		.delivered_ce_pkts = rs->delivered_ce,
		.interval_us = sampled && rs->interval_us >= 0 ? (s32)rs->interval_us : -1,
		.rtt_us = (s32)rs->rtt_us,
		.losses_pkts = rs->losses,
		.acked_pkts = rs->acked_sacked,
		.prior_inflight_pkts = rs->prior_in_flight,
		.random = bpf_get_prandom_u32(),
		.is_app_limited = rs->is_app_limited,
		.is_retrans = rs->is_retrans,
		.is_ack_delayed = rs->is_ack_delayed,
	};

	/* without state: the kernel calls this for the ACK of the SYN before it calls init */
	if (!BPF_CORE_READ_BITFIELD(&tp->inet_conn, icsk_ca_initialized))
		return;
	HW_COUNT_UP(acks, 1);
	HW_COUNT_UP(acked_pkts, sample.acked_pkts);
	if (!hw_begin(&call, sk))
		return;
#ifdef HW_CARRIES
	hw_deliver_feedback(&call);
#endif
#ifdef HW_READS_MONITOR
	hw_read_device_monitor(&call);
#endif
#ifdef HW_FOLLOWS_LOSSES
	hw_tell_losses(&call, &sample);
#endif
	hw_pair_control(&call, &sample);
#ifdef HW_CARRIES
	hw_note_routers(&call);
#endif
	hw_end(&call);
}

SEC("struct_ops/hw_sndbuf_expand")
u32 BPF_PROG(hw_sndbuf_expand, struct sock *sk)
{
	return hw_part_cc_send_windows();
}
#else
/* Repairs an ssthresh in the socket that differs from the value that the control returned. On a
 * busy Linux 6.18 with a hundred flows, none to six of 1,500 values of ssthresh were the low
 * half of a kernel address, and cwnd was 667,073,216 after Recovery. The kernel's own controls,
 * which it calls without a trampoline, had no such value. If ssthresh is no possible window, the
 * control is asked again at the next ACK, before Recovery moves cwnd to ssthresh. */
#define HW_NO_WINDOW_PKTS (1u << 20)

HW_INLINE void hw_answer_again(struct hw_call *call)
{
	struct hw_conn *c = &call->conn;
	u32 cwnd_pkts = c->cwnd_pkts;

	/* an infinite ssthresh is valid: the stack has undone a reduction */
	if (c->ca_state < HW_CA_CWR || c->ssthresh_pkts < HW_NO_WINDOW_PKTS ||
	    c->ssthresh_pkts == HW_SSTHRESH_INFINITE)
		return;
	HW_COUNT_UP(lost_answers, 1);
	c->cwnd_pkts = call->tp->prior_cwnd;
	c->ssthresh_pkts = hw_pair_ssthresh(call);
	c->cwnd_pkts = cwnd_pkts;
}

SEC("struct_ops/hw_pkts_acked")
void BPF_PROG(hw_pkts_acked, struct sock *sk, const struct ack_sample *sample)
{
	struct hw_call call;
	struct hw_ack ack = {
		.acked_pkts = sample->pkts_acked,
		.rtt_us = sample->rtt_us,
	};

	HW_COUNT_UP(acks, 1);
	HW_COUNT_UP(acked_pkts, ack.acked_pkts);
	if (!hw_begin(&call, sk))
		return;
	hw_answer_again(&call);
#ifdef HW_STARTUP_PACES
	hw_watch_path(&call);
#endif
#ifdef HW_CARRIES
	hw_deliver_feedback(&call);
#endif
	hw_pair_pkts_acked(&call, &ack);
#ifdef HW_CARRIES
	hw_note_routers(&call);
#endif
	hw_end(&call);
}

SEC("struct_ops/hw_cong_avoid")
void BPF_PROG(hw_cong_avoid, struct sock *sk, u32 ack, u32 acked_pkts)
{
	struct hw_call call;

	if (!hw_begin(&call, sk))
		return;
	hw_pair_grow(&call, acked_pkts);
	hw_end(&call);
}
#endif

SEC("struct_ops/hw_ssthresh")
u32 BPF_PROG(hw_ssthresh, struct sock *sk)
{
	struct hw_call call;

	HW_COUNT_UP(congestions, 1);
	if (!hw_begin(&call, sk))
		return hw_max_u32(((struct tcp_sock *)sk)->snd_cwnd / 2, 2);
	return hw_pair_ssthresh(&call);
}

SEC("struct_ops/hw_set_state")
void BPF_PROG(hw_set_state, struct sock *sk, u8 new_state)
{
	struct hw_call call;

	if (!hw_begin(&call, sk))
		return;
#ifdef HW_STARTUP_PACES
	if (call.app && new_state >= HW_CA_CWR)
		call.app->path_pkts = 0;
#endif
	hw_pair_set_state(&call, new_state);
	hw_end(&call);
}

/* Passes an event to the algorithms. The kernel's first four events have the same numbers as the
 * contract's. */
SEC("struct_ops/hw_cwnd_event")
void BPF_PROG(hw_cwnd_event, struct sock *sk, int event)
{
	struct hw_call call;

#ifdef HW_ECHOES_CE
	if (event == HW_KERNEL_ECN_NO_CE || event == HW_KERNEL_ECN_IS_CE) {
		hw_echo_packet(sk, event == HW_KERNEL_ECN_IS_CE);
		return;
	}
#endif
	if (event < HW_EVENT_TX_START || event > HW_EVENT_LOSS)
		return;
	if (event == HW_EVENT_LOSS)
		HW_COUNT_UP(timeouts, 1);
	if (event == HW_EVENT_CWND_RESTART) {
		HW_COUNT_UP(idle_restarts, 1);
#ifdef HW_STARTUP_PACES
		hw_leave_path(sk, 1);
#endif
	}
	if (!hw_begin(&call, sk))
		return;
	if (event == HW_EVENT_TX_START && hw_kernel_hz) {
		u64 idle_jiffies = (u32)bpf_jiffies64() - call.tp->lsndtime;

		call.conn.idle_us = hw_saturate_u32(idle_jiffies * 1000000 / hw_kernel_hz);
	}
#ifdef HW_READS_MONITOR
	if (event == HW_EVENT_TX_START)
		hw_read_device_monitor(&call);
#endif
	hw_pair_event(&call, event);
	hw_end(&call);
}

SEC("struct_ops/hw_undo_cwnd")
u32 BPF_PROG(hw_undo_cwnd, struct sock *sk)
{
	struct hw_call call;

	HW_COUNT_UP(undos, 1);
	if (!hw_begin(&call, sk))
		return ((struct tcp_sock *)sk)->snd_cwnd;
	return hw_pair_undo_cwnd(&call, call.tp->prior_cwnd);
}

#if defined(HW_STARTUP_PACES) || defined(HW_CARRIES)
SEC("struct_ops/hw_release")
void BPF_PROG(hw_release, struct sock *sk)
{
#ifdef HW_STARTUP_PACES
	hw_leave_path(sk, 0);
#endif
#ifdef HW_CARRIES
	hw_end_carrying(sk);
#endif
}
#endif

#ifdef HW_PACES
/* Returns the minimum number of segments that leave together; the stack calls it before it
 * sends. For controls without rate samples, the stack has changed the pacing rate on the last
 * ACK, so the algorithm's rate is restored here. If the algorithm has stopped pacing, this may
 * end TCP's pacing, because the gap after the last packet may be over by now. */
SEC("struct_ops/hw_min_tso_segs")
u32 BPF_PROG(hw_min_tso_segs, struct sock *sk)
{
	struct hw_pacing *pacing = hw_area(sk);

	if (!pacing)
		return HW_MIN_TSO_SEGS;
	if (!pacing->rate_Bps) {
		hw_end_pacing(sk, pacing);
		return HW_MIN_TSO_SEGS;
	}
#ifndef HW_CONTROLS
	sk->sk_pacing_rate = hw_payload_rate(sk, pacing->rate_Bps);
#endif
	return hw_max_u32(pacing->chunk_pkts, 1);
}
#endif

/* The control's name in the kernel. headwayctl replaces this placeholder before load. */
#define HW_NAME_UNSET "headway-unnamed"

SEC(".struct_ops.link")
struct tcp_congestion_ops hw_control = {
	.init = (void *)hw_init,
#ifdef HW_CONTROLS
	.cong_control = (void *)hw_cong_control,
	.sndbuf_expand = (void *)hw_sndbuf_expand,
#else
	.pkts_acked = (void *)hw_pkts_acked,
	.cong_avoid = (void *)hw_cong_avoid,
#endif
	.ssthresh = (void *)hw_ssthresh,
	.set_state = (void *)hw_set_state,
	.cwnd_event = (void *)hw_cwnd_event,
	.undo_cwnd = (void *)hw_undo_cwnd,
#ifdef HW_PACES
	.min_tso_segs = (void *)hw_min_tso_segs,
#endif
#if defined(HW_STARTUP_PACES) || defined(HW_CARRIES)
	.release = (void *)hw_release,
#endif
	.flags = 1, /* any user may select this control (TCP_CONG_NON_RESTRICTED) */
	.name = HW_NAME_UNSET,
};
