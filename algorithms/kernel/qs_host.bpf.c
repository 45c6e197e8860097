// SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only)
/*
 * A host's side of Quick-Start (RFC 4782) at its device: adds requests and reports to the IP
 * header (option 25) and responses to the TCP header (option 27) of packets from the kernel's
 * TCP, which does not know about them.
 *
 * A SYN or SYN-ACK carries a request if the socket's congestion control asks and its
 * application, or the default for its peer, names a rate. Later a data packet carries a request
 * if the control wants one. docs/quick-start.md lists what these programs cannot do. IPv4 only.
 */
#include "port/bpf/app.h"
#include "port/bpf/hook.h"
#include "port/bpf/packet.h"
#include "port/bpf/paths.h"
#include "port/bpf/recent.h"
#include "port/bpf/segment.h"
#include "startup/quick_start.c"

/* Values that are assumed for a connection during its handshake: MSS, header size and initial
 * window. */
#define HW_MSS_BYTES	1448
#define HW_HEADER_BYTES 52
#define HW_INITIAL_PKTS 10

/* Set before load. */
const volatile u32 hw_netns = 0;
const volatile u32 hw_willing_code = HW_QS_MAX_CODE; /* as receiver */

/* headwayctl reads the names of these counters from the object's type information. */
struct hw_qs_host_counters {
	u64 requests;
	u64 grants;
	u64 lowered; /* requests that were granted at a lower rate */
	u64 refused; /* this and the next five: failed requests, by enum hw_qs_failure */
	u64 unanswered;
	u64 lost;
	u64 ttl_differs;
	u64 nonce_forged;
	u64 inflated;
	u64 reports;
	u64 answered; /* peers' requests that this host answered with a response */
	u64 no_room;  /* options that did not fit into their packet */
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct hw_qs_host_counters);
} hw_qs_counts SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 64);
	__type(key, struct hw_qs_asker_name);
	__type(value, struct hw_qs_asker);
} hw_qs_askers SEC(".maps");

#define HW_COUNT_UP(field)                                                                         \
	do {                                                                                       \
		u32 hw_zero = 0;                                                                   \
		struct hw_qs_host_counters *hw_cpu = bpf_map_lookup_elem(&hw_qs_counts, &hw_zero); \
                                                                                                   \
		if (hw_cpu)                                                                        \
			hw_cpu->field++;                                                           \
	} while (0)

static __always_inline void hw_count_failure(u32 failure)
{
	switch (failure) {
	case HW_QS_REFUSED:
		HW_COUNT_UP(refused);
		break;
	case HW_QS_UNANSWERED:
		HW_COUNT_UP(unanswered);
		break;
	case HW_QS_LOST:
		HW_COUNT_UP(lost);
		break;
	case HW_QS_TTL_DIFFERS:
		HW_COUNT_UP(ttl_differs);
		break;
	case HW_QS_NONCE_FORGED:
		HW_COUNT_UP(nonce_forged);
		break;
	case HW_QS_INFLATED:
		HW_COUNT_UP(inflated);
		break;
	}
}

/* Records the outcome of a Quick-Start request that this host sent, for `headwayctl status`. */
static __always_inline void hw_keep(const struct hw_qs_key *key, const struct hw_qs_flow *flow)
{
	struct hw_recent_request *recent = hw_next_recent();

	if (!recent)
		return;
	recent->sender = key->local;
	recent->peer = key->peer;
	recent->sender_port = key->local_port;
	recent->peer_port = key->peer_port;
	recent->asked_code = flow->host.code;
	recent->granted_code = flow->host.granted_code;
	recent->failure = flow->host.failure;
}

/* Adds an IPv4 option to a header without options. Returns 0 without adding it if the packet shares
 * its buffer with other packets, or if the packet would become too long for the device. */
