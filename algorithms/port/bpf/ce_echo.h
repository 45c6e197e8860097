/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/*
 * The exact echo of CE marks (HW_CC_ECHOES_CE, RFC 8257 section 3.2) in the kernel, which
 * reports for every data packet whether it was marked, if the control needs ECN. The socket then
 * does what Linux's tcp_dctcp.h does. Included by control.h.
 */

/* Events that only this file handles, and what the kernel knows about the next ACK. */
#define HW_KERNEL_ECN_NO_CE	 4  /* CA_EVENT_ECN_NO_CE */
#define HW_KERNEL_ECN_IS_CE	 5  /* CA_EVENT_ECN_IS_CE */
#define HW_KERNEL_ECN_DEMAND_CWR 4  /* TCP_ECN_DEMAND_CWR: ACKs have ECE */
#define HW_KERNEL_ACK_TIMER	 2  /* ICSK_ACK_TIMER: an ACK is delayed */
#define HW_KERNEL_ACK_NOW	 16 /* ICSK_ACK_NOW */

/* What the receiver knows, which is behind the pacing; null if the memory cannot be allocated. */
HW_INLINE struct hw_ce_echo *hw_echo_of(struct sock *sk)
{
	void *area = hw_area(sk);

	if (!area)
		return 0;
#ifdef HW_PACES
	area += sizeof(struct hw_pacing);
#endif
	return area;
}

HW_INLINE void hw_echo_begins(struct sock *sk)
{
	struct hw_ce_echo *echo = hw_echo_of(sk);

	if (!echo)
		return;
	echo->prior_rcv_nxt = ((struct tcp_sock *)sk)->rcv_nxt;
	echo->is_ce = 0;
}

HW_INLINE void hw_echo_set(struct tcp_sock *tp, u32 is_ce)
{
	if (is_ce)
		tp->ecn_flags |= HW_KERNEL_ECN_DEMAND_CWR;
	else
		tp->ecn_flags &= ~HW_KERNEL_ECN_DEMAND_CWR;
}

/* Makes ACKs echo whether the latest data packet was marked. If that has changed, a delayed ACK
 * is sent first, with the echo of the packets that it acknowledges, and the new packet is
 * acknowledged immediately. */
HW_INLINE void hw_echo_packet(struct sock *sk, u32 is_ce)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	struct hw_ce_echo *echo = hw_echo_of(sk);

	if (!echo)
		return;
	if (echo->is_ce != is_ce) {
		if (tp->inet_conn.icsk_ack.pending & HW_KERNEL_ACK_TIMER) {
			hw_echo_set(tp, echo->is_ce);
			bpf_tcp_send_ack(tp, echo->prior_rcv_nxt);
		}
		tp->inet_conn.icsk_ack.pending |= HW_KERNEL_ACK_NOW;
	}
	echo->prior_rcv_nxt = tp->rcv_nxt;
	echo->is_ce = is_ce;
	hw_echo_set(tp, is_ce);
}
