/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/*
 * A protocol's header: its fields as algorithms see them, what carries it, and the one
 * codec that the simulator, its captures, eBPF programs and tests use.
 *
 * algorithms/header/NAME.h declares hw_header_NAME. Routers read and write the decoded
 * fields of what passes (router.h); an endpoint's algorithm that owns the header writes
 * them when it sends, and is told what came back (cc.h). The receiver has no algorithm:
 * what it returns is the header's own matter (reflect).
 *
 * Everything here is inlined, without loops that have no bound and without globals that
 * are written, so that the same lines pass the kernel's verifier.
 */
#ifndef HEADWAY_PORT_HEADER_H
#define HEADWAY_PORT_HEADER_H

#include "types.h"

/* Most bytes of decoded fields, and of an option on the wire. */
#define HW_FIELDS_MAX_BYTES 24
#define HW_OPTION_MAX_BYTES 20

/* A header's table, one in every file that includes it. */
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

/* How a header came to its receiver; TTL and ECN are zero where the kernel's sockets
 * receive it. */
struct hw_arrival {
	u8 ip_ttl; /* what is left of it; each router has taken one off */
	u8 ecn;	   /* the two ECN bits */
	u16 ip_id; /* identification of the IP header; a sender counts its packets in it */
	u32 pkts;  /* that came together, with the one header (hw_packet.pkts) */
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

	/* The header in which a receiver answers; null: in this one, whose other fields the
	 * next sender of it fills in. */
	const struct hw_header *answer;

	/* Whether the bytes are this header; fills in its fields. */
	int (*parse)(const u8 *bytes, void *fields);
	void (*emit)(const void *fields, u8 *bytes);
	/*
	 * The receiver takes in a header that has arrived. held: the fields of the answer
	 * that goes out next, zeroed after each that went. Returns whether one is due. Null:
	 * nothing is answered.
	 */
	int (*reflect)(void *held, const void *arrived, const struct hw_arrival *how);
};

#endif