static __always_inline int hw_put_ipv4(struct __sk_buff *skb, struct hw_segment *s,
				       const struct hw_qs_option *option)
{
	struct {
		struct hw_ipv4 ip;
		u8 option[HW_QS_BYTES];
	} header;
	u32 mtu_bytes = 0;

	if (hw_ipv4_length(&s->ip) != HW_IPV4_BYTES || skb->gso_segs > 1 ||
	    bpf_check_mtu(skb, 0, &mtu_bytes, HW_QS_BYTES, 0) != 0 ||
	    bpf_skb_adjust_room(skb, HW_QS_BYTES, HW_ROOM_AFTER_IP, HW_ROOM_KEEP_CSUM) != 0) {
		HW_COUNT_UP(no_room);
		return 0;
	}
	s->ip.version_and_length += HW_QS_BYTES / 4;
	s->ip.total_bytes = bpf_htons(bpf_ntohs(s->ip.total_bytes) + HW_QS_BYTES);
	s->ip.checksum = 0;
	header.ip = s->ip;
	hw_qs_emit(option, HW_QS_IPV4_OPTION, header.option);
	s->ip.checksum = hw_checksum_of(bpf_csum_diff(0, 0, (void *)&header, sizeof(header), 0));
	header.ip.checksum = s->ip.checksum;
	bpf_skb_store_bytes(skb, hw_link_header_bytes, &header, sizeof(header), 0);
	s->tcp_offset += HW_QS_BYTES;
	return 1;
}

/* Adds a TCP option at the end of the TCP header, if the segment has no data and the header has
 * room. */
static __always_inline int hw_put_tcp(struct __sk_buff *skb, struct hw_segment *s,
				      const struct hw_qs_option *option)
{
	u32 tcp_bytes = s->tcp_bytes + HW_QS_BYTES;
	u32 end = s->tcp_offset + s->tcp_bytes;
	u32 checksum = s->tcp_offset + __builtin_offsetof(struct hw_tcp, checksum);
	u8 bytes[HW_QS_BYTES];

	if (s->payload_bytes || tcp_bytes > sizeof(struct hw_tcp) + HW_OPTIONS_BYTES ||
	    !hw_lengthen_tcp(skb, &s->ip, &s->tcp, s->tcp_offset, HW_QS_BYTES))
		return 0;
	hw_qs_emit(option, HW_QS_TCP_OPTION, bytes);
	bpf_skb_store_bytes(skb, end, bytes, sizeof(bytes), 0);
	bpf_l4_csum_replace(skb, checksum, 0, bpf_csum_diff(0, 0, (void *)bytes, sizeof(bytes), 0),
			    0);
	s->tcp_bytes = tcp_bytes;
	return 1;
}

/* Returns the rate code that the sender of a SYN or SYN-ACK wants to request; 0: no request. */
static __always_inline u32 hw_asked_code(struct __sk_buff *skb, const struct hw_segment *s)
{
	struct bpf_sock *sk = skb->sk;
	struct hw_qs_asker_name control = {};
	struct hw_qs_asker *asker;
	struct hw_app *stored;
	struct hw_app app = {};
	struct hw_conn conn = {
		.cwnd_pkts = HW_INITIAL_PKTS,
		.mss_bytes = HW_MSS_BYTES,
		.header_bytes = HW_HEADER_BYTES,
	};
	struct hw_path_key path_key;
	struct hw_prefix peer;
	struct hw_path *path;
	struct tcp_sock *tp;

	if (!sk)
		return 0;
	/* when a SYN-ACK leaves, only the listening socket exists */
	sk = s->tcp.flags & HW_TCP_ACK ? bpf_get_listener_sock(sk) : bpf_sk_fullsock(sk);
	if (!sk)
		return 0;
	tp = bpf_skc_to_tcp_sock(sk);
	if (!tp)
		return 0;
	bpf_probe_read_kernel(&control, sizeof(control), &tp->inet_conn.icsk_ca_ops->name);
	asker = bpf_map_lookup_elem(&hw_qs_askers, &control);
	if (!asker)
		return 0;
	stored = bpf_sk_storage_get(&hw_app, sk, 0, 0);
	if (stored)
		app = *stored;
	hw_peer_ipv4(&peer, s->ip.destination);
	hw_app_settle(&app, &peer);
	app.saved_cwnd_pkts = 0;
	app.saved_rtt_us = 0;
	path_key.netns = hw_netns;
	path_key.peer = peer;
	path = hw_path_to(&path_key);
	if (path) {
		app.saved_cwnd_pkts = path->cwnd_pkts;
		app.saved_rtt_us = path->min_rtt_us;
	}
	hw_app_tell(&app, &conn, 0);
	hw_startup_quick_start.open(0, asker->tun, &conn);
	return conn.request_code;
}

