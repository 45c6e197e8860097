/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/*
 * Between a pair, its socket's application (app.h) and the Quick-Start of its host's
 * device (quick_start_flow.h). Only startups that pace have a use for it.
 */
#ifndef HEADWAY_PORT_BPF_APPLICATION_H
#define HEADWAY_PORT_BPF_APPLICATION_H

#ifdef HW_PACES

#include "app.h"
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

/* Takes over the answer to a request. A grant is used up to what was asked for. */
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

/* What there is to know, into the connection as the algorithms see it. */
HW_INLINE void hw_hear(struct hw_call *call)
{
	struct hw_conn *c = &call->conn;
	struct hw_app *app = call->app;

	if (!app)
		return;
	c->asked_rate_Bps = hw_app_asked_Bps(app);
	c->app_data_bytes = hw_saturate_u32(hw_app_announced_bytes(app));
	c->grant = app->grant;
	c->granted_rate_Bps = app->granted_rate_Bps;
}

HW_INLINE void hw_listen(struct hw_call *call)
{
	struct hw_conn *c = &call->conn;
	struct hw_qs_flow *flow;

	c->request_code = 0;
	c->grant = HW_GRANT_NONE;
	c->app_data_bytes = 0;
	c->asked_rate_Bps = 0;
	c->granted_rate_Bps = 0;
	call->app = bpf_sk_storage_get(&hw_app, call->sk, 0, 0);
	if (call->app && call->app->grant == HW_GRANT_REQUESTED) {
		flow = hw_flow_of(call->sk);
		if (flow)
			hw_take_grant(call->app, flow);
	}
	hw_hear(call);
}

/* Once, when the connection is there: the defaults for its peer, and what the handshake
 * asked and was told. */
HW_INLINE void hw_learn(struct hw_call *call)
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
	app->grant = HW_GRANT_NONE;
	app->granted_rate_Bps = 0;
	flow = hw_flow_of(call->sk);
	if (flow) {
		hw_take_grant(app, flow);
		/* who connected sends an ACK now anyway, which carries the report */
		if (flow->host.report_due && flow->host.state == HW_QS_DENIED &&
		    call->sk->__sk_common.skc_state == HW_STATE_SYN_RECV)
			bpf_tcp_send_ack(call->tp, call->tp->rcv_nxt);
	}
	hw_hear(call);
}

/*
 * What the pair made of it. The report leaves in an ACK of its own before any data at
 * the new rate: data packets may be full, or several in a buffer.
 */
HW_INLINE void hw_answer(const struct hw_call *call)
{
	const struct hw_conn *c = &call->conn;
	struct hw_app *app = call->app;
	struct hw_qs_flow fresh = {};
	struct hw_qs_flow *flow;
	struct hw_qs_key key;

	if (!app || (c->grant == app->grant && !c->request_code))
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

HW_INLINE void hw_listen(struct hw_call *call)
{
	struct hw_conn *c = &call->conn;

	c->request_code = 0;
	c->grant = HW_GRANT_NONE;
	c->app_data_bytes = 0;
	c->asked_rate_Bps = 0;
	c->granted_rate_Bps = 0;
}

#endif
#endif
