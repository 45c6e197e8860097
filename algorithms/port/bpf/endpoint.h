/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/*
 * Sends and receives a control's header (../header.h) at the endpoints, as a TCP option or in
 * the two ECN bits (HW_IN_ECN_BITS, ecn_bits.h). The kernel calls this program when a socket of
 * the cgroup makes a packet, and when an option arrives that the kernel does not know. The
 * program is part of the control's object and finds the control's state in the same storage. It
 * calls on_send for every buffer that leaves; packets that share a buffer also share the
 * header. Feedback waits in the socket's storage until the control's next call. A receiver does
 * not need the control: any socket of the cgroup answers in a TCP option, which the header's
 * reflect fills in. For a header in a TCP option, TTL, ECN bits and identification of the
 * arrived packet are not known here: reflect gets zeros.
 */
#include "hook.h"
#include "outgoing.h"

/* The control's name in the kernel. headwayctl finds by it which eBPF objects belong to the same
 * control. */
const volatile char hw_attached_name[16] = "";

enum {
	HW_OPS_ACTIVE = 4, /* BPF_SOCK_OPS_ACTIVE_ESTABLISHED_CB */
	HW_OPS_PASSIVE = 5,
	HW_OPS_PARSE = 13, /* BPF_SOCK_OPS_PARSE_HDR_OPT_CB */
	HW_OPS_LENGTH = 14,
	HW_OPS_WRITE = 15,

	HW_ON_UNKNOWN = 1 << 5, /* BPF_SOCK_OPS_PARSE_UNKNOWN_HDR_OPT_CB_FLAG */
	HW_ON_WRITE = 1 << 6,	/* BPF_SOCK_OPS_WRITE_HDR_OPT_CB_FLAG */

	HW_FOR_MSS = 1, /* BPF_WRITE_HDR_TCP_CURRENT_MSS: the MSS is computed, no packet is made */
	HW_SOL_TCP = 6,
	HW_SOCK_OPS_FLAGS = 1008, /* TCP_BPF_SOCK_OPS_CB_FLAGS, since Linux 6.12 */

	HW_EXPERIMENT_1 = 253, /* TCP options of kinds 253 and 254 have an identifier (RFC 6994) */
	HW_EXPERIMENT_2 = 254,
};

/* The sockops callbacks that every socket requests when its connection is established. A socket
 * that has to answer ECN bits could not request them later. */
#ifdef HW_IN_ECN_BITS
#define HW_FROM_THE_START (HW_ON_UNKNOWN | HW_ON_WRITE)
#else
#define HW_FROM_THE_START HW_ON_UNKNOWN
#endif

#define HW_FIELDS_WORDS (HW_FIELDS_MAX_BYTES / 8)

/* The state of a socket as sender and receiver of the header. */
struct hw_carried {
	u64 sends[HW_FIELDS_WORDS];    /* header fields for the packet that the socket is making */
	u64 held[HW_FIELDS_WORDS];     /* fields of the next answer to the peer, if one is due */
	u64 feedback[HW_FIELDS_WORDS]; /* fields of the latest answer from the peer */
	u8 own;			       /* 1: the socket's control owns the header */
	u8 routers; /* what the control last reported about routers (enum hw_routers) */
	u8 fresh;   /* 1: the control has not received the feedback yet */
	/* 1: room for the header is reserved in the packet that the socket is making */
	u8 reserved;
	u8 unused[4];
};

struct {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, 1); /* BPF_F_NO_PREALLOC */
	__type(key, int);
	__type(value, struct hw_carried);
} hw_carried SEC(".maps");

