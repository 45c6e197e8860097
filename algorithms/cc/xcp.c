// SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only)
/*
 * XCP's sender (draft-falk-xcp-spec-03, section 4.1; Katabi, Handley, Rohrs, SIGCOMM 2002): it
 * tells routers how fast it sends, and changes its window by the throughput change that they
 * assign: cwnd <- max(cwnd + f RTT, a packet).
 *
 * Choices made here, where the draft leaves something open or differs:
 * - Throughput counts IP bytes, as routers do, not payload.
 * - A demand is unlimited, as in ns-2.35 (xcp-end-sys.cc), or nothing while the application
 *   does not fill cwnd.
 * - Aging: each round trip with an unused window reduces the unused part by p. ACKs in between
 *   make a full window look partly unused, so an eighth of it plus three packets may be
 *   unused.
 * - After idle times the window is at most initial_pkts, as TCP's restart window is at most
 *   its first (RFC 5681, section 4.1); in Scharf (2011), section 6.3.1, XCP restarts slowly,
 *   too.
 * - XCP reacts to a loss or an echoed ECN mark as Reno does, and its own law continues after
 *   the recovery (ns-2.35); feedback during the recovery is not used. With on_loss=keep only
 *   routers change the window.
 * - If no router answers, the law is Reno's (port/fall_back.h).
 *
 * Valid for any window, and RTTs up to 4293 s. Fractions of packets are exact.
 */
#include "../port/fall_back.h"
#include "../header/xcp.h"

enum { INITIAL, AGING, ON_LOSS, PATIENCE };
enum { HALVE, KEEP };

static const struct hw_tunable xcp_tunables[] = {
	[INITIAL] = { "initial_pkts", "packets", "initial cwnd; 0: the stack's", 0, 0, 1000 },
	[AGING] = { "aging", "1/1000", "part of the unused window that is removed per round trip",
		    500, 0, 1000 },
	[ON_LOSS] = { "on_loss", "halve|keep", "what a loss does to cwnd", HALVE, HALVE, KEEP },
	[PATIENCE] = HW_PATIENCE,
};

/* The flow counts as using its whole cwnd if at most an eighth of cwnd plus SPARE_PKTS packets
 * are unused. */
#define SPARE_PKTS 3
#define US_PER_S   1000000

struct xcp {
	u64 part; /* fraction of a packet by which the window exceeds cwnd, in 10^-6 bytes */
	struct hw_fall_back fall_back;
	u32 round_end; /* the round trip is over when this sequence number is acknowledged */
	u32 used_pkts; /* most packets in flight during this round trip */
	u8 has_round;
	u8 unused[3];
};

_Static_assert(sizeof(struct xcp) <= HW_CC_STATE_BYTES, "state of a control");

static void xcp_init(void *state, const u32 *tun, struct hw_conn *c)
{
	(void)state;
	if (tun[INITIAL])
		c->cwnd_pkts = hw_min_u32(tun[INITIAL], c->cwnd_clamp_pkts);
}

static void xcp_pkts_acked(void *state, const u32 *tun, struct hw_conn *c, const struct hw_ack *ack)
{
	struct xcp *s = state;

	s->used_pkts = hw_max_u32(s->used_pkts, hw_add_u32(c->inflight_pkts, ack->acked_pkts));
	hw_falls_back(&s->fall_back, c, tun[PATIENCE]);
}

/* Reno's law applies if no router answers, and after a timeout; otherwise the routers' feedback
 * changes cwnd. */
static void xcp_cong_avoid(void *state, const u32 *tun, struct hw_conn *c, u32 acked_pkts)
{
	struct xcp *s = state;

	(void)tun;
	if (s->fall_back.alone || c->ca_state == HW_CA_LOSS)
		hw_reno_grow(c, acked_pkts);
}

static u32 xcp_ssthresh(void *state, const u32 *tun, struct hw_conn *c)
{
	struct xcp *s = state;

	if (tun[ON_LOSS] == KEEP && !s->fall_back.alone)
		return hw_max_u32(c->cwnd_pkts, 2);
	return hw_reno_ssthresh(0, 0, c);
}

/* With on_loss=keep a loss leaves the window as it is, so rate halving must not go below that
 * window, either. */
static u32 xcp_min_cwnd(void *state, const u32 *tun, struct hw_conn *c)
{
	struct xcp *s = state;

	if (tun[ON_LOSS] == KEEP && !s->fall_back.alone)
		return c->ssthresh_pkts;
	return hw_reno_min_cwnd(0, 0, c);
}

