/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/*
 * The native binding: one flow's control and startup with their tunables and state, joined at
 * run time. crates/algorithms mirrors this file, flow.c, queue.c and quick_start.c (`make
 * mirrors`).
 */
#ifndef HEADWAY_PORT_NATIVE_FLOW_H
#define HEADWAY_PORT_NATIVE_FLOW_H

#include "../cc.h"
#include "../queue.h"
#include "../router.h"

#define HW_MAX_TUNABLES 16

struct hw_flow {
	const struct hw_cc_ops *cc;
	const struct hw_startup_ops *startup;
	const u32 *cc_tun; /* flows with the same tunables may share the array */
	const u32 *startup_tun;
	u64 startup_word; /* index in state where the startup's state begins */
	u64 state[HW_FLOW_STATE_BYTES / 8];
};

static inline void *hw_cc_state(struct hw_flow *f)
{
	return f->state;
}

static inline void *hw_startup_state(struct hw_flow *f)
{
	return f->state + f->startup_word;
}

/* A link's queue discipline with its tunables and state, and the packets that the link holds. */
struct hw_queue {
	const struct hw_queue_ops *ops;
	void *state;
	u32 tun[HW_MAX_TUNABLES];
	struct hw_held held;
};

/* A link's router algorithm with its tunables and state. */
struct hw_router {
	const struct hw_router_ops *ops;
	u32 tun[HW_MAX_TUNABLES];
	u64 state[HW_ROUTER_STATE_BYTES / 8];
};

/* The build generates these lists of all algorithms. */
extern const struct hw_cc_ops *const hw_native_controls[];
extern const u32 hw_native_n_controls;
extern const struct hw_startup_ops *const hw_native_startups[];
extern const u32 hw_native_n_startups;
extern const struct hw_queue_ops *const hw_native_queues[];
extern const u32 hw_native_n_queues;
extern const struct hw_router_ops *const hw_native_routers[];
extern const u32 hw_native_n_routers;
extern const struct hw_header *const hw_native_headers[];
extern const u32 hw_native_n_headers;

/* The empty startup of controls that own their start. */
extern const struct hw_startup_ops hw_native_own_start;

/* Returns the size of a structure, or the offset of one of its fields ("hw_conn.cwnd_pkts"). */
struct hw_layout {
	const char *name;
	u64 bytes;
};

extern const struct hw_layout hw_native_layout[];
extern const u32 hw_native_n_layout;

#endif
