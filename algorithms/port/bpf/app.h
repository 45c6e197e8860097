/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/*
 * State that a socket has for its application: the hints that the application has set, and the rate
 * that the path granted. The socket options (kernel/hints.bpf.c), the congestion controls
 * (control.h) and the program that asks the path for a rate (kernel/qs_host.bpf.c) share one map.
 * headwayctl pins the maps and passes the same ones to every object it loads.
 */
#ifndef HEADWAY_PORT_BPF_APP_H
#define HEADWAY_PORT_BPF_APP_H

#include "kernel.h"
#include "../cc.h"
#include "../../../include/headway.h"

/* Bits of hw_app.given: the hints that the application itself has set. */
enum hw_app_given {
	HW_APP_TYPE = 1,
	HW_APP_RATE = 2,
};

/* State of a socket for its application. Rates are in bytes per second here; applications set
 * them in bit/s. */
struct hw_app {
	u64 rate_Bps; /* initial rate that the application has set */
	/* default initial rate, from the longest prefix that contains the peer */
	u64 default_rate_Bps;
	u64 default_volume_bytes;
	u64 granted_rate_Bps;
	u64 volume_bytes;
	u64 volume_from_bytes; /* bytes that had been sent when the volume was announced */
	u64 deadline_ns;       /* CLOCK_MONOTONIC; 0: none */
	u64 started_rate_Bps;  /* rate of the last paced first flight; 0: none */
	u64 saved_ns;	       /* when the path data in saved_* was measured */
	u32 saved_cwnd_pkts;   /* window of an earlier transfer (paths.h); 0: none */
	u32 saved_rtt_us;
	/* most packets that the path delivered in a round trip since the last congestion event */
	u32 path_pkts;
	u32 write_end; /* sequence number at which the present write() of the application ends */
	u8 is_writing; /* 1: write_end is known */
	u8 type;       /* TCP_APPLICATION_* */
	u8 default_type;
	u8 stabilize;
	u8 given;   /* enum hw_app_given */
	u8 grant;   /* enum hw_grant of cc.h */
	u8 settled; /* 1: the defaults for the peer have been looked up */
	u8 unused;
};

/* Map of this state, attached to the socket. Options set on a listening socket also apply to the
 * sockets that it accepts. */
struct {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, 1 | 512); /* BPF_F_NO_PREALLOC, BPF_F_CLONE */
	__type(key, int);
	__type(value, struct hw_app);
} hw_app SEC(".maps");

/* An IPv6 prefix. IPv4 prefixes are mapped (::ffff:a.b.c.d), and ::/0 has the system's default. */
struct hw_prefix {
	u32 bits;
	u32 address[4]; /* network byte order */
};

struct hw_prefix_default {
	u64 rate_Bps;
	u64 volume_bytes; /* bytes that connections to the prefix usually carry; 0: not known */
	u8 type;
	u8 unused[7];
};

struct {
	__uint(type, BPF_MAP_TYPE_LPM_TRIE);
	__uint(map_flags, 1); /* BPF_F_NO_PREALLOC */
	__uint(max_entries, 4096);
	__type(key, struct hw_prefix);
	__type(value, struct hw_prefix_default);
} hw_prefixes SEC(".maps");

/* Returns the default of the longest prefix that contains a peer, or null. */
static inline __attribute__((always_inline)) const struct hw_prefix_default *
hw_default_for(const struct hw_prefix *peer)
{
	return bpf_map_lookup_elem(&hw_prefixes, peer);
}

static inline __attribute__((always_inline)) void hw_peer_ipv4(struct hw_prefix *peer, u32 address)
{
	peer->bits = 128;
	peer->address[0] = 0;
	peer->address[1] = 0;
	peer->address[2] = bpf_htonl(0xffff);
	peer->address[3] = address;
}

