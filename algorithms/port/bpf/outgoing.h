/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/*
 * Data that a socket's program (endpoint.h) passes to the program at the socket's outgoing
 * device (kernel/headers_out.bpf.c): a codepoint of the two ECN bits, which programs at sockets
 * and cgroups cannot write, and an answer that may not fit beside TCP's SACK blocks. One map
 * serves all controls and devices.
 */
#ifndef HEADWAY_PORT_BPF_OUTGOING_H
#define HEADWAY_PORT_BPF_OUTGOING_H

#include "kernel.h"
#include "../header.h"

#define HW_ECN_MASK 3

struct hw_outgoing {
	/* ECN codepoint of the packet that the socket is making; 0: do not write the bits */
	u8 bits;
	u8 due; /* 1: an answer to the peer waits to be sent */
	u8 option_bytes;
	u8 unused;
	u8 option[HW_OPTION_MAX_BYTES]; /* the answer */
};

struct {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, 1); /* BPF_F_NO_PREALLOC */
	__type(key, int);
	__type(value, struct hw_outgoing);
} hw_outgoing SEC(".maps");

#endif