static __always_inline void hw_ask(struct __sk_buff *skb, struct hw_segment *s,
				   struct hw_qs_flow *flow, u32 code)
{
	struct hw_qs_host before = flow->host;
	struct hw_qs_option request;
	u64 random = (u64)bpf_get_prandom_u32() << 32 | bpf_get_prandom_u32();
	u32 end = bpf_ntohl(s->tcp.seq) + s->payload_bytes + !!(s->tcp.flags & HW_TCP_SYN);

	if (!hw_qs_request(&flow->host, code, s->ip.ttl, random, &request))
		return;
	flow->request_end = end;
	flow->decided = 0;
	if (hw_put_ipv4(skb, s, &request))
		HW_COUNT_UP(requests);
	else
		flow->host = before;
}

static __always_inline void hw_respond(struct __sk_buff *skb, struct hw_segment *s,
				       struct hw_qs_flow *flow)
{
	/* if this packet has data or its TCP header is full, the next ACK may carry the response */
	if (!hw_put_tcp(skb, s, &flow->response)) {
		HW_COUNT_UP(no_room);
		return;
	}
	flow->respond = 0;
	HW_COUNT_UP(answered);
}

static __always_inline void hw_report(struct __sk_buff *skb, struct hw_segment *s,
				      struct hw_qs_flow *flow)
{
	struct hw_qs_host before = flow->host;
	struct hw_qs_option report;

	if (!hw_qs_report(&flow->host, flow->decided ? flow->used_code : 0, &report))
		return;
	if (hw_put_ipv4(skb, s, &report))
		HW_COUNT_UP(reports);
	else
		flow->host = before;
}

SEC("tcx/egress")
int hw_qs_out(struct __sk_buff *skb)
{
	struct hw_segment s;
	struct hw_qs_flow *flow;
	struct hw_qs_flow fresh = {};
	struct hw_qs_key key;
	u32 code;

	if (!hw_read_segment(skb, &s))
		return HW_NEXT_PROGRAM;
	hw_key_out(&key, hw_netns, &s);
	flow = bpf_map_lookup_elem(&hw_qs_flows, &key);
	if (s.tcp.flags & HW_TCP_SYN) {
		u32 seq = bpf_ntohl(s.tcp.seq);

		if (flow && flow->opened && flow->first_seq == seq) {
			/* a retransmitted SYN has no request, because the path may drop packets
			 * with the option (section 4.7.2). A response is not repeated. No
			 * report is sent, because the path might drop it, too */
			if (flow->host.state == HW_QS_REQUESTED) {
				hw_qs_fail(&flow->host, HW_QS_LOST);
				flow->host.report_due = 0;
				HW_COUNT_UP(lost);
				hw_keep(&key, flow);
			}
			flow->respond = 0;
			return HW_NEXT_PROGRAM;
		}
		code = hw_asked_code(skb, &s);
		if (!flow && !code)
			return HW_NEXT_PROGRAM;
		/* forget an earlier connection with these ports. A SYN-ACK keeps state that is
		 * not `opened`: the request of the SYN that it answers */
		if (!flow || flow->opened || !(s.tcp.flags & HW_TCP_ACK)) {
			bpf_map_update_elem(&hw_qs_flows, &key, &fresh, 0);
			flow = bpf_map_lookup_elem(&hw_qs_flows, &key);
			if (!flow)
				return HW_NEXT_PROGRAM;
		}
		flow->first_seq = seq;
		flow->opened = 1;
		if (flow->respond)
			hw_respond(skb, &s, flow);
		if (code)
			hw_ask(skb, &s, flow, code);
		return HW_NEXT_PROGRAM;
	}
	if (!flow)
		return HW_NEXT_PROGRAM;
	if (flow->respond && s.tcp.flags & HW_TCP_ACK)
		hw_respond(skb, &s, flow);
	if (flow->host.report_due && (flow->host.state == HW_QS_DENIED || flow->decided)) {
		hw_report(skb, &s, flow);
	} else if (flow->want_code && s.payload_bytes) {
		hw_ask(skb, &s, flow, flow->want_code);
		if (flow->host.state == HW_QS_REQUESTED)
			flow->want_code = 0;
	}
	return HW_NEXT_PROGRAM;
}

