// SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only)
/*
 * Records how much data an application is writing. The kernel copies a large write in pieces,
 * and sends the first piece before it copies the next. This program tells startups where the
 * whole write ends. The tracepoint runs once per piece, and computes the same end each time.
 *
 * It applies only to sockets with Headway's state (app.h), and needs Linux 6.16.
 */
#include "port/bpf/app.h"
#include "port/bpf/hook.h"

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct iov_iter {
	u64 count;
};

struct msghdr {
	struct iov_iter msg_iter;
};

#pragma clang attribute pop

#define HW_MOST_BYTES (1u << 30)

SEC("tp_btf/tcp_sendmsg_locked")
int BPF_PROG(hw_hints_write, struct sock *sk, const struct msghdr *msg)
{
	struct hw_app *app = bpf_sk_storage_get(&hw_app, sk, 0, 0);
	struct tcp_sock *tp = bpf_skc_to_tcp_sock(sk);

	if (!app || !tp)
		return 0;
	/* limited to 2 GiB, because sequence numbers further apart cannot be compared */
	app->write_end =
		tp->write_seq + hw_min_u32(hw_saturate_u32(msg->msg_iter.count), HW_MOST_BYTES);
	app->is_writing = 1;
	return 0;
}

char hw_license[] SEC("license") = "Dual BSD/GPL";
