// SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only)
/*
 * A Quick-Start router (RFC 4782, section 3.3) at the device of the link whose capacity
 * is given out: it meters all that is about to join the device's queue, and answers
 * requests by algorithms/router/quick_start.c.
 *
 * Forwarding has taken one off the IP TTL before a packet comes here, so one goes off
 * the QS TTL. Packets of this host's own have lost none, and lose none.
 *
 * Most packets carry no IP options. They are counted where no other processor writes,
 * and no clock is read for them: the tick counter tells that the slot of metering is not
 * over yet. Whoever finds it over adds up what all processors counted, and meters that
 * as offered in the slot. So every packet counts in the slot in which it came, as if
 * it had been metered by itself.
 */
#include "port/bpf/kernel.h"
#include "port/bpf/hook.h"
#include "port/bpf/packet.h"
#include "port/bpf/recent.h"
#include "router/quick_start.c"

#define HW_MAX_TUNABLES 16

/* Set before load; the verifier then knows them as constants. */
const volatile u32 hw_router_tun[HW_MAX_TUNABLES] = {};
const volatile u64 hw_tick_ns = 0;
const volatile u32 hw_cpus = 1;

struct hw_qs_link {
	struct bpf_spin_lock lock;
	u32 unused;
	struct quick_start state; /* begins with its counters, which headwayctl reads */
	u64 metered_bytes;	  /* of what the processors counted */
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct hw_qs_link);
} hw_qs_links SEC(".maps");

/* What a processor saw since the start; headwayctl knows the order. */
struct hw_qs_traffic {
	u64 packets;
	u64 bytes;
	u64 options;	    /* packets with a request or report */
	u64 slot_end_ticks; /* at this count of ticks the slot may be over */
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct hw_qs_traffic);
} hw_qs_traffic SEC(".maps");

/* A header as far as the option, where that comes first. */
struct hw_qs_header {
	struct hw_ipv4 ip;
	u8 option[HW_QS_BYTES];
};

/* Tells connections apart, the upper half their senders; never 0. */
static __always_inline u64 hw_flow(struct __sk_buff *skb, const struct hw_ipv4 *ip)
{
	struct hw_ports ports = {};
	u32 lower;

	bpf_skb_load_bytes(skb, hw_link_header_bytes + hw_ipv4_length(ip), &ports, sizeof(ports));
	lower = ip->destination * 0x9e3779b1u ^ ((u32)ports.source << 16 | ports.destination);
	return (u64)ip->source << 32 | lower | 1;
}

/* The sum of the option's words, as a header's checksum takes them. */
static __always_inline u16 hw_option_sum(const u8 bytes[HW_QS_BYTES], u32 at)
{
	u16 words[HW_QS_BYTES / 2];
	u32 sum;

	__builtin_memcpy(words, bytes, sizeof(words));
	sum = (u32)words[0] + words[1] + words[2] + words[3];
	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	/* at an odd place each byte stands in the other half of a word */
	return at & 1 ? __builtin_bswap16((u16)sum) : (u16)sum;
}

/* Writes the option back with the header's checksum. */
static __always_inline void hw_put_option(struct __sk_buff *skb, struct hw_qs_header *header,
					  u32 at, const struct hw_qs_option *option)
{
	const u32 first = __builtin_offsetof(struct hw_ipv4, checksum);
	u32 offset = hw_link_header_bytes + first;
	u16 before = hw_option_sum(header->option, at);

	hw_qs_emit(option, HW_QS_IPV4_OPTION, header->option);
	header->ip.checksum =
		hw_checksum_replace(header->ip.checksum, before, hw_option_sum(header->option, at));
	if (at == 0) {
		bpf_skb_store_bytes(skb, offset, &header->ip.checksum, sizeof(*header) - first, 0);
		return;
	}
	bpf_skb_store_bytes(skb, offset, &header->ip.checksum, sizeof(header->ip.checksum), 0);
	bpf_skb_store_bytes(skb, hw_link_header_bytes + HW_IPV4_BYTES + at, header->option,
			    HW_QS_BYTES, 0);
}

/* Finds a packet's request or report. Returns where it is among the options, -1 if it
 * has none. */
