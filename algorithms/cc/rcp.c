// SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only)
/*
 * RCP's sender (Dukkipati 2007; the ns-2 code by Zhang, Dukkipati, Masayoshi, rcp-host.cc): it
 * paces at the rate that routers allow, whatever is lost. It has no startup, and its window
 * never limits it.
 *
 * Choices made here, where RCP leaves something open or differs:
 * - The rate counts IP bytes, as routers do. If the stack can (linux-2.6), the SYN already asks
 *   for a rate. Until the first answer RCP sends only the stack's initial window.
 * - After an idle time RCP sends at the last rate that came back, as in Scharf (2011), section
 *   6.3.1: "that can be very aggressive". idle=probe waits for an answer to the first two
 *   packets. rcp-host.cc instead sends probes without data all the time, and also if the rate
 *   is less than a packet per round trip; a TCP control cannot send packets without data.
 * - rcp-host.cc has no window. Here the window is twice the rate times the round trip, to bound
 *   retransmissions.
 * - If no router answers, the law is Reno's (port/fall_back.h).
 *
 * Valid for any rate. RTTs up to 4293 s.
 */
#include "../port/fall_back.h"
#include "../header/rcp.h"

enum { IDLE, PATIENCE };
enum { LAST, PROBE };

static const struct hw_tunable rcp_tunables[] = {
	[IDLE] = { "idle", "last|probe",
		   "after idle times, send at the last rate or wait for a new one", LAST, LAST,
		   PROBE },
	[PATIENCE] = HW_PATIENCE,
};

#define WINDOWS	       2 /* cwnd is this many bandwidth-delay products of the pacing rate */
#define LEAST_PKTS     4
#define PROBE_PKTS     2
#define FIRST_RTT_US   1000000
#define US_PER_S       1000000
#define MOST_WINDOW_US 100000000 /* a longer round trip counts as 100 s when cwnd is computed */

struct rcp {
	u64 rate_Bps; /* latest answer; 0: none */
	struct hw_fall_back fall_back;
};

_Static_assert(sizeof(struct rcp) <= HW_CC_STATE_BYTES, "state of a control");

/* Sets the pacing rate to the routers' rate, and cwnd to twice its bandwidth-delay product. */
static void rcp_apply_rate(const struct rcp *s, struct hw_conn *c)
{
	u32 rtt_us = hw_min_u32(c->srtt_us ? c->srtt_us : FIRST_RTT_US, MOST_WINDOW_US);
	u64 pkt_bytes = (u64)c->mss_bytes + c->header_bytes;
	u64 rate_Bps = hw_min_u64(s->rate_Bps, 1ull << 36);
	u64 pkts = hw_div_u64(rate_Bps * WINDOWS * rtt_us / US_PER_S, pkt_bytes) + LEAST_PKTS;

	c->pacing_rate_Bps = s->rate_Bps;
	/* packets leave one by one, if the stack does not count ACKs */
	c->pacing_chunk_pkts = c->counts_acks ? 0 : 1;
	c->cwnd_pkts = hw_min_u32(hw_saturate_u32(pkts), c->cwnd_clamp_pkts);
	c->ssthresh_pkts = hw_max_u32(c->cwnd_pkts, 2);
}

static void rcp_pkts_acked(void *state, const u32 *tun, struct hw_conn *c, const struct hw_ack *ack)
{
	struct rcp *s = state;

	(void)ack;
	if (!hw_falls_back(&s->fall_back, c, tun[PATIENCE]) || !s->rate_Bps)
		return;
	/* RCP's cwnd is too large to limit the flow, so Reno begins with the packets in flight
	 * as cwnd */
	s->rate_Bps = 0;
	c->pacing_rate_Bps = 0;
	c->pacing_chunk_pkts = 0;
	c->cwnd_pkts = hw_clamp_u32(c->inflight_pkts, 2, c->cwnd_pkts);
	c->ssthresh_pkts = hw_max_u32(c->cwnd_pkts, 2);
}

static void rcp_cong_avoid(void *state, const u32 *tun, struct hw_conn *c, u32 acked_pkts)
{
	struct rcp *s = state;

	(void)tun;
	if (s->fall_back.alone)
		hw_reno_grow(c, acked_pkts);
}

static u32 rcp_ssthresh(void *state, const u32 *tun, struct hw_conn *c)
{
	struct rcp *s = state;

	(void)tun;
	return s->fall_back.alone ? hw_reno_ssthresh(0, 0, c) : hw_max_u32(c->cwnd_pkts, 2);
}

static void rcp_event(void *state, const u32 *tun, struct hw_conn *c, u8 event)
{
	struct rcp *s = state;

	if (!s->rate_Bps || (event != HW_EVENT_CWND_RESTART && event != HW_EVENT_TX_START))
		return;
	if (event == HW_EVENT_TX_START && tun[IDLE] == PROBE && c->idle_us > c->srtt_us) {
		c->pacing_rate_Bps = 0;
		c->cwnd_pkts = hw_min_u32(PROBE_PKTS, c->cwnd_clamp_pkts);
		return;
	}
	rcp_apply_rate(s, c);
}

static u32 rcp_on_send(void *state, const u32 *tun, struct hw_conn *c, void *header)
{
	struct rcp *s = state;
	struct rcp_fields *rcp = header;

	(void)tun;
	rcp->rate_Bps = RCP_UNLIMITED_Bps;
	rcp->rtt_us = rcp_rtt_us(rcp_rtt_code(c->srtt_us));
	hw_asks(&s->fall_back, c);
	return 1;
}

static void rcp_on_feedback(void *state, const u32 *tun, struct hw_conn *c, const void *header)
{
	struct rcp *s = state;
	const struct rcp_fields *rcp = header;

	(void)tun;
	if (!rcp->returned_Bps || rcp->returned_Bps >= RCP_UNLIMITED_Bps)
		return;
	hw_answered(&s->fall_back, c);
	s->rate_Bps = rcp->returned_Bps;
	rcp_apply_rate(s, c);
}

HW_TABLE struct hw_cc_ops hw_cc_rcp = {
	.name = "rcp",
	.title = "RCP: sends at the rate that routers allow",
	.source = "Dukkipati 2007; Scharf 2011 section 4.6.3; rcp-host.cc",
	.state_bytes = sizeof(struct rcp),
	.flags = HW_CC_OWN_START | HW_CC_PACES | HW_CC_ASKS_ON_SYN,
	.n_tunables = HW_COUNT(rcp_tunables),
	.tunables = rcp_tunables,
	.header = &hw_header_rcp,
	.pkts_acked = rcp_pkts_acked,
	.cong_avoid = rcp_cong_avoid,
	.ssthresh = rcp_ssthresh,
	.event = rcp_event,
	.min_cwnd = hw_reno_min_cwnd,
	.on_send = rcp_on_send,
	.on_feedback = rcp_on_feedback,
};
