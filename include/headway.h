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

/* Numbers of ours ("HW" and a number), far from the kernel's own. All but the last are
 * 32- or 64-bit unsigned integers, whichever the caller hands over. */
#define TCP_APPLICATION_TYPE	 0x48570001 /* one of the three below */
#define TCP_INITIAL_RATE	 0x48570002 /* bit/s with headers; 0 takes it back */
#define TCP_STABILIZE_THROUGHPUT 0x48570003 /* 1: the initial rate is all it ever needs */
#define TCP_DATA_VOLUME		 0x48570004 /* bytes that will follow; 0 takes it back */
#define TCP_DEADLINE		 0x48570005 /* ms from now for its arrival; 0 takes it back */
/* Read only: struct tcp_startup_info. */
#define TCP_STARTUP_INFO 0x48570006

#define TCP_APPLICATION_STANDARD    0 /* as ever */
#define TCP_APPLICATION_RESPONSIVE  1 /* start fast, at the default rate if it names none */
#define TCP_APPLICATION_LOWPRIORITY 2 /* never start fast */

/* What became of the initial rate. */
#define TCP_GRANT_NONE	    0 /* nobody has decided yet, or nobody was asked */
#define TCP_GRANT_REQUESTED 1 /* the path was asked */
#define TCP_GRANT_GRANTED   2
#define TCP_GRANT_DENIED    3

/* getsockopt() of one of the first five options gives what was set, but for
 * TCP_INITIAL_RATE: there it is the rate that was granted, 0 if none was. */
struct tcp_startup_info {
	unsigned long long asked_bps;	/* the application's rate, or the default for its peer */
	unsigned long long granted_bps; /* 0 unless grant is TCP_GRANT_GRANTED */
	unsigned long long volume_bytes;
	unsigned int deadline_ms;
	unsigned char application_type;
	unsigned char stabilize_throughput;
	unsigned char grant;
	unsigned char from_application; /* 1: asked_bps is the application's own */
	unsigned long long started_bps; /* the rate at which it started; 0: not paced at all */
};

#endif
