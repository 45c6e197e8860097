/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/*
 * Finds the header of a router's algorithm (../header.h) in an outgoing packet, among the
 * options or in the two ECN bits, and decodes it. If the algorithm changed the header, writes
 * it back and updates the checksum. HW_ROUTER is the algorithm's table.
 */
#ifndef HEADWAY_PORT_BPF_ROUTER_HEADER_H
#define HEADWAY_PORT_BPF_ROUTER_HEADER_H

#include "hook.h"
#include "packet.h"
#include "../router.h"

/* A packet's header: where it is, its bytes and its decoded fields. */
struct hw_found {
	struct hw_ipv4 ip;
	struct hw_ports ports;
	u32 options_at; /* in the packet */
	u32 options_bytes;
	u32 checksum_at;
	u32 at; /* offset of the header among the options */
	u8 options[HW_OPTIONS_ROOM];
	u8 came[HW_OPTION_MAX_BYTES]; /* the arrived fields, encoded */
	u64 fields[HW_FIELDS_MAX_BYTES / 8];
};

#define HW_CARRIER     (HW_ROUTER.header ? HW_ROUTER.header->carrier : HW_IP_OPTION)
#define HW_WIRE_BYTES  (HW_ROUTER.header ? HW_ROUTER.header->wire_bytes : 4)
#define HW_WHOLE_WORDS ((HW_WIRE_BYTES + 3) & ~3)

/* Finds the IP options or the TCP options, depending on where the algorithm's header is. Returns
 * whether the packet has any. */
static __always_inline int hw_find_options(struct __sk_buff *skb, struct hw_found *found)
{
	u32 ip_bytes = hw_ipv4_length(&found->ip);
	struct hw_tcp tcp;

	found->options_at = hw_link_header_bytes + HW_IPV4_BYTES;
	found->options_bytes = ip_bytes - HW_IPV4_BYTES;
	found->checksum_at = hw_link_header_bytes + __builtin_offsetof(struct hw_ipv4, checksum);
	if (HW_CARRIER == HW_IP_OPTION)
		return found->options_bytes > 0;
	if (found->ip.protocol != HW_IPPROTO_TCP ||
	    found->ip.fragment & bpf_htons(HW_FRAGMENT_MASK) ||
	    bpf_skb_load_bytes(skb, hw_link_header_bytes + ip_bytes, &tcp, sizeof(tcp)) != 0)
		return 0;
	found->options_at = hw_link_header_bytes + ip_bytes + sizeof(tcp);
	found->options_bytes = (tcp.length >> 4) * 4 - sizeof(tcp);
	found->checksum_at =
		hw_link_header_bytes + ip_bytes + __builtin_offsetof(struct hw_tcp, checksum);
	return (tcp.length >> 4) * 4 > sizeof(tcp);
}

/* Returns whether the header is the first IP option. This is the usual case and avoids a search. */
static __always_inline int hw_header_is_first(struct __sk_buff *skb, struct hw_found *found)
{
	u8 *ip = (u8 *)(long)skb->data + hw_link_header_bytes;
	u8 *end = (u8 *)(long)skb->data_end;

	if (HW_CARRIER != HW_IP_OPTION || found->options_bytes < HW_WIRE_BYTES ||
	    ip + HW_IPV4_BYTES + HW_WIRE_BYTES > end || ip + (*ip & 15) * 4 > end ||
	    ip[HW_IPV4_BYTES] != HW_ROUTER.header->kind || ip[HW_IPV4_BYTES + 1] != HW_WIRE_BYTES)
		return 0;
	__builtin_memcpy(found->options, ip + HW_IPV4_BYTES, HW_WIRE_BYTES);
	found->at = 0;
	return 1;
}

/*
 * Returns whether these bytes are the algorithm's header, and decodes them. Also saves the fields
 * in encoded form, so that hw_encode() writes the header only if the algorithm has changed a field.
 */
static __always_inline int hw_parse(struct hw_found *found, const u8 *bytes)
{
	if (!HW_ROUTER.header->parse(bytes, found->fields))
		return 0;
	HW_ROUTER.header->emit(found->fields, found->came);
	return 1;
}

/* Finds and decodes the algorithm's header. Returns whether the packet has it. */
static __always_inline int hw_decode(struct __sk_buff *skb, struct hw_found *found)
{
	u32 length, at;

	if (!HW_ROUTER.header)
		return 0;
	if (HW_CARRIER == HW_ECN_BITS) {
		found->options[0] = found->ip.tos & 3;
		return hw_parse(found, found->options);
	}
	if (!hw_find_options(skb, found))
		return 0;
	if (hw_header_is_first(skb, found))
		return hw_parse(found, found->options);
	length = hw_read_options(skb, found->options_at, found->options_bytes, found->options);
	at = hw_find_option(found->options, length, HW_ROUTER.header->kind, HW_WIRE_BYTES);
	barrier_var(at);
	if (at > HW_OPTIONS_BYTES - HW_WIRE_BYTES)
		return 0;
	found->at = at;
	return hw_parse(found, found->options + at);
}

/*
 * Writes the header back if the algorithm changed it, and updates the checksum. Bits that
 * belong to no field keep their values. Returns whether anything changed.
 */
static __always_inline int hw_encode(struct __sk_buff *skb, struct hw_found *found)
{
	u8 goes_on[HW_OPTION_MAX_BYTES] = {};
	u8 options[HW_OPTIONS_ROOM];
	u8 tos, changed = 0;
	u32 at = found->at, i;
	s64 difference;

	HW_ROUTER.header->emit(found->fields, goes_on);
	if (HW_CARRIER == HW_ECN_BITS) {
		tos = (found->ip.tos & ~3) | (goes_on[0] & 3);
		if (tos == found->ip.tos)
			return 0;
		bpf_l3_csum_replace(
			skb, hw_link_header_bytes + __builtin_offsetof(struct hw_ipv4, checksum),
			bpf_htons(found->ip.tos), bpf_htons(tos), 2);
		bpf_skb_store_bytes(skb,
				    hw_link_header_bytes + __builtin_offsetof(struct hw_ipv4, tos),
				    &tos, 1, 0);
		return 1;
	}
	__builtin_memcpy(options, found->options, sizeof(options));
	barrier_var(at);
	if (at > HW_OPTIONS_BYTES - HW_WIRE_BYTES)
		return 0;
#pragma unroll
	for (i = 0; i < HW_WIRE_BYTES; i++) {
		options[at + i] ^= found->came[i] ^ goes_on[i];
		changed |= found->came[i] ^ goes_on[i];
	}
	/* compare bytes, not the difference of checksums: for equal bytes that difference may be
	 * 0 or -0 */
	if (!changed)
		return 0;
	if (at == 0)
		difference = bpf_csum_diff((void *)found->options, HW_WHOLE_WORDS, (void *)options,
					   HW_WHOLE_WORDS, 0);
	else
		difference = bpf_csum_diff((void *)found->options, HW_OPTIONS_BYTES,
					   (void *)options, HW_OPTIONS_BYTES, 0);
	bpf_skb_store_bytes(skb, found->options_at + at, options + at, HW_WIRE_BYTES, 0);
	if (HW_CARRIER == HW_IP_OPTION)
		bpf_l3_csum_replace(skb, found->checksum_at, 0, difference, 0);
	else
		bpf_l4_csum_replace(skb, found->checksum_at, 0, difference, 0);
	return 1;
}

#endif
