// SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only)
/* The native binding's entry points, as few as possible per ACK: a call between Rust and C
 * costs more than Reno does. */
#include "flow.h"

const struct hw_startup_ops hw_native_own_start = HW_OWN_START;

u32 hw_native_takes_samples(const struct hw_cc_ops *cc)
{
	return cc->control != 0;
}

void hw_native_open(struct hw_flow *f, struct hw_conn *c)
{
	if (f->startup->open)
		f->startup->open(hw_startup_state(f), f->startup_tun, c);
}

void hw_native_init(struct hw_flow *f, struct hw_conn *c)
{
	if (f->startup->init)
		f->startup->init(hw_startup_state(f), f->startup_tun, c);
	if (f->cc->init)
		f->cc->init(hw_cc_state(f), f->cc_tun, c);
}

void hw_native_pkts_acked(struct hw_flow *f, struct hw_conn *c, const struct hw_ack *ack)
{
	if (f->startup->pkts_acked)
		f->startup->pkts_acked(hw_startup_state(f), f->startup_tun, c, ack);
	if (f->cc->pkts_acked)
		f->cc->pkts_acked(hw_cc_state(f), f->cc_tun, c, ack);
}

void hw_native_grow(struct hw_flow *f, struct hw_conn *c, u32 acked_pkts)
{
	hw_grow(f->cc, hw_cc_state(f), f->cc_tun, f->startup, hw_startup_state(f), f->startup_tun,
		c, acked_pkts);
}

void hw_native_control(struct hw_flow *f, struct hw_conn *c, const struct hw_rate_sample *sample)
{
	if (f->cc->control)
		f->cc->control(hw_cc_state(f), f->cc_tun, c, sample);
}

u32 hw_native_follows_losses(const struct hw_cc_ops *cc)
{
	return cc->on_loss != 0;
}

void hw_native_on_loss(struct hw_flow *f, struct hw_conn *c, const struct hw_lost *lost)
{
	if (f->cc->on_loss)
		f->cc->on_loss(hw_cc_state(f), f->cc_tun, c, lost);
}

void hw_native_observe(struct hw_flow *f, const struct hw_conn *c, u64 *values)
{
	if (f->cc->observe)
		f->cc->observe(hw_cc_state(f), f->cc_tun, c, values);
}

/* Calls pkts_acked. Then lets cwnd grow, if grow_pkts is not 0. */
void hw_native_ack(struct hw_flow *f, struct hw_conn *c, const struct hw_ack *ack, u32 grow_pkts)
{
	hw_native_pkts_acked(f, c, ack);
	if (grow_pkts)
		hw_native_grow(f, c, grow_pkts);
}

u32 hw_native_ssthresh(struct hw_flow *f, struct hw_conn *c)
{
	return f->cc->ssthresh(hw_cc_state(f), f->cc_tun, c);
}

void hw_native_set_state(struct hw_flow *f, struct hw_conn *c, u8 new_state)
{
	if (f->startup->set_state)
		f->startup->set_state(hw_startup_state(f), f->startup_tun, c, new_state);
	if (f->cc->set_state)
		f->cc->set_state(hw_cc_state(f), f->cc_tun, c, new_state);
	c->ca_state = new_state;
}

void hw_native_event(struct hw_flow *f, struct hw_conn *c, u8 event)
{
	if (f->startup->event)
		f->startup->event(hw_startup_state(f), f->startup_tun, c, event);
	if (f->cc->event)
		f->cc->event(hw_cc_state(f), f->cc_tun, c, event);
}

u32 hw_native_undo_cwnd(struct hw_flow *f, struct hw_conn *c, u32 prior_cwnd_pkts)
{
	if (!f->cc->undo_cwnd)
		return hw_max_u32(c->cwnd_pkts, prior_cwnd_pkts);
	return f->cc->undo_cwnd(hw_cc_state(f), f->cc_tun, c, prior_cwnd_pkts);
}

u32 hw_native_min_cwnd(struct hw_flow *f, struct hw_conn *c)
{
	return f->cc->min_cwnd ? f->cc->min_cwnd(hw_cc_state(f), f->cc_tun, c) : c->ssthresh_pkts;
}

u32 hw_native_on_send(struct hw_flow *f, struct hw_conn *c, void *header)
{
	return f->cc->on_send ? f->cc->on_send(hw_cc_state(f), f->cc_tun, c, header) : 0;
}

void hw_native_on_feedback(struct hw_flow *f, struct hw_conn *c, const void *header)
{
	if (f->cc->on_feedback)
		f->cc->on_feedback(hw_cc_state(f), f->cc_tun, c, header);
}

u32 hw_native_reads_monitor(const struct hw_cc_ops *cc)
{
	return cc->on_monitor != 0;
}

void hw_native_on_monitor(struct hw_flow *f, struct hw_conn *c, const struct hw_monitor *monitor)
{
	if (f->cc->on_monitor)
		f->cc->on_monitor(hw_cc_state(f), f->cc_tun, c, monitor);
}

void hw_native_router_init(struct hw_router *r, struct hw_link *link)
{
	if (r->ops->init)
		r->ops->init(r->state, r->tun, link);
}

u32 hw_native_arrive(struct hw_router *r, struct hw_link *link, const struct hw_packet *pkt,
		     void *header)
{
	return r->ops->arrive ? r->ops->arrive(r->state, r->tun, link, pkt, header) : HW_PASS;
}

u32 hw_native_departs(const struct hw_router_ops *ops)
{
	return ops->depart != 0;
}

void hw_native_depart(struct hw_router *r, struct hw_link *link, const struct hw_packet *pkt,
		      void *header)
{
	if (r->ops->depart)
		r->ops->depart(r->state, r->tun, link, pkt, header);
}

u64 hw_native_tick(struct hw_router *r, struct hw_link *link)
{
	return r->ops->tick ? r->ops->tick(r->state, r->tun, link) : 0;
}

u32 hw_native_publishes(const struct hw_router_ops *ops)
{
	return ops->publish != 0;
}

void hw_native_publish(const struct hw_router *r, struct hw_monitor *monitor)
{
	if (r->ops->publish)
		r->ops->publish(r->state, r->tun, monitor);
}
