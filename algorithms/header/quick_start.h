/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/*
 * Quick-Start (RFC 4782): rate codes, nonce, TTL arithmetic, and what a router,
 * a receiver and a sender do with the option. Section numbers are the RFC's.
 *
 * Routers, simulated sockets and eBPF programs all use this arithmetic. It has no loops and
 * takes time and randomness as arguments. A request's rate counts IP and TCP headers, but not
 * the link's.
 */
#ifndef HEADWAY_HEADER_QUICK_START_H
#define HEADWAY_HEADER_QUICK_START_H

#include "../port/header.h"
#include "../port/fixed.h"

#define HW_QS_IPV4_OPTION 25 /* the type byte: not copied, class 0, number 25 */
#define HW_QS_TCP_OPTION  27
#define HW_QS_BYTES	  8 /* of either option */

#define HW_QS_MAX_CODE	 15
#define HW_QS_STEP_Bps	 5000u /* 40 kbit/s; the rate of a code is this times 2^code */
#define HW_QS_NONCE_MASK 0x3fffffffu

/* Values of the upper half of the third byte of the IP option. Options with other values are
 * ignored. */
enum hw_qs_function {
	HW_QS_REQUEST = 0,
	HW_QS_REPORT = 8,
};

/* The fields of a Quick-Start option: a request, a report or a response. */
struct hw_qs_option {
	u32 nonce;   /* 30 bits */
	u8 function; /* enum hw_qs_function; 0 in a response */
	u8 code;     /* the rate, 0 to 15 */
	u8 ttl;	     /* request: QS TTL; response: TTL difference; report: unused */
	u8 spare;    /* 0 */
};

/* ---- Rates (section 3.1) ---- */

static inline u64 hw_qs_rate_Bps(u32 code)
{
	return code ? (u64)HW_QS_STEP_Bps << hw_min_u32(code, HW_QS_MAX_CODE) : 0;
}

/* Rounds a rate down: the largest code whose rate is at most rate_Bps. Routers and receivers
 * grant this code. */
static inline u32 hw_qs_code_down(u64 rate_Bps)
{
	u64 steps = rate_Bps / HW_QS_STEP_Bps;

	if (steps < 2)
		return 0;
	return hw_min_u32(63 - (u32)__builtin_clzll(steps), HW_QS_MAX_CODE);
}

/* Rounds a rate up: the smallest code whose rate is at least rate_Bps, or 15, the largest code,
 * if no rate is that high. Senders request this code. */
static inline u32 hw_qs_code_up(u64 rate_Bps)
{
	u32 code = hw_qs_code_down(rate_Bps);

	return hw_min_u32(code + (hw_qs_rate_Bps(code) < rate_Bps), HW_QS_MAX_CODE);
}

/* The number of packets that the rate R sends in the RTT T: R T / (MSS + H), section 4.4. */
static inline u32 hw_qs_window_pkts(u64 rate_Bps, u32 rtt_us, u32 mss_bytes, u32 header_bytes)
{
	u64 bytes = (u64)hw_saturate_u32(rate_Bps) * rtt_us / 1000000;

	return hw_saturate_u32(hw_div_u64(bytes, (u64)mss_bytes + header_bytes));
}

/* ---- Nonce (section 3.4) ---- */

/* Mask of the nonce's bits that keep the sender's values when routers lower the rate to this
 * code. */
static inline u32 hw_qs_nonce_kept(u32 code)
{
	return (1u << 2 * (code & HW_QS_MAX_CODE)) - 1;
}

/* For each step from one rate code down to another, draws new random values for the two bits of
 * the nonce that belong to that step. A bit may get its old value again; otherwise a receiver
 * would learn which bits changed. */
static inline u32 hw_qs_redraw(u32 nonce, u32 from_code, u32 to_code, u32 random)
{
	u32 mask = hw_qs_nonce_kept(from_code) & ~hw_qs_nonce_kept(to_code);

	return (nonce & ~mask) | (random & mask);
}

/* ---- TTL (section 3.3) ---- */

static inline u8 hw_qs_ttl_diff(u8 ip_ttl, u8 qs_ttl)
{
	return (u8)(ip_ttl - qs_ttl);
}

/* ---- Bytes (sections 3.1 and 4.2) ---- */

