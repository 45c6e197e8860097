// SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only)
/*
 * A Quick-Start router (RFC 4782, section 3.3) at the device of the link whose capacity
 * is given out: it meters all that is about to join the device's queue, and answers
 * requests by algorithms/router/quick_start.c.
 *
 * Forwarding has taken one off the IP TTL before a packet comes here, so one goes off
 * the QS TTL. Packets of this host's own have lost none, and lose none.
 */
#include "port/bpf/kernel.h"
#include "port/bpf/hook.h"
#include "port/bpf/packet.h"
#include "router/quick_start.c"

#define HW_MAX_TUNABLES 16

/* Set before load; the verifier then knows them as constants. */
const volatile u32 hw_router_tun[HW_MAX_TUNABLES] = {};

struct hw_qs_link {
	struct bpf_spin_lock lock;
	u32 unused;
	struct quick_start state; /* begins with struct hw_qs_status, which headwayctl reads */
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct hw_qs_link);
} hw_qs_links SEC(".maps");

/* Packets and bytes, per CPU; headwayctl knows the order. */
struct hw_qs_traffic {
	u64 packets;
	u64 bytes;
	u64 options; /* packets with a request or report */
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct hw_qs_traffic);
} hw_qs_traffic SEC(".maps");

/* Tells connections apart, the upper half their senders; never 0. */
static __always_inline u64 hw_flow(struct __sk_buff *skb, const struct hw_ipv4 *ip)
{
	struct hw_ports ports = {};
	u32 lower;

	bpf_skb_load_bytes(skb, hw_link_header_bytes + hw_ipv4_length(ip), &ports, sizeof(ports));
	lower = ip->destination * 0x9e3779b1u ^ ((u32)ports.source << 16 | ports.destination);
	return (u64)ip->source << 32 | lower | 1;
}

/* Writes the option back with the header's checksum. */
static __always_inline void hw_put_option(struct __sk_buff *skb, u8 bytes[HW_OPTIONS_ROOM], u32 at,
					  const struct hw_qs_option *option)
{
	u32 window = at & ~3u & 63; /* checksums go by words; an option may lie across them */
	u32 header = hw_link_header_bytes;
	u8 before[HW_QS_BYTES + 4];
	s64 difference;

	if (window > HW_OPTIONS_BYTES || at > HW_OPTIONS_BYTES - HW_QS_BYTES)
		return;
	__builtin_memcpy(before, bytes + window, sizeof(before));
	hw_qs_emit(option, HW_QS_IPV4_OPTION, bytes + at);
	difference = bpf_csum_diff((void *)before, sizeof(before), (void *)(bytes + window),
				   sizeof(before), 0);
	bpf_l3_csum_replace(skb, header + __builtin_offsetof(struct hw_ipv4, checksum), 0,
			    difference, 0);
	bpf_skb_store_bytes(skb, header + HW_IPV4_BYTES + at, bytes + at, HW_QS_BYTES, 0);
}

SEC("tcx/egress")
int hw_qs_router(struct __sk_buff *skb)
{
	struct hw_qs_option option = {}, before;
	struct hw_qs_traffic *traffic;
	struct hw_qs_link *link;
	struct hw_link view = {};
	u8 bytes[HW_OPTIONS_ROOM];
	u32 tun[HW_MAX_TUNABLES];
	struct hw_ipv4 ip;
	u32 ip_bytes, segments, length, i;
	u32 zero = 0;
	u64 flow = 1;
	int at = -1;

	link = bpf_map_lookup_elem(&hw_qs_links, &zero);
	traffic = bpf_map_lookup_elem(&hw_qs_traffic, &zero);
	if (!link || !traffic)
		return HW_NEXT_PROGRAM;
	segments = hw_max_u32(skb->gso_segs, 1);
	ip_bytes = skb->wire_len - segments * hw_link_header_bytes;
	if (hw_read_ipv4(skb, &ip)) {
		flow = hw_flow(skb, &ip);
		if (hw_ipv4_length(&ip) > HW_IPV4_BYTES) {
			length = hw_read_options(skb, hw_link_header_bytes + HW_IPV4_BYTES,
						 hw_ipv4_length(&ip) - HW_IPV4_BYTES, bytes);
			at = hw_find_option(bytes, length, HW_QS_IPV4_OPTION);
			if (at >= 0 && at <= HW_OPTIONS_BYTES - HW_QS_BYTES &&
			    !hw_qs_parse_ipv4(bytes + at, &option))
				at = -1;
		}
	}
	traffic->packets += segments;
	traffic->bytes += ip_bytes;
#pragma unroll
	for (i = 0; i < HW_MAX_TUNABLES; i++)
		tun[i] = hw_router_tun[i];
	view.now_ns = bpf_ktime_get_ns();
	view.rate_Bps = (u64)tun[CAPACITY] * 125;
	view.random = bpf_get_prandom_u32();
	before = option;

	bpf_spin_lock(&link->lock);
	hw_router_quick_start.meter(&link->state, tun, &view, flow, ip_bytes);
	if (at >= 0)
		hw_router_quick_start.quick_start(&link->state, tun, &view, flow, &option);
	bpf_spin_unlock(&link->lock);

	if (at < 0)
		return HW_NEXT_PROGRAM;
	traffic->options++;
	if (option.code && !skb->ingress_ifindex)
		option.ttl = before.ttl;
	if (option.code != before.code || option.ttl != before.ttl || option.nonce != before.nonce)
		hw_put_option(skb, bytes, at, &option);
	return HW_NEXT_PROGRAM;
}

char hw_license[] SEC("license") = "Dual BSD/GPL";
