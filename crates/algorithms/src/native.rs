//! The C side's layout and arithmetic, for tests and models, so that each formula exists only once.

use std::ffi::CStr;

use crate::ffi;
use crate::registry::tables;

/// Cube root rounded down.
#[must_use]
pub fn cbrt(x: u64) -> u32 {
    // SAFETY: a pure function.
    unsafe { ffi::hw_native_cbrt(x) }
}

/// CUBIC's K in 1/1024 s, from a window to `W_max`.
#[must_use]
pub fn cubic_k(w_max_pkts: u32, cwnd_pkts: u32) -> u32 {
    // SAFETY: a pure function.
    unsafe { ffi::hw_native_cubic_k(w_max_pkts, cwnd_pkts) }
}

/// CUBIC's W(t) in packets; K and t in 1/1024 s.
#[must_use]
pub fn cubic_target(origin_pkts: u32, k: u32, t: u64) -> u32 {
    // SAFETY: a pure function.
    unsafe { ffi::hw_native_cubic_target(origin_pkts, k, t) }
}

/// Eighths of a window of ACKs per packet of Reno-friendly growth.
#[must_use]
pub fn cubic_friendly_scale(beta_1024: u32) -> u32 {
    // SAFETY: a pure function.
    unsafe { ffi::hw_native_cubic_friendly_scale(beta_1024) }
}

/// Square root rounded down.
#[must_use]
pub fn sqrt(x: u64) -> u32 {
    // SAFETY: a pure function.
    unsafe { ffi::hw_native_sqrt(x) }
}

/// a * b / c rounded down and saturated.
#[must_use]
pub fn scale(a: u32, b: u32, c: u32) -> u32 {
    // SAFETY: a pure function.
    unsafe { ffi::hw_native_scale(a, b, c) }
}

/// base^n, base below 1 and the result with 32 bits after the point.
#[must_use]
pub fn power(base: u64, n: u32) -> u64 {
    // SAFETY: a pure function.
    unsafe { ffi::hw_native_power(base, n) }
}

/// x times a fraction with 32 bits after the point.
#[must_use]
pub fn part(x: u64, fraction: u64) -> u64 {
    // SAFETY: a pure function.
    unsafe { ffi::hw_native_part(x, fraction) }
}

/// e^x, x with 24 bits after the point, the result with 16.
#[must_use]
pub fn exp(x: i64) -> u64 {
    // SAFETY: a pure function.
    unsafe { ffi::hw_native_exp(x) }
}

/// A rough logarithm of a value with 16 bits after the point; the result has 24.
#[must_use]
pub fn ln_roughly(value: u64) -> i64 {
    // SAFETY: a pure function.
    unsafe { ffi::hw_native_ln_roughly(value) }
}

/// (1 + m)^(rtt/200 ms), m and the result with 30 bits after the point; `falls`: (1 - m).
#[must_use]
pub fn step_power(m: u64, falls: bool, rtt_us: u32) -> u64 {
    // SAFETY: a pure function.
    unsafe { ffi::hw_native_step_power(m, falls.into(), rtt_us) }
}

/// Packets that additive increase adds per round trip, 16 bits after the point.
#[must_use]
pub fn additive_scale(rtt_us: u32, unit_us: u32) -> u64 {
    // SAFETY: a pure function.
    unsafe { ffi::hw_native_additive_scale(rtt_us, unit_us) }
}

/// MPCP's congestion level for a demand and a capacity, with levels of so many pieces.
#[must_use]
pub fn mpcp_level(demand_bytes: u64, capacity_bytes: u64, pieces: u32) -> u32 {
    // SAFETY: a pure function.
    unsafe { ffi::hw_native_mpcp_level(demand_bytes, capacity_bytes, pieces) }
}

/// The change of a window in 200 ms at a level of MPCP, as a fraction; negative if it falls.
#[must_use]
pub fn mpcp_step(level: u32, pieces: u32) -> f64 {
    let mut m = 0;
    // SAFETY: it writes one number.
    let falls = unsafe { ffi::hw_native_mpcp_step(level, pieces, &raw mut m) };
    let m = m as f64 / (1u64 << 30) as f64;
    if falls != 0 {
        -m
    } else {
        m
    }
}

/// x times a quotient a / b that is kept with 32 significant bits.
#[must_use]
pub fn ratio_times(a: u64, b: u64, x: u64) -> u64 {
    // SAFETY: a pure function.
    unsafe { ffi::hw_native_ratio_times(a, b, x) }
}

/// The floating-point code of a number below 2^63, with so many bits of fraction.
#[must_use]
pub fn float_code(x: u64, fraction_bits: u32) -> u32 {
    // SAFETY: a pure function.
    unsafe { ffi::hw_native_float_code(x, fraction_bits) }
}

/// The number of a floating-point code.
#[must_use]
pub fn float_value(code: u32, fraction_bits: u32) -> u64 {
    // SAFETY: a pure function.
    unsafe { ffi::hw_native_float_value(code, fraction_bits) }
}

/// Size of every structure of the contract and offset of every field, as the C
/// compiler has them ("hw_conn", "hw_conn.cwnd_pkts", ...).
#[must_use]
pub fn c_layout() -> Vec<(&'static str, usize)> {
    // SAFETY: a constant array of the C side, its names literals.
    unsafe {
        let list = tables(&raw const ffi::hw_native_layout, ffi::hw_native_n_layout);
        list.iter()
            .map(|l| {
                let name = CStr::from_ptr(l.name).to_str().expect("ASCII");
                (name, usize::try_from(l.bytes).expect("a small number"))
            })
            .collect()
    }
}

/// Sizes and offsets of the mirrored structures, as Rust has them.
#[must_use]
pub fn rust_layout() -> Vec<(&'static str, usize)> {
    ffi::LAYOUT.to_vec()
}
