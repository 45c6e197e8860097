// SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only)
/* Quick-Start's arithmetic, for simulated sockets and for tests. */
#include "../../header/quick_start.h"

u64 hw_native_qs_rate_Bps(u32 code)
{
	return hw_qs_rate_Bps(code);
}

u32 hw_native_qs_code_down(u64 rate_Bps)
{
	return hw_qs_code_down(rate_Bps);
}

u32 hw_native_qs_code_up(u64 rate_Bps)
{
	return hw_qs_code_up(rate_Bps);
}

u32 hw_native_qs_window_pkts(u64 rate_Bps, u32 rtt_us, u32 mss_bytes, u32 header_bytes)
{
	return hw_qs_window_pkts(rate_Bps, rtt_us, mss_bytes, header_bytes);
}

u32 hw_native_qs_redraw(u32 nonce, u32 from_code, u32 to_code, u32 random)
{
	return hw_qs_redraw(nonce, from_code, to_code, random);
}

u32 hw_native_qs_parse_ipv4(const u8 *bytes, struct hw_qs_option *option)
{
	return hw_qs_parse_ipv4(bytes, option);
}

u32 hw_native_qs_parse_tcp(const u8 *bytes, struct hw_qs_option *option)
{
	return hw_qs_parse_tcp(bytes, option);
}

void hw_native_qs_emit(const struct hw_qs_option *option, u8 type, u8 *bytes)
{
	hw_qs_emit(option, type, bytes);
}

u32 hw_native_qs_forward(struct hw_qs_option *request, u32 granted_code, u8 ttl_step, u32 random)
{
	return hw_qs_forward(request, granted_code, ttl_step, random);
}

u32 hw_native_qs_respond(const struct hw_qs_option *request, u8 ip_ttl, u32 willing_code,
			 struct hw_qs_option *response)
{
	return hw_qs_respond(request, ip_ttl, willing_code, response);
}

u32 hw_native_qs_request(struct hw_qs_host *h, u32 code, u8 ip_ttl, u64 random,
			 struct hw_qs_option *request)
{
	return hw_qs_request(h, code, ip_ttl, random, request);
}

void hw_native_qs_fail(struct hw_qs_host *h, u32 failure)
{
	hw_qs_fail(h, failure);
}

u32 hw_native_qs_judge(struct hw_qs_host *h, const struct hw_qs_option *response)
{
	return hw_qs_judge(h, response);
}

u32 hw_native_qs_report(struct hw_qs_host *h, u32 used_code, struct hw_qs_option *report)
{
	return hw_qs_report(h, used_code, report);
}
