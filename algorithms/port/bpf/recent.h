/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/*
 * The last Quick-Start requests that a host sent, for `headwayctl status`. Two processors that
 * write the same entry at once may mix two requests, which only affects the display.
 */
#ifndef HEADWAY_PORT_BPF_RECENT_H
#define HEADWAY_PORT_BPF_RECENT_H

#include "kernel.h"

#define HW_RECENT 16 /* a power of 2 */

struct hw_recent_request {
	u64 time_ns; /* CLOCK_MONOTONIC */
	u32 sender;  /* addresses and ports in network byte order */
	u32 peer;
	u16 sender_port;
	u16 peer_port;
	u8 asked_code;
	u8 granted_code;
	u8 failure; /* enum hw_qs_failure */
	u8 unused;
};

struct hw_recent {
	u64 count; /* requests since the start; request n is at index n mod HW_RECENT */
	struct hw_recent_request requests[HW_RECENT];
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct hw_recent);
} hw_recent SEC(".maps");

/* Returns the next entry to fill in, with its time set; null if the map is missing. */
static __always_inline struct hw_recent_request *hw_next_recent(void)
{
	u32 zero = 0;
	struct hw_recent *recent = bpf_map_lookup_elem(&hw_recent, &zero);
	struct hw_recent_request *request;

	if (!recent)
		return 0;
	request = &recent->requests[__sync_fetch_and_add(&recent->count, 1) % HW_RECENT];
	request->time_ns = bpf_ktime_get_ns();
	return request;
}

#endif
