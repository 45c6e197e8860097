/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/*
 * Headers of a packet in a program at a device, and the search for an option in them. A
 * device's packets may begin with an Ethernet header; headwayctl sets that before load.
 */
#ifndef HEADWAY_PORT_BPF_PACKET_H
#define HEADWAY_PORT_BPF_PACKET_H

#include "kernel.h"
#include "../../header/quick_start.h"

#define HW_IPV4_BYTES	 20
#define HW_IPV4_PLAIN	 0x45 /* the first byte of a header without options */
#define HW_OPTIONS_BYTES 40   /* maximum length of the options in an IPv4 or TCP header */
#define HW_OPTIONS_ROOM	 64   /* size of an options array that every six-bit index fits */
#define HW_PROTOCOL_IPV4 0x0800
#define HW_IPPROTO_TCP	 6
/* nonzero bits: more fragments follow, or this is not the first fragment */
#define HW_FRAGMENT_MASK  0x3fff
#define HW_ROOM_AFTER_IP  0	   /* BPF_ADJ_ROOM_NET */
#define HW_ROOM_KEEP_CSUM (1 << 5) /* BPF_F_ADJ_ROOM_NO_CSUM_RESET */
#define HW_CSUM_PSEUDO	  (1 << 4) /* BPF_F_PSEUDO_HDR */
#define HW_NEXT_PROGRAM	  (-1)	   /* TCX_NEXT */

enum {
	HW_TCP_FIN = 1,
	HW_TCP_SYN = 2,
	HW_TCP_RST = 4,
	HW_TCP_ACK = 16,
};

/* The length of the link-layer header, which precedes the IP header. */
const volatile u32 hw_link_header_bytes = 0;

/* The IPv4 header, in network byte order. */
struct hw_ipv4 {
	u8 version_and_length;
	u8 tos;
	u16 total_bytes;
	u16 id;
	u16 fragment;
	u8 ttl;
	u8 protocol;
	u16 checksum;
	u32 source;
	u32 destination;
};

struct hw_tcp {
	u16 source;
	u16 destination;
	u32 seq;
	u32 ack;
	u8 length; /* header length in 32-bit words, in the upper four bits */
	u8 flags;
	u16 window;
	u16 checksum;
	u16 urgent;
};

/* The ports of TCP, UDP and other protocols that begin with ports. */
struct hw_ports {
	u16 source;
	u16 destination;
};

#define HW_IPV6_BYTES 40
#define HW_SYN_BYTES  128 /* maximum size of a SYN or SYN-ACK */

/* Returns the offset of the TCP header from the start of the IP header, or 0 if the packet is
 * not TCP. */
static __always_inline u32 hw_tcp_after(const u8 *ip)
{
	if (ip[0] >> 4 == 4)
		return ip[9] == HW_IPPROTO_TCP ? (ip[0] & 15) * 4 : 0;
	return ip[0] >> 4 == 6 && ip[6] == HW_IPPROTO_TCP ? HW_IPV6_BYTES : 0;
}

static __always_inline u32 hw_ipv4_length(const struct hw_ipv4 *ip)
{
	return (ip->version_and_length & 15) * 4;
}

/* Returns whether a packet is IPv4 with a valid header, and copies the header to ip. */
static __always_inline int hw_read_ipv4(struct __sk_buff *skb, struct hw_ipv4 *ip)
{
	if (skb->protocol != bpf_htons(HW_PROTOCOL_IPV4))
		return 0;
	if (bpf_skb_load_bytes(skb, hw_link_header_bytes, ip, sizeof(*ip)) != 0)
		return 0;
	return ip->version_and_length >> 4 == 4 && hw_ipv4_length(ip) >= HW_IPV4_BYTES;
}

/*
 * Copies the options of `length` bytes at an offset of the packet, and fills the rest of `bytes`
 * with zeros. Returns the length, or 0 if the length is not valid or the packet is too short.
 */
static __always_inline u32 hw_read_options(struct __sk_buff *skb, u32 offset, u32 length,
					   u8 bytes[HW_OPTIONS_ROOM])
{
	__builtin_memset(bytes, 0, HW_OPTIONS_ROOM);
	if (length == 0 || length > HW_OPTIONS_BYTES)
		return 0;
	barrier_var(length);
	length &= 63;
	if (length == 0 || length > HW_OPTIONS_BYTES)
		return 0;
	if (bpf_skb_load_bytes(skb, offset, bytes, length) != 0)
		return 0;
	return length;
}

/*
 * Returns the offset in the list of the option with this type and length, or -1 if the list has no
 * such option. IP and TCP options have the same list format: type 0 ends the list, type 1 is a
 * single byte, all others have a length. A malformed option ends the list.
 */
static __always_inline int hw_find_option(const u8 bytes[HW_OPTIONS_ROOM], u32 length, u8 type,
					  u32 wanted_bytes)
{
	u32 at = 0;
	u32 i;

	for (i = 0; i < HW_OPTIONS_BYTES; i++) {
		u8 here, size;

		if (at + wanted_bytes > length || at > HW_OPTIONS_BYTES - wanted_bytes)
			return -1;
		here = bytes[at & 63];
		if (here == 0)
			return -1;
		if (here == 1) {
			at++;
			continue;
		}
		size = bytes[(at + 1) & 63];
		if (size < 2)
			return -1;
		if (here == type)
			return size == wanted_bytes ? (int)at : -1;
		at += size;
	}
	return -1;
}

/*
 * Lengthens the TCP header of a packet without data by `bytes`, a multiple of 4, in the packet
 * and in the copies of its headers (but not the checksums of the copies). The caller fills in
 * the new bytes and their checksum. Returns 0 if there is no room.
 */
static __always_inline int hw_lengthen_tcp(struct __sk_buff *skb, struct hw_ipv4 *ip,
					   struct hw_tcp *tcp, u32 tcp_at, u32 bytes)
{
	u32 checksum = tcp_at + __builtin_offsetof(struct hw_tcp, checksum);
	u32 tcp_bytes = (tcp->length >> 4) * 4;
	u16 before, after;

	if (bpf_skb_change_tail(skb, skb->len + bytes, 0) != 0)
		return 0;
	/* update the checksum for the length in the pseudo-header, and for the 16-bit word of
	 * header length and flags */
	bpf_l4_csum_replace(skb, checksum, bpf_htons(tcp_bytes), bpf_htons(tcp_bytes + bytes),
			    HW_CSUM_PSEUDO | 2);
	before = bpf_htons(tcp->length << 8 | tcp->flags);
	tcp->length += (bytes / 4) << 4;
	after = bpf_htons(tcp->length << 8 | tcp->flags);
	bpf_l4_csum_replace(skb, checksum, before, after, 2);
	bpf_skb_store_bytes(skb, tcp_at + __builtin_offsetof(struct hw_tcp, length), &tcp->length,
			    1, 0);
	before = ip->total_bytes;
	ip->total_bytes = bpf_htons(bpf_ntohs(before) + bytes);
	bpf_l3_csum_replace(skb,
			    hw_link_header_bytes + __builtin_offsetof(struct hw_ipv4, checksum),
			    before, ip->total_bytes, 2);
	bpf_skb_store_bytes(skb,
			    hw_link_header_bytes + __builtin_offsetof(struct hw_ipv4, total_bytes),
			    &ip->total_bytes, sizeof(ip->total_bytes), 0);
	return 1;
}

static __always_inline u16 hw_checksum_of(s64 sum)
{
	u32 folded = (u32)sum;

	folded = (folded & 0xffff) + (folded >> 16);
	folded = (folded & 0xffff) + (folded >> 16);
	return (u16)~folded;
}

#endif
