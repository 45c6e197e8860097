// SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only)
/*
 * Enlarges the receive window of a connection's first round trip, at a host's device (Scharf,
 * "Fast Startup Internet Congestion Control", 2011, sections 5.2.3 and 5.2.4):
 *
 *   towards the peer:	sends an extra ACK with a scaled window right after our SYN-ACK,
 *			because the unscaled window of a SYN-ACK is at most 65,535 bytes
 *   from the peer:	enlarges the window in the peer's packets until the peer has
 *			acknowledged data, so our TCP sends more than the peer announced
 *
 * The extra ACK is a copy of the SYN-ACK without SYN. IPv4 only. Attach it before the programs
 * of Quick-Start at the same device, because they count packets.
 */
#include "port/bpf/hook.h"
#include "port/bpf/segment.h"
#include "port/bpf/quick_start_flow.h"

#define HW_SCALE_OPTION	 3
#define HW_SCALE_BYTES	 3
#define HW_LARGEST_SCALE 14
#define HW_CLONE_MARK	 0x48570007 /* skb->mark of the copy of a SYN-ACK */

/* headwayctl sets these windows before it loads the programs. 0 bytes switches off the extra ACK,
 * or the larger peer's window. */
const volatile u32 hw_netns = 0;
const volatile u32 hw_own_window_bytes = 0;
const volatile u32 hw_peer_window_bytes = 0;

/* headwayctl reads the names of these counters from the object's type information. */
struct hw_window_counters {
	u64 extra_acks;
	u64 raised; /* peers' packets whose window was enlarged */
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct hw_window_counters);
} hw_window_cnt SEC(".maps");

/* State of a connection, which is kept until the peer has acknowledged data. */
struct hw_handshake {
	u32 first_seq; /* sequence number of our SYN or SYN-ACK */
	u8 scale;      /* window scale (shift count) of the peer */
	u8 opened;     /* whether first_seq is known */
	u8 unused[2];
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 16384);
	__type(key, struct hw_qs_key);
	__type(value, struct hw_handshake);
} hw_handshakes SEC(".maps");

#define HW_COUNT_UP(field)                                                                         \
	do {                                                                                       \
		u32 hw_zero = 0;                                                                   \
		struct hw_window_counters *hw_cpu = bpf_map_lookup_elem(&hw_window_cnt, &hw_zero); \
                                                                                                   \
		if (hw_cpu)                                                                        \
			hw_cpu->field++;                                                           \
	} while (0)

/* Returns the window scale (shift count) of a SYN or SYN-ACK; -1 without that option. */
static __always_inline int hw_read_scale(struct __sk_buff *skb, const struct hw_segment *s)
{
	u8 bytes[HW_OPTIONS_ROOM];
	u32 length = hw_read_options(skb, s->tcp_offset + sizeof(s->tcp),
				     s->tcp_bytes - sizeof(s->tcp), bytes);
	int at = hw_find_option(bytes, length, HW_SCALE_OPTION, HW_SCALE_BYTES);

	if (at < 0 || at > HW_OPTIONS_BYTES - HW_SCALE_BYTES)
		return -1;
	return hw_min_u32(bytes[at + 2], HW_LARGEST_SCALE);
}

/* Replaces two bytes of the TCP header, given in network byte order, and updates the checksum. */
static __always_inline void hw_replace(struct __sk_buff *skb, const struct hw_segment *s,
				       u32 offset, u16 before, u16 after)
{
	bpf_l4_csum_replace(skb, s->tcp_offset + __builtin_offsetof(struct hw_tcp, checksum),
			    before, after, sizeof(after));
	bpf_skb_store_bytes(skb, s->tcp_offset + offset, &after, sizeof(after), 0);
}

