/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/*
 * RCP's congestion header as a TCP option.
 *
 * RCP uses a shim of 12 bytes between IP and TCP, with a rate and an echo (Scharf 2011,
 * section 4.6.3; Dukkipati, Gibb, McKeown, Zhu, HOTI 2007); the order and units of its fields
 * are not published. The layout is ours: kind 253, for experiments (RFC 4727), with an
 * identifier behind it (RFC 6994, not registered), as long as the shim:
 *
 *   0 253 | 1 length 12 | 2 identifier | 4 rate | 7 returned | 10 RTT
 *
 * Rates are 24-bit floating codes of 19 bits of fraction (fixed.h), of bytes per second:
 * within 2^-20 of the value; all ones asks for an unlimited rate, 0 for nothing, as on pure
 * ACKs. RTT is a 16-bit code of 11 bits of fraction, of microseconds: within 2^-12.
 */
#ifndef HEADWAY_HEADER_RCP_H
#define HEADWAY_HEADER_RCP_H

#include "../port/header.h"
#include "../port/fixed.h"
#include "../port/octets.h"

#define RCP_OPTION     253
#define RCP_BYTES      12
#define RCP_IDENTIFIER 0x4852

#define RCP_RATE_BITS	  19
#define RCP_RTT_BITS	  11
#define RCP_MOST_RTT	  ((21u << RCP_RTT_BITS) + 2047) /* code of the largest u32 */
#define RCP_UNLIMITED	  0xffffffu			 /* code */
#define RCP_UNLIMITED_Bps (0xfffffull << 30)

struct rcp_fields {
	/* smallest rate of the routers passed so far; RCP_UNLIMITED_Bps: no router has written a
	 * rate; 0: the sender requests no rate */
	u64 rate_Bps;
	/* the rate that arrived at the receiver and is returned; 0: no rate arrived */
	u64 returned_Bps;
	u32 rtt_us; /* the sender's smoothed RTT; 0: unknown */
	u32 unused;
};

#define RCP_FIELD(field) __builtin_offsetof(struct rcp_fields, field)

static const __attribute__((unused)) struct hw_field rcp_header_fields[] = {
	{ "rate_Bps", "B/s", "rate that is asked for and allowed, IP bytes", RCP_FIELD(rate_Bps),
	  8 },
	{ "returned_Bps", "B/s", "as it arrived at the receiver", RCP_FIELD(returned_Bps), 8 },
	{ "rtt_us", "us", "the sender's smoothed round-trip time", RCP_FIELD(rtt_us), 4 },
};

static inline u32 rcp_rate_code(u64 rate_Bps)
{
	if (rate_Bps >= RCP_UNLIMITED_Bps)
		return RCP_UNLIMITED;
	return hw_min_u32(hw_float_code(rate_Bps, RCP_RATE_BITS), RCP_UNLIMITED);
}

/* The rate nearest to rate_Bps that a code can express, but not 0, because 0 means that the
 * sender requests no rate. */
static inline u64 rcp_rounded(u64 rate_Bps)
{
	return hw_float_value(hw_max_u32(rcp_rate_code(rate_Bps), 1), RCP_RATE_BITS);
}

static inline u32 rcp_rtt_code(u32 rtt_us)
{
	return hw_min_u32(hw_float_code(rtt_us, RCP_RTT_BITS), RCP_MOST_RTT);
}

static inline u32 rcp_rtt_us(u32 code)
{
	return (u32)hw_float_value(hw_min_u32(code, RCP_MOST_RTT), RCP_RTT_BITS);
}

static inline int rcp_parse(const u8 *bytes, void *fields)
{
	struct rcp_fields *rcp = fields;

	if (bytes[0] != RCP_OPTION || bytes[1] != RCP_BYTES ||
	    hw_get_u16(bytes + 2) != RCP_IDENTIFIER)
		return 0;
	rcp->rate_Bps = hw_float_value(hw_get_u24(bytes + 4), RCP_RATE_BITS);
	rcp->returned_Bps = hw_float_value(hw_get_u24(bytes + 7), RCP_RATE_BITS);
	rcp->rtt_us = rcp_rtt_us(hw_get_u16(bytes + 10));
	rcp->unused = 0;
	return 1;
}

static inline void rcp_emit(const void *fields, u8 *bytes)
{
	const struct rcp_fields *rcp = fields;

	bytes[0] = RCP_OPTION;
	bytes[1] = RCP_BYTES;
	hw_put_u16(bytes + 2, RCP_IDENTIFIER);
	hw_put_u24(bytes + 4, rcp_rate_code(rcp->rate_Bps));
	hw_put_u24(bytes + 7, rcp_rate_code(rcp->returned_Bps));
	hw_put_u16(bytes + 10, rcp_rtt_code(rcp->rtt_us));
}

/* The receiver answers with the rate of the latest packet in which a router has written a rate. */
static inline int rcp_reflect(void *held, const void *arrived, const struct hw_arrival *how)
{
	const struct rcp_fields *rcp = arrived;
	struct rcp_fields *answer = held;

	(void)how;
	if (!rcp->rate_Bps || rcp->rate_Bps >= RCP_UNLIMITED_Bps)
		return 0;
	answer->returned_Bps = rcp->rate_Bps;
	return 1;
}

HW_HEADER hw_header_rcp = {
	.name = "rcp",
	.title = "RCP's congestion header as a TCP option",
	.source = "Scharf 2011 section 4.6.3; Dukkipati et al. 2007; the layout is ours",
	.carrier = HW_TCP_OPTION,
	.kind = RCP_OPTION,
	.wire_bytes = RCP_BYTES,
	.fields_bytes = sizeof(struct rcp_fields),
	.n_fields = HW_COUNT(rcp_header_fields),
	.fields = rcp_header_fields,
	.parse = rcp_parse,
	.emit = rcp_emit,
	.reflect = rcp_reflect,
};

#endif
