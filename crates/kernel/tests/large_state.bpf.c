// SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only)
/* A startup for a test: slow start that counts ACKs in the last word of its state. This state and
 * CUBIC's together do not fit into icsk_ca_priv. */
#include "port/bpf/kernel.h"
#include "port/cc.h"

struct large_state {
	u64 unused[12];
	u64 acks;
};

static __attribute__((always_inline)) void
large_state_pkts_acked(void *state, const u32 *tun, struct hw_conn *c, const struct hw_ack *ack)
{
	((struct large_state *)state)->acks++;
}

static __attribute__((always_inline)) u32 large_state_grow(void *state, const u32 *tun,
							   struct hw_conn *c, u32 acked_pkts)
{
	return hw_slow_start(c, acked_pkts);
}

HW_TABLE struct hw_startup_ops hw_startup_large_state = {
	.name = "large-state",
	.suffix = "ls",
	.state_bytes = sizeof(struct large_state),
	.pkts_acked = large_state_pkts_acked,
	.slow_start = large_state_grow,
};

#define HW_STARTUP hw_startup_large_state
#include "port/bpf/part.h"
