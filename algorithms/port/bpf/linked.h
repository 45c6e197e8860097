/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/*
 * The interface between the objects of a control, a startup and the binding. These objects are
 * compiled separately; headwayctl joins them with the BPF static linker and loads the result. N
 * controls and M startups thus need N + M objects, not N times M. An algorithm's object (part.h)
 * defines these functions, and the binding's object calls them. Every function returns a number,
 * because the verifier always reads the result register.
 */
#ifndef HEADWAY_PORT_BPF_LINKED_H
#define HEADWAY_PORT_BPF_LINKED_H

#include "../cc.h"

#define HW_LINKED __attribute__((visibility("hidden"), noinline))

HW_LINKED u32 hw_part_cc_init(void *state, const u32 *tun, struct hw_conn *c);
HW_LINKED u32 hw_part_cc_pkts_acked(void *state, const u32 *tun, struct hw_conn *c,
				    const struct hw_ack *ack);
HW_LINKED u32 hw_part_cc_cong_avoid(void *state, const u32 *tun, struct hw_conn *c, u32 acked_pkts);
HW_LINKED u32 hw_part_cc_control(void *state, const u32 *tun, struct hw_conn *c,
				 const struct hw_rate_sample *sample);
HW_LINKED u32 hw_part_cc_on_loss(void *state, const u32 *tun, struct hw_conn *c,
				 const struct hw_lost *lost);
HW_LINKED u32 hw_part_cc_ssthresh(void *state, const u32 *tun, struct hw_conn *c);
HW_LINKED u32 hw_part_cc_set_state(void *state, const u32 *tun, struct hw_conn *c, u8 new_state);
HW_LINKED u32 hw_part_cc_event(void *state, const u32 *tun, struct hw_conn *c, u8 event);
HW_LINKED u32 hw_part_cc_undo_cwnd(void *state, const u32 *tun, struct hw_conn *c,
				   u32 prior_cwnd_pkts);
HW_LINKED u32 hw_part_cc_min_cwnd(void *state, const u32 *tun, struct hw_conn *c);
HW_LINKED u32 hw_part_cc_send_windows(void);
HW_LINKED u32 hw_part_cc_on_send(void *state, const u32 *tun, struct hw_conn *c, void *fields);
HW_LINKED u32 hw_part_cc_on_feedback(void *state, const u32 *tun, struct hw_conn *c,
				     const void *fields);
HW_LINKED u32 hw_part_cc_on_monitor(void *state, const u32 *tun, struct hw_conn *c,
				    const struct hw_monitor *monitor);

/* Functions of a header: with is_answer of the header in which receivers answer, otherwise of
 * the header that the control owns. */
HW_LINKED u32 hw_part_header_answers_itself(void);
HW_LINKED u32 hw_part_header_wire_bytes(u32 is_answer);
HW_LINKED u32 hw_part_header_parse(u32 is_answer, const u8 *bytes, void *fields);
HW_LINKED u32 hw_part_header_emit(u32 is_answer, const void *fields, u8 *bytes);
HW_LINKED u32 hw_part_header_reflect(void *held, const void *arrived, const struct hw_arrival *how);

HW_LINKED u32 hw_part_startup_opens(void);
HW_LINKED u32 hw_part_startup_open(void *state, const u32 *tun, struct hw_conn *c);
HW_LINKED u32 hw_part_startup_init(void *state, const u32 *tun, struct hw_conn *c);
HW_LINKED u32 hw_part_startup_pkts_acked(void *state, const u32 *tun, struct hw_conn *c,
					 const struct hw_ack *ack);
HW_LINKED u32 hw_part_startup_slow_start(void *state, const u32 *tun, struct hw_conn *c,
					 u32 acked_pkts);
HW_LINKED u32 hw_part_startup_set_state(void *state, const u32 *tun, struct hw_conn *c,
					u8 new_state);
HW_LINKED u32 hw_part_startup_event(void *state, const u32 *tun, struct hw_conn *c, u8 event);

#endif
