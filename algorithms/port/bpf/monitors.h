/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/*
 * What the monitors of this machine's devices publish (../monitor.h): routers write it
 * (router.h), controls read it (control.h). headwayctl pins the map, adds a device's entry
 * when it attaches a monitor there, and removes it again.
 *
 * An entry's lock is held while it is copied. Entries expire for controls: a monitor publishes
 * in each of its intervals (at most 3.2 s) in which a packet leaves, and no ACK arrives
 * without a packet before it.
 */
#ifndef HEADWAY_PORT_BPF_MONITORS_H
#define HEADWAY_PORT_BPF_MONITORS_H

#include "kernel.h"
#include "../monitor.h"

#define HW_MOST_MONITORS   64
#define HW_MONITOR_LIFE_NS 10000000000ull

struct hw_monitor_key {
	u32 netns;  /* inode of the namespace */
	u32 device; /* its number there */
};

struct hw_published {
	struct bpf_spin_lock lock;
	u32 unused;
	u64 told_ns; /* CLOCK_MONOTONIC; 0: nothing was published yet */
	struct hw_monitor monitor;
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, HW_MOST_MONITORS);
	__type(key, struct hw_monitor_key);
	__type(value, struct hw_published);
} hw_monitors SEC(".maps");

/* If two publish at once, the later one counts. */
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

/* Fills in what was published last; zeros if nothing is known or it has expired. */
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
