/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/*
 * A router's algorithm (../router.h) as a program at a link's outgoing device. The build
 * defines HW_ROUTER as the algorithm's table, and includes the algorithm's file.
 *
 * The queue is virtual: arrivals minus what the link's rate has sent since. It models the link
 * whose rate the user gave headwayctl; this link may lie behind the device. Alternatively the
 * algorithm uses the device's own queue (backlog.h). The virtual queue holds whole packets: the
 * packet in transmission counts until its transmission ends, and each packet counts with the mean
 * size of the packets that arrived since the queue was empty. No program sees packets leave a
 * virtual queue. depart() therefore follows arrive() at once, and reports the queue in front of the
 * packet, because the queue behind it is not known yet. If the algorithm publishes (HW_PUBLISHES),
 * a second program sees packets leave the device's own queue (departures.h).
 *
 * The first packet after the time of a tick calls tick() with that time: no packet has arrived
 * since that time, so the queue at that time is known. If the time of the tick is more than one
 * interval ago, tick() gets the present time instead.
 *
 * One lock protects all state of a link. A packet's header is found, decoded, passed to the
 * algorithm, and written back if it was changed (router_header.h). Packets that share a buffer
 * are one packet to the algorithm, with all their bytes, and each will carry the resulting
 * header.
 *
 * If an algorithm allows gathering, packets without its header need no lock and do not read
 * the clock. Each processor counts their bytes separately, and the tick counter shows whether
 * the gathering time is over. At the first packet after that time, the program adds up the
 * counts of all processors and reports them to the algorithm as of that time, so every packet
 * counts in the interval in which it arrived. Algorithms that gather have no virtual queue.
 */
#include "hook.h"
#include "packet.h"
#include "backlog.h"
#include "router_header.h"
#include "../router.h"
#ifdef HW_PUBLISHES
#include "monitors.h"
#endif

#define HW_MAX_TUNABLES 16
#define HW_EVENTS_KEPT	16 /* number of latest events that are kept; must be a power of two */
#define HW_PASS_ON	HW_NEXT_PROGRAM
#define HW_DROP_PACKET	2 /* TCX_DROP */
#define HW_SECOND_NS	1000000000ull
/* the mean packet size is an average over about so many of the latest packets */
#define HW_MEAN_PKTS   1024
#define HW_MOST_WAIT_S 2ull	    /* longest wait in a virtual queue for which no limit is set */
#define HW_MOST_BYTES  (1ull << 34) /* its largest limit */

/* headwayctl sets these variables before load. The verifier then knows them as constants. */
const volatile u32 hw_router_tun[HW_MAX_TUNABLES] = {};
const volatile u64 hw_rate_Bps = 0;
const volatile u64 hw_limit_bytes = 0; /* 0: none */
const volatile char hw_router_name[24] = "";
const volatile u64 hw_tick_ns = 1;
const volatile u32 hw_cpus = 1;
/* 1: the algorithm uses the device's own queue, 0: a virtual queue */
const volatile u32 hw_sees_backlog = 0;

/* The events that the algorithm recorded in one call, with the packet's connection. */
struct hw_router_event {
	u64 now_ns;
	u64 flow;
	u64 notes[HW_MAX_NOTES];
	u32 noted;
	u32 number; /* number of the event, from 1 */
	/* addresses and ports of the packet, in network byte order; 0: the packet is not IPv4 */
	u32 sender;
	u32 peer;
	u16 sender_port;
	u16 peer_port;
	u32 unused;
};

struct hw_router_link {
	struct bpf_spin_lock lock;
	u32 n_events; /* so far */
	u64 state[HW_ROUTER_STATE_BYTES / 8];
	u64 tick_ns;	/* when the next call of tick() is due */
	u64 ticked_ns;	/* time of the last call of tick(); 0: not called yet */
	u64 clear_ns;	/* when the virtual queue will be empty; 0: no packet has arrived */
	u64 busy_bytes; /* bytes that arrived since the virtual queue was last empty */
	u64 busy_pkts;	/* packets that arrived since the virtual queue was last empty */
	u64 gather_until_ns;
	/* the sum of all processors' gathered_bytes that has already been reported to the
	 * algorithm */
	u64 gathered_bytes;
	struct hw_router_event events[HW_EVENTS_KEPT];
#ifdef HW_PUBLISHES
	struct hw_monitor published;
#endif
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct hw_router_link);
} hw_router_links SEC(".maps");

