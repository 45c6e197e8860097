// SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only)
/*
 * VCP in a proxy. "RAPPEP" (Li, Yousefi'zadeh, 2010) compares VCP with XCP and MPCP from end
 * to end, but not in a proxy. The sender derives VCP's load region (Xia, Subramanian, Stoica,
 * Kalyanaraman, SIGCOMM 2005) from the load factor of its outgoing link (../port/local.h,
 * router/pep_monitor.c). For each acknowledged packet it changes the window:
 *
 *   low   below 80 %: w += (1 + xi)^(d/t_rho) - 1, xi = 1/16
 *   high  w += s/w0, the additive growth of ../port/local.h
 *   over  from 100 % on: w -= 1/8
 *
 * Here d is the smallest round trip seen, t_rho = 200 ms, and w0 the window at the beginning of the
 * present round trip. The law differs from that of cc/vcp.c by our own choice, because the load
 * that this sender sees is not a round trip old: d/t_rho is not bounded by 2.5, and the window does
 * not fall by 1/8 at once and then wait for a round trip. The fall is spread over a round trip, for
 * as long as the load is over.
 *
 * The load region is less than the monitor knows; mpcp_pep uses the load itself. This control
 * is for comparison.
 *
 * Valid for links up to 2^35 B/s and round trips up to 3.2 s.
 */
#include "../port/local.h"

#define XI (HW_STEP_ONE / 16)

static const struct hw_tunable vcp_pep_tunables[] = {
	[HW_LOCAL_START] = HW_LOCAL_TUNABLE_START,
	[HW_LOCAL_ALPHA] = HW_LOCAL_TUNABLE_ALPHA,
};

static void vcp_pep_control(void *state, const u32 *tun, struct hw_conn *c,
			    const struct hw_rate_sample *sample)
{
	struct hw_local *l = state;
	const struct hw_monitor *m = &l->monitor;
	u32 pkts = hw_local_begins(l, c, sample);
	u64 add = 0, take = 0;

	if (!pkts)
		return;
	if (m->demand_bytes >= m->capacity_bytes)
		take = HW_STEP_ONE / 8 * pkts;
	else if (m->demand_bytes >= m->capacity_bytes / 5 * 4)
		add = hw_local_additive(l, c, tun[HW_LOCAL_ALPHA], pkts);
	else
		add = hw_min_u64(hw_step_power(XI, 0, c->min_rtt_us) - HW_STEP_ONE, HW_STEP_ONE) *
		      pkts;
	hw_local_steps(l, c, add, take);
}

HW_TABLE struct hw_cc_ops hw_cc_vcp_pep = {
	.name = "vcp_pep",
	.title = "VCP in a proxy: follows the load region of its own link's monitor",
	.source = "Xia, Subramanian, Stoica, Kalyanaraman, SIGCOMM 2005; Li, Yousefi'zadeh 2010",
	.state_bytes = sizeof(struct hw_local),
	.flags = HW_CC_OWN_START | HW_CC_PACES,
	.n_tunables = HW_COUNT(vcp_pep_tunables),
	.tunables = vcp_pep_tunables,
	.control = vcp_pep_control,
	.ssthresh = hw_local_ssthresh,
	.min_cwnd = hw_local_min_cwnd,
	.event = hw_local_event,
	.on_monitor = hw_local_on_monitor,
};