static inline __attribute__((always_inline)) void hw_app_settle(struct hw_app *app,
								const struct hw_prefix *peer)
{
	const struct hw_prefix_default *found = hw_default_for(peer);

	app->default_rate_Bps = found ? found->rate_Bps : 0;
	app->default_volume_bytes = found ? found->volume_bytes : 0;
	app->default_type = found ? found->type : TCP_APPLICATION_STANDARD;
	app->settled = 1;
}

static inline __attribute__((always_inline)) u8 hw_app_type(const struct hw_app *app)
{
	return app->given & HW_APP_TYPE ? app->type : app->default_type;
}

/* Whether a connection must start with slow start. A low-priority connection always must. A
 * connection of type standard must if its application has set the type but neither a rate nor a
 * deadline. */
static inline __attribute__((always_inline)) u8 hw_app_no_fast_start(const struct hw_app *app)
{
	if (hw_app_type(app) == TCP_APPLICATION_LOWPRIORITY)
		return 1;
	return app->given & HW_APP_TYPE && app->type == TCP_APPLICATION_STANDARD &&
	       !(app->given & HW_APP_RATE) && !app->deadline_ns;
}

/*
 * The initial rate of a connection, 0 for none. A rate that the application has set has priority,
 * then its deadline. With a deadline this function returns 0, because the rate then depends on the
 * round trip. The administrator's default rate applies if the application has set neither rate nor
 * deadline, and the connection is not of type standard.
 */
static inline __attribute__((always_inline)) u64 hw_app_asked_Bps(const struct hw_app *app)
{
	if (hw_app_no_fast_start(app))
		return 0;
	if (app->given & HW_APP_RATE)
		return app->rate_Bps;
	return app->deadline_ns ? 0 : app->default_rate_Bps;
}

/* Converts the state of the grant to the values that applications read, TCP_GRANT_*. */
static inline __attribute__((always_inline)) u8 hw_app_grant(const struct hw_app *app)
{
	switch (app->grant) {
	case HW_GRANT_NONE:
		return TCP_GRANT_NONE;
	case HW_GRANT_REQUESTED:
		return TCP_GRANT_REQUESTED;
	case HW_GRANT_APPROVED:
	case HW_GRANT_USED:
	case HW_GRANT_DECLINED:
		return TCP_GRANT_GRANTED;
	}
	return TCP_GRANT_DENIED;
}

/* The bytes that the connection will have carried in total when it has sent the announced
 * volume; 0: not known. */
static inline __attribute__((always_inline)) u64 hw_app_announced_bytes(const struct hw_app *app)
{
	if (app->volume_bytes)
		return app->volume_from_bytes + app->volume_bytes;
	return app->default_volume_bytes;
}

/* The time left until the deadline, at least 1; 0: no deadline, or the announced volume has been
 * sent. */
static inline __attribute__((always_inline)) u32 hw_app_deadline_us(const struct hw_app *app,
								    u64 sent_bytes)
{
	u64 now_ns = bpf_ktime_get_ns();

	if (!app->deadline_ns ||
	    (app->volume_bytes && sent_bytes >= app->volume_from_bytes + app->volume_bytes))
		return 0;
	if (app->deadline_ns <= now_ns)
		return 1;
	return hw_max_u32(hw_saturate_u32((app->deadline_ns - now_ns) / 1000), 1);
}

/* Passes the application's hints to the algorithms of a connection that has sent sent_bytes. */
static inline __attribute__((always_inline)) void hw_app_tell(const struct hw_app *app,
							      struct hw_conn *c, u64 sent_bytes)
{
	c->asked_rate_Bps = hw_app_asked_Bps(app);
	c->app_data_bytes = hw_saturate_u32(hw_app_announced_bytes(app));
	c->deadline_us = hw_app_deadline_us(app, sent_bytes);
	c->stabilize = app->stabilize;
	c->no_fast_start = hw_app_no_fast_start(app);
	c->saved_cwnd_pkts = app->saved_cwnd_pkts;
	c->saved_rtt_us = app->saved_rtt_us;
}

#endif