/* headwayctl reads these fields' names from the BTF type information of this object. */
struct hw_carried_counters {
	u64 sent;     /* buffers that left with the header */
	u64 answered; /* buffers that left with an answer */
	u64 arrived;
	u64 fed_back; /* answers from peers that were passed to the control */
	u64 no_room;
	u64 not_begun; /* connections whose packets cannot have the header (before Linux 6.12) */
	u64 alone;     /* connections that use the loss-based law now, because no router answers */
#ifdef HW_IN_ECN_BITS
	/* buffers that left without the header, because TCP uses the bits for ECN */
	u64 ecn_agreed;
#endif
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct hw_carried_counters);
} hw_carried_cnt SEC(".maps");

/* The latest answer that any socket of this host received, for `headwayctl status`. */
struct hw_carried_last {
	u64 now_ns; /* CLOCK_MONOTONIC; 0: no answer has arrived yet */
	u64 feedback[HW_FIELDS_WORDS];
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct hw_carried_last);
} hw_carried_last SEC(".maps");

#define HW_ADD_CARRIED(field, by)                                       \
	do {                                                            \
		u32 hw_zero = 0;                                        \
		struct hw_carried_counters *hw_cpu =                    \
			bpf_map_lookup_elem(&hw_carried_cnt, &hw_zero); \
                                                                        \
		if (hw_cpu)                                             \
			hw_cpu->field += (by);                          \
	} while (0)
#define HW_COUNT_CARRIED(field) HW_ADD_CARRIED(field, 1)

/* From now on the socket's packets carry the header, if its cgroup has the program. */
HW_INLINE void hw_begin_to_carry(struct sock *sk)
{
	struct hw_carried *carried = bpf_sk_storage_get(&hw_carried, sk, 0, 1);
	int flags = ((struct tcp_sock *)sk)->bpf_sock_ops_cb_flags | HW_ON_UNKNOWN | HW_ON_WRITE;

	if (!carried)
		return;
	carried->own = 1;
	if (bpf_setsockopt(sk, HW_SOL_TCP, HW_SOCK_OPS_FLAGS, &flags, sizeof(flags)) != 0)
		HW_COUNT_CARRIED(not_begun);
}

HW_INLINE void hw_end_carrying(struct sock *sk)
{
	struct hw_carried *carried = bpf_sk_storage_get(&hw_carried, sk, 0, 0);

	if (!carried)
		return;
	if (carried->routers == HW_ROUTERS_ABSENT)
		HW_ADD_CARRIED(alone, -1);
	carried->own = 0;
	carried->routers = HW_ROUTERS_UNKNOWN;
}

/* Saves what the control has reported about routers on the path (enum hw_routers). */
HW_INLINE void hw_note_routers(const struct hw_call *call)
{
	u8 routers = call->conn.routers;
	struct hw_carried *carried;

	if (routers == HW_ROUTERS_UNKNOWN)
		return;
	carried = bpf_sk_storage_get(&hw_carried, call->sk, 0, 0);
	if (!carried || carried->routers == routers)
		return;
	if (routers == HW_ROUTERS_ABSENT)
		HW_ADD_CARRIED(alone, 1);
	else if (carried->routers == HW_ROUTERS_ABSENT)
		HW_ADD_CARRIED(alone, -1);
	carried->routers = routers;
}

/* Passes to the control the latest answer from the peer that has arrived since the control's
 * last call. */
HW_INLINE void hw_deliver_feedback(struct hw_call *call)
{
	struct hw_carried *carried = bpf_sk_storage_get(&hw_carried, call->sk, 0, 0);

	if (!carried || !carried->fresh)
		return;
	carried->fresh = 0;
	HW_COUNT_CARRIED(fed_back);
	hw_part_cc_on_feedback(call->cc_state, HW_CC_TUN, &call->conn, carried->feedback);
}

HW_INLINE u32 hw_ask_control(struct bpf_sock *sk, struct hw_carried *carried)
{
	struct tcp_sock *tp = bpf_skc_to_tcp_sock(sk);
	struct hw_call call;

	if (!tp || !hw_begin(&call, (struct sock *)tp))
		return 0;
	return hw_part_cc_on_send(call.cc_state, HW_CC_TUN, &call.conn, carried->sends);
}

