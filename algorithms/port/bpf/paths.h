/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/*
 * The memory of the fast-startup manager: what earlier connections measured about the path to a
 * destination. A connection saves its delivery rate and its smallest round trip when it ends. The
 * next connection to the destination takes the entry, so only one of several connections starts
 * with the saved window (RFC 9959). If that connection measured nothing better, it puts the entry
 * back when it ends.
 */
#ifndef HEADWAY_PORT_BPF_PATHS_H
#define HEADWAY_PORT_BPF_PATHS_H

#include "app.h"

/* Windows below four initial windows are not saved (RFC 9959). */
#define HW_LEAST_SAVED_PKTS 40

struct hw_path_key {
	u32 netns; /* inode of the network namespace */
	struct hw_prefix peer;
};

struct hw_path {
	u64 saved_ns;	/* CLOCK_MONOTONIC */
	u32 cwnd_pkts;	/* packets that the path delivered in one smallest round trip */
	u32 min_rtt_us; /* smallest round trip; 0: a connection has taken this entry */
	u32 pkt_bytes;	/* payload bytes of one packet */
	u32 unused;
};

/* The map of saved paths. If the map is full, the kernel removes the least recently used
 * destination. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 4096);
	__type(key, struct hw_path_key);
	__type(value, struct hw_path);
} hw_paths SEC(".maps");

/* The lifetime of an entry; 0: nothing is remembered. */
struct hw_manager {
	u64 lifetime_ns;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct hw_manager);
} hw_manager SEC(".maps");

static inline __attribute__((always_inline)) u64 hw_lifetime_ns(void)
{
	u32 zero = 0;
	struct hw_manager *manager = bpf_map_lookup_elem(&hw_manager, &zero);

	return manager ? manager->lifetime_ns : 0;
}

/* Returns a destination's entry; null if it has no entry, if the entry has expired, or if a
 * connection has taken it. */
static inline __attribute__((always_inline)) struct hw_path *
hw_path_to(const struct hw_path_key *key)
{
	u64 lifetime_ns = hw_lifetime_ns();
	struct hw_path *path;

	if (!lifetime_ns)
		return 0;
	path = bpf_map_lookup_elem(&hw_paths, key);
	if (!path || !path->min_rtt_us || bpf_ktime_get_ns() - path->saved_ns > lifetime_ns)
		return 0;
	return path;
}

#endif
