/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/*
 * State of a connection that takes part in Quick-Start, shared by the programs at a host's device
 * and its congestion control (control.h). The key is addresses and ports, because no socket exists
 * yet when a handshake carries an option. No lock is needed, because the programs write one after
 * the other: each write is caused by a packet that an earlier write caused. The program for
 * outgoing packets records requests and responses, the program for incoming packets records
 * answers, and the control records the rate that it wants and how it used a grant.
 */
#ifndef HEADWAY_PORT_BPF_QUICK_START_FLOW_H
#define HEADWAY_PORT_BPF_QUICK_START_FLOW_H

#include "kernel.h"
#include "../../header/quick_start.h"

/* Key of a connection, with this host's address as the local one; addresses and ports in network
 * byte order. */
struct hw_qs_key {
	u32 netns; /* inode of the network namespace */
	u32 local;
	u32 peer;
	u16 local_port;
	u16 peer_port;
};

struct hw_qs_flow {
	struct hw_qs_host host;
	struct hw_qs_option response; /* response to the peer's request */
	/* sequence number of our SYN or SYN-ACK, by which a retransmission of it is recognized */
	u32 first_seq;
	u32 request_end; /* the sequence number after the packet with our request */
	u8 opened;	 /* 1: first_seq is known */
	u8 respond;	 /* 1: the response to the peer's request is due and has not left yet */
	u8 want_code;	 /* rate code to request in the next data packet; 0: none */
	u8 used_code;	 /* rate code of the grant that the congestion control used */
	u8 decided;	 /* 1: used_code is known */
	u8 unused[3];
};

/* If the map is full, the kernel removes its oldest entries. A flood of requests therefore
 * prevents Quick-Start for other connections, but uses no further memory and breaks no
 * connection. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 16384);
	__type(key, struct hw_qs_key);
	__type(value, struct hw_qs_flow);
} hw_qs_flows SEC(".maps");

/* Congestion controls that send Quick-Start requests, by their names in the kernel, with the
 * tunables of their startup. headwayctl adds a control when it attaches it. */
struct hw_qs_asker {
	u32 tun[16];
};

struct hw_qs_asker_name {
	char name[16];
};

#endif
