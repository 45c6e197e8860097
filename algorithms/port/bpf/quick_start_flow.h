/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/*
 * State of a connection that takes part in Quick-Start, shared by the programs at a host's
 * device and its congestion control (control.h). It is found by addresses and ports, because
 * no socket exists yet when a handshake carries an option.
 *
 * It needs no lock: a writer of a field has seen the packet that the other side's write
 * caused. The outgoing program writes what it asked and answered, the incoming program what
 * came back, the control what it wants and how it used a grant.
 */
#ifndef HEADWAY_PORT_BPF_QUICK_START_FLOW_H
#define HEADWAY_PORT_BPF_QUICK_START_FLOW_H

#include "kernel.h"
#include "../../header/quick_start.h"

/* Of the host whose table it is; addresses and ports in network byte order. */
struct hw_qs_key {
	u32 netns; /* inode of the namespace */
	u32 local;
	u32 peer;
	u16 local_port;
	u16 peer_port;
};

struct hw_qs_flow {
	struct hw_qs_host host;
	struct hw_qs_option response; /* to the peer's request */
	u32 first_seq;		      /* of our SYN or SYN-ACK, to know it again */
	u32 request_end;	      /* the sequence number after the packet with our request */
	u8 opened;		      /* first_seq is known */
	u8 respond;		      /* the response has not left yet */
	u8 want_code; /* the control wants to ask for this rate with the next data */
	u8 used_code; /* the rate that the control used of the grant */
	u8 decided;   /* used_code is known */
	u8 unused[3];
};

/* If the map is full, the oldest entries are removed: a flood of requests keeps other
 * connections from Quick-Start, but takes no further memory and breaks no connection. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 16384);
	__type(key, struct hw_qs_key);
	__type(value, struct hw_qs_flow);
} hw_qs_flows SEC(".maps");

/* Congestion controls that ask, by the kernel's names of them, with the tunables of
 * their startup; headwayctl notes them when it attaches one. */
struct hw_qs_asker {
	u32 tun[16];
};

struct hw_qs_asker_name {
	char name[16];
};

#endif
