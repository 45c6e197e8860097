// SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only)
/* CUBIC with a startup whose state does not fit icsk_ca_priv beside CUBIC's: slow
 * start that counts ACKs in the last word it may have. */
#define HW_PAIR_NAME	    "hwt_large"
#define HW_CONTROL_NAME	    "cubic"
#define HW_STARTUP_NAME	    "large-state"
#define HW_PAIR_CC	    hw_cc_cubic
#define HW_PAIR_STARTUP	    hw_startup_large_state
#define HW_CC_DEFAULTS	    { 1, 1, 717 }
#define HW_STARTUP_DEFAULTS { 0 }
#define HW_STATE_IN_STORAGE

#include "port/bpf/kernel.h"
#include "cc/cubic.c"

struct large_state {
	u64 unused[12];
	u64 acks;
};

static void large_state_pkts_acked(void *state, const u32 *tun, struct hw_conn *c,
				   const struct hw_ack *ack)
{
	((struct large_state *)state)->acks++;
}

static u32 large_state_grow(void *state, const u32 *tun, struct hw_conn *c, u32 acked_pkts)
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

#include "port/bpf/control.h"
