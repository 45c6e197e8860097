/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/*
 * A protocol's header: its decoded fields, its carrier, and its codec. The simulator, its
 * captures, eBPF programs and tests all use this codec.
 *
 * algorithms/header/NAME.h declares hw_header_NAME. Routers read and write the decoded fields of
 * passing packets (router.h). An endpoint's algorithm that owns the header fills in the fields when
 * it sends, and receives the fields of the receiver's answer (cc.h). The receiver has no algorithm:
 * the header itself defines the answer (reflect).
 *
 * Everything here is inlined, has no unbounded loops and writes no globals, so that the same
 * code passes the kernel's verifier.
 */
#ifndef HEADWAY_PORT_HEADER_H
#define HEADWAY_PORT_HEADER_H

#include "types.h"

/* The maximum size of decoded fields, and of an option on the wire. */
#define HW_FIELDS_MAX_BYTES 24
#define HW_OPTION_MAX_BYTES 20

/* Begins the declaration of a protocol's struct hw_header in algorithms/header/NAME.h. Every C
 * file that includes that file has its own copy of the structure. */
#define HW_HEADER static const __attribute__((unused)) struct hw_header

enum hw_carrier {
	HW_IP_OPTION = 0,
	HW_TCP_OPTION = 1,
	HW_ECN_BITS = 2, /* the two ECN bits of the IP header; the codec gets them as one byte */
};

/* A field of a header, described for tools that print it. */
struct hw_field {
	const char *name;
	const char *unit;
	const char *meaning; /* for people; contains "two's complement" if the field is signed */
	u32 offset;	     /* offset of the field in the decoded fields */
	u32 bytes;	     /* 1, 2, 4 or 8 */
};

/* Properties of the packet in which a header arrived; TTL and ECN are zero if a socket of the
 * kernel receives a TCP option. */
struct hw_arrival {
	u8 ip_ttl; /* remaining IP TTL; each router on the path has decremented it */
	u8 ecn;	   /* the two ECN bits */
	u16 ip_id; /* identification of the IP header; senders increment it by one per packet */
	/* number of packets that arrived in one buffer with this header (hw_packet.pkts) */
	u32 pkts;
};

struct hw_header {
	const char *name;
	const char *title;
	const char *source;
	u8 carrier;    /* enum hw_carrier */
	u8 kind;       /* kind or type of the option, its first byte */
	u8 wire_bytes; /* size of the option, a multiple of 4; 0 if the header is in the ECN bits */
	u8 fields_bytes;
	u32 n_fields;
	const struct hw_field *fields;

	/* The header in which a receiver answers. Null: receivers answer in this same header,
	 * which then has fields for the answer. */
	const struct hw_header *answer;

	/* Decodes the bytes into fields. Returns whether the bytes are this header. */
	int (*parse)(const u8 *bytes, void *fields);
	void (*emit)(const void *fields, u8 *bytes);
	/*
	 * Called at the receiver for each arrived header: updates held, the fields of the next
	 * answer, which are zeroed after each answer. Returns whether an answer is due. Null:
	 * receivers do not answer.
	 */
	int (*reflect)(void *held, const void *arrived, const struct hw_arrival *how);
};

#endif
