// SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only)
/* Sizes and offsets of the contract as the C compiler lays it out, and the
 * arithmetic of the headers, for the tests of the language border. */
#include <stddef.h>

#include "flow.h"
#include "../cubic_law.h"
#include "../../header/quick_start.h"

#define FIELD(type, field) { #type "." #field, offsetof(struct type, field) }
#define SIZE(type)	   { #type, sizeof(struct type) }

const struct hw_layout {
	const char *name;
	u64 bytes;
} hw_native_layout[] = {
	SIZE(hw_conn),
	FIELD(hw_conn, cwnd_pkts),
	FIELD(hw_conn, cwnd_cnt),
	FIELD(hw_conn, ssthresh_pkts),
	FIELD(hw_conn, cwnd_clamp_pkts),
	FIELD(hw_conn, pacing_rate_Bps),
	FIELD(hw_conn, now_us),
	FIELD(hw_conn, delivered_pkts),
	FIELD(hw_conn, snd_una),
	FIELD(hw_conn, snd_nxt),
	FIELD(hw_conn, srtt_us),
	FIELD(hw_conn, min_rtt_us),
	FIELD(hw_conn, mss_bytes),
	FIELD(hw_conn, inflight_pkts),
	FIELD(hw_conn, idle_us),
	FIELD(hw_conn, app_queued_bytes),
	FIELD(hw_conn, ca_state),
	FIELD(hw_conn, cwnd_limited),
	FIELD(hw_conn, counts_acks),
	FIELD(hw_conn, paced),
	FIELD(hw_conn, pacing_chunk_pkts),
	FIELD(hw_conn, ignore_peer_window),
	FIELD(hw_conn, request_code),
	FIELD(hw_conn, grant),
	FIELD(hw_conn, ecn),
	FIELD(hw_conn, peer_window_bytes),
	FIELD(hw_conn, header_bytes),
	FIELD(hw_conn, sent_pkts),
	FIELD(hw_conn, retrans_pkts),
	FIELD(hw_conn, app_data_bytes),
	FIELD(hw_conn, asked_rate_Bps),
	FIELD(hw_conn, granted_rate_Bps),
	FIELD(hw_conn, saved_cwnd_pkts),
	FIELD(hw_conn, saved_rtt_us),
	FIELD(hw_conn, deadline_us),
	FIELD(hw_conn, stabilize),
	FIELD(hw_conn, no_fast_start),
	FIELD(hw_conn, app_limited),
	FIELD(hw_conn, mark_app_limited),
	FIELD(hw_conn, lost_pkts),
	FIELD(hw_conn, pacing_wait_us),
	FIELD(hw_conn, delivered_us),
	SIZE(hw_ack),
	FIELD(hw_ack, acked_pkts),
	FIELD(hw_ack, rtt_us),
	SIZE(hw_rate_sample),
	FIELD(hw_rate_sample, prior_delivered_pkts),
	FIELD(hw_rate_sample, delivered_pkts),
	FIELD(hw_rate_sample, delivered_ce_pkts),
	FIELD(hw_rate_sample, interval_us),
	FIELD(hw_rate_sample, rtt_us),
	FIELD(hw_rate_sample, losses_pkts),
	FIELD(hw_rate_sample, acked_pkts),
	FIELD(hw_rate_sample, prior_inflight_pkts),
	FIELD(hw_rate_sample, random),
	FIELD(hw_rate_sample, is_app_limited),
	FIELD(hw_rate_sample, is_retrans),
	FIELD(hw_rate_sample, is_ack_delayed),
	SIZE(hw_link),
	FIELD(hw_link, now_ns),
	FIELD(hw_link, rate_Bps),
	FIELD(hw_link, limit_bytes),
	FIELD(hw_link, limit_pkts),
	FIELD(hw_link, queue_bytes),
	FIELD(hw_link, queue_pkts),
	FIELD(hw_link, idle_us),
	FIELD(hw_link, random),
	FIELD(hw_link, noted),
	FIELD(hw_link, notes),
	SIZE(hw_packet),
	FIELD(hw_packet, flow),
	FIELD(hw_packet, ip_bytes),
	FIELD(hw_packet, ecn),
	SIZE(hw_qs_option),
	FIELD(hw_qs_option, nonce),
	FIELD(hw_qs_option, function),
	FIELD(hw_qs_option, code),
	FIELD(hw_qs_option, ttl),
	SIZE(hw_qs_host),
	FIELD(hw_qs_host, nonce),
	FIELD(hw_qs_host, requests),
	FIELD(hw_qs_host, grants),
	FIELD(hw_qs_host, lowered),
	FIELD(hw_qs_host, reports),
	FIELD(hw_qs_host, failures),
	FIELD(hw_qs_host, code),
	FIELD(hw_qs_host, ttl_diff),
	FIELD(hw_qs_host, granted_code),
	FIELD(hw_qs_host, state),
	FIELD(hw_qs_host, failure),
	FIELD(hw_qs_host, report_due),
	FIELD(hw_qs_host, disabled),
	SIZE(hw_flow),
	FIELD(hw_flow, cc_tun),
	FIELD(hw_flow, startup_tun),
	FIELD(hw_flow, startup_word),
	FIELD(hw_flow, state),
	SIZE(hw_counter),
	SIZE(hw_field),
	SIZE(hw_arrival),
	SIZE(hw_header),
	FIELD(hw_header, n_fields),
	FIELD(hw_header, answer),
	FIELD(hw_header, reflect),
	SIZE(hw_queue),
	FIELD(hw_queue, tun),
	FIELD(hw_queue, state),
	SIZE(hw_router),
	FIELD(hw_router, tun),
	FIELD(hw_router, state),
};

const u32 hw_native_n_layout = HW_COUNT(hw_native_layout);

u32 hw_native_cbrt(u64 x)
{
	return hw_cbrt_u64(x);
}

u32 hw_native_sqrt(u64 x)
{
	return hw_sqrt_u64(x);
}

u32 hw_native_cubic_k(u32 w_max_pkts, u32 cwnd_pkts)
{
	return hw_cubic_k(w_max_pkts, cwnd_pkts);
}

u32 hw_native_cubic_target(u32 origin_pkts, u32 k, u64 t)
{
	return hw_cubic_target(origin_pkts, k, t);
}

u32 hw_native_cubic_friendly_scale(u32 beta_1024)
{
	return hw_cubic_friendly_scale(beta_1024);
}

u64 hw_native_power(u64 base, u32 n)
{
	return hw_power(base, n);
}

u64 hw_native_part(u64 x, u64 fraction)
{
	return hw_part_u64(x, fraction);
}

u32 hw_native_scale(u32 a, u32 b, u32 c)
{
	return hw_scale_u32(a, b, c);
}
