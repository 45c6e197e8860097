/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/*
 * A control and its startup (pair.h) as a program that makes one call of the contract. Tests
 * run it by BPF_PROG_TEST_RUN: they pass the connection in and read it back. The tests of
 * crates/kernel compare every outcome with the native binding's.
 */
#include "pair.h"

enum hw_contract_call {
	HW_CALL_INIT = 0,
	HW_CALL_PKTS_ACKED = 1,
	HW_CALL_GROW = 2,
	HW_CALL_SSTHRESH = 3,
	HW_CALL_SET_STATE = 4,
	HW_CALL_EVENT = 5,
	HW_CALL_UNDO_CWND = 6,
	HW_CALL_MIN_CWND = 7,
	HW_CALL_OPEN = 8,
	HW_CALL_CONTROL = 9,
	HW_CALL_MONITOR = 10,
	HW_CALL_LOSS = 11,
};

/* The input and output of one call of the contract. */
struct hw_situation {
	struct hw_conn conn;
	struct hw_rate_sample sample;
	struct hw_ack ack;
	struct hw_monitor monitor;
	struct hw_lost lost;
	u32 call; /* enum hw_contract_call */
	u32 argument;
	u32 result;
};

struct hw_situation hw_situation;

/* The algorithms' state of one connection. */
u64 hw_cc_state[HW_FLOW_STATE_BYTES / 8];
u64 hw_startup_state[HW_CC_STATE_BYTES / 8];

HW_INLINE u32 hw_contract_run(struct hw_call *call, const struct hw_situation *situation)
{
	struct hw_ack ack = situation->ack;
#ifdef HW_CONTROLS
	struct hw_rate_sample sample = situation->sample;
	struct hw_monitor monitor = situation->monitor;
	struct hw_lost lost = situation->lost;
#endif
	u32 argument = situation->argument;

	switch (situation->call) {
	case HW_CALL_INIT:
		__builtin_memset(call->cc_state, 0, HW_FLOW_STATE_BYTES);
		__builtin_memset(call->startup_state, 0, HW_CC_STATE_BYTES);
		hw_pair_init(call);
		return 0;
	case HW_CALL_PKTS_ACKED:
		hw_pair_pkts_acked(call, &ack);
		return 0;
#ifdef HW_CONTROLS
	case HW_CALL_CONTROL:
		hw_pair_control(call, &sample);
		return 0;
	case HW_CALL_MONITOR:
		hw_pair_on_monitor(call, &monitor);
		return 0;
	case HW_CALL_LOSS:
		hw_pair_on_loss(call, &lost);
		return 0;
#else
	case HW_CALL_GROW:
		hw_pair_grow(call, argument);
		return 0;
#endif
	case HW_CALL_SSTHRESH:
		return hw_pair_ssthresh(call);
	case HW_CALL_SET_STATE:
		hw_pair_set_state(call, argument);
		return 0;
	case HW_CALL_EVENT:
		hw_pair_event(call, argument);
		return 0;
	case HW_CALL_UNDO_CWND:
		return hw_pair_undo_cwnd(call, argument);
	case HW_CALL_MIN_CWND:
		return hw_pair_min_cwnd(call);
	case HW_CALL_OPEN:
		hw_pair_open(call);
		return 0;
	}
	return 0;
}

SEC("syscall")
int hw_contract(void *ctx)
{
	struct hw_call call;

	hw_join(&call, hw_cc_state, hw_startup_state);
	call.conn = hw_situation.conn;
	/* ACK counting is left out: no stack with eBPF counts ACKs, and the verifier rejects the
	 * loop for it */
	call.conn.counts_acks = 0;
	hw_situation.result = hw_contract_run(&call, &hw_situation);
	hw_situation.conn = call.conn;
	return 0;
}
