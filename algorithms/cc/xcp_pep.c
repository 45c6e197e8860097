// SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only)
/*
 * XCP in a proxy (Li, Yousefi'zadeh, "RAPPEP", 2010, section III): on each ACK the sender
 * reads the spare bandwidth from the monitor of its outgoing link (../port/local.h,
 * router/pep_monitor.c). XCP's sender reads its share from a header instead.
 *
 * The paper does not say how flows share spare bandwidth. This file uses XCP's fairness
 * controller (Katabi, Handley, Rohrs 2002, section 3.5.2) for flows of one round trip: an
 * increase is shared equally among the flows that send, a decrease in proportion to their
 * windows. Per acknowledged packet:
 *
 *   w += (give d / n / packet) / w0 - take / y,
 *
 * Here w0 is the window at the beginning of the round trip, n the number of flows, and y the
 * traffic. At most half of a packet is taken per packet. d is the smallest round trip seen,
 * which a queue does not change. A flow that does not fill its window takes no part.
 *
 * Valid for links up to 2^35 B/s and round trips up to 3.2 s.
 */
#include "../port/local.h"

static const struct hw_tunable xcp_pep_tunables[] = {
	[HW_LOCAL_START] = HW_LOCAL_TUNABLE_START,
};

static void xcp_pep_control(void *state, const u32 *tun, struct hw_conn *c,
			    const struct hw_rate_sample *sample)
{
	struct hw_local *l = state;
	const struct hw_monitor *m = &l->monitor;
	u32 pkts = hw_local_begins(l, c, sample);
	u64 give, take;

	(void)tun;
	if (!pkts)
		return;
	give = hw_local_part(l, hw_local_share(c, m->give_Bps, m->flows), pkts);
	take = m->output_Bps
		       ? (hw_min_u64(m->take_Bps, 1ull << 33) << HW_STEP_SHIFT) / m->output_Bps
		       : 0;
	take = hw_min_u64(take, HW_STEP_ONE / 2) * pkts;
	hw_local_steps(l, c, give, take);
}

HW_TABLE struct hw_cc_ops hw_cc_xcp_pep = {
	.name = "xcp_pep",
	.title = "XCP in a proxy: follows the spare bandwidth of its own link's monitor",
	.source = "Li, Yousefi'zadeh, RAPPEP, 2010; Katabi, Handley, Rohrs 2002",
	.state_bytes = sizeof(struct hw_local),
	.flags = HW_CC_OWN_START | HW_CC_PACES,
	.n_tunables = HW_COUNT(xcp_pep_tunables),
	.tunables = xcp_pep_tunables,
	.control = xcp_pep_control,
	.ssthresh = hw_local_ssthresh,
	.min_cwnd = hw_local_min_cwnd,
	.event = hw_local_event,
	.on_monitor = hw_local_on_monitor,
};
