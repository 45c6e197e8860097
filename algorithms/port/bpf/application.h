/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/*
 * Connects a control and its startup with the state of the socket's application (app.h), and
 * with the Quick-Start programs at the host's device (quick_start_flow.h). Only startups that
 * pace use it.
 */
#ifndef HEADWAY_PORT_BPF_APPLICATION_H
#define HEADWAY_PORT_BPF_APPLICATION_H

/* Nothing was set. */
HW_INLINE void hw_clear_application(struct hw_conn *c)
{
	c->request_code = 0;
	c->grant = HW_GRANT_NONE;
	c->app_data_bytes = 0;
	c->asked_rate_Bps = 0;
	c->granted_rate_Bps = 0;
	c->deadline_us = 0;
	c->stabilize = 0;
	c->no_fast_start = 0;
	c->saved_cwnd_pkts = 0;
	c->saved_rtt_us = 0;
}

#ifdef HW_STARTUP_PACES

#include "app.h"
#include "paths.h"
#include "quick_start_flow.h"

#define HW_STATE_SYN_RECV 3 /* TCP_SYN_RECV */

HW_INLINE void hw_peer_of(struct hw_prefix *peer, struct sock *sk)
{
	struct sock_common *common = &sk->__sk_common;

	if (common->skc_family != HW_AF_INET6) {
		hw_peer_ipv4(peer, common->skc_daddr);
		return;
	}
	peer->bits = 128;
	peer->address[0] = common->skc_v6_daddr.in6_u.u6_addr32[0];
	peer->address[1] = common->skc_v6_daddr.in6_u.u6_addr32[1];
	peer->address[2] = common->skc_v6_daddr.in6_u.u6_addr32[2];
	peer->address[3] = common->skc_v6_daddr.in6_u.u6_addr32[3];
}

HW_INLINE void hw_key_of(struct hw_qs_key *key, struct sock *sk)
{
	struct sock_common *common = &sk->__sk_common;

	key->netns = common->skc_net.net->ns.inum;
	key->local = common->skc_rcv_saddr;
	key->peer = common->skc_daddr;
	key->local_port = bpf_htons(common->skc_num);
	key->peer_port = common->skc_dport;
}

HW_INLINE struct hw_qs_flow *hw_flow_of(struct sock *sk)
{
	struct hw_qs_key key;

	hw_key_of(&key, sk);
	return bpf_map_lookup_elem(&hw_qs_flows, &key);
}

/* Copies the outcome of a Quick-Start request. The granted rate is limited to the rate that the
 * application has set. */
HW_INLINE void hw_take_grant(struct hw_app *app, const struct hw_qs_flow *flow)
{
	u64 asked_Bps = hw_app_asked_Bps(app);
	u64 rate_Bps = hw_qs_rate_Bps(flow->host.granted_code);

	if (flow->host.state == HW_QS_GRANTED) {
		app->grant = HW_GRANT_APPROVED;
		app->granted_rate_Bps = asked_Bps && asked_Bps < rate_Bps ? asked_Bps : rate_Bps;
	} else if (flow->host.state == HW_QS_DENIED) {
		app->grant = flow->host.disabled ? HW_GRANT_DISABLED : HW_GRANT_DENIED;
		app->granted_rate_Bps = 0;
	}
}

/* Copies the application's hints and the grant into the struct hw_conn that algorithms read. */
HW_INLINE void hw_read_application(struct hw_call *call)
{
	struct hw_conn *c = &call->conn;
	struct tcp_sock *tp = call->tp;
	struct hw_app *app = call->app;

	if (!app)
		return;
	hw_app_tell(app, c, tp->bytes_acked + (u32)(tp->snd_nxt - tp->snd_una));
	if (app->is_writing && hw_after(app->write_end, tp->write_seq))
		c->app_queued_bytes = app->write_end - tp->snd_nxt;
	c->grant = app->grant;
	c->granted_rate_Bps = app->granted_rate_Bps;
}

HW_INLINE void hw_refresh_application(struct hw_call *call)
{
	struct hw_qs_flow *flow;

	hw_clear_application(&call->conn);
	call->app = bpf_sk_storage_get(&hw_app, call->sk, 0, 0);
	if (call->app && call->app->grant == HW_GRANT_REQUESTED) {
		flow = hw_flow_of(call->sk);
		if (flow)
			hw_take_grant(call->app, flow);
	}
	hw_read_application(call);
}

HW_INLINE void hw_path_key_of(struct hw_path_key *key, struct sock *sk)
{
	key->netns = sk->__sk_common.skc_net.net->ns.inum;
	hw_peer_of(&key->peer, sk);
}

/* Takes the saved entry about the path to the peer, so that no other connection uses it. */
HW_INLINE void hw_take_path(struct hw_app *app, struct sock *sk)
{
	struct hw_path_key key;
	struct hw_path *path;

	app->saved_cwnd_pkts = 0;
	app->saved_rtt_us = 0;
	hw_path_key_of(&key, sk);
	path = hw_path_to(&key);
	if (!path)
		return;
	app->saved_ns = path->saved_ns;
	app->saved_cwnd_pkts = path->cwnd_pkts;
	app->saved_rtt_us = path->min_rtt_us;
	path->min_rtt_us = 0;
}

