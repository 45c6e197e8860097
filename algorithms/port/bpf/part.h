/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/*
 * Defines the functions that the binding calls (linked.h); included after a control's or a
 * startup's C file. The build defines HW_CC or HW_STARTUP as the algorithm's table.
 */
#include "linked.h"

#ifdef HW_CC
u32 hw_part_cc_init(void *state, const u32 *tun, struct hw_conn *c)
{
	if (HW_CC.init)
		HW_CC.init(state, tun, c);
	return 0;
}

u32 hw_part_cc_pkts_acked(void *state, const u32 *tun, struct hw_conn *c, const struct hw_ack *ack)
{
	if (HW_CC.pkts_acked)
		HW_CC.pkts_acked(state, tun, c, ack);
	return 0;
}

u32 hw_part_cc_cong_avoid(void *state, const u32 *tun, struct hw_conn *c, u32 acked_pkts)
{
	if (HW_CC.cong_avoid)
		HW_CC.cong_avoid(state, tun, c, acked_pkts);
	return 0;
}

u32 hw_part_cc_control(void *state, const u32 *tun, struct hw_conn *c,
		       const struct hw_rate_sample *sample)
{
	if (HW_CC.control)
		HW_CC.control(state, tun, c, sample);
	return 0;
}

u32 hw_part_cc_on_loss(void *state, const u32 *tun, struct hw_conn *c, const struct hw_lost *lost)
{
	if (HW_CC.on_loss)
		HW_CC.on_loss(state, tun, c, lost);
	return 0;
}

u32 hw_part_cc_ssthresh(void *state, const u32 *tun, struct hw_conn *c)
{
	return HW_CC.ssthresh(state, tun, c);
}

u32 hw_part_cc_set_state(void *state, const u32 *tun, struct hw_conn *c, u8 new_state)
{
	if (HW_CC.set_state)
		HW_CC.set_state(state, tun, c, new_state);
	return 0;
}

u32 hw_part_cc_event(void *state, const u32 *tun, struct hw_conn *c, u8 event)
{
	if (HW_CC.event)
		HW_CC.event(state, tun, c, event);
	return 0;
}

u32 hw_part_cc_undo_cwnd(void *state, const u32 *tun, struct hw_conn *c, u32 prior_cwnd_pkts)
{
	if (!HW_CC.undo_cwnd)
		return hw_max_u32(c->cwnd_pkts, prior_cwnd_pkts);
	return HW_CC.undo_cwnd(state, tun, c, prior_cwnd_pkts);
}

u32 hw_part_cc_min_cwnd(void *state, const u32 *tun, struct hw_conn *c)
{
	return HW_CC.min_cwnd ? HW_CC.min_cwnd(state, tun, c) : c->ssthresh_pkts;
}

u32 hw_part_cc_send_windows(void)
{
	return HW_CC.send_windows ? HW_CC.send_windows : 2;
}

u32 hw_part_cc_on_send(void *state, const u32 *tun, struct hw_conn *c, void *fields)
{
	return HW_CC.on_send ? HW_CC.on_send(state, tun, c, fields) : 0;
}

u32 hw_part_cc_on_feedback(void *state, const u32 *tun, struct hw_conn *c, const void *fields)
{
	if (HW_CC.on_feedback)
		HW_CC.on_feedback(state, tun, c, fields);
	return 0;
}

u32 hw_part_cc_on_monitor(void *state, const u32 *tun, struct hw_conn *c,
			  const struct hw_monitor *monitor)
{
	if (HW_CC.on_monitor)
		HW_CC.on_monitor(state, tun, c, monitor);
	return 0;
}

#define HW_PART_ANSWER (HW_CC.header->answer ? HW_CC.header->answer : HW_CC.header)

u32 hw_part_header_answers_itself(void)
{
	return HW_CC.header && !HW_CC.header->answer;
}

u32 hw_part_header_wire_bytes(u32 is_answer)
{
	if (!HW_CC.header)
		return 0;
	return is_answer ? HW_PART_ANSWER->wire_bytes : HW_CC.header->wire_bytes;
}

u32 hw_part_header_parse(u32 is_answer, const u8 *bytes, void *fields)
{
	if (!HW_CC.header)
		return 0;
	if (is_answer)
		return HW_PART_ANSWER->parse(bytes, fields) != 0;
	return HW_CC.header->parse(bytes, fields) != 0;
}

u32 hw_part_header_emit(u32 is_answer, const void *fields, u8 *bytes)
{
	if (!HW_CC.header)
		return 0;
	if (is_answer)
		HW_PART_ANSWER->emit(fields, bytes);
	else
		HW_CC.header->emit(fields, bytes);
	return 0;
}

u32 hw_part_header_reflect(void *held, const void *arrived, const struct hw_arrival *how)
{
	if (!HW_CC.header || !HW_CC.header->reflect)
		return 0;
	return HW_CC.header->reflect(held, arrived, how) != 0;
}
#endif

#ifdef HW_STARTUP
u32 hw_part_startup_opens(void)
{
	return HW_STARTUP.open != 0;
}

u32 hw_part_startup_open(void *state, const u32 *tun, struct hw_conn *c)
{
	if (HW_STARTUP.open)
		HW_STARTUP.open(state, tun, c);
	return 0;
}

u32 hw_part_startup_init(void *state, const u32 *tun, struct hw_conn *c)
{
	if (HW_STARTUP.init)
		HW_STARTUP.init(state, tun, c);
	return 0;
}

u32 hw_part_startup_pkts_acked(void *state, const u32 *tun, struct hw_conn *c,
			       const struct hw_ack *ack)
{
	if (HW_STARTUP.pkts_acked)
		HW_STARTUP.pkts_acked(state, tun, c, ack);
	return 0;
}

u32 hw_part_startup_slow_start(void *state, const u32 *tun, struct hw_conn *c, u32 acked_pkts)
{
	return HW_STARTUP.slow_start(state, tun, c, acked_pkts);
}

u32 hw_part_startup_set_state(void *state, const u32 *tun, struct hw_conn *c, u8 new_state)
{
	if (HW_STARTUP.set_state)
		HW_STARTUP.set_state(state, tun, c, new_state);
	return 0;
}

u32 hw_part_startup_event(void *state, const u32 *tun, struct hw_conn *c, u8 event)
{
	if (HW_STARTUP.event)
		HW_STARTUP.event(state, tun, c, event);
	return 0;
}
#endif