/* After an idle time the window is at most the initial window (RFC 5681, section 4.1). */
static void xcp_event(void *state, const u32 *tun, struct hw_conn *c, u8 event)
{
	struct xcp *s = state;

	if (!hw_follows_idle(c, event) || !tun[INITIAL] || s->fall_back.alone)
		return;
	c->cwnd_pkts = hw_min_u32(c->cwnd_pkts, tun[INITIAL]);
	s->part = 0;
}

static u32 xcp_on_send(void *state, const u32 *tun, struct hw_conn *c, void *header)
{
	struct xcp *s = state;
	struct xcp_fields *xcp = header;
	u64 x_ns = hw_div_u64((u64)c->srtt_us * 1000, hw_max_u32(c->cwnd_pkts, 1));
	u32 queued_pkts = c->app_queued_bytes / hw_max_u32(c->mss_bytes, 1);

	(void)tun;
	xcp->x_ns = xcp_rounded(x_ns);
	xcp->rtt_us = xcp_rounded(c->srtt_us);
	xcp->delta_Bps = hw_add_u32(hw_add_u32(c->inflight_pkts, queued_pkts), 1) < c->cwnd_pkts
				 ? 0
				 : XCP_MOST_Bps;
	hw_asks(&s->fall_back, c);
	return 1;
}

/* Once per round trip: if part of the window was not used, reduces that part by the fraction p. */
static void xcp_age(struct xcp *s, const u32 *tun, struct hw_conn *c)
{
	u32 used_pkts = hw_add_u32(s->used_pkts, SPARE_PKTS + c->cwnd_pkts / 8);

	if (s->has_round && hw_after(s->round_end, c->snd_una))
		return;
	if (s->has_round && used_pkts < c->cwnd_pkts)
		c->cwnd_pkts -= hw_scale_u32(c->cwnd_pkts - s->used_pkts, tun[AGING], 1000);
	c->cwnd_pkts = hw_max_u32(c->cwnd_pkts, 1);
	s->has_round = 1;
	s->round_end = c->snd_nxt;
	s->used_pkts = 0;
}

/* Changes the window by the throughput change that routers assigned, times the round trip. */
static void xcp_change_window(struct xcp *s, struct hw_conn *c, u32 *window_pkts, s32 change_Bps)
{
	u64 pkt = ((u64)c->mss_bytes + c->header_bytes) * US_PER_S;
	u64 size = change_Bps < 0 ? (u64)(-(s64)change_Bps) : (u64)change_Bps;
	u32 pkts;

	size *= c->srtt_us;
	if (!pkt)
		return;
	if (change_Bps >= 0) {
		pkts = hw_saturate_u32((s->part + size) / pkt);
		s->part = (s->part + size) % pkt;
		*window_pkts = hw_min_u32(hw_add_u32(*window_pkts, pkts), c->cwnd_clamp_pkts);
		return;
	}
	if (size <= s->part) {
		s->part -= size;
		return;
	}
	size -= s->part;
	pkts = hw_saturate_u32((size + pkt - 1) / pkt);
	if (pkts >= *window_pkts) {
		*window_pkts = 1;
		s->part = 0;
		return;
	}
	s->part = pkts * pkt - size;
	*window_pkts -= pkts;
}

static void xcp_on_feedback(void *state, const u32 *tun, struct hw_conn *c, const void *header)
{
	struct xcp *s = state;
	const struct xcp_fields *xcp = header;
	int is_reducing = c->ca_state >= HW_CA_CWR;

	if (!xcp->is_answer)
		return;
	hw_answered(&s->fall_back, c);
	if (!is_reducing) {
		xcp_age(s, tun, c);
		xcp_change_window(s, c, &c->cwnd_pkts, xcp->reverse_Bps);
	} else if (tun[ON_LOSS] == KEEP && c->ca_state != HW_CA_LOSS) {
		xcp_change_window(s, c, &c->ssthresh_pkts, xcp->reverse_Bps);
	}
}

HW_TABLE struct hw_cc_ops hw_cc_xcp = {
	.name = "xcp",
	.title = "XCP: routers set the change of the window",
	.source = "draft-falk-xcp-spec-03; Katabi, Handley, Rohrs 2002; ns-2.35 xcp-end-sys.cc",
	.state_bytes = sizeof(struct xcp),
	.flags = HW_CC_OWN_START,
	.n_tunables = HW_COUNT(xcp_tunables),
	.tunables = xcp_tunables,
	.header = &hw_header_xcp,
	.init = xcp_init,
	.pkts_acked = xcp_pkts_acked,
	.cong_avoid = xcp_cong_avoid,
	.ssthresh = xcp_ssthresh,
	.min_cwnd = xcp_min_cwnd,
	.event = xcp_event,
	.on_send = xcp_on_send,
	.on_feedback = xcp_on_feedback,
};