/* Reads the fields from an option's eight bytes; ignores reserved bits. */
static inline void hw_qs_fields(const u8 *bytes, struct hw_qs_option *option)
{
	u32 word = (u32)bytes[4] << 24 | (u32)bytes[5] << 16 | (u32)bytes[6] << 8 | bytes[7];

	option->nonce = word >> 2;
	option->function = bytes[2] >> 4;
	option->code = bytes[2] & 15;
	option->ttl = bytes[3];
	option->spare = 0;
}

/* Returns whether the eight bytes are an IPv4 request or report, and decodes them. */
static inline int hw_qs_parse_ipv4(const u8 *bytes, struct hw_qs_option *option)
{
	if (bytes[0] != HW_QS_IPV4_OPTION || bytes[1] != HW_QS_BYTES)
		return 0;
	hw_qs_fields(bytes, option);
	return option->function == HW_QS_REQUEST || option->function == HW_QS_REPORT;
}

/* Returns whether the eight bytes are a TCP response, and decodes them. Ignores the reserved
 * half byte. */
static inline int hw_qs_parse_tcp(const u8 *bytes, struct hw_qs_option *option)
{
	if (bytes[0] != HW_QS_TCP_OPTION || bytes[1] != HW_QS_BYTES)
		return 0;
	hw_qs_fields(bytes, option);
	option->function = 0;
	return 1;
}

/* Writes an option in eight bytes, with this IP option type or TCP option kind. */
static inline void hw_qs_emit(const struct hw_qs_option *option, u8 type, u8 *bytes)
{
	u32 word = option->nonce << 2;

	bytes[0] = type;
	bytes[1] = HW_QS_BYTES;
	bytes[2] = (u8)(option->function << 4 | (option->code & 15));
	bytes[3] = option->ttl;
	bytes[4] = (u8)(word >> 24);
	bytes[5] = (u8)(word >> 16);
	bytes[6] = (u8)(word >> 8);
	bytes[7] = (u8)word;
}

/* ---- Router (section 3.3) ---- */

/* Refuses a request: rate, QS TTL and nonce become zero, as the RFC asks of a router that does
 * not strip the option. */
static inline void hw_qs_deny(struct hw_qs_option *request)
{
	request->code = 0;
	request->ttl = 0;
	request->nonce = 0;
}

/*
 * Changes a request as a router does that grants at most granted_code. It never raises the
 * request's rate, draws new values for the nonce's bits of the steps by which it lowers the rate,
 * and reduces the QS TTL as much as the IP TTL. Returns the forwarded code, 0 if the request is
 * denied.
 */
static inline u32 hw_qs_forward(struct hw_qs_option *request, u32 granted_code, u8 ttl_step,
				u32 random)
{
	u32 code = hw_min_u32(request->code, granted_code);

	if (!code) {
		hw_qs_deny(request);
		return 0;
	}
	request->nonce = hw_qs_redraw(request->nonce, request->code, code, random);
	request->code = (u8)code;
	request->ttl = (u8)(request->ttl - ttl_step);
	return code;
}

/* ---- Receiver (section 4.2) ---- */

/*
 * Makes the response to a request that arrived with this IP TTL; willing_code is the highest
 * code that the receiver accepts. Returns 0 if no response is due, because the option is a
 * report or its rate is 0. A receiver that lowers the rate does not change the nonce; the
 * sender then compares fewer of its bits.
 */
static inline int hw_qs_respond(const struct hw_qs_option *request, u8 ip_ttl, u32 willing_code,
				struct hw_qs_option *response)
{
	if (request->function != HW_QS_REQUEST || !request->code)
		return 0;
	response->nonce = request->nonce;
	response->function = 0;
	response->code = (u8)hw_min_u32(request->code, willing_code);
	response->ttl = hw_qs_ttl_diff(ip_ttl, request->ttl);
	response->spare = 0;
	return 1;
}

/* ---- Sender (sections 4.1 and 4.4) ---- */

enum hw_qs_state {
	HW_QS_NONE = 0,	     /* nothing asked yet */
	HW_QS_REQUESTED = 1, /* the sender has sent a request and waits for its response */
	HW_QS_GRANTED = 2,   /* granted, perhaps at a lower rate than requested */
	HW_QS_DENIED = 3,    /* it failed */
};

