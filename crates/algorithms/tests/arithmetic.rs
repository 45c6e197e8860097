//! The integer arithmetic in algorithms/port, compared with f64 and wider integers within its
//! stated error bounds.

use headway_algorithms::native::{
    additive_scale, cbrt, cubic_friendly_scale, cubic_k, cubic_target, exp, float_code,
    float_value, ln_roughly, mpcp_level, mpcp_step, part, power, ratio_times, scale, step_power,
};
use proptest::prelude::*;

/// CUBIC's constant C, with the rounding of the integer code.
const C: f64 = 410.0 / 1024.0;

fn is_floor_of_root(x: u64, y: u32) -> bool {
    let cube = |y: u64| u128::from(y).pow(3);
    cube(u64::from(y)) <= u128::from(x) && u128::from(x) < cube(u64::from(y) + 1)
}

#[test]
fn the_cube_root_is_exact_at_every_edge() {
    for y in (0..4096u64).chain((1..22).flat_map(|b| (1u64 << b) - 1..=(1 << b) + 1)) {
        for x in [(y * y * y).saturating_sub(1), y * y * y, y * y * y + 1] {
            assert!(is_floor_of_root(x, cbrt(x)), "{x} -> {}", cbrt(x));
        }
    }
    assert_eq!(cbrt(u64::MAX), 2_642_245);
}

proptest! {
    #[test]
    fn the_cube_root_is_within_one_below_f64(x in any::<u64>(), shift in 0..64u32) {
        let x = x >> shift;
        let y = cbrt(x);
        prop_assert!(is_floor_of_root(x, y));
        let error = (x as f64).cbrt() - f64::from(y);
        prop_assert!((-1e-6..1.0).contains(&error));
    }

    #[test]
    fn scaling_is_exact_and_saturates(a in any::<u32>(), b in any::<u32>(), c in 1..u32::MAX) {
        let exact = u64::from(a) * u64::from(b) / u64::from(c);
        prop_assert_eq!(scale(a, b, c), u32::try_from(exact).unwrap_or(u32::MAX));
        prop_assert_eq!(scale(a, b, 0), u32::MAX);
    }

    /// The integer K is at most 2/1024 s below the exact one.
    #[test]
    fn k_is_within_two_ticks_of_f64(cwnd in 1..1_000_000u32, gap in 0..1_000_000u32) {
        let k = f64::from(cubic_k(cwnd + gap, cwnd));
        let exact = (f64::from(gap) / C).cbrt() * 1024.0;
        prop_assert!((k - exact).abs() <= 2.0, "{k} {exact}");
        prop_assert_eq!(cubic_k(cwnd, cwnd + gap), 0);
    }

    /// The integer W(t) is within one packet of the exact one, up to 256 s from the origin.
    #[test]
    fn the_curve_is_within_one_packet_of_f64(
        origin in 1..1_000_000u32, k in 0..200_000u32, t in 0..400_000u64
    ) {
        let offset = (t as f64 - f64::from(k)) / 1024.0;
        prop_assume!(offset < 256.0);
        let exact = (f64::from(origin) + C * offset.powi(3)).max(0.0);
        let got = f64::from(cubic_target(origin, k, t));
        prop_assert!((got - exact).abs() <= 1.0, "{got} {exact}");
    }

    #[test]
    fn the_curve_is_symmetrical_about_k(k in 1..200_000u32, part in 0.0..1.0f64) {
        let origin = 10_000_000;
        let d = (f64::from(k) * part) as u64;
        let above = cubic_target(origin, k, u64::from(k) + d) - origin;
        let below = origin - cubic_target(origin, k, u64::from(k) - d);
        prop_assert_eq!(above, below);
        prop_assert_eq!(cubic_target(origin, k, u64::from(k)), origin);
    }
}

#[test]
fn k_is_what_the_papers_examples_say() {
    let seconds = |k: u32| f64::from(k) / 1024.0;
    assert!((seconds(cubic_k(100, 80)) - 3.684).abs() < 0.004); // cbrt(20/0.4)
    assert!((seconds(cubic_k(100, 70)) - 4.217).abs() < 0.005); // cbrt(75)
}

#[test]
fn the_friendly_slope_is_linuxs() {
    assert_eq!(cubic_friendly_scale(819), 23); // 2.875 windows of ACKs per packet of growth
    assert_eq!(cubic_friendly_scale(717), 15); // 1.875; RFC 9438: 1/0.529 = 1.889
}

