/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/*
 * A map of what the monitors of this machine's devices publish (../monitor.h). Router programs
 * write an entry (router.h), controls read it (control.h). headwayctl pins the map, adds a
 * device's entry when it attaches a monitor there, and removes it when it detaches the monitor.
 * Copies of an entry are made under its lock. Controls ignore entries older than
 * HW_MONITOR_LIFE_NS. A monitor publishes in each of its intervals (at most 3.2 s) in which a
 * packet leaves, and an ACK only arrives after a packet has left, so the entry of a live
 * monitor is never that old.
 */
#ifndef HEADWAY_PORT_BPF_MONITORS_H
#define HEADWAY_PORT_BPF_MONITORS_H

#include "kernel.h"
#include "../monitor.h"

#define HW_MOST_MONITORS   64
#define HW_MONITOR_LIFE_NS 10000000000ull

struct hw_monitor_key {
	u32 netns;  /* inode of the network namespace */
	u32 device; /* number of the device in that namespace */
};

struct hw_published {
	struct bpf_spin_lock lock;
	u32 unused;
	/* time at which the monitor published this, CLOCK_MONOTONIC; 0: it has published nothing
	 * yet */
	u64 told_ns;
	struct hw_monitor monitor;
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, HW_MOST_MONITORS);
	__type(key, struct hw_monitor_key);
	__type(value, struct hw_published);
} hw_monitors SEC(".maps");

/* Publishes a monitor's data. If two processors publish at the same time, the data with the
 * later time remains. */
static __always_inline void hw_write_monitor(const struct hw_monitor_key *key, u64 now_ns,
					     const struct hw_monitor *monitor)
{
	struct hw_published *published = bpf_map_lookup_elem(&hw_monitors, key);

	if (!published)
		return;
	bpf_spin_lock(&published->lock);
	if (published->told_ns < now_ns) {
		published->told_ns = now_ns;
		published->monitor = *monitor;
	}
	bpf_spin_unlock(&published->lock);
}

/* Reads the data that a monitor published last; zeros if it has published nothing or the data
 * has expired. */
static __always_inline void hw_read_monitor(const struct hw_monitor_key *key,
					    struct hw_monitor *monitor)
{
	struct hw_published *published = bpf_map_lookup_elem(&hw_monitors, key);
	u64 told_ns;

	if (!published)
		return;
	bpf_spin_lock(&published->lock);
	told_ns = published->told_ns;
	*monitor = published->monitor;
	bpf_spin_unlock(&published->lock);
	if (told_ns + HW_MONITOR_LIFE_NS < bpf_ktime_get_ns())
		__builtin_memset(monitor, 0, sizeof(*monitor));
}

#endif