/* Whether this socket's TCP option is an answer. It is one if the header is in the ECN bits, or
 * if the socket's control does not own the header. */
#ifdef HW_IN_ECN_BITS
#define HW_OPTION_ANSWERS(carried) 1
#else
#define HW_OPTION_ANSWERS(carried) (!(carried)->own)
#endif

/* Adds an arrived header to the answer that the socket's next packet will carry. If an answer is
 * still waiting to leave (held), the header is added to that answer; otherwise a new answer
 * begins. */
HW_INLINE u32 hw_prepare_answer(struct hw_carried *carried, struct hw_outgoing *out,
				const u64 *fields, const struct hw_arrival *how)
{
	u32 is_answer = HW_OPTION_ANSWERS(carried);
	u8 bytes[HW_OPTION_MAX_BYTES] = {};

	if (!out->due)
		__builtin_memset(carried->held, 0, sizeof(carried->held));
	if (!hw_part_header_reflect(carried->held, fields, how))
		return 0;
	hw_part_header_emit(is_answer, carried->held, bytes);
	__builtin_memcpy(out->option, bytes, sizeof(bytes));
	out->option_bytes = hw_part_header_wire_bytes(is_answer);
	out->due = 1;
	return 1;
}

#ifdef HW_IN_ECN_BITS
#include "ecn_bits.h"
#endif

/* Decides whether the packet that the socket is making carries a header or an answer, and
 * reserves room for it. */
HW_INLINE void hw_reserve(struct bpf_sock_ops *ops, struct bpf_sock *sk, struct hw_carried *carried,
			  struct hw_outgoing *out)
{
	u32 is_answer = HW_OPTION_ANSWERS(carried);
	u32 wire_bytes = hw_part_header_wire_bytes(is_answer);
	u32 goes = out && out->due;

	carried->reserved = 0;
	if (ops->args[0] == HW_FOR_MSS) {
		if (!is_answer)
			bpf_reserve_hdr_opt(ops, wire_bytes, 0);
		return;
	}
#ifdef HW_IN_ECN_BITS
	hw_choose_bits(ops, sk, carried);
#endif
	if (goes)
		__builtin_memcpy(carried->sends, carried->held, sizeof(carried->sends));
	else
		__builtin_memset(carried->sends, 0, sizeof(carried->sends));
	if (!is_answer && ops->skb_len)
		goes |= hw_ask_control(sk, carried);
	if (!goes)
		return;
	/* if the socket's control owns the header, segments become smaller to make room for the
	 * header; other sockets delay their answer until a packet has room */
	if (is_answer && ops->skb_len + wire_bytes > ops->mss_cache)
		return;
	if (bpf_reserve_hdr_opt(ops, wire_bytes, 0) != 0) {
		HW_COUNT_CARRIED(no_room);
		return;
	}
	carried->reserved = 1;
}

HW_INLINE void hw_write(struct bpf_sock_ops *ops, struct hw_carried *carried,
			struct hw_outgoing *out)
{
	u32 is_answer = HW_OPTION_ANSWERS(carried);
	u32 wire_bytes = hw_part_header_wire_bytes(is_answer);
	u8 bytes[HW_OPTION_MAX_BYTES] = {};

	if (!carried->reserved || wire_bytes == 0 || wire_bytes > HW_OPTION_MAX_BYTES)
		return;
	carried->reserved = 0;
	hw_part_header_emit(is_answer, carried->sends, bytes);
	if (bpf_store_hdr_opt(ops, bytes, wire_bytes, 0) != 0)
		return;
#ifndef HW_IN_ECN_BITS
	HW_COUNT_CARRIED(sent);
#endif
	if (out && out->due) {
		HW_COUNT_CARRIED(answered);
		out->due = 0;
	}
}

/* Decodes the header, or with is_answer the header of answers. Returns 0 if the packet has
 * none. */
