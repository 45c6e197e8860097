// SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only)
/*
 * Records the state of a connection's sender in a ring buffer, at every ACK and every change of
 * state. crates/kernel/src/mechanisms/sampler reads the records.
 *
 * The tracepoint of an ACK runs before the kernel processes the ACK. The recorded values have
 * been valid since the previous packet arrived, whose time is also in the record.
 */
#include "port/bpf/kernel.h"

enum {
	HW_MAP_LRU_HASH = 9,
	HW_MAP_RINGBUF = 27,

	HW_ESTABLISHED = 1, /* here and below: the kernel's connection states */
	HW_SYN_SENT = 2,
	HW_FIN_WAIT2 = 5,
	HW_CLOSE = 7,
	HW_LAST_ACK = 9,
	HW_CLOSING = 11,

	HW_NETNS_MAX = 8,
};

enum hw_sample_kind {
	HW_SAMPLE_ACK,
	HW_SAMPLE_CA_STATE,
	HW_SAMPLE_SYN,
	HW_SAMPLE_ESTABLISHED,
	HW_SAMPLE_CLOSED,
};

/* A record: 72 bytes without holes. crates/kernel/src/mechanisms/sampler and
 * python/headway/backends read it. */
struct hw_sample {
	u64 time_ns;  /* CLOCK_MONOTONIC, as all times in this file */
	u64 since_ns; /* arrival time of the connection's previous packet; 0: unknown */
	u64 acked_bytes;
	u32 cwnd_pkts;
	u32 ssthresh_pkts;
	u32 srtt_us; /* << 3; 0: not known */
	u32 inflight_pkts;
	u32 delivered_pkts;
	u32 retransmits_pkts;
	u32 sent_pkts;	     /* data packets, with retransmissions */
	u32 prior_cwnd_pkts; /* cwnd before its last reduction */
	u16 local_port;
	u16 peer_port;
	u16 rtos; /* 0 before Linux 6.7 */
	u8 ca_state;
	u8 kind;
	u32 netns; /* inode of the connection's network namespace */
	u32 mss_bytes;
};

_Static_assert(sizeof(struct hw_sample) == 72, "readers know this layout");

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct sock_common___sample {
	u16 skc_dport; /* network byte order */
	possible_net_t skc_net;
};

struct sock___sample {
	struct sock_common___sample __sk_common;
};

struct inet_sock___sample {
	u16 inet_sport; /* network byte order */
};

struct tcp_sock___sample {
	struct inet_connection_sock inet_conn;
	u32 snd_una;
	u32 write_seq;
	u32 snd_cwnd;
	u32 snd_ssthresh;
	u32 srtt_us;
	u32 delivered;
	u32 total_retrans;
	u32 data_segs_out;
	u32 prior_cwnd;
	u32 packets_out;
	u32 sacked_out;
	u32 lost_out;
	u32 retrans_out;
	u32 mss_cache;
	u64 bytes_acked;
	u16 total_rto;
};

#pragma clang attribute pop

/* Set before load. */
struct hw_sample_config {
	u32 first_port; /* lowest server port of the connections to record */
	u32 last_port;
	/* ACKs that change neither cwnd nor ssthresh nor the number of retransmissions are
	 * recorded at most once in this time */
	u32 gap_ns;
	u32 both_ends;	 /* 1: also record the servers' sockets */
	u32 netns_count; /* 0: all */
	u32 netns[HW_NETNS_MAX];
};

const volatile struct hw_sample_config hw_sample_config = {};

/* Number of records for which the ring buffer had no room. */
u64 hw_sample_lost = 0;

/* What is kept per connection: times and values of its last packet and its last record. */
struct hw_sampled {
	u64 packet_ns;
	u64 record_ns;
	u32 cwnd_pkts;
	u32 ssthresh_pkts;
	u32 retransmits_pkts;
};

struct {
	__uint(type, HW_MAP_LRU_HASH);
	__uint(max_entries, 4096);
	__type(key, u64); /* address of the socket, valid while it exists */
	__type(value, struct hw_sampled);
} hw_sampled SEC(".maps");

