// SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only)
/*
 * A program at an outgoing device that does nothing. `headwayctl router bench` measures with it
 * what any attached program costs.
 */
#include "port/bpf/packet.h"

SEC("tcx/egress")
int hw_empty(struct __sk_buff *skb)
{
	return HW_NEXT_PROGRAM;
}

char hw_license[] SEC("license") = "Dual BSD/GPL";
