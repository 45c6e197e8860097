// SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only)
/* Exports the arithmetic of algorithms' C headers to tests and models, so that each formula
 * exists only once. */
#include "flow.h"
#include "../cubic_law.h"
#include "../exponential.h"
#include "../load_factor.h"
#include "../mpcp_levels.h"

u32 hw_native_cbrt(u64 x)
{
	return hw_cbrt_u64(x);
}

u32 hw_native_sqrt(u64 x)
{
	return hw_sqrt_u64(x);
}

u32 hw_native_cubic_k(u32 w_max_pkts, u32 cwnd_pkts)
{
	return hw_cubic_k(w_max_pkts, cwnd_pkts);
}

u32 hw_native_cubic_target(u32 origin_pkts, u32 k, u64 t)
{
	return hw_cubic_target(origin_pkts, k, t);
}

u32 hw_native_cubic_friendly_scale(u32 beta_1024)
{
	return hw_cubic_friendly_scale(beta_1024);
}

u64 hw_native_power(u64 base, u32 n)
{
	return hw_power(base, n);
}

u64 hw_native_part(u64 x, u64 fraction)
{
	return hw_part_u64(x, fraction);
}

u32 hw_native_scale(u32 a, u32 b, u32 c)
{
	return hw_scale_u32(a, b, c);
}

u64 hw_native_exp(s64 x)
{
	return hw_exp(x);
}

s64 hw_native_ln_roughly(u64 value)
{
	return hw_ln_roughly(value);
}

u64 hw_native_step_power(u64 m, u32 falls, u32 rtt_us)
{
	return hw_step_power(m, falls, rtt_us);
}

u64 hw_native_additive_scale(u32 rtt_us, u32 unit_us)
{
	return hw_additive_scale(rtt_us, unit_us);
}

u32 hw_native_mpcp_level(u64 demand_bytes, u64 capacity_bytes, u32 pieces)
{
	struct hw_load load = { .demand_bytes = demand_bytes, .capacity_bytes = capacity_bytes };

	return mpcp_level_of(&load, pieces);
}

u32 hw_native_mpcp_step(u32 level, u32 pieces, u64 *m)
{
	return mpcp_step_of(level, pieces, m);
}

u64 hw_native_ratio_times(u64 a, u64 b, u64 x)
{
	return hw_times(hw_ratio_u64(a, b), x);
}

u32 hw_native_float_code(u64 x, u32 fraction_bits)
{
	return hw_float_code(x, fraction_bits);
}

u64 hw_native_float_value(u32 code, u32 fraction_bits)
{
	return hw_float_value(code, fraction_bits);
}