proptest! {
    #[test]
    fn a_power_is_at_most_n_units_below_f64(base in 1..1u64 << 32, n in 0..100_000u32) {
        let one = (1u64 << 32) as f64;
        let exact = (base as f64 / one).powf(f64::from(n)) * one;
        let error = exact - power(base, n) as f64;
        prop_assert!(error > -1.0 && error < f64::from(n) + 1.0, "{error}");
        prop_assert_eq!(power(base, 0), 1 << 32);
    }

    #[test]
    fn a_part_is_exact(x in any::<u64>(), fraction in 0..=1u64 << 32) {
        let exact = (u128::from(x) * u128::from(fraction)) >> 32;
        prop_assert_eq!(exact, u128::from(part(x, fraction)));
    }

    /// (1 + m)^(rtt/t_rho) has a relative error of at most 2^-24 plus an absolute one of 2^-24.
    /// This holds up to 16 intervals for factors from 3/4 to 17/16, and up to 8 intervals for
    /// factors to 5/4.
    #[test]
    fn a_step_is_within_its_bound_of_f64(
        m in 0..=1u64 << 28, falls in any::<bool>(), rtt_us in 0..=3_200_000u32
    ) {
        let one = (1u64 << 30) as f64;
        let m = if falls || rtt_us <= 1_600_000 { m } else { m / 4 };
        let base = 1.0 + if falls { -(m as f64) } else { m as f64 } / one;
        let exact = base.powf(f64::from(rtt_us) / 200e3);
        let got = step_power(m, falls, rtt_us) as f64 / one;
        prop_assert!((got - exact).abs() <= (-24f64).exp2() * exact.max(1.0), "{got} {exact}");
    }

    /// The change of the window at an MPCP level is that for the load in the middle of the level,
    /// within half a level.
    #[test]
    fn a_level_says_what_the_load_does_to_a_window(
        demand in 1..1_000_000_000u64, capacity in 1..1_000_000_000u64, pieces in 2..=3u32
    ) {
        let rest = capacity as f64 / demand as f64;
        let level = mpcp_level(demand, capacity, pieces);
        let exact = (rest.clamp(0.5, 1.25) - 1.0) / 4.0;
        let width = 0.75 / f64::from(3u32.pow(pieces) - 2);
        let off = (mpcp_step(level, pieces) - exact).abs();
        prop_assert!(off <= width / 8.0 + 1e-4, "{level}: {off}");
        prop_assert_eq!(level == 1, rest > 1.25);
        prop_assert!(level < 3u32.pow(pieces));
    }
}

#[test]
fn additive_increase_scales_as_the_model_of_vcp_has_it() {
    let scale = |rtt_ms: u32| additive_scale(rtt_ms * 1000, 100_000) as f64 / 65536.0;
    for (rtt_ms, packets) in [
        (10, 0.02),
        (20, 0.04),
        (100, 1.0),
        (200, 4.0),
        (500, 25.0),
        (800, 28.0),
    ] {
        assert!(
            (scale(rtt_ms) - packets).abs() < 2e-4,
            "{rtt_ms}: {}",
            scale(rtt_ms)
        );
    }
}

/// The error bounds that are stated for `hw_exp` and `hw_ln_roughly`.
const EXP_RELATIVE: f64 = 1e-6;
const LN_TOO_LITTLE: f64 = 0.0597;
/// Scales of the fixed-point numbers: 24 bits after the binary point for exponents, 16 for values.
const EXPONENT: f64 = (1u64 << 24) as f64;
const VALUE: f64 = (1u64 << 16) as f64;

fn exp_is_near(x: i64) {
    let exact = (x as f64 / EXPONENT).exp() * VALUE;
    let got = exp(x) as f64;
    if exact >= (1u64 << 62) as f64 {
        assert!(got >= exact * (1.0 - EXP_RELATIVE) || got == (1u64 << 63) as f64);
        return;
    }
    assert!(
        (got - exact).abs() <= exact * EXP_RELATIVE + 1.0,
        "{x}: {got} {exact}"
    );
}

#[test]
fn the_exponential_is_near_f64_at_every_entry_of_its_table() {
    for step in -30 * 1024..31 * 1024i64 {
        for between in [0, 1, 7919, 16383] {
            exp_is_near(step * (1 << 14) + between);
        }
    }
    for x in [i64::MIN, -(45 << 24), 45 << 24, i64::MAX] {
        assert_eq!(exp(x), if x < 0 { 0 } else { 1 << 63 });
    }
    assert_eq!(exp(0), 1 << 16);
}

proptest! {
    #[test]
    fn the_exponential_is_within_its_bound(x in -(44i64 << 24)..(44i64 << 24)) {
        exp_is_near(x);
        prop_assert!(exp(x) <= exp(x + 1));
    }

    #[test]
    fn the_rough_logarithm_is_below_by_its_bound(value in 1..u64::MAX, shift in 0..63u32) {
        let value = (value >> shift).max(1);
        let exact = (value as f64 / VALUE).ln();
        let got = ln_roughly(value) as f64 / EXPONENT;
        prop_assert!(got <= exact + 1e-6 && got >= exact - LN_TOO_LITTLE - 1e-6, "{got} {exact}");
    }
}

proptest! {
    /// The result is within a relative error of 2^-29, plus 1, of the exact product.
    #[test]
    fn a_ratio_multiplies_within_its_bound(
        a in any::<u64>(), b in 1..u64::MAX, x in any::<u64>(), shifts in any::<[u8; 3]>(),
    ) {
        let [a, b, x] = [(a, shifts[0]), (b, shifts[1]), (x, shifts[2])].map(|(n, s)| n >> (s & 63));
        prop_assume!(b > 0);
        let (got, exact) = (ratio_times(a, b, x), a as f64 / b as f64 * x as f64);
        if exact < 1.8e19 {
            let error = (got as f64 - exact).abs();
            prop_assert!(error <= 1.0 + exact / f64::from(1u32 << 29), "{} {}", got, exact);
        } else if exact > 1.9e19 {
            prop_assert_eq!(got, u64::MAX);
        }
        prop_assert_eq!(ratio_times(a, 0, x), 0);
    }

    /// A floating-point code is within half a unit of its last bit. Codes have the order of their
    /// numbers. The number of a code has that code.
    #[test]
    fn a_floating_code_is_the_nearest(x in 0..u64::MAX >> 1, shift in 0..63u32, long in any::<bool>()) {
        let (x, bits) = (x >> shift, if long { 19 } else { 11 });
        let code = float_code(x, bits);
        let value = float_value(code, bits);
        let error = (value as f64 - x as f64).abs();
        prop_assert!(error <= x as f64 / f64::from(2u32 << bits), "{} {}", x, value);
        prop_assert_eq!(float_code(value, bits), code);
        prop_assert!(x >= 2 << bits || value == x);
        prop_assert!(float_value(code + 1, bits) > value);
    }
}
