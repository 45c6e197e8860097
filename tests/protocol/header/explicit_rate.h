/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/*
 * A header for an explicit rate: routers lower the rate that a packet carries, and the
 * receiver returns it in the same header. It is an example of a protocol of three files. The
 * option has a number for experiments (RFC 4727, section 3.3), followed by an identifier (RFC
 * 6994).
 */
#ifndef HEADWAY_HEADER_EXPLICIT_RATE_H
#define HEADWAY_HEADER_EXPLICIT_RATE_H

#include "../port/header.h"
#include "../port/fixed.h"

#define ER_OPTION     253
#define ER_BYTES      12
#define ER_IDENTIFIER 0x4845 /* ours */

struct er_fields {
	u32 rate_Bps;	  /* what routers so far allow, IP bytes per second; 0: none is asked */
	u32 returned_Bps; /* what arrived at the receiver; 0: nothing yet */
};

static const __attribute__((unused)) struct hw_field er_header_fields[] = {
	{ "rate_Bps", "B/s", "least rate that routers on the way allow",
	  __builtin_offsetof(struct er_fields, rate_Bps), 4 },
	{ "returned_Bps", "B/s", "as it arrived at the receiver",
	  __builtin_offsetof(struct er_fields, returned_Bps), 4 },
};

static inline u32 er_get_u32(const u8 *bytes)
{
	return (u32)bytes[0] << 24 | (u32)bytes[1] << 16 | (u32)bytes[2] << 8 | bytes[3];
}

static inline void er_put_u32(u8 *bytes, u32 value)
{
	bytes[0] = (u8)(value >> 24);
	bytes[1] = (u8)(value >> 16);
	bytes[2] = (u8)(value >> 8);
	bytes[3] = (u8)value;
}

static inline int er_parse(const u8 *bytes, void *fields)
{
	struct er_fields *er = fields;

	if (bytes[0] != ER_OPTION || bytes[1] != ER_BYTES ||
	    ((u32)bytes[2] << 8 | bytes[3]) != ER_IDENTIFIER)
		return 0;
	er->rate_Bps = er_get_u32(bytes + 4);
	er->returned_Bps = er_get_u32(bytes + 8);
	return 1;
}

static inline void er_emit(const void *fields, u8 *bytes)
{
	const struct er_fields *er = fields;

	bytes[0] = ER_OPTION;
	bytes[1] = ER_BYTES;
	bytes[2] = ER_IDENTIFIER >> 8;
	bytes[3] = ER_IDENTIFIER & 0xff;
	er_put_u32(bytes + 4, er->rate_Bps);
	er_put_u32(bytes + 8, er->returned_Bps);
}

static inline int er_reflect(void *held, const void *arrived, const struct hw_arrival *how)
{
	struct er_fields *answer = held;

	(void)how;
	answer->returned_Bps = ((const struct er_fields *)arrived)->rate_Bps;
	return answer->returned_Bps != 0;
}

HW_HEADER hw_header_explicit_rate = {
	.name = "explicit-rate",
	.title = "A rate that routers lower",
	.source = "an example",
	.carrier = HW_TCP_OPTION,
	.kind = ER_OPTION,
	.wire_bytes = ER_BYTES,
	.fields_bytes = sizeof(struct er_fields),
	.n_fields = HW_COUNT(er_header_fields),
	.fields = er_header_fields,
	.parse = er_parse,
	.emit = er_emit,
	.reflect = er_reflect,
};

#endif