/* Why a request failed. */
enum hw_qs_failure {
	HW_QS_OK = 0,		/* it did not */
	HW_QS_REFUSED = 1,	/* the response has rate 0: a router or the receiver refused */
	HW_QS_UNANSWERED = 2,	/* the request's packet was ACKed without a response */
	HW_QS_LOST = 3,		/* the packet with the request was lost or reset */
	HW_QS_TTL_DIFFERS = 4,	/* a router on the path does not take part */
	HW_QS_NONCE_FORGED = 5, /* the nonce shows a rate above the approved one */
	HW_QS_INFLATED = 6,	/* the response's rate is higher than the requested one */
};

#define HW_QS_N_FAILURES (HW_QS_INFLATED + 1)

/* State of a connection that sends requests. All fields are 0 at the start. */
struct hw_qs_host {
	u32 nonce;			/* nonce of the last request */
	u32 requests;			/* sent */
	u32 grants;			/* requests that were granted, perhaps at a lower rate */
	u32 lowered;			/* requests that were granted at a lower rate */
	u32 reports;			/* sent */
	u32 failures[HW_QS_N_FAILURES]; /* failed requests by enum hw_qs_failure; [0] stays 0 */
	u8 code;			/* asked for */
	u8 ttl_diff;			/* IP TTL minus QS TTL of the last request, as it left */
	u8 granted_code;		/* 0 unless the last request was granted */
	u8 state;			/* enum hw_qs_state, of the last request */
	u8 failure;			/* enum hw_qs_failure, of the last request */
	u8 report_due; /* 1: the sender still has to report the rate of the last request */
	u8 disabled;   /* 1: this connection may send no more requests */
	u8 spare;      /* 0 */
};

/*
 * Makes a request that leaves with this IP TTL. The low 30 bits of random become the nonce,
 * bits 32 to 39 the QS TTL; they must not be predictable from the packet's header. Returns 0 if
 * no request may be sent: if code is 0, if the previous request has no answer yet, or if
 * requests are disabled.
 */
static inline int hw_qs_request(struct hw_qs_host *h, u32 code, u8 ip_ttl, u64 random,
				struct hw_qs_option *request)
{
	if (!code || code > HW_QS_MAX_CODE || h->disabled || h->state == HW_QS_REQUESTED)
		return 0;
	request->nonce = (u32)random & HW_QS_NONCE_MASK;
	request->function = HW_QS_REQUEST;
	request->code = (u8)code;
	request->ttl = (u8)(random >> 32);
	request->spare = 0;
	h->nonce = request->nonce;
	h->code = (u8)code;
	h->ttl_diff = hw_qs_ttl_diff(ip_ttl, request->ttl);
	h->granted_code = 0;
	h->state = HW_QS_REQUESTED;
	h->failure = HW_QS_OK;
	h->report_due = 1;
	h->requests++;
	return 1;
}

/* Records that the request without an answer so far has failed, and why (enum hw_qs_failure). */
static inline void hw_qs_fail(struct hw_qs_host *h, u32 failure)
{
	if (h->state != HW_QS_REQUESTED || failure >= HW_QS_N_FAILURES)
		return;
	h->state = HW_QS_DENIED;
	h->failure = (u8)failure;
	h->failures[failure]++;
	/* section 4.4 requires that the connection sends no more requests after a wrong nonce;
	 * a rate above the request is treated in the same way */
	if (failure == HW_QS_NONCE_FORGED || failure == HW_QS_INFLATED)
		h->disabled = 1;
}

/*
 * Evaluates the first ACK of the packet that carried the request; `response` is null if that ACK
 * carries no response. Returns the granted code, 0 if the request failed (h->failure has the
 * reason). Later answers to the same request are ignored.
 */
static inline u32 hw_qs_judge(struct hw_qs_host *h, const struct hw_qs_option *response)
{
	u32 failure = HW_QS_OK;

	if (h->state != HW_QS_REQUESTED)
		return 0;
	if (!response)
		failure = HW_QS_UNANSWERED;
	else if (!response->code)
		failure = HW_QS_REFUSED;
	else if (response->code > h->code)
		failure = HW_QS_INFLATED;
	else if (response->ttl != h->ttl_diff)
		failure = HW_QS_TTL_DIFFERS;
	else if ((response->nonce ^ h->nonce) & hw_qs_nonce_kept(response->code))
		failure = HW_QS_NONCE_FORGED;
	if (failure != HW_QS_OK || !response) {
		hw_qs_fail(h, failure);
		return 0;
	}
	h->state = HW_QS_GRANTED;
	h->granted_code = response->code;
	h->grants++;
	h->lowered += response->code < h->code;
	return response->code;
}

