// SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only)
/*
 * Adds the socket options of include/headway.h to a kernel that does not have them. Two programs at
 * a cgroup handle setsockopt() and getsockopt() of these options before the kernel would refuse
 * them. All other socket options pass unchanged.
 */
#include "port/bpf/app.h"
#include "port/bpf/hook.h"

enum {
	HW_AF_INET = 2,
	HW_AF_INET6 = 10,
	HW_IPPROTO_TCP = 6,

	HW_EPERM = 1,
	HW_EINVAL = 22,
	HW_ENOMEM = 12,

	HW_KERNEL_DOES_IT = 1,
	HW_REFUSED = 0,
	HW_PAGE_BYTES = 4096,
};

/* Counters: how often each socket option was set, by the last digit of the option's number, and how
 * often options were refused and read. */
struct hw_hints_counters {
	u64 set[8];
	u64 refused;
	u64 read;
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct hw_hints_counters);
} hw_hints SEC(".maps");

static __always_inline struct hw_hints_counters *hw_counters(void)
{
	u32 zero = 0;

	return bpf_map_lookup_elem(&hw_hints, &zero);
}

static __always_inline int hw_is_ours(const struct bpf_sockopt *ctx)
{
	return ctx->level == HW_IPPROTO_TCP && ctx->optname >= TCP_APPLICATION_TYPE &&
	       ctx->optname <= TCP_STARTUP_INFO;
}

static __always_inline int hw_refuse(int error)
{
	struct hw_hints_counters *counters = hw_counters();

	if (counters)
		counters->refused++;
	bpf_set_retval(-error);
	return HW_REFUSED;
}

static __always_inline void hw_peer(struct hw_prefix *peer, const struct bpf_sock *sk)
{
	u32 ipv4 = sk->dst_ip4;

	/* Load this address before the branch. If the compiler merged the loads of both branches
	 * into one, the verifier would not know the offset of the load. */
	barrier_var(ipv4);
	if (sk->family == HW_AF_INET6) {
		peer->bits = 128;
		peer->address[0] = sk->dst_ip6[0];
		peer->address[1] = sk->dst_ip6[1];
		peer->address[2] = sk->dst_ip6[2];
		peer->address[3] = sk->dst_ip6[3];
	} else {
		hw_peer_ipv4(peer, ipv4);
	}
}

static __always_inline u64 hw_sent_bytes(struct bpf_sock *sk)
{
	struct bpf_tcp_sock *tp = bpf_tcp_sock(sk);

	return tp ? tp->bytes_acked + (u32)(tp->snd_nxt - tp->snd_una) : 0;
}

SEC("cgroup/setsockopt")
int hw_hints_set(struct bpf_sockopt *ctx)
{
	struct hw_hints_counters *counters;
	void *end = ctx->optval_end;
	u32 *low = ctx->optval;
	u32 option = ctx->optname;
	s32 length = ctx->optlen;
	struct bpf_sock *sk = ctx->sk;
	struct hw_app *app;
	u64 value;

	/* Load optlen only once. If the compiler merged the loads of several branches, the verifier
	 * would not know the offset of the load. */
	barrier_var(length);
	if (!hw_is_ours(ctx)) {
		/* the program sees only the first page of a longer value; an optlen of 0 makes
		 * the kernel use the caller's whole value */
		if (ctx->optlen > HW_PAGE_BYTES)
			ctx->optlen = 0;
		return HW_KERNEL_DOES_IT;
	}
	if (length < 0)
		return HW_KERNEL_DOES_IT; /* this program at a descendant cgroup did it */
	if (!sk || sk->protocol != HW_IPPROTO_TCP || option == TCP_STARTUP_INFO)
		return hw_refuse(HW_EINVAL);
	if (length == sizeof(u64) && (void *)(low + 2) <= end)
		value = *(u64 *)low;
	else if (length == sizeof(u32) && (void *)(low + 1) <= end)
		value = *low;
	else
		return hw_refuse(HW_EINVAL);
	app = bpf_sk_storage_get(&hw_app, sk, 0, 1);
	if (!app)
		return hw_refuse(HW_ENOMEM);
	switch (option) {
	case TCP_APPLICATION_TYPE:
		if (value > TCP_APPLICATION_LOWPRIORITY)
			return hw_refuse(HW_EINVAL);
		app->type = value;
		app->given |= HW_APP_TYPE;
		break;
	case TCP_INITIAL_RATE:
		app->rate_Bps = value >> 3;
		if (value)
			app->given |= HW_APP_RATE;
		else
			app->given &= ~HW_APP_RATE;
		break;
	case TCP_STABILIZE_THROUGHPUT:
		if (value > 1)
			return hw_refuse(HW_EINVAL);
		app->stabilize = value;
		break;
	case TCP_DATA_VOLUME:
		app->volume_bytes = value;
		app->volume_from_bytes = hw_sent_bytes(sk);
		break;
	case TCP_DEADLINE:
		if (value > HW_U32_MAX)
			return hw_refuse(HW_EINVAL);
		app->deadline_ns = value ? bpf_ktime_get_ns() + value * 1000000 : 0;
		break;
	}
	counters = hw_counters();
	if (counters)
		counters->set[option & 7]++;
	ctx->optlen = -1; /* makes the kernel skip its own handler */
	return HW_KERNEL_DOES_IT;
}