/* Reads the peer's request from an arrived packet. The next packet that leaves to the peer carries
 * the response. */
static __always_inline void hw_requested(struct __sk_buff *skb, const struct hw_segment *s,
					 const struct hw_qs_key *key)
{
	u8 bytes[HW_OPTIONS_ROOM];
	struct hw_qs_option request, response;
	struct hw_qs_flow fresh = {};
	struct hw_qs_flow *flow;
	u32 length;
	int at;

	length = hw_read_options(skb, hw_link_header_bytes + HW_IPV4_BYTES,
				 hw_ipv4_length(&s->ip) - HW_IPV4_BYTES, bytes);
	at = hw_find_option(bytes, length, HW_QS_IPV4_OPTION, HW_QS_BYTES);
	if (at < 0 || at > HW_OPTIONS_BYTES - HW_QS_BYTES)
		return;
	if (!hw_qs_parse_ipv4(bytes + at, &request) ||
	    !hw_qs_respond(&request, s->ip.ttl, hw_willing_code, &response))
		return;
	flow = bpf_map_lookup_elem(&hw_qs_flows, key);
	/* a SYN begins a new connection even if the ports were used before; a SYN-ACK continues
	 * the SYN's connection */
	if (!flow || (s->tcp.flags & (HW_TCP_SYN | HW_TCP_ACK)) == HW_TCP_SYN) {
		bpf_map_update_elem(&hw_qs_flows, key, &fresh, 0);
		flow = bpf_map_lookup_elem(&hw_qs_flows, key);
		if (!flow)
			return;
	}
	flow->response = response;
	flow->respond = 1;
}

/* Evaluates the first ACK of the packet that carried our request. It may carry the response. */
static __always_inline void hw_answered(struct __sk_buff *skb, const struct hw_segment *s,
					struct hw_qs_flow *flow)
{
	u8 bytes[HW_OPTIONS_ROOM];
	struct hw_qs_option response;
	const struct hw_qs_option *given = 0;
	u32 length;
	int at;

	length = hw_read_options(skb, s->tcp_offset + sizeof(s->tcp), s->tcp_bytes - sizeof(s->tcp),
				 bytes);
	at = hw_find_option(bytes, length, HW_QS_TCP_OPTION, HW_QS_BYTES);
	if (at >= 0 && at <= HW_OPTIONS_BYTES - HW_QS_BYTES &&
	    hw_qs_parse_tcp(bytes + at, &response))
		given = &response;
	if (hw_qs_judge(&flow->host, given)) {
		HW_COUNT_UP(grants);
		if (flow->host.granted_code < flow->host.code)
			HW_COUNT_UP(lowered);
	} else {
		hw_count_failure(flow->host.failure);
	}
}

SEC("tcx/ingress")
int hw_qs_in(struct __sk_buff *skb)
{
	struct hw_segment s;
	struct hw_qs_flow *flow;
	struct hw_qs_key key;

	if (!hw_read_segment(skb, &s))
		return HW_NEXT_PROGRAM;
	hw_key_in(&key, hw_netns, &s);
	if (hw_ipv4_length(&s.ip) > HW_IPV4_BYTES)
		hw_requested(skb, &s, &key);
	flow = bpf_map_lookup_elem(&hw_qs_flows, &key);
	if (!flow || flow->host.state != HW_QS_REQUESTED || !(s.tcp.flags & HW_TCP_ACK))
		return HW_NEXT_PROGRAM;
	if (hw_after(flow->request_end, bpf_ntohl(s.tcp.ack)))
		return HW_NEXT_PROGRAM;
	if (s.tcp.flags & HW_TCP_RST) {
		hw_qs_fail(&flow->host, HW_QS_LOST);
		HW_COUNT_UP(lost);
		hw_keep(&key, flow);
		return HW_NEXT_PROGRAM;
	}
	hw_answered(skb, &s, flow);
	hw_keep(&key, flow);
	return HW_NEXT_PROGRAM;
}

char hw_license[] SEC("license") = "Dual BSD/GPL";
