/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/*
 * XCP's congestion header (draft-falk-xcp-spec-03, section 3.2) as a TCP option.
 *
 * The draft's header is a shim of 20 bytes between IP and TCP, with a protocol number that was
 * never assigned. A TCP option passes through today's networks. Headway defines the layout:
 * kind 253, for experiments (RFC 4727), with an identifier behind it (RFC 6994, not
 * registered), and 16 bytes long, which leaves room for timestamps and a SACK block:
 *
 *   0 253 | 1 length 16 | 2 identifier | 4 X | 6 RTT | 8 delta | 12 reverse
 *
 * X (seconds per packet) and RTT are 16-bit floating codes of 11 bits of fraction (fixed.h),
 * of nanoseconds and microseconds, at most 4293918720 each: within 2^-12 of the value, or half
 * a unit. delta and reverse are in bytes per second, in two's complement. Their lowest bits are
 * flags: in delta that a router has written it, in reverse that it is the sum of deltas that
 * routers have written. Both values are therefore multiples of 2 B/s up to 2^31 - 2; the draft
 * has a resolution of 1 B/s. Routers round at random, which is exact on average.
 *
 * On pure ACKs X, RTT and delta are 0, as in the draft's minimal header, and routers leave
 * them alone.
 */
#ifndef HEADWAY_HEADER_XCP_H
#define HEADWAY_HEADER_XCP_H

#include "../port/header.h"
#include "../port/fixed.h"
#include "../port/octets.h"

#define XCP_OPTION     253
#define XCP_BYTES      16
#define XCP_IDENTIFIER 0x4858

#define XCP_FRACTION_BITS 11
#define XCP_MOST_CODE	  ((21u << XCP_FRACTION_BITS) + 2047) /* code of the largest u32 */
#define XCP_MOST_Bps	  0x7ffffffe

struct xcp_fields {
	u32 x_ns;	 /* X, the sender's time per packet: RTT divided by cwnd; 0: unknown */
	u32 rtt_us;	 /* smoothed; 0: unknown */
	s32 delta_Bps;	 /* change of throughput that the sender requests and routers lower */
	s32 reverse_Bps; /* sum of the deltas of the packets that this ACK answers */
	u8 is_stamped;	 /* 1: a router has written delta */
	u8 is_answer;	 /* 1: reverse_Bps is the sum of deltas that routers have written */
	u8 unused[2];
};

#define XCP_FIELD(field) __builtin_offsetof(struct xcp_fields, field)

static const __attribute__((unused)) struct hw_field xcp_header_fields[] = {
	{ "x_ns", "ns", "the sender's time per packet", XCP_FIELD(x_ns), 4 },
	{ "rtt_us", "us", "the sender's smoothed round-trip time", XCP_FIELD(rtt_us), 4 },
	{ "delta_Bps", "B/s", "change of throughput, two's complement", XCP_FIELD(delta_Bps), 4 },
	{ "reverse_Bps", "B/s", "sum of what is answered, two's complement", XCP_FIELD(reverse_Bps),
	  4 },
	{ "is_stamped", "bool", "a router has written delta", XCP_FIELD(is_stamped), 1 },
	{ "is_answer", "bool", "reverse is a sum of changes that routers have written",
	  XCP_FIELD(is_answer), 1 },
};

/* The code whose value is nearest to x, which is X in ns or an RTT in us. */
static inline u32 xcp_code(u64 value)
{
	if (value > HW_U32_MAX)
		return XCP_MOST_CODE;
	return hw_min_u32(hw_float_code(value, XCP_FRACTION_BITS), XCP_MOST_CODE);
}

static inline u32 xcp_value(u32 code)
{
	return (u32)hw_float_value(hw_min_u32(code, XCP_MOST_CODE), XCP_FRACTION_BITS);
}

static inline u32 xcp_rounded(u64 value)
{
	return xcp_value(xcp_code(value));
}

static inline int xcp_parse(const u8 *bytes, void *fields)
{
	struct xcp_fields *xcp = fields;
	u32 delta = hw_get_u32(bytes + 8), reverse = hw_get_u32(bytes + 12);

	if (bytes[0] != XCP_OPTION || bytes[1] != XCP_BYTES ||
	    hw_get_u16(bytes + 2) != XCP_IDENTIFIER)
		return 0;
	xcp->x_ns = xcp_value(hw_get_u16(bytes + 4));
	xcp->rtt_us = xcp_value(hw_get_u16(bytes + 6));
	xcp->delta_Bps = (s32)(delta & ~1u);
	xcp->reverse_Bps = (s32)(reverse & ~1u);
	xcp->is_stamped = delta & 1;
	xcp->is_answer = reverse & 1;
	xcp->unused[0] = 0;
	xcp->unused[1] = 0;
	return 1;
}

static inline void xcp_emit(const void *fields, u8 *bytes)
{
	const struct xcp_fields *xcp = fields;

	bytes[0] = XCP_OPTION;
	bytes[1] = XCP_BYTES;
	hw_put_u16(bytes + 2, XCP_IDENTIFIER);
	hw_put_u16(bytes + 4, xcp_code(xcp->x_ns));
	hw_put_u16(bytes + 6, xcp_code(xcp->rtt_us));
	hw_put_u32(bytes + 8, ((u32)xcp->delta_Bps & ~1u) | (xcp->is_stamped & 1));
	hw_put_u32(bytes + 12, ((u32)xcp->reverse_Bps & ~1u) | (xcp->is_answer & 1));
}

/* Limits a change of throughput to what the header can carry. */
static inline s32 xcp_change(s64 change_Bps)
{
	if (change_Bps > XCP_MOST_Bps)
		return XCP_MOST_Bps;
	if (change_Bps < -(s64)XCP_MOST_Bps)
		return -XCP_MOST_Bps;
	return (s32)change_Bps;
}

/*
 * The receiver's part (draft, section 4.1.2): an ACK returns the sum of the deltas of all
 * packets that it answers. A delta that no router has written does not count.
 */
static inline int xcp_reflect(void *held, const void *arrived, const struct hw_arrival *how)
{
	const struct xcp_fields *xcp = arrived;
	struct xcp_fields *answer = held;

	if (!xcp->is_stamped)
		return 0;
	answer->reverse_Bps = xcp_change((s64)answer->reverse_Bps +
					 (s64)xcp->delta_Bps * hw_max_u32(how->pkts, 1));
	answer->is_answer = 1;
	return 1;
}

HW_HEADER hw_header_xcp = {
	.name = "xcp",
	.title = "XCP's congestion header as a TCP option",
	.source = "draft-falk-xcp-spec-03 section 3.2; the layout is ours",
	.carrier = HW_TCP_OPTION,
	.kind = XCP_OPTION,
	.wire_bytes = XCP_BYTES,
	.fields_bytes = sizeof(struct xcp_fields),
	.n_fields = HW_COUNT(xcp_header_fields),
	.fields = xcp_header_fields,
	.parse = xcp_parse,
	.emit = xcp_emit,
	.reflect = xcp_reflect,
};

#endif
