/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/*
 * What the eBPF binding uses of the kernel: the fields it reads or writes, found
 * in the running kernel's type information at load (CO-RE). Nothing else of
 * these structures is declared, and no version is asked for.
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

/* Kinds of maps, by the numbers of the kernel's interface. */
enum {
	BPF_MAP_TYPE_HASH = 1,
	BPF_MAP_TYPE_ARRAY = 2,
	BPF_MAP_TYPE_PERCPU_ARRAY = 6,
	BPF_MAP_TYPE_LRU_HASH = 9,
	BPF_MAP_TYPE_LPM_TRIE = 11,
	BPF_MAP_TYPE_SK_STORAGE = 24,
};

/*
 * Contexts of programs, in the layout of the kernel's interface; the verifier knows
 * them by their offsets and takes no other access.
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

struct sock_common {
	unsigned short skc_family;
};

struct sock {
	struct sock_common __sk_common;
	u32 sk_pacing_status; /* 0: not paced, 1: by TCP, 2: by the queueing discipline */
	unsigned long sk_pacing_rate;
};

struct inet_connection_sock {
	u8 icsk_ca_state : 5;
	u64 icsk_ca_priv[13];
};

struct minmax_sample {
	u32 t;
	u32 v;
};

struct minmax {
	struct minmax_sample s[3];
};

struct tcp_sock {
	struct inet_connection_sock inet_conn;
	u32 snd_cwnd;
	u32 snd_cwnd_cnt;
	u32 snd_ssthresh;
	u32 snd_cwnd_clamp;
	u32 prior_cwnd;
	u64 tcp_mstamp; /* us */
	u32 delivered;
	u32 snd_una;
	u32 snd_nxt;
	u32 write_seq;
	u32 snd_wnd;
	u32 data_segs_out;
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
};

struct ack_sample {
	u32 pkts_acked;
	s32 rtt_us;
	u32 in_flight;
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
	u32 (*min_tso_segs)(struct sock *sk);
};

#pragma clang attribute pop

#endif
