//! The layout of C's structures, and C's arithmetic functions. Tests and models call these
//! functions, so that each formula exists only once.

use std::ffi::CStr;

use crate::ffi;
use crate::registry::tables;

/// Cube root of x, rounded down.
#[must_use]
pub fn cbrt(x: u64) -> u32 {
    // SAFETY: the C function is pure: it uses only its arguments.
    unsafe { ffi::hw_native_cbrt(x) }
}

/// CUBIC's K, the time from a window of `cwnd_pkts` to `W_max`, in 1/1024 s.
#[must_use]
pub fn cubic_k(w_max_pkts: u32, cwnd_pkts: u32) -> u32 {
    // SAFETY: the C function is pure: it uses only its arguments.
    unsafe { ffi::hw_native_cubic_k(w_max_pkts, cwnd_pkts) }
}

/// CUBIC's W(t) in packets, for K and t in 1/1024 s.
#[must_use]
pub fn cubic_target(origin_pkts: u32, k: u32, t: u64) -> u32 {
    // SAFETY: the C function is pure: it uses only its arguments.
    unsafe { ffi::hw_native_cubic_target(origin_pkts, k, t) }
}

/// How many windows of ACKs, in eighths of a window, Reno-friendly growth by one packet takes in
/// CUBIC.
#[must_use]
pub fn cubic_friendly_scale(beta_1024: u32) -> u32 {
    // SAFETY: the C function is pure: it uses only its arguments.
    unsafe { ffi::hw_native_cubic_friendly_scale(beta_1024) }
}

/// Square root of x, rounded down.
#[must_use]
pub fn sqrt(x: u64) -> u32 {
    // SAFETY: the C function is pure: it uses only its arguments.
    unsafe { ffi::hw_native_sqrt(x) }
}

/// a * b / c, rounded down; if the result is too large for the type, the largest number.
#[must_use]
pub fn scale(a: u32, b: u32, c: u32) -> u32 {
    // SAFETY: the C function is pure: it uses only its arguments.
    unsafe { ffi::hw_native_scale(a, b, c) }
}

/// base^n, for a base below 1. Base and result have 32 bits after the binary point.
#[must_use]
pub fn power(base: u64, n: u32) -> u64 {
    // SAFETY: the C function is pure: it uses only its arguments.
    unsafe { ffi::hw_native_power(base, n) }
}

/// x times a fraction that has 32 bits after the binary point.
#[must_use]
pub fn part(x: u64, fraction: u64) -> u64 {
    // SAFETY: the C function is pure: it uses only its arguments.
    unsafe { ffi::hw_native_part(x, fraction) }
}

/// e^x. x has 24 bits after the binary point, the result 16.
#[must_use]
pub fn exp(x: i64) -> u64 {
    // SAFETY: the C function is pure: it uses only its arguments.
    unsafe { ffi::hw_native_exp(x) }
}

/// An approximate natural logarithm. The value has 16 bits after the binary point, the result 24.
#[must_use]
pub fn ln_roughly(value: u64) -> i64 {
    // SAFETY: the C function is pure: it uses only its arguments.
    unsafe { ffi::hw_native_ln_roughly(value) }
}

/// (1 + m)^(rtt/200 ms), or (1 - m)^(rtt/200 ms) if `falls`. m and the result have 30 bits after
/// the binary point.
#[must_use]
pub fn step_power(m: u64, falls: bool, rtt_us: u32) -> u64 {
    // SAFETY: the C function is pure: it uses only its arguments.
    unsafe { ffi::hw_native_step_power(m, falls.into(), rtt_us) }
}

/// Number of packets by which additive increase grows a window per round trip, with 16 bits after
/// the binary point.
#[must_use]
pub fn additive_scale(rtt_us: u32, unit_us: u32) -> u64 {
    // SAFETY: the C function is pure: it uses only its arguments.
    unsafe { ffi::hw_native_additive_scale(rtt_us, unit_us) }
}

/// MPCP's congestion level for a demand and a capacity; `pieces` is the number of pieces that form
/// a level.
#[must_use]
pub fn mpcp_level(demand_bytes: u64, capacity_bytes: u64, pieces: u32) -> u32 {
    // SAFETY: the C function is pure: it uses only its arguments.
    unsafe { ffi::hw_native_mpcp_level(demand_bytes, capacity_bytes, pieces) }
}

/// The relative change of a window in 200 ms at an MPCP level; negative if the window falls.
#[must_use]
pub fn mpcp_step(level: u32, pieces: u32) -> f64 {
    let mut m = 0;
    // SAFETY: the C function writes only one number.
    let falls = unsafe { ffi::hw_native_mpcp_step(level, pieces, &raw mut m) };
    let m = m as f64 / (1u64 << 30) as f64;
    if falls != 0 {
        -m
    } else {
        m
    }
}

/// x times the quotient a / b, which is rounded to 32 significant bits.
#[must_use]
pub fn ratio_times(a: u64, b: u64, x: u64) -> u64 {
    // SAFETY: the C function is pure: it uses only its arguments.
    unsafe { ffi::hw_native_ratio_times(a, b, x) }
}

/// Code of a number below 2^63 as a floating-point number with `fraction_bits` bits of fraction.
#[must_use]
pub fn float_code(x: u64, fraction_bits: u32) -> u32 {
    // SAFETY: the C function is pure: it uses only its arguments.
    unsafe { ffi::hw_native_float_code(x, fraction_bits) }
}

/// Decodes a floating-point code to its number.
#[must_use]
pub fn float_value(code: u32, fraction_bits: u32) -> u64 {
    // SAFETY: the C function is pure: it uses only its arguments.
    unsafe { ffi::hw_native_float_value(code, fraction_bits) }
}

/// Size of every structure of the contract and offset of every field, as the C
/// compiler has them ("hw_conn", "hw_conn.cwnd_pkts", ...).
#[must_use]
pub fn c_layout() -> Vec<(&'static str, usize)> {
    // SAFETY: a constant array of the C side, whose names are literals.
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

/// Sizes and offsets of the mirrored structures, as the Rust compiler has them.
#[must_use]
pub fn rust_layout() -> Vec<(&'static str, usize)> {
    ffi::LAYOUT.to_vec()
}
