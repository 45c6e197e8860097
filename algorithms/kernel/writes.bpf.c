// SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only)
/*
 * How much an application is writing. The kernel copies a large write in pieces and sends the
 * first before it reads the next. This program tells startups the size of the whole write. The
 * tracepoint runs once per piece, and the end of the write is the same each time.
 *
 * Only for sockets that Headway knows (app.h). Since Linux 6.16.
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
	/* limited to what sequence numbers can distinguish */
	app->write_end =
		tp->write_seq + hw_min_u32(hw_saturate_u32(msg->msg_iter.count), HW_MOST_BYTES);
	app->is_writing = 1;
	return 0;
}

char hw_license[] SEC("license") = "Dual BSD/GPL";