struct {
	__uint(type, HW_MAP_RINGBUF);
	__uint(max_entries, 8 << 20);
} hw_samples SEC(".maps");

static __always_inline u32 hw_netns(struct sock *sk)
{
	return BPF_CORE_READ((struct sock___sample *)sk, __sk_common.skc_net.net, ns.inum);
}

static __always_inline u16 hw_peer_port(struct sock *sk)
{
	u16 port = BPF_CORE_READ((struct sock___sample *)sk, __sk_common.skc_dport);

	return __builtin_bswap16(port);
}

static __always_inline u16 hw_local_port(struct sock *sk)
{
	/* skc_num is not used, because a closed socket has released it */
	u16 port = BPF_CORE_READ((struct inet_sock___sample *)sk, inet_sport);

	return __builtin_bswap16(port);
}

static __always_inline int hw_chosen_port(u16 port)
{
	return port >= hw_sample_config.first_port && port <= hw_sample_config.last_port;
}

static __always_inline int hw_chosen(struct sock *sk)
{
	u32 netns;
	u32 i;

	if (!hw_chosen_port(hw_peer_port(sk)) &&
	    !(hw_sample_config.both_ends && hw_chosen_port(hw_local_port(sk))))
		return 0;
	if (hw_sample_config.netns_count == 0)
		return 1;
	netns = hw_netns(sk);
	for (i = 0; i < HW_NETNS_MAX; i++)
		if (i < hw_sample_config.netns_count && hw_sample_config.netns[i] == netns)
			return 1;
	return 0;
}

/* Returns the number of data bytes acknowledged since the connection began. Linux also counts an acknowledged FIN as
 * one byte, which is subtracted here. */
static __always_inline u64 hw_acked_bytes(struct tcp_sock___sample *tp, int fin_sent)
{
	int all = BPF_CORE_READ(tp, snd_una) == BPF_CORE_READ(tp, write_seq);
	u64 acked_bytes = BPF_CORE_READ(tp, bytes_acked);

	return acked_bytes - (fin_sent && all && acked_bytes > 0);
}

static __always_inline void hw_record(struct sock *sk, struct tcp_sock___sample *tp, u8 kind,
				      u8 ca_state, u64 now_ns, u64 since_ns, int fin_sent)
{
	struct hw_sample *sample = bpf_ringbuf_reserve(&hw_samples, sizeof(*sample), 0);

	if (!sample) {
		__sync_fetch_and_add(&hw_sample_lost, 1);
		return;
	}
	sample->time_ns = now_ns;
	sample->since_ns = since_ns;
	sample->acked_bytes = hw_acked_bytes(tp, fin_sent);
	sample->cwnd_pkts = BPF_CORE_READ(tp, snd_cwnd);
	sample->ssthresh_pkts = BPF_CORE_READ(tp, snd_ssthresh);
	sample->srtt_us = BPF_CORE_READ(tp, srtt_us);
	sample->inflight_pkts = BPF_CORE_READ(tp, packets_out) + BPF_CORE_READ(tp, retrans_out) -
				(BPF_CORE_READ(tp, sacked_out) + BPF_CORE_READ(tp, lost_out));
	sample->delivered_pkts = BPF_CORE_READ(tp, delivered);
	sample->retransmits_pkts = BPF_CORE_READ(tp, total_retrans);
	sample->sent_pkts = BPF_CORE_READ(tp, data_segs_out);
	sample->prior_cwnd_pkts = BPF_CORE_READ(tp, prior_cwnd);
	sample->local_port = hw_local_port(sk);
	sample->peer_port = hw_peer_port(sk);
	sample->rtos = 0;
	if (bpf_core_field_exists(tp->total_rto))
		sample->rtos = BPF_CORE_READ(tp, total_rto);
	sample->ca_state = ca_state;
	sample->kind = kind;
	sample->netns = hw_netns(sk);
	sample->mss_bytes = BPF_CORE_READ(tp, mss_cache);
	bpf_ringbuf_submit(sample, 0);
}