/* The counters of one processor. headwayctl shows all but the last two fields, and reads their
 * names from the BTF type information. */
struct hw_router_traffic {
	u64 packets;
	u64 bytes;
	u64 headers; /* packets with the algorithm's header */
	u64 changed; /* packets whose header the algorithm changed */
	u64 drops;
	u64 marks;
	u64 no_backlog; /* buffers that arrived while the device's backlog was not known */
	u64 gathered_bytes;
	/* time in jiffies when the gathering may be over; 0: this processor does not gather */
	u64 gather_until_ticks;
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct hw_router_traffic);
} hw_router_seen SEC(".maps");

/* The device for which the monitor publishes (monitors.h); set before load. */
#ifdef HW_PUBLISHES
const volatile u32 hw_monitor_netns = 0;
const volatile u32 hw_monitor_device = 0;

/* Gets from the algorithm the data to publish. The caller holds the link's lock. Returns whether
 * the data have changed. */
static __always_inline int hw_has_news(struct hw_router_link *at, const u32 *tun,
				       struct hw_monitor *monitor)
{
	HW_ROUTER.publish(at->state, tun, monitor);
	if (!__builtin_memcmp(monitor, &at->published, sizeof(*monitor)))
		return 0;
	at->published = *monitor;
	return 1;
}

/* Whether a packet is a SYN or a SYN-ACK. */
static __always_inline u8 hw_opens(struct __sk_buff *skb, u32 ip_bytes)
{
	struct hw_tcp tcp;
	u8 ip[HW_IPV4_BYTES];
	u32 at;

	if (ip_bytes > HW_SYN_BYTES ||
	    bpf_skb_load_bytes(skb, hw_link_header_bytes, ip, sizeof(ip)))
		return 0;
	at = hw_tcp_after(ip);
	if (!at || bpf_skb_load_bytes(skb, hw_link_header_bytes + at, &tcp, sizeof(tcp)))
		return 0;
	return (tcp.flags & HW_TCP_SYN) != 0;
}

static __always_inline void hw_publish_news(u64 now_ns, const struct hw_monitor *monitor)
{
	struct hw_monitor_key key = { .netns = hw_monitor_netns, .device = hw_monitor_device };

	hw_write_monitor(&key, now_ns, monitor);
}
#endif

/* Whether a program sees packets leave the queue. If not, packets count as leaving when they
 * arrive. */
static __always_inline int hw_sees_departures(void)
{
#ifdef HW_PUBLISHES
	return hw_sees_backlog;
#else
	return 0;
#endif
}

/* A number that identifies a connection, never 0. Its upper half identifies the sender. */
static __always_inline u64 hw_flow(struct __sk_buff *skb, struct hw_found *found)
{
	const struct hw_ipv4 *ip = &found->ip;
	u32 lower;

	bpf_skb_load_bytes(skb, hw_link_header_bytes + hw_ipv4_length(ip), &found->ports,
			   sizeof(found->ports));
	lower = ip->destination * 0x9e3779b1u ^
		((u32)found->ports.source << 16 | found->ports.destination);
	return (u64)ip->source << 32 | lower | 1;
}

/* Fills in the link that the algorithm reads. The link's queue is the virtual queue, or the
 * device's own (backlog). */