static __always_inline int hw_read_header(struct __sk_buff *skb, struct hw_qs_header *header)
{
	u8 bytes[HW_OPTIONS_ROOM];
	u8 *ip = (u8 *)(long)skb->data + hw_link_header_bytes;
	u8 *end = (u8 *)(long)skb->data_end;
	u32 length;
	int at;

	/* most begin with it: nothing to look for */
	if (ip + sizeof(*header) <= end && *ip > HW_IPV4_PLAIN + 1 && *ip <= HW_IPV4_LONGEST &&
	    ip[HW_IPV4_BYTES] == HW_QS_IPV4_OPTION && ip[HW_IPV4_BYTES + 1] == HW_QS_BYTES &&
	    ip + (*ip & 15) * 4 <= end) {
		__builtin_memcpy(header, ip, sizeof(*header));
		return 0;
	}
	if (!hw_read_ipv4(skb, &header->ip) || hw_ipv4_length(&header->ip) == HW_IPV4_BYTES)
		return -1;
	length = hw_read_options(skb, hw_link_header_bytes + HW_IPV4_BYTES,
				 hw_ipv4_length(&header->ip) - HW_IPV4_BYTES, bytes);
	at = hw_find_option(bytes, length, HW_QS_IPV4_OPTION, HW_QS_BYTES);
	if (at < 0 || at > HW_OPTIONS_BYTES - HW_QS_BYTES)
		return -1;
	__builtin_memcpy(header->option, bytes + at, HW_QS_BYTES);
	return at;
}

static __always_inline void hw_tunables(u32 tun[HW_MAX_TUNABLES])
{
	u32 i;

#pragma unroll
	for (i = 0; i < HW_MAX_TUNABLES; i++)
		tun[i] = hw_router_tun[i];
}

/* Bytes that all processors counted. */
static __always_inline u64 hw_counted_bytes(void)
{
	u32 zero = 0, cpu;
	u64 sum = 0;

	bpf_for(cpu, 0, hw_cpus)
	{
		struct hw_qs_traffic *traffic;

		traffic = bpf_map_lookup_percpu_elem(&hw_qs_traffic, &zero, cpu);
		if (traffic)
			sum += *(volatile u64 *)&traffic->bytes;
	}
	return sum;
}

/* Meters a packet by itself, where it matters whose it is. */
static __always_inline void hw_meter_flow(struct __sk_buff *skb, struct hw_qs_link *link,
					  const u32 *tun, u32 ip_bytes)
{
	struct hw_link view = { .now_ns = bpf_ktime_get_ns() };
	struct hw_ipv4 ip;
	u64 flow = 1;

	if (hw_read_ipv4(skb, &ip))
		flow = hw_flow(skb, &ip);
	bpf_spin_lock(&link->lock);
	quick_start_meter(&link->state, tun, &view, flow, ip_bytes);
	bpf_spin_unlock(&link->lock);
}

/*
 * Ends the slot if it is over, before the packet that finds it so is counted. Returns
 * the count of ticks at which to look again.
 */
static __noinline u64 hw_end_slot(struct __sk_buff *skb, u32 ip_bytes)
{
	struct hw_link view = {};
	u32 tun[HW_MAX_TUNABLES];
	struct hw_qs_link *link;
	u64 now_ticks, now_ns, end_ns, counted;
	u32 zero = 0;

	link = bpf_map_lookup_elem(&hw_qs_links, &zero);
	if (!link)
		return 0;
	hw_tunables(tun);
	if (quick_start_meters_flows(tun)) {
		hw_meter_flow(skb, link, tun, ip_bytes);
		return 0;
	}
	now_ticks = bpf_jiffies64(); /* before the clock, or the end would be noticed late */
	now_ns = bpf_ktime_get_ns();
	end_ns = *(volatile u64 *)&link->state.status.slot_end_ns;
	if (now_ns >= end_ns) {
		counted = hw_counted_bytes();
		bpf_spin_lock(&link->lock);
		end_ns = link->state.status.slot_end_ns;
		if (end_ns && counted > link->metered_bytes) {
			/* another processor may have ended the slot: then it is of the next */
			view.now_ns = end_ns - 1;
			quick_start_meter(&link->state, tun, &view, 1,
						    counted - link->metered_bytes);
			link->metered_bytes = counted;
		}
		view.now_ns = now_ns;
		quick_start_meter(&link->state, tun, &view, 1, 0);
		end_ns = link->state.status.slot_end_ns;
		bpf_spin_unlock(&link->lock);
	}
	/* the last tick of a slot is watched by the clock */
	return now_ticks + (end_ns > now_ns ? (end_ns - now_ns) / hw_tick_ns : 0);
}

