// SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only)
/*
 * A program that does nothing, attached to an outgoing device. With it `headwayctl router bench`
 * measures the cost of attaching any program.
 */
#include "port/bpf/packet.h"

SEC("tcx/egress")
int hw_empty(struct __sk_buff *skb)
{
	return HW_NEXT_PROGRAM;
}

char hw_license[] SEC("license") = "Dual BSD/GPL";
