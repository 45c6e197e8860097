/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/*
 * What an application can tell Headway about a TCP connection, and query: socket options at
 * level IPPROTO_TCP (SOL_TCP), after table 5.1 of M. Scharf's thesis. They work on an
 * unpatched kernel after `headwayctl hints attach`. Without it setsockopt fails with
 * ENOPROTOOPT and the connection is not affected.
 *
 * All options are advice. An option set before connect() applies from the first packet. An
 * option set on a listening socket applies to the connections it accepts.
 *
 *	uint64_t rate_bps = 10000000;
 *	setsockopt(fd, IPPROTO_TCP, TCP_INITIAL_RATE, &rate_bps, sizeof(rate_bps));
 */
#ifndef HEADWAY_H
#define HEADWAY_H

/* Option numbers: the letters "HW" in ASCII and a number, far from the kernel's own options. The
 * values of all options but TCP_STARTUP_INFO are unsigned integers of 32 or 64 bits, as the
 * caller chooses. */
#define TCP_APPLICATION_TYPE 0x48570001 /* one of the three types below */
/* initial rate in bit/s, with headers; 0 withdraws the hint */
#define TCP_INITIAL_RATE 0x48570002
/* 1: the application never needs more than the initial rate */
#define TCP_STABILIZE_THROUGHPUT 0x48570003
/* number of bytes that will follow; 0 withdraws the hint */
#define TCP_DATA_VOLUME 0x48570004
#define TCP_DEADLINE	0x48570005 /* ms until the data should have arrived; 0 withdraws the hint */
/* This option can only be read; its value is a struct tcp_startup_info. */
#define TCP_STARTUP_INFO 0x48570006

#define TCP_APPLICATION_STANDARD    0 /* normal start */
#define TCP_APPLICATION_RESPONSIVE  1 /* start fast; without an initial rate, at the default rate */
#define TCP_APPLICATION_LOWPRIORITY 2 /* never start fast */

/* State of the request for the initial rate: whether the path has granted it. */
#define TCP_GRANT_NONE	    0 /* no request was sent */
#define TCP_GRANT_REQUESTED 1 /* a request was sent and has no answer yet */
#define TCP_GRANT_GRANTED   2
#define TCP_GRANT_DENIED    3

/* getsockopt() of the first five options returns the value that was set, except for
 * TCP_INITIAL_RATE: it returns the granted rate, 0 if none was granted. */
struct tcp_startup_info {
	unsigned long long asked_bps;	/* the application's rate, or the default for its peer */
	unsigned long long granted_bps; /* 0 unless grant is TCP_GRANT_GRANTED */
	unsigned long long volume_bytes;
	unsigned int deadline_ms;
	unsigned char application_type;
	unsigned char stabilize_throughput;
	unsigned char grant;
	unsigned char from_application; /* 1: the application has set asked_bps itself */
	/* rate at which the start was paced; 0: the start was not paced */
	unsigned long long started_bps;
};

#endif
