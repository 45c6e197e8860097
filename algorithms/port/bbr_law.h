/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/*
 * Arithmetic that the versions of BBR share: rates, the bandwidth-delay product, the pacing
 * margin, and the filter that finds the largest value of a window.
 *
 * Rates are packets per 2^24 us. Valid to 2^20 bytes per us.
 */
#ifndef HEADWAY_PORT_BBR_LAW_H
#define HEADWAY_PORT_BBR_LAW_H

#include "cc.h"

#define HW_BBR_RATE_SHIFT 24
/* BBR paces below the measured rate, so that a standing queue drains. */
#define HW_BBR_MARGIN_PERCENT 1
/* Startup ends after three rounds in which the delivery rate grew by less than a quarter. */
#define HW_BBR_FULL_ROUNDS 3
#define HW_BBR_LEAST_PKTS  4
/* At rates below 1.2 Mbit/s pacing sends single packets, above it bursts of at least two
 * packets. */
#define HW_BBR_SINGLE_BPS 150000

static inline u32 hw_bbr_rate_of(u64 pkts, u64 us)
{
	return hw_saturate_u32(hw_div_u64(pkts << HW_BBR_RATE_SHIFT, us));
}

static inline u64 hw_bbr_pkts_in(u32 rate, u64 us)
{
	return (u64)rate * hw_saturate_u32(us) >> HW_BBR_RATE_SHIFT;
}

static inline int hw_bbr_has_rate(const struct hw_rate_sample *sample)
{
	return sample->delivered_pkts >= 0 && sample->interval_us > 0;
}

static inline u32 hw_bbr_pkt_bytes(const struct hw_conn *c)
{
	return hw_max_u32(hw_add_u32(c->mss_bytes, c->header_bytes), 1);
}

/* Converts a rate times gain/unit, less the pacing margin, to IP bytes per second. */
static inline u64 hw_bbr_bytes_per_s(const struct hw_conn *c, u32 rate, u32 gain, u32 unit)
{
	u64 scaled = (u64)rate * hw_min_u32(hw_bbr_pkt_bytes(c), 1u << 17) * gain / unit;

	scaled = scaled < 1ull << 44 ? scaled : 1ull << 44;
	return scaled * (1000000 / 100 * (100 - HW_BBR_MARGIN_PERCENT)) >> HW_BBR_RATE_SHIFT;
}

/* Sets the pacing rate. Before Startup ends it only grows. */
static inline void hw_bbr_pace(struct hw_conn *c, u64 bytes_per_s, int is_full)
{
	if (is_full || bytes_per_s > c->pacing_rate_Bps)
		c->pacing_rate_Bps = bytes_per_s ? bytes_per_s : 1;
	c->pacing_chunk_pkts =
		c->pacing_rate_Bps * c->mss_bytes < (u64)HW_BBR_SINGLE_BPS * hw_bbr_pkt_bytes(c)
			? 1
			: 2;
}

/* The bandwidth-delay product times gain/unit in packets, rounded up. */
static inline u32 hw_bbr_bdp(u32 rate, u32 rtt_us, u32 gain, u32 unit)
{
	u64 product = (u64)rate * rtt_us;

	product = product < 1ull << 52 ? product : 1ull << 52;
	return hw_saturate_u32(((product * gain / unit) + (1u << HW_BBR_RATE_SHIFT) - 1) >>
			       HW_BBR_RATE_SHIFT);
}

struct hw_peak {
	u32 round;
	u32 value;
};

/* Adds a value to the filter that finds the largest value of the last `window` rounds. As
 * Nichols' filter does, it keeps three values: the largest of the whole window, of its later
 * part and of its latest part. */
static inline void hw_note_peak(struct hw_peak *peaks, u32 window, u32 round, u32 value)
{
	struct hw_peak now = { round, value };
	u32 age;

	if (value >= peaks[0].value || now.round - peaks[2].round > window) {
		peaks[0] = peaks[1] = peaks[2] = now;
		return;
	}
	if (value >= peaks[1].value)
		peaks[1] = peaks[2] = now;
	else if (value >= peaks[2].value)
		peaks[2] = now;
	age = now.round - peaks[0].round;
	if (age > window) {
		peaks[0] = peaks[1];
		peaks[1] = peaks[2];
		peaks[2] = now;
		if (now.round - peaks[0].round > window) {
			peaks[0] = peaks[1];
			peaks[1] = now;
		}
	} else if (peaks[1].round == peaks[0].round && age > window / 4) {
		peaks[1] = peaks[2] = now;
	} else if (peaks[2].round == peaks[1].round && age > window / 2) {
		peaks[2] = now;
	}
}

#endif