/*
 * Makes the report that a sender must send after every request that was answered or failed. It
 * reports the rate that the sender uses, which is at most the granted rate; if the request failed,
 * it reports 0. Returns 0 if no report is due.
 */
static inline int hw_qs_report(struct hw_qs_host *h, u32 used_code, struct hw_qs_option *report)
{
	if (!h->report_due || h->state == HW_QS_REQUESTED)
		return 0;
	report->nonce = h->nonce;
	report->function = HW_QS_REPORT;
	report->code = (u8)hw_min_u32(used_code, h->granted_code);
	report->ttl = 0;
	report->spare = 0;
	h->report_due = 0;
	h->reports++;
	return 1;
}

/* ---- The headers: request and report in an IP option, response in a TCP option ---- */

static const __attribute__((unused)) struct hw_field hw_qs_fields_ipv4[] = {
	{ "nonce", "bits", "30 bits drawn by the sender",
	  __builtin_offsetof(struct hw_qs_option, nonce), 4 },
	{ "function", "code", "0 request, 8 report",
	  __builtin_offsetof(struct hw_qs_option, function), 1 },
	{ "rate_code", "code", "40 kbit/s x 2^code; 0: none",
	  __builtin_offsetof(struct hw_qs_option, code), 1 },
	{ "qs_ttl", "hops", "routers that take part decrement it with the IP TTL",
	  __builtin_offsetof(struct hw_qs_option, ttl), 1 },
};

static const __attribute__((unused)) struct hw_field hw_qs_fields_tcp[] = {
	{ "nonce", "bits", "30 bits as they arrived",
	  __builtin_offsetof(struct hw_qs_option, nonce), 4 },
	{ "rate_code", "code", "40 kbit/s x 2^code; 0: refused",
	  __builtin_offsetof(struct hw_qs_option, code), 1 },
	{ "ttl_diff", "hops", "IP TTL minus QS TTL as the request arrived",
	  __builtin_offsetof(struct hw_qs_option, ttl), 1 },
};

static inline int hw_qs_header_parse_ipv4(const u8 *bytes, void *fields)
{
	return hw_qs_parse_ipv4(bytes, fields);
}

static inline int hw_qs_header_parse_tcp(const u8 *bytes, void *fields)
{
	return hw_qs_parse_tcp(bytes, fields);
}

static inline void hw_qs_header_emit_ipv4(const void *fields, u8 *bytes)
{
	hw_qs_emit(fields, HW_QS_IPV4_OPTION, bytes);
}

static inline void hw_qs_header_emit_tcp(const void *fields, u8 *bytes)
{
	hw_qs_emit(fields, HW_QS_TCP_OPTION, bytes);
}

/* Called at a receiver that accepts any rate: makes the response to a request. */
static inline int hw_qs_header_reflect(void *held, const void *arrived,
				       const struct hw_arrival *how)
{
	return hw_qs_respond(arrived, how->ip_ttl, HW_QS_MAX_CODE, held);
}

HW_HEADER hw_header_quick_start_response = {
	.name = "quick-start-response",
	.title = "Quick-Start response",
	.source = "RFC 4782 section 4.2",
	.carrier = HW_TCP_OPTION,
	.kind = HW_QS_TCP_OPTION,
	.wire_bytes = HW_QS_BYTES,
	.fields_bytes = sizeof(struct hw_qs_option),
	.n_fields = HW_COUNT(hw_qs_fields_tcp),
	.fields = hw_qs_fields_tcp,
	.parse = hw_qs_header_parse_tcp,
	.emit = hw_qs_header_emit_tcp,
};

HW_HEADER hw_header_quick_start = {
	.name = "quick-start",
	.title = "Quick-Start request or report",
	.source = "RFC 4782 section 3.1",
	.carrier = HW_IP_OPTION,
	.kind = HW_QS_IPV4_OPTION,
	.wire_bytes = HW_QS_BYTES,
	.fields_bytes = sizeof(struct hw_qs_option),
	.n_fields = HW_COUNT(hw_qs_fields_ipv4),
	.fields = hw_qs_fields_ipv4,
	.answer = &hw_header_quick_start_response,
	.parse = hw_qs_header_parse_ipv4,
	.emit = hw_qs_header_emit_ipv4,
	.reflect = hw_qs_header_reflect,
};

#endif
