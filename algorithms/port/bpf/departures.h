/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/*
 * Calls depart() of a router's algorithm when packets leave a device's own queue. It serves
 * algorithms that use the device's own queue instead of a virtual queue. The kernel reports each
 * packet that it passes to a device's driver, after the queueing discipline released it. The
 * packets that are still in the discipline are the queue behind it.
 *
 * Connections are identified by the packet's hash, from the socket or computed by hw_router().
 * A connection that times out gets a new hash, and then counts as two connections for an
 * interval. As in hw_router(), bytes are the IP bytes of all packets in the buffer.
 */
#ifndef HEADWAY_PORT_BPF_DEPARTURES_H
#define HEADWAY_PORT_BPF_DEPARTURES_H

/* Fills in the total IP bytes and the number of the packets in a buffer. */
static __always_inline void hw_measure_packet(const struct sk_buff *skb, struct hw_packet *pkt)
{
	const struct skb_shared_info *shared = (const void *)(skb->head + skb->end);
	const struct qdisc_skb_cb *notes = (const void *)skb->cb;
	u32 bytes = skb->len;
	u16 segment_bytes = 0, segments = 1;

	bpf_core_read(&segment_bytes, sizeof(segment_bytes), &shared->gso_size);
	if (segment_bytes) {
		bpf_core_read(&segments, sizeof(segments), &shared->gso_segs);
		bpf_core_read(&bytes, sizeof(bytes), &notes->pkt_len);
	}
	pkt->pkts = hw_max_u32(segments, 1);
	pkt->ip_bytes = bytes - pkt->pkts * hw_link_header_bytes;
}

/* Whether a packet is a SYN or a SYN-ACK. */
static __always_inline u8 hw_opens_leaving(const struct sk_buff *skb, u32 ip_bytes)
{
	const u8 *from = skb->data + hw_link_header_bytes;
	u8 ip[HW_IPV4_BYTES], tcp_flags = 0;
	u32 at;

	if (ip_bytes > HW_SYN_BYTES || bpf_probe_read_kernel(ip, sizeof(ip), from))
		return 0;
	at = hw_tcp_after(ip);
	if (!at)
		return 0;
	bpf_probe_read_kernel(&tcp_flags, 1, from + at + __builtin_offsetof(struct hw_tcp, flags));
	return (tcp_flags & HW_TCP_SYN) != 0;
}

SEC("tp_btf/net_dev_start_xmit")
int BPF_PROG(hw_router_sent, const struct sk_buff *skb, const struct net_device *dev)
{
	struct hw_link link = { .rate_Bps = hw_rate_Bps, .limit_bytes = hw_limit_bytes };
	const u32 *tun = (const u32 *)hw_router_tun;
	struct hw_packet pkt = { .local = 1 };
	struct hw_monitor monitor = {};
	struct hw_backlog backlog = {};
	struct hw_router_link *at;
	u32 zero = 0;
	int has_news;

	barrier_var(tun);
	if ((u32)dev->ifindex != hw_monitor_device || dev->nd_net.net->ns.inum != hw_monitor_netns)
		return 0;
	at = bpf_map_lookup_elem(&hw_router_links, &zero);
	if (!at || !HW_ROUTER.depart)
		return 0;
	hw_measure_packet(skb, &pkt);
	pkt.flow = (u64)skb->hash << 1 | 1;
	pkt.opens = hw_opens_leaving(skb, pkt.ip_bytes);
	hw_read_backlog_of(dev, &backlog);
	link.now_ns = bpf_ktime_get_ns();
	link.random = bpf_get_prandom_u32();

	bpf_spin_lock(&at->lock);
	hw_begin(at, tun, &link);
	hw_fill_link(at, &link, &backlog);
	HW_ROUTER.depart(at->state, tun, &link, &pkt, 0);
	has_news = hw_has_news(at, tun, &monitor);
	bpf_spin_unlock(&at->lock);
	if (has_news)
		hw_publish_news(link.now_ns, &monitor);
	return 0;
}

#endif
