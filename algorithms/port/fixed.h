/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/*
 * Integer arithmetic of the algorithms: no floating point, no signed division, no division by
 * zero, no undefined overflow. Error bounds are stated here; the tests of crates/algorithms
 * compare with f64.
 */
#ifndef HEADWAY_PORT_FIXED_H
#define HEADWAY_PORT_FIXED_H

#include "types.h"

static inline u32 hw_min_u32(u32 a, u32 b)
{
	return a < b ? a : b;
}

static inline u32 hw_max_u32(u32 a, u32 b)
{
	return a > b ? a : b;
}

static inline u64 hw_min_u64(u64 a, u64 b)
{
	return a < b ? a : b;
}

static inline u32 hw_clamp_u32(u32 x, u32 low, u32 high)
{
	return hw_min_u32(hw_max_u32(x, low), high);
}

/* The nearest u32. */
static inline u32 hw_saturate_u32(u64 x)
{
	return x > HW_U32_MAX ? HW_U32_MAX : (u32)x;
}

static inline u32 hw_add_u32(u32 a, u32 b)
{
	return hw_saturate_u32((u64)a + b);
}

/* Divides, rounding down. Division by 0 gives the largest value. */
static inline u64 hw_div_u64(u64 a, u64 b)
{
	return b ? a / b : ~0ull;
}

/* a * b / c rounded down, at most HW_U32_MAX. */
static inline u32 hw_scale_u32(u32 a, u32 b, u32 c)
{
	return hw_saturate_u32(hw_div_u64((u64)a * b, c));
}

/*
 * Milliseconds, the tick of a kernel with HZ = 1000, in which the loss-based
 * controls count time. A duration is rounded up as Linux does, a point in time
 * down; points wrap after 49 days and only their differences mean anything.
 */
static inline u32 hw_duration_ms(u32 us)
{
	return (u32)(((u64)us + 999) / 1000);
}

static inline u32 hw_clock_ms(u64 now_us)
{
	return (u32)(now_us / 1000);
}

/* Whether a was later than b, modulo 2^32 (sequence numbers, clocks). */
static inline int hw_after(u32 a, u32 b)
{
	return (s32)(b - a) < 0;
}

/*
 * base^n for a base of at most 1. base and result have 32 fractional bits (2^32 is 1). The result
 * is at most n 2^-32 below the true value.
 */
static inline u64 hw_power(u64 base, u32 n)
{
	u64 result = 1ull << 32;
	int i;

	for (i = 0; i < 32 && n; i++) {
		if (n & 1)
			result = (result * base) >> 32;
		base = (base * base) >> 32;
		n >>= 1;
	}
	return result;
}

/* Multiplies x by a fraction of at most 1, which has 32 fractional bits. Rounds down. */
static inline u64 hw_part_u64(u64 x, u64 fraction)
{
	return (x >> 32) * fraction + ((x & HW_U32_MAX) * fraction >> 32);
}

/*
 * Square root rounded down, exact over all 64 bits. Newton's method starts above the root, by
 * at most a factor of two; after five steps the error is below one unit.
 */
static inline u32 hw_sqrt_u64(u64 x)
{
	u64 y;
	int i;

	if (!x)
		return 0;
	y = 1ull << ((65 - __builtin_clzll(x)) / 2);
	for (i = 0; i < 6; i++)
		y = (y + x / y) / 2;
	if (x / y < y)
		y--;
	return (u32)y;
}

/*
 * Cube root rounded down, exact over all 64 bits. Newton's method starts at the next power of
 * two above the root, which is too large by at most a factor of two; after six steps the error
 * is below one unit, and the last line removes the rounding error.
 */
static inline u32 hw_cbrt_u64(u64 x)
{
	u64 y;
	int i;

	if (!x)
		return 0;
	y = 1ull << ((66 - __builtin_clzll(x)) / 3);
	for (i = 0; i < 7; i++)
		y = (2 * y + x / (y * y)) / 3;
	if (x / (y * y) < y)
		y--;
	return (u32)y;
}

/* The number of significant bits of a number; 0 has none. */
static inline u32 hw_bits_u64(u64 x)
{
	return x ? 64 - (u32)__builtin_clzll(x) : 0;
}

/*
 * A number in a floating-point code: an exponent and so many bits of fraction, as in IEEE 754
 * without a sign. Below 2^(fraction_bits + 1) a number is its own code; above, it is rounded
 * to the nearest number with a code, within 2^-(fraction_bits + 1) of it. Codes have the order
 * of their numbers. x is below 2^63.
 */
static inline u32 hw_float_code(u64 x, u32 fraction_bits)
{
	u32 bits = hw_bits_u64(x), exponent;

	if (bits <= fraction_bits + 1)
		return (u32)x;
	exponent = bits - fraction_bits - 1;
	x = (x + (1ull << (exponent - 1))) >> exponent;
	/* rounding may carry into a further bit; adding it to the code then increments the
	 * exponent, as it should */
	return (u32)((u64)exponent << fraction_bits) + (u32)x;
}

static inline u64 hw_float_value(u32 code, u32 fraction_bits)
{
	u32 exponent = code >> fraction_bits;
	u64 fraction = code & ((1u << fraction_bits) - 1);

	if (!exponent)
		return fraction;
	return (fraction | 1ull << fraction_bits) << ((exponent - 1) & 63);
}

/*
 * The quotient a / b of any two numbers, with 32 significant bits, by which hw_times()
 * multiplies; 0 if either number is 0. The result of hw_times() is within 2^-29 of the true
 * product, plus one.
 */
struct hw_ratio {
	u32 mantissa; /* from 2^31 on, or 0 */
	s32 shift;    /* the ratio is mantissa 2^-shift */
};

static inline struct hw_ratio hw_ratio_u64(u64 a, u64 b)
{
	struct hw_ratio ratio = { 0, 0 };
	u32 up, down, over;
	u64 quotient;

	if (!a || !b)
		return ratio;
	up = 64 - hw_bits_u64(a);
	down = hw_bits_u64(b) > 32 ? hw_bits_u64(b) - 32 : 0;
	quotient = hw_div_u64(a << up, b >> down);
	over = hw_bits_u64(quotient) - 32;
	ratio.mantissa = (u32)(quotient >> (over & 63));
	ratio.shift = (s32)(up + down) - (s32)over;
	return ratio;
}

/* Multiplies x by the ratio. Rounds down; a result that is too large becomes the largest value. */
static inline u64 hw_times(struct hw_ratio ratio, u64 x)
{
	u32 down = x >> 32 ? hw_bits_u64(x) - 32 : 0;
	u64 product = (x >> down) * ratio.mantissa;
	s32 shift = ratio.shift - (s32)down;

	if (shift >= 64)
		return 0;
	if (shift >= 0)
		return product >> shift;
	if (shift <= -64 || hw_bits_u64(product) > (u32)(64 + shift))
		return product ? ~0ull : 0;
	return product << -shift;
}

#endif
