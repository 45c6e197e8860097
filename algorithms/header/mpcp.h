/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/*
 * MPCP's header (Li, Yousefi'zadeh, "MPCP: Multi Packet Congestion-control Protocol", ACM CCR
 * 39(5), 2009, described in "RAPPEP", 2010): n successive packets together carry a congestion
 * level. Each of them carries a piece of the level in its two ECN bits. Neither text gives the
 * level tables, the order of the pieces or the format of the answer; Headway defines all three,
 * and docs/vcp-mpcp.md explains them.
 *
 * A level is a number of n digits to the base 3: two bits have four values, and 00 still means
 * that the packet is not MPCP's. A packet's IP identification selects the digit that it carries
 * (id mod n, the most significant digit first). Senders increment the identification by one per
 * packet. A sender sets every digit to 0. No router writes level 0, so level 0 means that no
 * router takes part. Each router raises a packet's digit to the digit of its own level if that
 * is larger. The result is never below the highest level on the path. The result exceeds that
 * level by less than 3^(n-1), and only if two links have nearly the same load, or if the less
 * loaded link has the larger digit in a less significant place.
 *
 * The receiver answers with the pieces of up to eight packets and the identification of the
 * latest, and the sender assembles them: pieces of reordered packets are put in their places,
 * and incomplete groups are ignored. The answer is a TCP option of the experimental kind 253
 * with Headway's own identifier (RFC 6994).
 */
#ifndef HEADWAY_HEADER_MPCP_H
#define HEADWAY_HEADER_MPCP_H

#include "../port/header.h"

#define MPCP_OPTION	  253
#define MPCP_OPTION_BYTES 8
#define MPCP_IDENTIFIER	  0x484d /* "HM" */
#define MPCP_ANSWERED	  8	 /* number of packets whose pieces one answer contains */

#define MPCP_MIN_PIECES 2
#define MPCP_MAX_PIECES 3

struct mpcp_fields {
	u8 piece; /* 1 + digit */
};

static const __attribute__((unused)) struct hw_field mpcp_header_fields[] = {
	{ "piece", "1|2|3", "1 plus this packet's digit of the level",
	  __builtin_offsetof(struct mpcp_fields, piece), 1 },
};

static inline int mpcp_parse(const u8 *bytes, void *fields)
{
	struct mpcp_fields *mpcp = fields;

	mpcp->piece = bytes[0] & 3;
	return mpcp->piece != 0;
}

static inline void mpcp_emit(const void *fields, u8 *bytes)
{
	bytes[0] = ((const struct mpcp_fields *)fields)->piece & 3;
}

/* The fields of the receiver's answer. */
struct mpcp_answer_fields {
	u16 latest_id; /* IP identification of the latest packet in the answer */
	u16 pieces;    /* bits 2k and 2k + 1: piece of packet latest_id - k; 0: not received */
};

static const __attribute__((unused)) struct hw_field mpcp_answer_header_fields[] = {
	{ "latest_id", "packets", "IP identification of the latest packet",
	  __builtin_offsetof(struct mpcp_answer_fields, latest_id), 2 },
	{ "pieces", "bits",
	  "pieces of the latest eight packets, two bits each, the latest packet lowest",
	  __builtin_offsetof(struct mpcp_answer_fields, pieces), 2 },
};

static inline int mpcp_answer_parse(const u8 *bytes, void *fields)
{
	struct mpcp_answer_fields *answer = fields;

	if (bytes[0] != MPCP_OPTION || bytes[1] != MPCP_OPTION_BYTES ||
	    ((u32)bytes[2] << 8 | bytes[3]) != MPCP_IDENTIFIER)
		return 0;
	answer->latest_id = (u16)((u32)bytes[4] << 8 | bytes[5]);
	answer->pieces = (u16)((u32)bytes[6] << 8 | bytes[7]);
	return 1;
}

static inline void mpcp_answer_emit(const void *fields, u8 *bytes)
{
	const struct mpcp_answer_fields *answer = fields;

	bytes[0] = MPCP_OPTION;
	bytes[1] = MPCP_OPTION_BYTES;
	bytes[2] = MPCP_IDENTIFIER >> 8;
	bytes[3] = MPCP_IDENTIFIER & 0xff;
	bytes[4] = (u8)(answer->latest_id >> 8);
	bytes[5] = (u8)answer->latest_id;
	bytes[6] = (u8)(answer->pieces >> 8);
	bytes[7] = (u8)answer->pieces;
}

/*
 * Merges the pieces of an answer (`more`, which ends with packet more_id) into a longer history
 * (`pieces`), which covers the `room` packets up to *latest_id. Ignores pieces that are older than
 * the history. Updates *latest_id, and returns the new history.
 */
static inline u32 mpcp_merge(u32 pieces, u16 *latest_id, u32 room, u32 more, u16 more_id)
{
	u16 ahead = (u16)(more_id - *latest_id);
	u16 behind = (u16)(*latest_id - more_id);

	if (!pieces || ahead < 1u << 15) {
		pieces = ahead < room ? pieces << 2 * ahead : 0;
		*latest_id = more_id;
		return pieces | more;
	}
	return behind < room ? pieces | more << 2 * behind : pieces;
}

static inline int mpcp_reflect(void *held, const void *arrived, const struct hw_arrival *how)
{
	struct mpcp_answer_fields *answer = held;
	u8 piece = ((const struct mpcp_fields *)arrived)->piece;

	answer->pieces = (u16)mpcp_merge(answer->pieces, &answer->latest_id, MPCP_ANSWERED, piece,
					 how->ip_id);
	return 1;
}

HW_HEADER hw_header_mpcp_answer = {
	.name = "mpcp-answer",
	.title = "MPCP: the pieces that arrived",
	.source = "our own layout; RFC 6994",
	.carrier = HW_TCP_OPTION,
	.kind = MPCP_OPTION,
	.wire_bytes = MPCP_OPTION_BYTES,
	.fields_bytes = sizeof(struct mpcp_answer_fields),
	.n_fields = HW_COUNT(mpcp_answer_header_fields),
	.fields = mpcp_answer_header_fields,
	.parse = mpcp_answer_parse,
	.emit = mpcp_answer_emit,
};

HW_HEADER hw_header_mpcp = {
	.name = "mpcp",
	.title = "MPCP: a piece of the path's congestion level",
	.source = "Li, Yousefi'zadeh, CCR 2009, as told in RAPPEP, 2010; levels are ours",
	.carrier = HW_ECN_BITS,
	.fields_bytes = sizeof(struct mpcp_fields),
	.n_fields = HW_COUNT(mpcp_header_fields),
	.fields = mpcp_header_fields,
	.answer = &hw_header_mpcp_answer,
	.parse = mpcp_parse,
	.emit = mpcp_emit,
	.reflect = mpcp_reflect,
};

#endif
