/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/*
 * The kernel's structures that the eBPF binding uses, with only the fields that it reads or
 * writes. At load, the fields are located through the running kernel's type information
 * (CO-RE). The code does not check kernel versions.
 */
#ifndef HEADWAY_PORT_BPF_KERNEL_H
#define HEADWAY_PORT_BPF_KERNEL_H

#define HW_BPF
#include "../types.h"

/* The names under which libbpf's headers know the integer types. */
typedef u8 __u8;
typedef u16 __u16;
typedef u32 __u32;
typedef u64 __u64;
typedef s32 __s32;
typedef s64 __s64;
typedef u16 __be16;
typedef u32 __be32;
typedef u32 __wsum;

/* Types of eBPF maps, with the numbers of the kernel's interface. */
enum {
	BPF_MAP_TYPE_HASH = 1,
	BPF_MAP_TYPE_ARRAY = 2,
	BPF_MAP_TYPE_PERCPU_ARRAY = 6,
	BPF_MAP_TYPE_LRU_HASH = 9,
	BPF_MAP_TYPE_LPM_TRIE = 11,
	BPF_MAP_TYPE_SK_STORAGE = 24,
};

/*
 * Contexts of eBPF programs, in the layout of the kernel's interface. The verifier allows accesses
 * only at the offsets of their fields.
 */
struct bpf_sock {
	u32 bound_dev_if;
	u32 family;
	u32 type;
	u32 protocol;
	u32 mark;
	u32 priority;
	u32 src_ip4; /* addresses in network byte order */
	u32 src_ip6[4];
	u32 src_port;
	u16 dst_port; /* network byte order */
	u16 unused;
	u32 dst_ip4;
	u32 dst_ip6[4];
	u32 state;
	s32 rx_queue_mapping;
};

struct bpf_tcp_sock {
	u32 snd_cwnd;
	u32 srtt_us;
	u32 rtt_min;
	u32 snd_ssthresh;
	u32 rcv_nxt;
	u32 snd_nxt;
	u32 snd_una;
	u32 mss_cache;
	u32 ecn_flags;
	u32 rate_delivered;
	u32 rate_interval_us;
	u32 packets_out;
	u32 retrans_out;
	u32 total_retrans;
	u32 segs_in;
	u32 data_segs_in;
	u32 segs_out;
	u32 data_segs_out;
	u32 lost_out;
	u32 sacked_out;
	u64 bytes_received;
	u64 bytes_acked;
};

struct __sk_buff {
	u32 len;
	u32 pkt_type;
	u32 mark;
	u32 queue_mapping;
	u32 protocol; /* network byte order */
	u32 vlan_present;
	u32 vlan_tci;
	u32 vlan_proto;
	u32 priority;
	u32 ingress_ifindex;
	u32 ifindex;
	u32 tc_index;
	u32 cb[5];
	u32 hash;
	u32 tc_classid;
	u32 data;
	u32 data_end;
	u32 napi_id;
	u32 family;
	u32 remote_ip4;
	u32 local_ip4;
	u32 remote_ip6[4];
	u32 local_ip6[4];
	u32 remote_port;
	u32 local_port;
	u32 data_meta;
	__attribute__((aligned(8))) void *flow_keys;
	u64 tstamp;
	u32 wire_len;
	u32 gso_segs;
	__attribute__((aligned(8))) struct bpf_sock *sk;
	u32 gso_size;
};

struct bpf_spin_lock {
	u32 val;
};

/* The iterator that libbpf's loop macro bpf_for uses. */
struct bpf_iter_num {
	__attribute__((aligned(8))) u64 opaque[1];
};

/* The context of a sockops program: an event of a socket in a cgroup. */
struct bpf_sock_ops {
	u32 op;
	u32 args[4];
	u32 family;
	u32 remote_ip4;
	u32 local_ip4;
	u32 remote_ip6[4];
	u32 local_ip6[4];
	u32 remote_port;
	u32 local_port;
	u32 is_fullsock;
	u32 snd_cwnd;
	u32 srtt_us;
	u32 bpf_sock_ops_cb_flags;
	u32 state;
	u32 rtt_min;
	u32 snd_ssthresh;
	u32 rcv_nxt;
	u32 snd_nxt;
	u32 snd_una;
	u32 mss_cache;
	u32 ecn_flags;
	u32 rate_delivered;
	u32 rate_interval_us;
	u32 packets_out;
	u32 retrans_out;
	u32 total_retrans;
	u32 segs_in;
	u32 data_segs_in;
	u32 segs_out;
	u32 data_segs_out;
	u32 lost_out;
	u32 sacked_out;
	u32 sk_txhash;
	u64 bytes_received;
	u64 bytes_acked;
	__attribute__((aligned(8))) struct bpf_sock *sk;
	__attribute__((aligned(8))) void *skb_data;
	__attribute__((aligned(8))) void *skb_data_end;
	u32 skb_len;
	u32 skb_tcp_flags;
	u64 skb_hwtstamp;
};

struct bpf_sockopt {
	__attribute__((aligned(8))) struct bpf_sock *sk;
	__attribute__((aligned(8))) void *optval;
	__attribute__((aligned(8))) void *optval_end;
	s32 level;
	s32 optname;
	s32 optlen;
	s32 retval;
};

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_endian.h>

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct ns_common {
	u32 inum;
};

struct net {
	struct ns_common ns;
};

typedef struct {
	struct net *net;
} possible_net_t;