HW_INLINE u32 hw_read(struct bpf_sock_ops *ops, u32 is_answer, u64 *fields)
{
	u8 bytes[HW_OPTION_MAX_BYTES] = {};
	long found;

	/* the kernel finds an option by its kind, or if bytes[1] is 4 also by the identifier of
	 * RFC 6994 */
	hw_part_header_emit(is_answer, fields, bytes);
	bytes[1] = bytes[0] == HW_EXPERIMENT_1 || bytes[0] == HW_EXPERIMENT_2 ? 4 : 0;
	found = bpf_load_hdr_opt(ops, bytes, sizeof(bytes), 0);
	if (found != hw_part_header_wire_bytes(is_answer))
		return 0;
	return hw_part_header_parse(is_answer, bytes, fields);
}

#ifndef HW_IN_ECN_BITS
/* Prepares an answer to an arrived header. A socket whose control owns the header answers only
 * if the header has fields for the answer. */
HW_INLINE void hw_reflect(struct bpf_sock_ops *ops, struct bpf_sock *sk, struct hw_carried *carried,
			  const u64 *fields)
{
	struct hw_arrival how = {};
	struct hw_outgoing *out;

	/* estimates how many packets GRO merged, as if the peer's segments were as large as
	 * ours */
	how.pkts = ops->mss_cache ? hw_max_u32(ops->skb_len / ops->mss_cache, 1) : 1;
	if (carried && carried->own && !hw_part_header_answers_itself())
		return;
	if (!carried)
		carried = bpf_sk_storage_get(&hw_carried, sk, 0, 1);
	out = bpf_sk_storage_get(&hw_outgoing, sk, 0, 1);
	if (carried && out && hw_prepare_answer(carried, out, fields, &how))
		bpf_sock_ops_cb_flags_set(ops, ops->bpf_sock_ops_cb_flags | HW_ON_WRITE);
}
#endif

HW_INLINE void hw_keep_last(const u64 *fields)
{
	u32 zero = 0;
	struct hw_carried_last *last = bpf_map_lookup_elem(&hw_carried_last, &zero);

	if (!last)
		return;
	last->now_ns = bpf_ktime_get_ns();
	__builtin_memcpy(last->feedback, fields, sizeof(last->feedback));
}

HW_INLINE void hw_arrived(struct bpf_sock_ops *ops, struct bpf_sock *sk, struct hw_carried *carried)
{
	u64 fields[HW_FIELDS_WORDS] = {};

	if (carried && carried->own && hw_read(ops, 1, fields)) {
		__builtin_memcpy(carried->feedback, fields, sizeof(fields));
		carried->fresh = 1;
		hw_keep_last(fields);
	}
#ifndef HW_IN_ECN_BITS
	__builtin_memset(fields, 0, sizeof(fields));
	if (hw_read(ops, 0, fields)) {
		HW_COUNT_CARRIED(arrived);
		hw_reflect(ops, sk, carried, fields);
	}
#endif
}

SEC("sockops")
int hw_endpoint(struct bpf_sock_ops *ops)
{
	struct bpf_sock *sk = ops->sk;
	struct hw_carried *carried;
	struct hw_outgoing *out;

	if (!sk)
		return 1;
	carried = bpf_sk_storage_get(&hw_carried, sk, 0, 0);
	out = bpf_sk_storage_get(&hw_outgoing, sk, 0, 0);
	switch (ops->op) {
	case HW_OPS_ACTIVE:
	case HW_OPS_PASSIVE:
		bpf_sock_ops_cb_flags_set(ops, ops->bpf_sock_ops_cb_flags | HW_FROM_THE_START);
		break;
	case HW_OPS_PARSE:
		hw_arrived(ops, sk, carried);
		break;
	case HW_OPS_LENGTH:
		if (carried)
			hw_reserve(ops, sk, carried, out);
		break;
	case HW_OPS_WRITE:
		if (carried)
			hw_write(ops, carried, out);
		break;
	}
	return 1;
}
