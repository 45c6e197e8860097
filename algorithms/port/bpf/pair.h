/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/*
 * A control joined with a startup in eBPF: its tunables and its calls, for a connection as the
 * contract describes it. control.h fills the connection in from a socket, contract.h from a
 * test's list of situations. The algorithms are separate objects (part.h), which headwayctl
 * links with this one. The build compiles this file once for each combination of these macros:
 *   HW_JOINED            unless the control owns its start
 *   HW_CONTROLS          if the control takes rate samples
 *   HW_PACES             if the control or the startup may pace
 *   HW_STARTUP_PACES     if the startup may pace
 *   HW_STATE_IN_STORAGE  if the state of both together exceeds icsk_ca_priv
 *   HW_CC_IN_STORAGE     if the control's state alone exceeds icsk_ca_priv
 *   HW_CARRIES           if the control owns a header (endpoint.h); its state is then in
 *                        storage, where both of its programs find it
 *   HW_IN_ECN_BITS       if that header is in the two ECN bits rather than a TCP option
 *   HW_READS_MONITOR     if the control reads what its link's monitor publishes (monitors.h)
 *   HW_ECHOES_CE         if its receiver echoes CE marks exactly (ce_echo.h)
 *   HW_FOLLOWS_LOSSES    if the control is told of losses (losses.h); its state is then in storage
 */
#include "linked.h"

#define HW_MAX_TUNABLES 16

/* headwayctl sets these variables before load. The verifier then knows their values as
 * constants. */
const volatile u32 hw_cc_tun[HW_MAX_TUNABLES] = {};
const volatile u32 hw_startup_tun[HW_MAX_TUNABLES] = {};
const volatile u32 hw_cc_bytes = 0; /* size of the control's state, a multiple of 8 */

/* The names of control and startup, which identify an attached object even under another name
 * in the kernel. */
const volatile char hw_control_name[16] = "";
const volatile char hw_startup_name[24] = "";

#define HW_INLINE static inline __attribute__((always_inline))

/* The pacing that control and startup have set. It is kept here because the stack overwrites the
 * socket's own pacing fields on every ACK. */
struct hw_pacing {
	u64 rate_Bps;
	u32 chunk_pkts;
	u32 is_ours; /* 1: control or startup has switched the socket's pacing on */
};

/* What the receiver knows about the last data packet (ce_echo.h). */
struct hw_ce_echo {
	u32 prior_rcv_nxt; /* rcv_nxt after it */
	u32 is_ce;	   /* 1: it was marked CE */
};

/* The data that one call of a control needs. */
struct hw_call {
	struct tcp_sock *tp;
	struct sock *sk;
	void *cc_state;
	void *startup_state;
	struct hw_pacing *pacing;
#ifdef HW_FOLLOWS_LOSSES
	struct hw_losses *losses;
#endif
	struct hw_app *app; /* hints of the application; null: the application has set none */
	struct hw_conn conn;
};

/* Hides from the compiler that the tunables are constants. The verifier still knows their
 * values. */
#define HW_CC_TUN      ((const u32 *)hw_cc_tun)
#define HW_STARTUP_TUN ((const u32 *)hw_startup_tun)

HW_INLINE void hw_join(struct hw_call *call, void *cc_state, void *startup_state)
{
	call->cc_state = cc_state;
	call->startup_state = startup_state;
}

HW_INLINE void hw_pair_open(struct hw_call *call)
{
#ifdef HW_JOINED
	hw_part_startup_open(call->startup_state, HW_STARTUP_TUN, &call->conn);
#endif
}

HW_INLINE void hw_pair_init(struct hw_call *call)
{
#ifdef HW_JOINED
	hw_part_startup_init(call->startup_state, HW_STARTUP_TUN, &call->conn);
#endif
	hw_part_cc_init(call->cc_state, HW_CC_TUN, &call->conn);
}

HW_INLINE void hw_pair_pkts_acked(struct hw_call *call, const struct hw_ack *ack)
{
#ifdef HW_JOINED
	hw_part_startup_pkts_acked(call->startup_state, HW_STARTUP_TUN, &call->conn, ack);
#endif
	hw_part_cc_pkts_acked(call->cc_state, HW_CC_TUN, &call->conn, ack);
}

#ifdef HW_CONTROLS
HW_INLINE void hw_pair_control(struct hw_call *call, const struct hw_rate_sample *sample)
{
	hw_part_cc_control(call->cc_state, HW_CC_TUN, &call->conn, sample);
}

HW_INLINE void hw_pair_on_loss(struct hw_call *call, const struct hw_lost *lost)
{
	hw_part_cc_on_loss(call->cc_state, HW_CC_TUN, &call->conn, lost);
}

HW_INLINE void hw_pair_on_monitor(struct hw_call *call, const struct hw_monitor *monitor)
{
	hw_part_cc_on_monitor(call->cc_state, HW_CC_TUN, &call->conn, monitor);
}
#else
HW_INLINE void hw_linked_cong_avoid(void *state, const u32 *tun, struct hw_conn *c, u32 acked_pkts)
{
	hw_part_cc_cong_avoid(state, tun, c, acked_pkts);
}

static const struct hw_cc_ops hw_linked_cc = { .cong_avoid = hw_linked_cong_avoid };
#ifdef HW_JOINED
static const struct hw_startup_ops hw_linked_startup = { .slow_start = hw_part_startup_slow_start };
#else
static const struct hw_startup_ops hw_linked_startup = HW_OWN_START;
#endif

HW_INLINE void hw_pair_grow(struct hw_call *call, u32 acked_pkts)
{
	hw_grow(&hw_linked_cc, call->cc_state, HW_CC_TUN, &hw_linked_startup, call->startup_state,
		HW_STARTUP_TUN, &call->conn, acked_pkts);
}
#endif

HW_INLINE u32 hw_pair_ssthresh(struct hw_call *call)
{
	return hw_part_cc_ssthresh(call->cc_state, HW_CC_TUN, &call->conn);
}

HW_INLINE void hw_pair_set_state(struct hw_call *call, u8 new_state)
{
#ifdef HW_JOINED
	hw_part_startup_set_state(call->startup_state, HW_STARTUP_TUN, &call->conn, new_state);
#endif
	hw_part_cc_set_state(call->cc_state, HW_CC_TUN, &call->conn, new_state);
}

HW_INLINE void hw_pair_event(struct hw_call *call, u8 event)
{
#ifdef HW_JOINED
	hw_part_startup_event(call->startup_state, HW_STARTUP_TUN, &call->conn, event);
#endif
	hw_part_cc_event(call->cc_state, HW_CC_TUN, &call->conn, event);
}

HW_INLINE u32 hw_pair_undo_cwnd(struct hw_call *call, u32 prior_cwnd_pkts)
{
	return hw_part_cc_undo_cwnd(call->cc_state, HW_CC_TUN, &call->conn, prior_cwnd_pkts);
}

HW_INLINE u32 hw_pair_min_cwnd(struct hw_call *call)
{
	return hw_part_cc_min_cwnd(call->cc_state, HW_CC_TUN, &call->conn);
}

char hw_license[] SEC("license") = "Dual BSD/GPL";