struct in6_addr {
	union {
		u32 u6_addr32[4];
	} in6_u;
};

struct sock_common {
	u32 skc_daddr; /* addresses and ports in network byte order */
	u32 skc_rcv_saddr;
	u16 skc_dport;
	u16 skc_num; /* local port in host byte order; the other fields are in network byte order */
	unsigned short skc_family;
	volatile unsigned char skc_state;
	possible_net_t skc_net;
	struct in6_addr skc_v6_daddr;
};

struct net_device;

struct dst_entry {
	struct net_device *dev;
};

struct sock {
	struct sock_common __sk_common;
	struct dst_entry *sk_dst_cache; /* cached route; null: the route has to be looked up */
	u32 sk_pacing_status; /* who paces: 0: nobody, 1: TCP, 2: the queueing discipline */
	unsigned long sk_pacing_rate;
};

struct tcp_congestion_ops;

struct inet_connection_sock {
	const struct tcp_congestion_ops *icsk_ca_ops;
	u8 icsk_ca_state : 5;
	u8 icsk_ca_initialized : 1;
	struct {
		u8 pending; /* how and when the next ACK is sent */
	} icsk_ack;
	u64 icsk_ca_priv[13];
};

struct minmax_sample {
	u32 t;
	u32 v;
};

struct minmax {
	struct minmax_sample s[3];
};

struct tcp_options_received {
	u16 sack_ok : 3; /* both ends use selective acknowledgements */
};

struct tcp_sock {
	struct inet_connection_sock inet_conn;
	struct tcp_options_received rx_opt;
	u32 snd_cwnd;
	u32 snd_cwnd_cnt;
	u32 snd_ssthresh;
	u32 snd_cwnd_clamp;
	u32 prior_cwnd;
	u32 prior_ssthresh; /* ssthresh before the reduction; 0: it must not be undone */
	u32 undo_marker;    /* snd_una when losses began; 0: the reduction must not be undone */
	u64 tcp_mstamp;	    /* us */
	u64 tcp_wstamp_ns;  /* when pacing lets the next packet leave */
	u64 tcp_clock_cache;
	u64 delivered_mstamp; /* us */
	u32 delivered;
	u32 delivered_ce;
	u32 lost;
	u32 app_limited;
	u32 snd_una;
	u32 snd_nxt;
	u32 write_seq;
	u64 bytes_acked;
	u32 snd_wnd;
	u32 rcv_nxt;
	u32 data_segs_out;
	u32 rate_delivered; /* delivered packets in the saved delivery-rate sample (tcp_rate.c) */
	u32 rate_interval_us;
	u32 total_retrans;
	u16 tcp_header_len;
	u32 srtt_us; /* << 3 */
	struct minmax rtt_min;
	u32 mss_cache;
	u32 packets_out;
	u32 sacked_out;
	u32 lost_out;
	u32 retrans_out;
	u32 max_packets_out;
	u32 lsndtime; /* jiffies */
	u8 is_cwnd_limited : 1;
	u8 ecn_flags;
	u8 bpf_sock_ops_cb_flags; /* the events for which the cgroup's programs are called */
};

struct qdisc_skb_head {
	u32 qlen;
};

struct gnet_stats_queue {
	u32 backlog;
};

struct Qdisc {
	int (*enqueue)(void);
	u32 flags;
	struct qdisc_skb_head q;
	struct gnet_stats_queue qstats;
};

struct netdev_queue {
	struct Qdisc *qdisc;
};

struct net_device {
	struct netdev_queue *_tx;
	u32 real_num_tx_queues;
	int ifindex;
	possible_net_t nd_net;
};

struct sk_buff {
	struct net_device *dev;
	u32 len;
	u32 hash;
	unsigned char *head;
	unsigned char *data;
	u32 end;
	char cb[48];
};

struct skb_shared_info {
	u16 gso_size;
	u16 gso_segs;
};

/* The control block of a packet in a queueing discipline. */
struct qdisc_skb_cb {
	u32 pkt_len; /* bytes of all packets in the buffer, with their headers */
};

struct ack_sample {
	u32 pkts_acked;
	s32 rtt_us;
	u32 in_flight;
};

struct rate_sample {
	u64 prior_mstamp;
	u32 prior_delivered;
	s32 delivered;
	s32 delivered_ce;
	long interval_us;
	long rtt_us;
	int losses;
	u32 acked_sacked;
	u32 prior_in_flight;
	_Bool is_app_limited;
	_Bool is_retrans;
	_Bool is_ack_delayed;
};

struct tcp_congestion_ops {
	u32 (*ssthresh)(struct sock *sk);
	void (*cong_avoid)(struct sock *sk, u32 ack, u32 acked);
	void (*set_state)(struct sock *sk, u8 new_state);
	void (*cwnd_event)(struct sock *sk, int event);
	void (*pkts_acked)(struct sock *sk, const struct ack_sample *sample);
	u32 (*undo_cwnd)(struct sock *sk);
	char name[16];
	u32 flags;
	void (*init)(struct sock *sk);
	void (*release)(struct sock *sk);
	u32 (*min_tso_segs)(struct sock *sk);
	u32 (*sndbuf_expand)(struct sock *sk);
	void (*cong_control)(struct sock *sk, u32 ack, int flag, const struct rate_sample *rs);
};

#pragma clang attribute pop

/* The kernel's own socket buffer behind an eBPF program's context. */
extern void *bpf_cast_to_kern_ctx(void *context) __ksym;

#endif
