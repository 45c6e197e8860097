// SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only)
/*
 * Minimal programs that each use one kernel feature that Headway's programs need: `headwayctl
 * doctor` loads each program alone and reports which ones the kernel accepts. Of these programs,
 * `doctor` attaches only two congestion controls, for a moment.
 */
#include "port/bpf/kernel.h"

struct {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, 1); /* BPF_F_NO_PREALLOC, which this kind of map requires */
	__type(key, int);
	__type(value, u64);
} probe_storage SEC(".maps");

SEC("struct_ops/probe_ssthresh")
u32 BPF_PROG(probe_ssthresh, struct sock *sk)
{
	return ((struct tcp_sock *)sk)->snd_cwnd;
}

SEC("struct_ops/probe_cong_avoid")
void BPF_PROG(probe_cong_avoid, struct sock *sk, u32 ack, u32 acked_pkts)
{
	((struct tcp_sock *)sk)->snd_cwnd_cnt = acked_pkts;
}

SEC("struct_ops/probe_undo_cwnd")
u32 BPF_PROG(probe_undo_cwnd, struct sock *sk)
{
	return ((struct tcp_sock *)sk)->snd_cwnd;
}

SEC(".struct_ops.link")
struct tcp_congestion_ops probe_control = {
	.ssthresh = (void *)probe_ssthresh,
	.cong_avoid = (void *)probe_cong_avoid,
	.undo_cwnd = (void *)probe_undo_cwnd,
	.name = "hw_probe",
};

/* A congestion control whose state does not fit into icsk_ca_priv and is in socket storage
 * (BPF_MAP_TYPE_SK_STORAGE). */
SEC("struct_ops/probe_sk_storage")
u32 BPF_PROG(probe_sk_storage, struct sock *sk)
{
	return bpf_sk_storage_get(&probe_storage, sk, 0, 1) != 0;
}

SEC(".struct_ops.link")
struct tcp_congestion_ops probe_storage_control = {
	.ssthresh = (void *)probe_sk_storage,
	.cong_avoid = (void *)probe_cong_avoid,
	.undo_cwnd = (void *)probe_undo_cwnd,
	.name = "hw_probe_st",
};

/* A congestion control that asks for Accurate ECN (RFC 9768) and for ECT(1): any user may choose
 * it, it needs ECN and Accurate ECN, and it opens connections with ECT(1)
 * (TCP_CONG_NON_RESTRICTED, TCP_CONG_NEEDS_ECN, TCP_CONG_NEEDS_ACCECN,
 * TCP_CONG_ECT_1_NEGOTIATION). */
SEC("struct_ops/probe_accurate")
u32 BPF_PROG(probe_accurate, struct sock *sk)
{
	return ((struct tcp_sock *)sk)->snd_cwnd;
}

SEC(".struct_ops.link")
struct tcp_congestion_ops probe_accurate_control = {
	.ssthresh = (void *)probe_accurate,
	.cong_avoid = (void *)probe_cong_avoid,
	.undo_cwnd = (void *)probe_undo_cwnd,
	.flags = 1 | 2 | 4 | 8,
	.name = "hw_probe_acc",
};

/* A program that runs at every ACK, like the sampler's (sampler.bpf.c). */
SEC("tp_btf/tcp_probe")
int BPF_PROG(probe_tcp_probe, struct sock *sk)
{
	struct tcp_sock *tp = bpf_skc_to_tcp_sock(sk);

	return tp && tp->snd_cwnd == 0;
}

/* Contract tests. */
SEC("syscall")
int probe_syscall(void *ctx)
{
	return 0;
}

char probe_license[] SEC("license") = "Dual BSD/GPL";