/* Keeps what was asked and granted, and what was known then, for `headwayctl status`. */
static __always_inline void hw_keep(struct __sk_buff *skb, const struct hw_ipv4 *ip,
				    const struct hw_qs_option *asked,
				    const struct hw_qs_option *granted, u64 usage_Bps,
				    u64 outstanding_Bps, u32 limited)
{
	struct hw_recent_request *recent = hw_next_recent();
	struct hw_ports ports = {};

	if (!recent)
		return;
	bpf_skb_load_bytes(skb, hw_link_header_bytes + hw_ipv4_length(ip), &ports, sizeof(ports));
	recent->usage_Bps = usage_Bps;
	recent->outstanding_Bps = outstanding_Bps;
	recent->sender = ip->source;
	recent->peer = ip->destination;
	recent->sender_port = ports.source;
	recent->peer_port = ports.destination;
	recent->asked_code = asked->code;
	recent->granted_code = limited ? 0 : granted->code;
	recent->failure = limited;
}

/* Answers the request of a packet, or takes note of its report, if it has one. Returns
 * whether it has. */
static __noinline int hw_answer(struct __sk_buff *skb)
{
	struct hw_qs_option option, before;
	struct hw_qs_header header = {};
	struct hw_qs_link *link;
	struct hw_link view = {};
	u32 tun[HW_MAX_TUNABLES];
	u32 zero = 0;
	u64 flow, limited, usage_Bps, outstanding_Bps;
	int at;

	link = bpf_map_lookup_elem(&hw_qs_links, &zero);
	at = hw_read_header(skb, &header);
	if (!link || at < 0 || !hw_qs_parse_ipv4(header.option, &option))
		return 0;
	flow = hw_flow(skb, &header.ip);
	hw_tunables(tun);
	view.now_ns = bpf_ktime_get_ns();
	view.rate_Bps = (u64)tun[CAPACITY] * 125;
	view.random = bpf_get_prandom_u32();
	before = option;

	bpf_spin_lock(&link->lock);
	limited = link->state.status.limited;
	quick_start_option(&link->state, tun, &view, flow, &option);
	limited = link->state.status.limited - limited;
	usage_Bps = link->state.status.usage_Bps;
	outstanding_Bps = link->state.status.outstanding_Bps;
	bpf_spin_unlock(&link->lock);

	if (before.function == HW_QS_REQUEST && before.code) {
		/* this grant is among them by now */
		if (!limited)
			outstanding_Bps -= hw_qs_rate_Bps(option.code);
		hw_keep(skb, &header.ip, &before, &option, usage_Bps, outstanding_Bps,
			(u32)limited);
	}
	if (option.code && !skb->ingress_ifindex)
		option.ttl = before.ttl;
	if (option.code != before.code || option.ttl != before.ttl || option.nonce != before.nonce)
		hw_put_option(skb, &header, at, &option);
	return 1;
}

SEC("tcx/egress")
int hw_qs_router(struct __sk_buff *skb)
{
	struct hw_qs_traffic *traffic;
	u32 length, segments = 1, zero = 0;
	u8 *ip;

	traffic = bpf_map_lookup_elem(&hw_qs_traffic, &zero);
	if (!traffic)
		return HW_NEXT_PROGRAM;
	length = skb->wire_len;
	if (length != skb->len) /* several in one buffer */
		segments = hw_max_u32(skb->gso_segs, 1);
	length -= segments * hw_link_header_bytes;
	if (bpf_jiffies64() >= traffic->slot_end_ticks)
		traffic->slot_end_ticks = hw_end_slot(skb, length);
	traffic->packets += segments;
	traffic->bytes += length;
	ip = (u8 *)(long)skb->data + hw_link_header_bytes;
	if (ip + 1 <= (u8 *)(long)skb->data_end && *ip == HW_IPV4_PLAIN)
		return HW_NEXT_PROGRAM;
	if (skb->protocol == bpf_htons(HW_PROTOCOL_IPV4))
		traffic->options += hw_answer(skb);
	return HW_NEXT_PROGRAM;
}

char hw_license[] SEC("license") = "Dual BSD/GPL";
