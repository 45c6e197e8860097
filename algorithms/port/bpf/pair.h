/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/*
 * A control joined with a startup in eBPF: its tunables and its calls, over a
 * connection as the contract describes it. control.h fills that in from a socket,
 * contract.h from a test's list of situations. The build writes one translation
 * unit per pair, which defines
 *   HW_PAIR_NAME                         the kernel's name, at most 15 characters
 *   HW_CONTROL_NAME, HW_STARTUP_NAME     the names by which people choose them
 *   HW_PAIR_CC, HW_PAIR_STARTUP          the two tables
 *   HW_CC_DEFAULTS, HW_STARTUP_DEFAULTS  tunables' values in declared order
 *   HW_CONTROLS                          if the control takes rate samples
 *   HW_PACES                             if one of them may pace
 *   HW_STARTUP_PACES                     if that is the startup
 *   HW_STATE_IN_STORAGE                  if all state together exceeds icsk_ca_priv
 *   HW_CC_IN_STORAGE                     if the control's alone does
 * and includes kernel.h, the two algorithms' files and one of the two.
 */
#include "../cc.h"

#define HW_MAX_TUNABLES 16

/* Set before load; the verifier then knows them as constants. */
const volatile u32 hw_cc_tun[HW_MAX_TUNABLES] = HW_CC_DEFAULTS;
const volatile u32 hw_startup_tun[HW_MAX_TUNABLES] = HW_STARTUP_DEFAULTS;

/* By these an attached object tells what it is, under whatever name it runs. */
const volatile char hw_control_name[16] = HW_CONTROL_NAME;
const volatile char hw_startup_name[24] = HW_STARTUP_NAME;

_Static_assert(sizeof(HW_PAIR_NAME) <= 16, "a congestion control's name has 15 characters");

void hw_state_too_large(void) __attribute__((error("state of the pair exceeds icsk_ca_priv")));

#define HW_INLINE static inline __attribute__((always_inline))

/* What the algorithms asked of pacing; the socket's own fields change with every ACK. */
struct hw_pacing {
	u64 rate_Bps;
	u32 chunk_pkts;
	u32 is_ours; /* the socket paces because of us */
};

/* Everything one callback works on. */
struct hw_call {
	struct tcp_sock *tp;
	struct sock *sk;
	void *cc_state;
	void *startup_state;
	struct hw_pacing *pacing;
	struct hw_app *app; /* null: nobody has said anything */
	u32 cc_tun[HW_MAX_TUNABLES];
	u32 startup_tun[HW_MAX_TUNABLES];
	struct hw_conn conn;
};

/* What stands behind the control's state: the pacing, if any, then the startup's. */
HW_INLINE void *hw_behind(void *cc_state)
{
	u32 offset = (HW_PAIR_CC.state_bytes + 7) & ~7u;
	u32 bytes = HW_PAIR_STARTUP.state_bytes;

#ifdef HW_PACES
	bytes += sizeof(struct hw_pacing);
#endif
	if (offset + bytes > HW_CC_STATE_BYTES)
		hw_state_too_large();
	return (char *)cc_state + offset;
}

HW_INLINE void hw_join(struct hw_call *call, void *cc_state, void *startup_state)
{
	u32 i;

	call->cc_state = cc_state;
	call->startup_state = startup_state;
#pragma unroll
	for (i = 0; i < HW_MAX_TUNABLES; i++) {
		if (i < HW_PAIR_CC.n_tunables)
			call->cc_tun[i] = hw_cc_tun[i];
		if (i < HW_PAIR_STARTUP.n_tunables)
			call->startup_tun[i] = hw_startup_tun[i];
	}
}

HW_INLINE void hw_pair_open(struct hw_call *call)
{
	if (HW_PAIR_STARTUP.open)
		HW_PAIR_STARTUP.open(call->startup_state, call->startup_tun, &call->conn);
}

HW_INLINE void hw_pair_init(struct hw_call *call)
{
	if (HW_PAIR_STARTUP.init)
		HW_PAIR_STARTUP.init(call->startup_state, call->startup_tun, &call->conn);
	if (HW_PAIR_CC.init)
		HW_PAIR_CC.init(call->cc_state, call->cc_tun, &call->conn);
}

HW_INLINE void hw_pair_pkts_acked(struct hw_call *call, const struct hw_ack *ack)
{
	if (HW_PAIR_STARTUP.pkts_acked)
		HW_PAIR_STARTUP.pkts_acked(call->startup_state, call->startup_tun, &call->conn,
					   ack);
	if (HW_PAIR_CC.pkts_acked)
		HW_PAIR_CC.pkts_acked(call->cc_state, call->cc_tun, &call->conn, ack);
}

#ifdef HW_CONTROLS
HW_INLINE void hw_pair_control(struct hw_call *call, const struct hw_rate_sample *sample)
{
	HW_PAIR_CC.control(call->cc_state, call->cc_tun, &call->conn, sample);
}
#else
HW_INLINE void hw_pair_grow(struct hw_call *call, u32 acked_pkts)
{
	hw_grow(&HW_PAIR_CC, call->cc_state, call->cc_tun, &HW_PAIR_STARTUP, call->startup_state,
		call->startup_tun, &call->conn, acked_pkts);
}
#endif

HW_INLINE u32 hw_pair_ssthresh(struct hw_call *call)
{
	return HW_PAIR_CC.ssthresh(call->cc_state, call->cc_tun, &call->conn);
}

HW_INLINE void hw_pair_set_state(struct hw_call *call, u8 new_state)
{
	if (HW_PAIR_STARTUP.set_state)
		HW_PAIR_STARTUP.set_state(call->startup_state, call->startup_tun, &call->conn,
					  new_state);
	if (HW_PAIR_CC.set_state)
		HW_PAIR_CC.set_state(call->cc_state, call->cc_tun, &call->conn, new_state);
}

HW_INLINE void hw_pair_event(struct hw_call *call, u8 event)
{
	if (HW_PAIR_STARTUP.event)
		HW_PAIR_STARTUP.event(call->startup_state, call->startup_tun, &call->conn, event);
	if (HW_PAIR_CC.event)
		HW_PAIR_CC.event(call->cc_state, call->cc_tun, &call->conn, event);
}

HW_INLINE u32 hw_pair_undo_cwnd(struct hw_call *call, u32 prior_cwnd_pkts)
{
	if (!HW_PAIR_CC.undo_cwnd)
		return hw_max_u32(call->conn.cwnd_pkts, prior_cwnd_pkts);
	return HW_PAIR_CC.undo_cwnd(call->cc_state, call->cc_tun, &call->conn, prior_cwnd_pkts);
}

HW_INLINE u32 hw_pair_min_cwnd(struct hw_call *call)
{
	if (!HW_PAIR_CC.min_cwnd)
		return call->conn.ssthresh_pkts;
	return HW_PAIR_CC.min_cwnd(call->cc_state, call->cc_tun, &call->conn);
}

char hw_license[] SEC("license") = "Dual BSD/GPL";
