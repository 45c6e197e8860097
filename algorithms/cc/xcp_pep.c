// SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only)
/*
 * XCP in a proxy (Li, Yousefi'zadeh, "RAPPEP", 2010, section III): the sender reads spare
 * bandwidth from the monitor of the link it leaves by (../port/local.h, router/pep_monitor.c)
 * on each ACK, where XCP's sender reads its share from a header.
 *
 * How spare bandwidth comes to flows is not in the paper; it is XCP's fairness controller
 * (Katabi, Handley, Rohrs 2002, section 3.5.2) for flows of one round trip: of what is given
 * each flow that sends has the same, of what is taken each as much of its window, so per
 * packet acknowledged
 *
 *   w += (give d / n / packet) / w0 - take / y,
 *
 * in a round trip d that began with the window w0, with n flows and y the traffic. What is taken of a packet is half of it at
 * most. d is the smallest round trip seen, which a queue does not change. A flow that does not
 * fill its window takes no part.
 *
 * Valid for links up to 2^35 B/s and round trips up to 3.2 s.
 */
#include "../port/local.h"

struct xcp_pep {
	struct hw_local local;
};

_Static_assert(sizeof(struct xcp_pep) <= HW_FLOW_STATE_BYTES, "state of a control");

static void xcp_pep_on_monitor(void *state, const u32 *tun, struct hw_conn *c,
			       const struct hw_monitor *monitor)
{
	struct xcp_pep *s = state;

	(void)tun;
	hw_local_hears(&s->local, c, monitor);
}

static void xcp_pep_control(void *state, const u32 *tun, struct hw_conn *c,
			    const struct hw_rate_sample *sample)
{
	struct xcp_pep *s = state;
	const struct hw_monitor *m = &s->local.monitor;
	u32 pkts = hw_local_begins(&s->local, c, sample);
	u64 give, take;

	(void)tun;
	if (!pkts)
		return;
	give = hw_local_part(&s->local, hw_local_share(c, m->give_Bps, m->flows), pkts);
	take = m->output_Bps
		       ? (hw_min_u64(m->take_Bps, 1ull << 33) << HW_STEP_SHIFT) / m->output_Bps
		       : 0;
	take = hw_min_u64(take, HW_STEP_ONE / 2) * pkts;
	if (give >= take)
		hw_window_grow(c, &s->local.fraction, give - take);
	else
		hw_window_shrink(c, &s->local.fraction, take - give);
	hw_local_ends(&s->local, c);
}

static u32 xcp_pep_ssthresh(void *state, const u32 *tun, struct hw_conn *c)
{
	(void)tun;
	return hw_local_ssthresh(&((struct xcp_pep *)state)->local, c);
}

static u32 xcp_pep_min_cwnd(void *state, const u32 *tun, struct hw_conn *c)
{
	(void)tun;
	return hw_local_min_cwnd(&((struct xcp_pep *)state)->local, c);
}

static void xcp_pep_event(void *state, const u32 *tun, struct hw_conn *c, u8 event)
{
	(void)tun;
	hw_local_event(&((struct xcp_pep *)state)->local, c, event);
}

HW_TABLE struct hw_cc_ops hw_cc_xcp_pep = {
	.name = "xcp_pep",
	.title = "XCP in a proxy: follows the spare bandwidth of its own link's monitor",
	.source = "Li, Yousefi'zadeh, RAPPEP, 2010; Katabi, Handley, Rohrs 2002",
	.state_bytes = sizeof(struct xcp_pep),
	.flags = HW_CC_OWN_START,
	.control = xcp_pep_control,
	.ssthresh = xcp_pep_ssthresh,
	.min_cwnd = xcp_pep_min_cwnd,
	.event = xcp_pep_event,
	.on_monitor = xcp_pep_on_monitor,
};