static __always_inline void hw_fill_link(const struct hw_router_link *at, struct hw_link *link,
					 const struct hw_backlog *backlog)
{
	u64 wait_ns = at->clear_ns > link->now_ns ? at->clear_ns - link->now_ns : 0;
	u64 bytes = wait_ns / 1000 * hw_rate_Bps / 1000000;
	u32 mean_bytes = hw_saturate_u32(hw_div_u64(at->busy_bytes, at->busy_pkts));

	if (HW_ROUTER.gather)
		return; /* algorithms that gather do not know the queue */
	mean_bytes = hw_max_u32(mean_bytes, 1);
	link->queue_pkts = hw_saturate_u32((bytes + mean_bytes - 1) / mean_bytes);
	link->queue_bytes = hw_saturate_u32((u64)link->queue_pkts * mean_bytes);
	link->idle_us = wait_ns ? 0 : hw_saturate_u32((link->now_ns - at->clear_ns) / 1000);
	if (!hw_sees_backlog)
		return;
	link->queue_bytes = backlog->bytes;
	link->queue_pkts = backlog->pkts;
	if (backlog->pkts)
		link->idle_us = 0;
}

/*
 * Adds an admitted packet to the virtual queue, unless the virtual queue would exceed its limit.
 * The real link would drop the excess. Without the limit, senders that do not reduce their rate,
 * such as those that bypass a proxy, would make the virtual queue endless.
 */
static __always_inline void hw_join_queue(struct hw_router_link *at, u64 now_ns, u32 ip_bytes,
					  u32 pkts)
{
	u64 from_ns = at->clear_ns > now_ns ? at->clear_ns : now_ns;
	u64 rate_Bps = hw_rate_Bps ? hw_rate_Bps : 1;
	u64 room_bytes = hw_limit_bytes ? hw_limit_bytes : HW_MOST_WAIT_S * rate_Bps;
	u64 until_ns;

	if (HW_ROUTER.gather)
		return;
	until_ns = from_ns + (u64)ip_bytes * HW_SECOND_NS / rate_Bps;
	if (from_ns > now_ns &&
	    until_ns - now_ns > hw_min_u64(room_bytes, HW_MOST_BYTES) * HW_SECOND_NS / rate_Bps)
		return;
	if (from_ns == now_ns) {
		at->busy_bytes = 0;
		at->busy_pkts = 0;
	} else if (at->busy_pkts >= HW_MEAN_PKTS) {
		at->busy_bytes /= 2;
		at->busy_pkts /= 2;
	}
	at->busy_bytes += ip_bytes;
	at->busy_pkts += pkts;
	at->clear_ns = until_ns;
}

static __always_inline void hw_keep_event(struct hw_router_link *at, const struct hw_link *link,
					  const struct hw_found *found, u64 flow)
{
	struct hw_router_event *event = &at->events[at->n_events % HW_EVENTS_KEPT];
	u32 i;

	event->now_ns = link->now_ns;
	event->flow = flow;
	event->noted = link->noted;
#pragma unroll
	for (i = 0; i < HW_MAX_NOTES; i++)
		event->notes[i] = link->notes[i];
	event->sender = found->ip.source;
	event->peer = found->ip.destination;
	event->sender_port = found->ports.source;
	event->peer_port = found->ports.destination;
	event->number = ++at->n_events;
}

/* Initializes the link's state before the algorithm's first call. */
static __always_inline void hw_begin(struct hw_router_link *at, const u32 *tun,
				     struct hw_link *link)
{
	if (at->clear_ns)
		return;
	if (HW_ROUTER.init)
		HW_ROUTER.init(at->state, tun, link);
	at->clear_ns = link->now_ns;
}

/* The sum of the bytes that all processors have gathered. */
static __always_inline u64 hw_gathered_bytes(void)
{
	u32 zero = 0, cpu;
	u64 sum = 0;

	bpf_for(cpu, 0, hw_cpus)
	{
		struct hw_router_traffic *traffic;

		traffic = bpf_map_lookup_percpu_elem(&hw_router_seen, &zero, cpu);
		if (traffic)
			sum += *(volatile u64 *)&traffic->gathered_bytes;
	}
	return sum;
}

/*
 * If the gathering time is over, reports the gathered bytes to the algorithm before the present
 * packet is counted. Returns the time in jiffies of the next check, or 0 to stop gathering.
 */
