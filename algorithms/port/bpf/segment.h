/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/* A TCP segment in a program at a device, and its connection. */
#ifndef HEADWAY_PORT_BPF_SEGMENT_H
#define HEADWAY_PORT_BPF_SEGMENT_H

#include "packet.h"
#include "quick_start_flow.h"

struct hw_segment {
	struct hw_ipv4 ip;
	struct hw_tcp tcp;
	u32 tcp_offset; /* in the packet */
	u32 tcp_bytes;	/* of its header */
	u32 payload_bytes;
};

/* Reads the headers of a packet. Returns whether the packet is a whole TCP segment over IPv4
 * with valid headers. */
static __always_inline int hw_read_segment(struct __sk_buff *skb, struct hw_segment *s)
{
	u32 total_bytes, header_bytes;

	if (!hw_read_ipv4(skb, &s->ip) || s->ip.protocol != HW_IPPROTO_TCP ||
	    s->ip.fragment & bpf_htons(HW_FRAGMENT_MASK))
		return 0;
	s->tcp_offset = hw_link_header_bytes + hw_ipv4_length(&s->ip);
	if (bpf_skb_load_bytes(skb, s->tcp_offset, &s->tcp, sizeof(s->tcp)) != 0)
		return 0;
	s->tcp_bytes = (s->tcp.length >> 4) * 4;
	/* do not check the IP header's total length: it is not valid for a buffer of several
	 * segments */
	total_bytes = skb->len - hw_link_header_bytes;
	header_bytes = hw_ipv4_length(&s->ip) + s->tcp_bytes;
	if (s->tcp_bytes < sizeof(s->tcp) || header_bytes > total_bytes)
		return 0;
	s->payload_bytes = total_bytes - header_bytes;
	return 1;
}

/* The connection's key for a segment that leaves this host. */
static __always_inline void hw_key_out(struct hw_qs_key *key, u32 netns, const struct hw_segment *s)
{
	key->netns = netns;
	key->local = s->ip.source;
	key->peer = s->ip.destination;
	key->local_port = s->tcp.source;
	key->peer_port = s->tcp.destination;
}

/* The connection's key for a segment that arrives at this host. */
static __always_inline void hw_key_in(struct hw_qs_key *key, u32 netns, const struct hw_segment *s)
{
	key->netns = netns;
	key->local = s->ip.destination;
	key->peer = s->ip.source;
	key->local_port = s->tcp.destination;
	key->peer_port = s->tcp.source;
}

#endif
