/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/*
 * The eBPF binding of a control joined with a startup: a struct_ops congestion
 * control. The build writes one translation unit per pair, which defines
 *   HW_PAIR_NAME                         the kernel's name, at most 15 characters
 *   HW_PAIR_CC, HW_PAIR_STARTUP          the two tables
 *   HW_CC_DEFAULTS, HW_STARTUP_DEFAULTS  tunables' values in declared order
 * and includes kernel.h, the two algorithms' files and this one.
 */
#include "../cc.h"

#define HW_MAX_TUNABLES 16

/* Set before load; the verifier then knows them as constants. */
const volatile u32 hw_cc_tun[HW_MAX_TUNABLES] = HW_CC_DEFAULTS;
const volatile u32 hw_startup_tun[HW_MAX_TUNABLES] = HW_STARTUP_DEFAULTS;
const volatile u32 hw_kernel_hz = 0; /* jiffies per second; 0: idle times are not known */

_Static_assert(sizeof(HW_PAIR_NAME) <= 16, "a congestion control's name has 15 characters");

void hw_state_too_large(void) __attribute__((error("state of the pair exceeds icsk_ca_priv")));

#define HW_INLINE static inline __attribute__((always_inline))

/* Everything one callback works on. */
struct hw_call {
	struct tcp_sock *tp;
	struct sock *sk;
	void *cc_state;
	void *startup_state;
	u32 cc_tun[HW_MAX_TUNABLES];
	u32 startup_tun[HW_MAX_TUNABLES];
	struct hw_conn conn;
};

HW_INLINE u32 hw_inflight(const struct tcp_sock *tp)
{
	return tp->packets_out - (tp->sacked_out + tp->lost_out) + tp->retrans_out;
}

/* Linux's rule: in slow start also with half the window in use. */
HW_INLINE u8 hw_cwnd_limited(const struct tcp_sock *tp)
{
	if (BPF_CORE_READ_BITFIELD(tp, is_cwnd_limited))
		return 1;
	return tp->snd_cwnd < tp->snd_ssthresh && tp->snd_cwnd < 2 * tp->max_packets_out;
}

HW_INLINE void hw_begin(struct hw_call *call, struct sock *sk)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	struct hw_conn *c = &call->conn;
	u32 startup_offset = (HW_PAIR_CC.state_bytes + 7) & ~7u;
	u32 i;

	if (startup_offset + HW_PAIR_STARTUP.state_bytes > HW_CC_STATE_BYTES)
		hw_state_too_large();
	call->sk = sk;
	call->tp = tp;
	call->cc_state = tp->inet_conn.icsk_ca_priv;
	call->startup_state = (char *)call->cc_state + startup_offset;
#pragma unroll
	for (i = 0; i < HW_MAX_TUNABLES; i++) {
		if (i < HW_PAIR_CC.n_tunables)
			call->cc_tun[i] = hw_cc_tun[i];
		if (i < HW_PAIR_STARTUP.n_tunables)
			call->startup_tun[i] = hw_startup_tun[i];
	}
	c->cwnd_pkts = tp->snd_cwnd;
	c->cwnd_cnt = tp->snd_cwnd_cnt;
	c->ssthresh_pkts = tp->snd_ssthresh;
	c->cwnd_clamp_pkts = tp->snd_cwnd_clamp;
	c->pacing_rate_Bps = 0;
	c->now_us = tp->tcp_mstamp;
	c->delivered_pkts = tp->delivered;
	c->snd_una = tp->snd_una;
	c->snd_nxt = tp->snd_nxt;
	c->srtt_us = tp->srtt_us >> 3;
	c->min_rtt_us = tp->rtt_min.s[0].v;
	c->mss_bytes = tp->mss_cache;
	c->inflight_pkts = hw_inflight(tp);
	c->idle_us = 0;
	c->app_queued_bytes = tp->write_seq - tp->snd_nxt;
	c->ca_state = BPF_CORE_READ_BITFIELD(&tp->inet_conn, icsk_ca_state);
	c->cwnd_limited = hw_cwnd_limited(tp);
	c->counts_acks = 0;
	c->paced = sk->sk_pacing_status != 0;
}

/* What the algorithms may have set goes back to the socket. */
HW_INLINE void hw_end(const struct hw_call *call)
{
	const struct hw_conn *c = &call->conn;
	struct tcp_sock *tp = call->tp;

	tp->snd_cwnd = hw_max_u32(c->cwnd_pkts, 1);
	tp->snd_cwnd_cnt = c->cwnd_cnt;
	tp->snd_ssthresh = c->ssthresh_pkts;
	if (c->pacing_rate_Bps)
		call->sk->sk_pacing_rate = c->pacing_rate_Bps;
}

