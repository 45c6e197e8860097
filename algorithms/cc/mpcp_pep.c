// SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only)
/*
 * MPCP in a proxy (Li, Yousefi'zadeh, "RAPPEP", 2010, section III): the sender reads the raw
 * load factor from the monitor of its outgoing link (../port/local.h, router/pep_monitor.c),
 * so it needs no levels, no pieces and no order of packets. For each acknowledged packet the
 * law is that of cc/mpcp.c:
 *
 *   w += (1 + m)^(d/t_rho) - 1 + s/w0,   m = kappa (1/LF - 1), 1/4 below 50 %
 *
 * Here d is the smallest round trip seen, w0 the window at the beginning of the present round trip,
 * and s = alpha (d/t_rho)^2. The law differs from that of cc/mpcp.c, by our own choice:
 * - m keeps growing below 80 %, by VCP's own formula: VCP stops at 80 % because its two bits
 *   end there, but here the exact load is known ("LFPs is allowed to use the accurate LF",
 *   section III.A). In a round trip the window at most doubles, as in slow start; round trips
 *   above 1.6 s count as 1.6 s.
 * - s is at most a tenth of a flow's fair share of the capacity.
 * - In a round trip the window falls by at most half.
 *
 * Valid for links up to 2^35 B/s and round trips up to 3.2 s.
 */
#include "../port/local.h"

static const struct hw_tunable mpcp_pep_tunables[] = {
	[HW_LOCAL_START] = HW_LOCAL_TUNABLE_START,
	[HW_LOCAL_ALPHA] = HW_LOCAL_TUNABLE_ALPHA,
};

/* The link's capacity divided by its demand, with 30 fractional bits, at most 2. */
static u64 mpcp_pep_rest(const struct hw_monitor *m)
{
	u64 most = 2 * HW_STEP_ONE;
	u32 over = hw_bits_u64(m->capacity_bytes | m->demand_bytes);

	over = over > 63 - HW_STEP_SHIFT ? over - (63 - HW_STEP_SHIFT) : 0;
	return hw_min_u64(
		hw_div_u64(m->capacity_bytes >> over << HW_STEP_SHIFT, m->demand_bytes >> over),
		most);
}

static void mpcp_pep_control(void *state, const u32 *tun, struct hw_conn *c,
			     const struct hw_rate_sample *sample)
{
	struct hw_local *l = state;
	u32 pkts = hw_local_begins(l, c, sample);
	u32 rtt_us = hw_min_u32(c->min_rtt_us, HW_STEP_INTERVALS * HW_LOAD_INTERVAL_US);
	u64 m, add, take;

	if (!pkts)
		return;
	add = hw_local_additive(l, c, tun[HW_LOCAL_ALPHA], pkts);
	if (hw_load_step(mpcp_pep_rest(&l->monitor), &m)) {
		take = HW_STEP_ONE - hw_step_power(m, 1, c->min_rtt_us);
		take = hw_min_u64(take, HW_STEP_ONE / 2) * pkts;
	} else {
		m = hw_step_power(m, 0, rtt_us) - HW_STEP_ONE;
		add += hw_min_u64(m, HW_STEP_ONE) * pkts;
		take = 0;
	}
	hw_local_steps(l, c, add, take);
}

HW_TABLE struct hw_cc_ops hw_cc_mpcp_pep = {
	.name = "mpcp_pep",
	.title = "MPCP in a proxy: follows the raw load factor of its own link's monitor",
	.source = "Li, Yousefi'zadeh, RAPPEP, 2010; ns-2 vcp-src, not encoded",
	.state_bytes = sizeof(struct hw_local),
	.flags = HW_CC_OWN_START | HW_CC_PACES,
	.n_tunables = HW_COUNT(mpcp_pep_tunables),
	.tunables = mpcp_pep_tunables,
	.control = mpcp_pep_control,
	.ssthresh = hw_local_ssthresh,
	.min_cwnd = hw_local_min_cwnd,
	.event = hw_local_event,
	.on_monitor = hw_local_on_monitor,
};