static __noinline u64 hw_end_gathering(void)
{
	struct hw_link link = { .rate_Bps = hw_rate_Bps, .limit_bytes = hw_limit_bytes };
	const u32 *tun = (const u32 *)hw_router_tun;
	struct hw_router_link *at;
	u64 now_ticks, now_ns, until_ns, gathered;
	u32 zero = 0;

	barrier_var(tun);
	at = bpf_map_lookup_elem(&hw_router_links, &zero);
	if (!at || !HW_ROUTER.gather)
		return 0;
	/* read jiffies before the clock: in the other order the next check could be late */
	now_ticks = bpf_jiffies64();
	now_ns = bpf_ktime_get_ns();
	until_ns = *(volatile u64 *)&at->gather_until_ns;
	if (now_ns >= until_ns) {
		gathered = hw_gathered_bytes();
		bpf_spin_lock(&at->lock);
		link.now_ns = now_ns;
		hw_begin(at, tun, &link);
		until_ns = at->gather_until_ns;
		if (until_ns && gathered > at->gathered_bytes) {
			/* another processor has reported this gathering time in the meantime */
			link.now_ns = until_ns - 1;
			HW_ROUTER.gather(at->state, tun, &link, gathered - at->gathered_bytes);
			at->gathered_bytes = gathered;
		}
		link.now_ns = now_ns;
		until_ns = HW_ROUTER.gather(at->state, tun, &link, 0);
		at->gather_until_ns = until_ns;
		bpf_spin_unlock(&at->lock);
	}
	if (!until_ns)
		return 0;
	/* rounded down to a jiffy: within the last jiffy, each packet reads the exact clock */
	return now_ticks + (until_ns > now_ns ? (until_ns - now_ns) / hw_tick_ns : 0);
}

/* Whether a packet certainly has no header of the algorithm: the header is an IP option, and the
 * packet is IPv4 without options. */
static __always_inline int hw_is_plain(struct __sk_buff *skb)
{
	u8 *ip = (u8 *)(long)skb->data + hw_link_header_bytes;

	return HW_CARRIER == HW_IP_OPTION && ip + 1 <= (u8 *)(long)skb->data_end &&
	       *ip == HW_IPV4_PLAIN;
}

/* Calls tick() with the time at which tick() was due, or with the present time if tick() is late
 * by more than one interval. */
static __always_inline void hw_tick(struct hw_router_link *at, const u32 *tun, struct hw_link *link,
				    const struct hw_backlog *backlog)
{
	u64 now_ns = link->now_ns;

	if (at->ticked_ns && now_ns - at->tick_ns < at->tick_ns - at->ticked_ns)
		link->now_ns = at->tick_ns;
	at->ticked_ns = link->now_ns;
	hw_fill_link(at, link, backlog);
	at->tick_ns = HW_ROUTER.tick(at->state, tun, link);
	if (!at->tick_ns)
		at->tick_ns = ~0ull;
	link->now_ns = now_ns;
}

/* Passes one packet to arrive() and depart() of the algorithm. Returns an enum hw_verdict. */
static __always_inline u32 hw_process_packet(struct hw_router_link *at, const u32 *tun,
					     struct hw_link *link, const struct hw_backlog *backlog,
					     const struct hw_packet *pkt, struct hw_found *found,
					     void *fields)
{
	u32 verdict = HW_PASS;

	hw_begin(at, tun, link);
	if (HW_ROUTER.tick && link->now_ns >= at->tick_ns)
		hw_tick(at, tun, link, backlog);
	hw_fill_link(at, link, backlog);
	if (HW_ROUTER.arrive)
		verdict = HW_ROUTER.arrive(at->state, tun, link, pkt, fields);
	if (verdict == HW_PASS || verdict == HW_MARK) {
		if (HW_ROUTER.depart && !hw_sees_departures())
			HW_ROUTER.depart(at->state, tun, link, pkt, fields);
		hw_join_queue(at, link->now_ns, pkt->ip_bytes, pkt->pkts);
	}
	if (link->noted)
		hw_keep_event(at, link, found, pkt->flow);
	return verdict;
}

/* Handles a packet that may have the algorithm's header, or that arrives while no bytes are
 * gathered. */
