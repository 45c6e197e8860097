/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/*
 * A header in the two ECN bits, and the TCP option in which receivers answer it: an example of
 * that carrier. 0 marks packets of other protocols, senders write 1, and routers change it to
 * 2 or 3. The option has a number for experiments (RFC 4727, section 3.3), followed by an
 * identifier (RFC 6994).
 */
#ifndef HEADWAY_HEADER_TWO_BITS_H
#define HEADWAY_HEADER_TWO_BITS_H

#include "../port/header.h"
#include "../port/fixed.h"

#define TB_OPTION     253
#define TB_BYTES      8
#define TB_IDENTIFIER 0x4846 /* ours */
#define TB_UNSAID     1

struct tb_fields {
	u8 level; /* 1 to 3 */
};

struct tb_answer {
	u8 level; /* of the latest packet that is answered */
	u8 pkts;  /* as many of it; saturates */
};

static const __attribute__((unused)) struct hw_field tb_header_fields[] = {
	{ "level", "level", "1: no router has written", __builtin_offsetof(struct tb_fields, level),
	  1 },
};

static const __attribute__((unused)) struct hw_field tb_answer_fields[] = {
	{ "level", "level", "of the latest packet", __builtin_offsetof(struct tb_answer, level),
	  1 },
	{ "pkts", "packets", "that are answered", __builtin_offsetof(struct tb_answer, pkts), 1 },
};

static inline int tb_parse(const u8 *bytes, void *fields)
{
	((struct tb_fields *)fields)->level = bytes[0] & 3;
	return (bytes[0] & 3) != 0;
}

static inline void tb_emit(const void *fields, u8 *bytes)
{
	bytes[0] = ((const struct tb_fields *)fields)->level & 3;
}

static inline int tb_answer_parse(const u8 *bytes, void *fields)
{
	struct tb_answer *answer = fields;

	if (bytes[0] != TB_OPTION || bytes[1] != TB_BYTES ||
	    ((u32)bytes[2] << 8 | bytes[3]) != TB_IDENTIFIER)
		return 0;
	answer->level = bytes[4] & 3;
	answer->pkts = bytes[5];
	return 1;
}

static inline void tb_answer_emit(const void *fields, u8 *bytes)
{
	const struct tb_answer *answer = fields;

	bytes[0] = TB_OPTION;
	bytes[1] = TB_BYTES;
	bytes[2] = TB_IDENTIFIER >> 8;
	bytes[3] = TB_IDENTIFIER & 0xff;
	bytes[4] = answer->level;
	bytes[5] = answer->pkts;
	bytes[6] = 0;
	bytes[7] = 0;
}

static inline int tb_reflect(void *held, const void *arrived, const struct hw_arrival *how)
{
	struct tb_answer *answer = held;

	(void)how;
	answer->level = ((const struct tb_fields *)arrived)->level;
	answer->pkts += answer->pkts < 255;
	return 1;
}

HW_HEADER hw_header_two_bits_answer = {
	.name = "two-bits-answer",
	.title = "What arrived in two bits",
	.source = "an example",
	.carrier = HW_TCP_OPTION,
	.kind = TB_OPTION,
	.wire_bytes = TB_BYTES,
	.fields_bytes = sizeof(struct tb_answer),
	.n_fields = HW_COUNT(tb_answer_fields),
	.fields = tb_answer_fields,
	.parse = tb_answer_parse,
	.emit = tb_answer_emit,
};

HW_HEADER hw_header_two_bits = {
	.name = "two-bits",
	.title = "A level that routers write into the ECN bits",
	.source = "an example",
	.carrier = HW_ECN_BITS,
	.fields_bytes = sizeof(struct tb_fields),
	.n_fields = HW_COUNT(tb_header_fields),
	.fields = tb_header_fields,
	.answer = &hw_header_two_bits_answer,
	.parse = tb_parse,
	.emit = tb_emit,
	.reflect = tb_reflect,
};

#endif