SEC("struct_ops/hw_init")
void BPF_PROG(hw_init, struct sock *sk)
{
	struct hw_call call;

	hw_begin(&call, sk);
	if (HW_PAIR_STARTUP.init)
		HW_PAIR_STARTUP.init(call.startup_state, call.startup_tun, &call.conn);
	if (HW_PAIR_CC.init)
		HW_PAIR_CC.init(call.cc_state, call.cc_tun, &call.conn);
	hw_end(&call);
}

SEC("struct_ops/hw_pkts_acked")
void BPF_PROG(hw_pkts_acked, struct sock *sk, const struct ack_sample *sample)
{
	struct hw_call call;
	struct hw_ack ack = {
		.acked_pkts = sample->pkts_acked,
		.rtt_us = sample->rtt_us,
		.inflight_pkts = sample->in_flight,
	};

	hw_begin(&call, sk);
	if (HW_PAIR_STARTUP.pkts_acked)
		HW_PAIR_STARTUP.pkts_acked(call.startup_state, call.startup_tun, &call.conn, &ack);
	if (HW_PAIR_CC.pkts_acked)
		HW_PAIR_CC.pkts_acked(call.cc_state, call.cc_tun, &call.conn, &ack);
	hw_end(&call);
}

SEC("struct_ops/hw_cong_avoid")
void BPF_PROG(hw_cong_avoid, struct sock *sk, u32 ack, u32 acked_pkts)
{
	struct hw_call call;

	hw_begin(&call, sk);
	hw_grow(&HW_PAIR_CC, call.cc_state, call.cc_tun, &HW_PAIR_STARTUP, call.startup_state,
		call.startup_tun, &call.conn, acked_pkts);
	hw_end(&call);
}

SEC("struct_ops/hw_ssthresh")
u32 BPF_PROG(hw_ssthresh, struct sock *sk)
{
	struct hw_call call;

	hw_begin(&call, sk);
	return HW_PAIR_CC.ssthresh(call.cc_state, call.cc_tun, &call.conn);
}

SEC("struct_ops/hw_set_state")
void BPF_PROG(hw_set_state, struct sock *sk, u8 new_state)
{
	struct hw_call call;

	hw_begin(&call, sk);
	if (HW_PAIR_STARTUP.set_state)
		HW_PAIR_STARTUP.set_state(call.startup_state, call.startup_tun, &call.conn,
					  new_state);
	if (HW_PAIR_CC.set_state)
		HW_PAIR_CC.set_state(call.cc_state, call.cc_tun, &call.conn, new_state);
	hw_end(&call);
}

/* The kernel's first four events carry the contract's numbers. */
SEC("struct_ops/hw_cwnd_event")
void BPF_PROG(hw_cwnd_event, struct sock *sk, int event)
{
	struct hw_call call;

	if (event < HW_EVENT_TX_START || event > HW_EVENT_LOSS)
		return;
	hw_begin(&call, sk);
	if (event == HW_EVENT_TX_START && hw_kernel_hz) {
		u64 idle_jiffies = (u32)bpf_jiffies64() - call.tp->lsndtime;

		call.conn.idle_us = hw_saturate_u32(idle_jiffies * 1000000 / hw_kernel_hz);
	}
	if (HW_PAIR_STARTUP.event)
		HW_PAIR_STARTUP.event(call.startup_state, call.startup_tun, &call.conn, event);
	if (HW_PAIR_CC.event)
		HW_PAIR_CC.event(call.cc_state, call.cc_tun, &call.conn, event);
	hw_end(&call);
}

SEC("struct_ops/hw_undo_cwnd")
u32 BPF_PROG(hw_undo_cwnd, struct sock *sk)
{
	struct hw_call call;
	u32 prior_cwnd_pkts;

	hw_begin(&call, sk);
	prior_cwnd_pkts = call.tp->prior_cwnd;
	if (!HW_PAIR_CC.undo_cwnd)
		return hw_max_u32(call.conn.cwnd_pkts, prior_cwnd_pkts);
	return HW_PAIR_CC.undo_cwnd(call.cc_state, call.cc_tun, &call.conn, prior_cwnd_pkts);
}

SEC(".struct_ops.link")
struct tcp_congestion_ops hw_control = {
	.init = (void *)hw_init,
	.pkts_acked = (void *)hw_pkts_acked,
	.cong_avoid = (void *)hw_cong_avoid,
	.ssthresh = (void *)hw_ssthresh,
	.set_state = (void *)hw_set_state,
	.cwnd_event = (void *)hw_cwnd_event,
	.undo_cwnd = (void *)hw_undo_cwnd,
	.flags = 1, /* any user may choose it (TCP_CONG_NON_RESTRICTED) */
	.name = HW_PAIR_NAME,
};

char hw_license[] SEC("license") = "Dual BSD/GPL";