static __noinline int hw_handle_packet(struct __sk_buff *skb, u32 ip_bytes, u32 segments)
{
	struct hw_router_traffic *traffic;
	struct hw_router_link *at;
	struct hw_found found = {};
	struct hw_link link = { .rate_Bps = hw_rate_Bps, .limit_bytes = hw_limit_bytes };
	struct hw_packet pkt = {
		.flow = 1, .ip_bytes = ip_bytes, .local = !skb->ingress_ifindex, .pkts = segments
	};
	struct hw_backlog backlog = {};
	const u32 *tun = (const u32 *)hw_router_tun;
	u32 zero = 0, verdict;
	int has_header = 0;
#ifdef HW_PUBLISHES
	struct hw_monitor monitor = {};
	int has_news;
#endif

	/* hides from the compiler that the tunables are constants: the compiler would insert the
	 * values from before load */
	barrier_var(tun);
	traffic = bpf_map_lookup_elem(&hw_router_seen, &zero);
	at = bpf_map_lookup_elem(&hw_router_links, &zero);
	if (!traffic || !at)
		return HW_PASS_ON;
	if (hw_read_ipv4(skb, &found.ip)) {
		pkt.flow = hw_flow(skb, &found);
		pkt.ecn = found.ip.tos & 3;
		pkt.ip_id = bpf_ntohs(found.ip.id);
		has_header = hw_decode(skb, &found);
	}
#ifdef HW_PUBLISHES
	/* asking for the hash saves it in the packet, so departures.h finds the same flow */
	if (hw_sees_departures() || pkt.flow == 1)
		pkt.flow = (u64)bpf_get_hash_recalc(skb) << 1 | 1;
	pkt.opens = hw_opens(skb, ip_bytes);
#endif
	if (HW_ROUTER.gather && !has_header && traffic->gather_until_ticks) {
		traffic->gathered_bytes += ip_bytes;
		return HW_PASS_ON;
	}
	if (hw_sees_backlog && !hw_read_backlog(skb, &backlog))
		traffic->no_backlog++;
	link.now_ns = bpf_ktime_get_ns();
	link.random = bpf_get_prandom_u32();

	bpf_spin_lock(&at->lock);
	verdict = hw_process_packet(at, tun, &link, &backlog, &pkt, &found,
				    has_header ? found.fields : 0);
#ifdef HW_PUBLISHES
	has_news = hw_has_news(at, tun, &monitor);
#endif
	bpf_spin_unlock(&at->lock);
#ifdef HW_PUBLISHES
	if (has_news)
		hw_publish_news(link.now_ns, &monitor);
#endif

	traffic->headers += has_header;
	if (verdict == HW_DROP_FULL || verdict == HW_DROP_EARLY) {
		traffic->drops += segments;
		return HW_DROP_PACKET;
	}
	if (has_header)
		traffic->changed += hw_encode(skb, &found);
	if (verdict == HW_MARK && bpf_skb_ecn_set_ce(skb))
		traffic->marks += segments;
	return HW_PASS_ON;
}

SEC("tcx/egress")
int hw_router(struct __sk_buff *skb)
{
	struct hw_router_traffic *traffic;
	u32 length = skb->wire_len, segments = 1, zero = 0;

	traffic = bpf_map_lookup_elem(&hw_router_seen, &zero);
	if (!traffic)
		return HW_PASS_ON;
	if (length != skb->len) /* several packets in one buffer */
		segments = hw_max_u32(skb->gso_segs, 1);
	length -= segments * hw_link_header_bytes;
	if (HW_ROUTER.gather && bpf_jiffies64() >= traffic->gather_until_ticks)
		traffic->gather_until_ticks = hw_end_gathering();
	traffic->packets += segments;
	traffic->bytes += length;
	if (HW_ROUTER.gather && traffic->gather_until_ticks && hw_is_plain(skb)) {
		traffic->gathered_bytes += length;
		return HW_PASS_ON;
	}
	return hw_handle_packet(skb, length, segments);
}

#ifdef HW_PUBLISHES
#include "departures.h"
#endif

char hw_license[] SEC("license") = "Dual BSD/GPL";