/* On every ACK: updates the largest number of packets delivered in one minimum round trip. */
HW_INLINE void hw_watch_path(const struct hw_call *call)
{
	const struct tcp_sock *tp = call->tp;
	u32 rtt_us = tp->rtt_min.s[0].v;
	u32 pkts;

	if (!call->app || !tp->rate_interval_us || rtt_us == HW_U32_MAX)
		return;
	pkts = hw_scale_u32(tp->rate_delivered, rtt_us, tp->rate_interval_us);
	call->app->path_pkts = hw_max_u32(call->app->path_pkts, pkts);
}

/*
 * Called when the connection becomes idle or ends. At the end, saves what the path delivered; if
 * the path delivered too little, puts back the entry that this connection had taken. When idle, the
 * connection keeps the measured values for its own next start.
 */
HW_INLINE void hw_leave_path(struct sock *sk, int goes_on)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	struct hw_app *app = bpf_sk_storage_get(&hw_app, sk, 0, 0);
	u32 rtt_us = tp->rtt_min.s[0].v;
	struct hw_path path = {
		.saved_ns = bpf_ktime_get_ns(),
		.min_rtt_us = rtt_us,
		.cwnd_pkts = app ? app->path_pkts : 0,
		.pkt_bytes = tp->mss_cache,
	};
	struct hw_path_key key;

	if (!app || !hw_lifetime_ns())
		return;
	if (path.cwnd_pkts < HW_LEAST_SAVED_PKTS) {
		path.saved_ns = app->saved_ns;
		path.cwnd_pkts = app->saved_cwnd_pkts;
		path.min_rtt_us = app->saved_rtt_us;
	}
	if (goes_on) {
		app->saved_ns = path.saved_ns;
		app->saved_cwnd_pkts = path.cwnd_pkts;
		app->saved_rtt_us = path.cwnd_pkts ? path.min_rtt_us : 0;
		app->path_pkts = 0;
		return;
	}
	if (!path.cwnd_pkts)
		return;
	hw_path_key_of(&key, sk);
	bpf_map_update_elem(&hw_paths, &key, &path, 0);
}

/* Called when the connection is established: looks up the defaults for its peer, and the
 * Quick-Start request and grant of its handshake. */
HW_INLINE void hw_open_application(struct hw_call *call)
{
	struct hw_qs_flow *flow;
	struct hw_prefix peer;
	struct hw_app *app;

	app = bpf_sk_storage_get(&hw_app, call->sk, 0, 1);
	call->app = app;
	if (!app)
		return;
	hw_peer_of(&peer, call->sk);
	hw_app_settle(app, &peer);
	app->started_rate_Bps = 0;
	app->is_writing = 0;
	app->path_pkts = 0;
	hw_take_path(app, call->sk);
	app->grant = HW_GRANT_NONE;
	app->granted_rate_Bps = 0;
	flow = hw_flow_of(call->sk);
	if (flow) {
		hw_take_grant(app, flow);
		/* at the server, ask TCP for an extra ACK that carries the report; at the
		 * client, the last ACK of the handshake carries the report */
		if (flow->host.report_due && flow->host.state == HW_QS_DENIED &&
		    call->sk->__sk_common.skc_state == HW_STATE_SYN_RECV)
			bpf_tcp_send_ack(call->tp, call->tp->rcv_nxt);
	}
	hw_read_application(call);
}

/*
 * Passes on how the startup used the grant, so that the host sends the Quick-Start report. The
 * report leaves in a separate ACK before any data at the new rate, because data packets may be
 * full, or several may share a buffer.
 */
HW_INLINE void hw_answer(const struct hw_call *call)
{
	const struct hw_conn *c = &call->conn;
	struct hw_app *app = call->app;
	struct hw_qs_flow fresh = {};
	struct hw_qs_flow *flow;
	struct hw_qs_key key;

	if (!app)
		return;
	if (c->pacing_rate_Bps)
		app->started_rate_Bps = c->pacing_rate_Bps;
	if (c->grant == app->grant && !c->request_code)
		return;
	hw_key_of(&key, call->sk);
	flow = bpf_map_lookup_elem(&hw_qs_flows, &key);
	if (c->grant != app->grant) {
		app->grant = c->grant;
		if (flow) {
			flow->used_code = c->grant == HW_GRANT_USED ? flow->host.granted_code : 0;
			flow->decided = 1;
			flow->host.disabled |= c->grant == HW_GRANT_DISABLED;
			if (flow->host.report_due)
				bpf_tcp_send_ack(call->tp, call->tp->rcv_nxt);
		}
	}
	if (c->request_code) {
		if (!flow) {
			bpf_map_update_elem(&hw_qs_flows, &key, &fresh, 0);
			flow = bpf_map_lookup_elem(&hw_qs_flows, &key);
		}
		if (flow && !flow->host.disabled) {
			flow->want_code = c->request_code;
			app->grant = HW_GRANT_REQUESTED;
		}
	}
}

#else

HW_INLINE void hw_refresh_application(struct hw_call *call)
{
	hw_clear_application(&call->conn);
}

#endif
#endif