/* Sends a copy of the SYN-ACK, and turns the original into an ACK with a scaled window. */
static __always_inline void hw_send_syn_ack_copy(struct __sk_buff *skb, const struct hw_segment *s,
						 u32 scale)
{
	u16 window = bpf_htons(hw_min_u32(hw_own_window_bytes >> scale, 0xffff));
	u32 checksum = s->tcp_offset + __builtin_offsetof(struct hw_tcp, checksum);
	u32 mark = skb->mark;
	u32 seq = bpf_htonl(bpf_ntohl(s->tcp.seq) + 1);
	u16 before, after;
	long failed;

	skb->mark = HW_CLONE_MARK;
	failed = bpf_clone_redirect(skb, skb->ifindex, 0);
	skb->mark = mark;
	if (failed)
		return;
	bpf_l4_csum_replace(skb, checksum, s->tcp.seq, seq, sizeof(seq));
	bpf_skb_store_bytes(skb, s->tcp_offset + __builtin_offsetof(struct hw_tcp, seq), &seq,
			    sizeof(seq), 0);
	before = bpf_htons(s->tcp.length << 8 | s->tcp.flags);
	after = bpf_htons(s->tcp.length << 8 | HW_TCP_ACK);
	hw_replace(skb, s, __builtin_offsetof(struct hw_tcp, length), before, after);
	hw_replace(skb, s, __builtin_offsetof(struct hw_tcp, window), s->tcp.window, window);
	HW_COUNT_UP(extra_acks);
}

SEC("tcx/egress")
int hw_window_out(struct __sk_buff *skb)
{
	struct hw_handshake fresh = {};
	struct hw_handshake *known;
	struct hw_segment s;
	struct hw_qs_key key;
	int scale;

	if (skb->mark == HW_CLONE_MARK) {
		skb->mark = 0;
		return HW_NEXT_PROGRAM;
	}
	if (!hw_read_segment(skb, &s) || !(s.tcp.flags & HW_TCP_SYN))
		return HW_NEXT_PROGRAM;
	if (hw_peer_window_bytes) {
		hw_key_out(&key, hw_netns, &s);
		known = bpf_map_lookup_elem(&hw_handshakes, &key);
		if (known)
			fresh.scale = known->scale;
		fresh.first_seq = bpf_ntohl(s.tcp.seq);
		fresh.opened = 1;
		bpf_map_update_elem(&hw_handshakes, &key, &fresh, 0);
	}
	if (hw_own_window_bytes && s.tcp.flags & HW_TCP_ACK) {
		scale = hw_read_scale(skb, &s);
		if (scale >= 0)
			hw_send_syn_ack_copy(skb, &s, scale);
	}
	return HW_NEXT_PROGRAM;
}

SEC("tcx/ingress")
int hw_window_in(struct __sk_buff *skb)
{
	struct hw_handshake fresh = {};
	struct hw_handshake *known;
	struct hw_segment s;
	struct hw_qs_key key;
	u32 is_syn, scale, window;
	int own;

	if (!hw_peer_window_bytes || !hw_read_segment(skb, &s))
		return HW_NEXT_PROGRAM;
	hw_key_in(&key, hw_netns, &s);
	is_syn = s.tcp.flags & HW_TCP_SYN;
	known = bpf_map_lookup_elem(&hw_handshakes, &key);
	if (is_syn) {
		own = hw_read_scale(skb, &s);
		fresh.scale = own > 0 ? own : 0;
		if (known && s.tcp.flags & HW_TCP_ACK)
			known->scale = fresh.scale;
		else
			bpf_map_update_elem(&hw_handshakes, &key, &fresh, 0);
	}
	if (!known || !known->opened || !(s.tcp.flags & HW_TCP_ACK) || s.tcp.flags & HW_TCP_RST)
		return HW_NEXT_PROGRAM;
	if (bpf_ntohl(s.tcp.ack) != known->first_seq + 1) {
		bpf_map_delete_elem(&hw_handshakes, &key);
		return HW_NEXT_PROGRAM;
	}
	/* the window of a SYN-ACK is not scaled */
	scale = is_syn ? 0 : hw_min_u32(known->scale, HW_LARGEST_SCALE);
	window = hw_min_u32(hw_peer_window_bytes >> scale, 0xffff);
	if (bpf_ntohs(s.tcp.window) >= window)
		return HW_NEXT_PROGRAM;
	hw_replace(skb, &s, __builtin_offsetof(struct hw_tcp, window), s.tcp.window,
		   bpf_htons(window));
	HW_COUNT_UP(raised);
	return HW_NEXT_PROGRAM;
}

char hw_license[] SEC("license") = "Dual BSD/GPL";
