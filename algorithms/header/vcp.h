/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/*
 * VCP's header: the load region of the most loaded link of the path, in the two ECN bits of
 * data packets (Xia, Subramanian, Stoica, Kalyanaraman, "One More Bit Is Enough", SIGCOMM
 * 2005). Packets without data have 00 there, as packets of other protocols do, and routers
 * leave them alone. The bits do not have their meaning of RFC 3168, so a flow with this header
 * does not negotiate ECN. A queue that marks (11) thereby signals overload.
 *
 * The receiver answers in a TCP option of the experimental kind 253, followed by Headway's own
 * identifier (RFC 6994), because the paper specifies no format. With delayed ACKs an answer
 * covers several packets and contains the highest region of any of them.
 */
#ifndef HEADWAY_HEADER_VCP_H
#define HEADWAY_HEADER_VCP_H

#include "../port/header.h"

#define VCP_OPTION	 253
#define VCP_OPTION_BYTES 8
#define VCP_IDENTIFIER	 0x4856 /* "HV" */

enum vcp_region {
	VCP_NONE = 0, /* not VCP */
	VCP_LOW = 1,  /* the value that the sender writes, so low is also what no router changed */
	VCP_HIGH = 2,
	VCP_OVER = 3,
};

struct vcp_fields {
	u8 region; /* enum vcp_region */
};

static const __attribute__((unused)) struct hw_field vcp_header_fields[] = {
	{ "region", "1|2|3", "load of the most loaded link: low, high, over",
	  __builtin_offsetof(struct vcp_fields, region), 1 },
};

static inline int vcp_parse(const u8 *bytes, void *fields)
{
	struct vcp_fields *vcp = fields;

	vcp->region = bytes[0] & 3;
	return vcp->region != VCP_NONE;
}

static inline void vcp_emit(const void *fields, u8 *bytes)
{
	bytes[0] = ((const struct vcp_fields *)fields)->region & 3;
}

/* The fields of the receiver's answer. */
struct vcp_answer_fields {
	u8 region; /* highest load region of the packets that arrived since the last answer */
};

static const __attribute__((unused)) struct hw_field vcp_answer_header_fields[] = {
	{ "region", "1|2|3", "highest region that has arrived since the last answer",
	  __builtin_offsetof(struct vcp_answer_fields, region), 1 },
};

static inline int vcp_answer_parse(const u8 *bytes, void *fields)
{
	struct vcp_answer_fields *answer = fields;

	if (bytes[0] != VCP_OPTION || bytes[1] != VCP_OPTION_BYTES ||
	    ((u32)bytes[2] << 8 | bytes[3]) != VCP_IDENTIFIER || bytes[4] > VCP_OVER)
		return 0;
	answer->region = bytes[4];
	return 1;
}

static inline void vcp_answer_emit(const void *fields, u8 *bytes)
{
	const struct vcp_answer_fields *answer = fields;

	bytes[0] = VCP_OPTION;
	bytes[1] = VCP_OPTION_BYTES;
	bytes[2] = VCP_IDENTIFIER >> 8;
	bytes[3] = VCP_IDENTIFIER & 0xff;
	bytes[4] = answer->region;
	bytes[5] = 0;
	bytes[6] = 0;
	bytes[7] = 0;
}

static inline int vcp_reflect(void *held, const void *arrived, const struct hw_arrival *how)
{
	struct vcp_answer_fields *answer = held;
	u8 region = ((const struct vcp_fields *)arrived)->region;

	(void)how;
	if (region > answer->region)
		answer->region = region;
	return 1;
}

HW_HEADER hw_header_vcp_answer = {
	.name = "vcp-answer",
	.title = "VCP: the region that arrived",
	.source = "our own layout; RFC 6994",
	.carrier = HW_TCP_OPTION,
	.kind = VCP_OPTION,
	.wire_bytes = VCP_OPTION_BYTES,
	.fields_bytes = sizeof(struct vcp_answer_fields),
	.n_fields = HW_COUNT(vcp_answer_header_fields),
	.fields = vcp_answer_header_fields,
	.parse = vcp_answer_parse,
	.emit = vcp_answer_emit,
};

HW_HEADER hw_header_vcp = {
	.name = "vcp",
	.title = "VCP: the load region of the path",
	.source = "Xia, Subramanian, Stoica, Kalyanaraman, SIGCOMM 2005",
	.carrier = HW_ECN_BITS,
	.fields_bytes = sizeof(struct vcp_fields),
	.n_fields = HW_COUNT(vcp_header_fields),
	.fields = vcp_header_fields,
	.answer = &hw_header_vcp_answer,
	.parse = vcp_parse,
	.emit = vcp_emit,
	.reflect = vcp_reflect,
};

#endif
