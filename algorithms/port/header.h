/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/*
 * A protocol's header: its fields as algorithms see them, its carrier, and the only codec,
 * which the simulator, its captures, eBPF programs and tests use.
 *
 * algorithms/header/NAME.h declares hw_header_NAME. Routers read and write the decoded fields
 * of passing packets (router.h). An endpoint's algorithm that owns the header writes them when
 * it sends, and receives what came back (cc.h). The receiver has no algorithm: the header
 * itself defines the answer (reflect).
 *
 * Everything here is inlined, has no unbounded loops and writes no globals, so that the same
 * code passes the kernel's verifier.
 */
#ifndef HEADWAY_PORT_HEADER_H
#define HEADWAY_PORT_HEADER_H

#include "types.h"

/* Most bytes of decoded fields, and of an option on the wire. */
#define HW_FIELDS_MAX_BYTES 24
#define HW_OPTION_MAX_BYTES 20

/* Declares a protocol's header. Every C file that includes the header's file has its own copy. */
#define HW_HEADER static const __attribute__((unused)) struct hw_header

enum hw_carrier {
	HW_IP_OPTION = 0,
	HW_TCP_OPTION = 1,
	HW_ECN_BITS = 2, /* the two bits of the IP header, in one byte for the codec */
};

/* A field, for tools that print it. */
struct hw_field {
	const char *name;
	const char *unit;
	const char *meaning; /* with "two's complement" in it the field is signed */
	u32 offset;	     /* in the decoded fields */
	u32 bytes;	     /* 1, 2, 4 or 8 */
};

/* How a header arrived; TTL and ECN are zero if the kernel's sockets receive it. */
struct hw_arrival {
	u8 ip_ttl; /* the remaining TTL; each router has decremented it */
	u8 ecn;	   /* the two ECN bits */
	u16 ip_id; /* identification of the IP header; a sender counts its packets in it */
	u32 pkts;  /* packets that arrived together, with one header (hw_packet.pkts) */
};

struct hw_header {
	const char *name;
	const char *title;
	const char *source;
	u8 carrier;    /* enum hw_carrier */
	u8 kind;       /* first byte of the option */
	u8 wire_bytes; /* of the option with kind and length, a multiple of 4; 0 in ECN bits */
	u8 fields_bytes;
	u32 n_fields;
	const struct hw_field *fields;

	/* The header in which a receiver answers; null: this one, whose other fields its next
	 * sender fills in. */
	const struct hw_header *answer;

	/* Whether the bytes are this header; fills in its fields. */
	int (*parse)(const u8 *bytes, void *fields);
	void (*emit)(const void *fields, u8 *bytes);
	/*
	 * The receiver processes a header that has arrived. held: the fields of the next
	 * answer, zeroed after each answer. Returns whether an answer is due. Null: nothing is
	 * answered.
	 */
	int (*reflect)(void *held, const void *arrived, const struct hw_arrival *how);
};

#endif