static __always_inline u8 hw_ca_state(struct tcp_sock___sample *tp)
{
	return BPF_CORE_READ_BITFIELD_PROBED(&tp->inet_conn, icsk_ca_state);
}

SEC("tp_btf/tcp_probe")
int BPF_PROG(hw_sample_ack, struct sock *sk)
{
	struct tcp_sock___sample *tp = (void *)sk;
	struct hw_sampled first = {};
	struct hw_sampled *last;
	u64 key = (u64)sk;
	u64 now_ns, since_ns;
	u32 cwnd_pkts, ssthresh_pkts, retransmits_pkts;

	if (!hw_chosen(sk))
		return 0;
	now_ns = bpf_ktime_get_ns();
	last = bpf_map_lookup_elem(&hw_sampled, &key);
	if (!last) {
		bpf_map_update_elem(&hw_sampled, &key, &first, 0);
		last = bpf_map_lookup_elem(&hw_sampled, &key);
		if (!last)
			return 0;
	}
	cwnd_pkts = BPF_CORE_READ(tp, snd_cwnd);
	ssthresh_pkts = BPF_CORE_READ(tp, snd_ssthresh);
	retransmits_pkts = BPF_CORE_READ(tp, total_retrans);
	since_ns = last->packet_ns;
	last->packet_ns = now_ns;
	if (now_ns - last->record_ns < hw_sample_config.gap_ns && cwnd_pkts == last->cwnd_pkts &&
	    ssthresh_pkts == last->ssthresh_pkts && retransmits_pkts == last->retransmits_pkts)
		return 0;
	last->record_ns = now_ns;
	last->cwnd_pkts = cwnd_pkts;
	last->ssthresh_pkts = ssthresh_pkts;
	last->retransmits_pkts = retransmits_pkts;
	hw_record(sk, tp, HW_SAMPLE_ACK, hw_ca_state(tp), now_ns, since_ns, 0);
	return 0;
}

/* Runs when a socket's congestion state changes. `state` is the new state; the socket still has the
 * old one. */
SEC("tp_btf/tcp_cong_state_set")
int BPF_PROG(hw_sample_ca_state, struct sock *sk, u8 state)
{
	struct tcp_sock___sample *tp = (void *)sk;

	/* the kernel also calls this function if the state does not change */
	if (hw_chosen(sk) && hw_ca_state(tp) != state)
		hw_record(sk, tp, HW_SAMPLE_CA_STATE, state, bpf_ktime_get_ns(), 0, 0);
	return 0;
}

SEC("tp_btf/inet_sock_set_state")
int BPF_PROG(hw_sample_state, struct sock *sk, int old_state, int new_state)
{
	struct tcp_sock___sample *tp = (void *)sk;
	struct hw_sampled first = {};
	u64 now_ns = bpf_ktime_get_ns();
	u64 key = (u64)sk;
	u8 kind;

	if (!hw_chosen(sk))
		return 0;
	switch (new_state) {
	case HW_SYN_SENT:
		kind = HW_SAMPLE_SYN;
		break;
	case HW_ESTABLISHED:
		kind = HW_SAMPLE_ESTABLISHED;
		first.packet_ns = now_ns;
		bpf_map_update_elem(&hw_sampled, &key, &first, 0);
		break;
	case HW_CLOSE:
		kind = HW_SAMPLE_CLOSED;
		bpf_map_delete_elem(&hw_sampled, &key);
		break;
	default:
		return 0;
	}
	/* a connection that was reset or never opened has sent no FIN */
	hw_record(sk, tp, kind, hw_ca_state(tp), now_ns, 0,
		  old_state == HW_FIN_WAIT2 || old_state == HW_LAST_ACK || old_state == HW_CLOSING);
	return 0;
}

char hw_license[] SEC("license") = "Dual BSD/GPL";
