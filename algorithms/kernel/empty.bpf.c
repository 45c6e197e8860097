// SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only)
/*
 * A program at the device that packets leave by, which does nothing. It measures what an attached
 * program costs before it does anything (`headwayctl router bench`).
 */
#include "port/bpf/packet.h"

SEC("tcx/egress")
int hw_empty(struct __sk_buff *skb)
{
	return HW_NEXT_PROGRAM;
}

char hw_license[] SEC("license") = "Dual BSD/GPL";