static __always_inline u32 hw_deadline_ms(const struct hw_app *app)
{
	u64 now_ns = bpf_ktime_get_ns();

	return app->deadline_ns > now_ns ? hw_saturate_u32((app->deadline_ns - now_ns) / 1000000)
					 : 0;
}

static __always_inline u64 hw_value_of(const struct hw_app *app, u32 option)
{
	switch (option) {
	case TCP_APPLICATION_TYPE:
		return hw_app_type(app);
	case TCP_INITIAL_RATE:
		return hw_app_grant(app) == TCP_GRANT_GRANTED ? app->granted_rate_Bps * 8 : 0;
	case TCP_STABILIZE_THROUGHPUT:
		return app->stabilize;
	case TCP_DATA_VOLUME:
		return app->volume_bytes;
	case TCP_DEADLINE:
		return hw_deadline_ms(app);
	}
	return 0;
}

SEC("cgroup/getsockopt")
int hw_hints_get(struct bpf_sockopt *ctx)
{
	struct hw_hints_counters *counters;
	struct tcp_startup_info *info = ctx->optval;
	void *end = ctx->optval_end;
	u32 *low = ctx->optval;
	struct bpf_sock *sk = ctx->sk;
	struct hw_app empty = {};
	struct hw_app *app;
	struct hw_prefix peer;
	s32 result = ctx->retval;
	u64 value;

	barrier_var(result);
	if (!hw_is_ours(ctx)) {
		if (ctx->optlen > HW_PAGE_BYTES)
			ctx->optlen = 0;
		return HW_KERNEL_DOES_IT;
	}
	/* a result of 0: the same program at a descendant cgroup has answered this call */
	if (!sk || sk->protocol != HW_IPPROTO_TCP || result == 0)
		return HW_KERNEL_DOES_IT;
	app = bpf_sk_storage_get(&hw_app, sk, 0, 0);
	if (!app)
		app = &empty;
	if (!app->settled) {
		empty = *app;
		hw_peer(&peer, sk);
		hw_app_settle(&empty, &peer);
		app = &empty;
	}
	if (ctx->optname == TCP_STARTUP_INFO) {
		if (ctx->optlen < (s32)sizeof(*info) || (void *)(info + 1) > end)
			return hw_refuse(HW_EINVAL);
		info->asked_bps = hw_app_asked_Bps(app) * 8;
		info->granted_bps = hw_value_of(app, TCP_INITIAL_RATE);
		info->volume_bytes = app->volume_bytes;
		info->deadline_ms = hw_deadline_ms(app);
		info->application_type = hw_app_type(app);
		info->stabilize_throughput = app->stabilize;
		info->grant = hw_app_grant(app);
		info->from_application = (app->given & HW_APP_RATE) != 0;
		info->started_bps = app->started_rate_Bps * 8;
		ctx->optlen = sizeof(*info);
	} else {
		value = hw_value_of(app, ctx->optname);
		if (ctx->optlen >= (s32)sizeof(u64) && (void *)(low + 2) <= end) {
			*(u64 *)low = value;
			ctx->optlen = sizeof(u64);
		} else if (ctx->optlen >= (s32)sizeof(u32) && (void *)(low + 1) <= end) {
			*low = hw_saturate_u32(value);
			ctx->optlen = sizeof(u32);
		} else {
			return hw_refuse(HW_EINVAL);
		}
	}
	counters = hw_counters();
	if (counters)
		counters->read++;
	ctx->retval = 0;
	return HW_KERNEL_DOES_IT;
}

char hw_license[] SEC("license") = "Dual BSD/GPL";
