// SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only)
/* A congestion control that writes a field of the socket that no control may write, so the
 * verifier must refuse it. */
#include "port/bpf/kernel.h"

SEC("struct_ops/refused_ssthresh")
u32 BPF_PROG(refused_ssthresh, struct sock *sk)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;

	tp->snd_una = 0;
	return 2;
}

SEC(".struct_ops.link")
struct tcp_congestion_ops refused = {
	.ssthresh = (void *)refused_ssthresh,
	.name = "refused",
};

char refused_license[] SEC("license") = "Dual BSD/GPL";
