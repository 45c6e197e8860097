// SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only)
/* Standard slow start (RFC 5681 section 3.1): up to ssthresh or the first loss. */
#include "../port/cc.h"

static u32 slow_start_grow(void *state, const u32 *tun, struct hw_conn *c, u32 acked_pkts)
{
	(void)state;
	(void)tun;
	return hw_slow_start(c, acked_pkts);
}

HW_TABLE struct hw_startup_ops hw_startup_slow_start = {
	.name = "slow-start",
	.suffix = "ss",
	.title = "Slow start until ssthresh or the first loss",
	.source = "RFC 5681",
	.slow_start = slow_start_grow,
};
