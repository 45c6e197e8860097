//! Quantities as people write them: "1Mbit/s", "50 ms", "60000 B".
//!
//! A rate is converted to a whole number of bits per second, a time to nanoseconds, a size to
//! bytes. Fractions are rounded to the nearest whole number, half to even. A number without a unit
//! is rejected, because 50 could mean milliseconds or seconds, and 1000 could mean bits or bytes.

use crate::limits::MAX_TIME_NS;
use crate::text::{quoted, Refused};

/// A unit's name, and its value in the smallest unit of its kind.
pub type Unit = (&'static str, u64);

/// Units of rates, in bits per second.
pub const RATES_BPS: [Unit; 14] = [
    ("Gbit/s", 1_000_000_000),
    ("Gbps", 1_000_000_000),
    ("Gbit", 1_000_000_000),
    ("gbit", 1_000_000_000),
    ("Mbit/s", 1_000_000),
    ("Mbps", 1_000_000),
    ("Mbit", 1_000_000),
    ("mbit", 1_000_000),
    ("kbit/s", 1_000),
    ("kbps", 1_000),
    ("kbit", 1_000),
    ("bit/s", 1),
    ("bps", 1),
    ("bit", 1),
];
/// Alternative spellings of units of rates.
const RATES_TOO: [Unit; 2] = [("Kbit/s", 1_000), ("Kbps", 1_000)];
/// Units of times, in nanoseconds.
pub const TIMES_NS: [Unit; 9] = [
    ("h", 3_600_000_000_000),
    ("min", 60_000_000_000),
    ("s", 1_000_000_000),
    ("sec", 1_000_000_000),
    ("ms", 1_000_000),
    ("us", 1_000),
    ("µs", 1_000),
    ("μs", 1_000),
    ("ns", 1),
];
/// Units of sizes, in bytes.
pub const SIZES_BYTES: [Unit; 10] = [
    ("GB", 1_000_000_000),
    ("MB", 1_000_000),
    ("kB", 1_000),
    ("KB", 1_000),
    ("GiB", 1 << 30),
    ("MiB", 1 << 20),
    ("KiB", 1 << 10),
    ("B", 1),
    ("byte", 1),
    ("bytes", 1),
];

/// Units of rates that error messages list.
pub const RATES_SHOWN: &str = "bit/s, kbit/s, Mbit/s, Gbit/s";
/// Units of times that error messages list.
pub const TIMES_SHOWN: &str = "ns, us, ms, s, min, h";
/// Units of sizes that error messages list.
pub const SIZES_SHOWN: &str = "B, kB, MB, GB, KiB, MiB, GiB";

/// Largest power of ten of a quantity's first digit. The digit may be before or after the decimal
/// point.
const MAX_MAGNITUDE: i64 = 30;
/// Largest number of significant digits in a quantity: a 64-bit number has no more.
const MAX_DIGITS: usize = 20;
const MAX_VALUE: u128 = i64::MAX as u128;

/// An exact decimal number: `digits` × 10 to `exponent`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Number {
    /// Whether the number is negative.
    pub negative: bool,
    /// Digits of the number: at most 20, the last not 0.
    pub digits: u128,
    /// Power of ten of the last digit.
    pub exponent: i32,
}

impl Number {
    /// The number times `factor`, which is at most 2⁴², rounded half to even; None if the product
    /// exceeds 2¹²⁸.
    #[must_use]
    pub fn times(&self, factor: u128) -> Option<u128> {
        let product = self.digits.checked_mul(factor)?;
        let Ok(power) = u32::try_from(-i64::from(self.exponent)) else {
            return product.checked_mul(10_u128.checked_pow(self.exponent.unsigned_abs())?);
        };
        // no overflow: 10³⁹ is more than 2¹²⁸, and more than twice any product
        let Some(divisor) = 10_u128.checked_pow(power) else {
            return Some(0);
        };
        let (whole, rest) = (product / divisor, product % divisor);
        let up = match (rest).cmp(&(divisor - rest)) {
            std::cmp::Ordering::Greater => true,
            std::cmp::Ordering::Equal => whole % 2 == 1,
            std::cmp::Ordering::Less => false,
        };
        Some(whole + u128::from(up))
    }

    /// The number times `factor`, rounded down; None if the product exceeds 2¹²⁸.
    #[must_use]
    pub fn times_down(&self, factor: u128) -> Option<u128> {
        let product = self.digits.checked_mul(factor)?;
        match u32::try_from(-i64::from(self.exponent)) {
            Err(_) => product.checked_mul(10_u128.checked_pow(self.exponent.unsigned_abs())?),
            Ok(power) => Some(
                10_u128
                    .checked_pow(power)
                    .map_or(0, |divisor| product / divisor),
            ),
        }
    }

    /// Whether the number has no digits after the decimal point.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.exponent >= 0 || self.digits == 0
    }

    /// The number written without an exponent, such as "1.5".
    #[must_use]
    pub fn plain(&self) -> String {
        let sign = if self.negative { "-" } else { "" };
        let digits = self.digits.to_string();
        let Ok(zeros) = usize::try_from(self.exponent) else {
            let behind = self.exponent.unsigned_abs() as usize;
            let padded = format!("{digits:0>width$}", width = behind + 1);
            let (before, after) = padded.split_at(padded.len() - behind);
            return format!("{sign}{before}.{after}");
        };
        format!("{sign}{digits}{}", "0".repeat(zeros))
    }
}

/// Splits text into a number and a unit; both are required.
pub(crate) fn split<'a>(
    text: &'a str,
    kind: &str,
    shown: &str,
) -> Result<(Number, &'a str), Refused> {
    let no = || {
        let what = quoted(text);
        Refused::new(format!(
            "{what} is not a {kind}; write a number and one of: {shown}"
        ))
    };
    let trimmed = text.trim();
    let end = number_end(trimmed).ok_or_else(no)?;
    let (number, unit) = (&trimmed[..end], trimmed[end..].trim_start());
    if unit.contains(char::is_whitespace) {
        return Err(no());
    }
    if unit.is_empty() {
        return Err(Refused::new(format!(
            "{} has no unit; allowed: {shown}",
            quoted(number)
        )));
    }
    Ok((decimal(number, text)?, unit))
}

/// Length of the number with which `text` begins; None if it does not begin with a number.
fn number_end(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    let digits = |from: usize| {
        bytes[from..]
            .iter()
            .take_while(|b| b.is_ascii_digit())
            .count()
    };
    let mut at = usize::from(matches!(bytes.first(), Some(b'+' | b'-')));
    let before = digits(at);
    at += before;
    if bytes.get(at) == Some(&b'.') {
        let after = digits(at + 1);
        if before + after == 0 {
            return None;
        }
        at += 1 + after;
    } else if before == 0 {
        return None;
    }
    // the letter e begins an exponent in "1e3 bit/s", and a unit in "1exabyte"
    if matches!(bytes.get(at), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(bytes.get(at + 1), Some(b'+' | b'-')));
        let from = at + 1 + sign;
        let power = bytes.get(from).map_or(0, |_| digits(from));
        let letter = bytes.get(from + power).is_some_and(u8::is_ascii_alphabetic);
        if power > 0 && !letter {
            return Some(from + power);
        }
    }
    Some(at)
}

fn decimal(number: &str, text: &str) -> Result<Number, Refused> {
    let shown: String = text.chars().take(40).collect();
    let too = |what: &str| Refused::new(format!("{} is too {what}", quoted(&shown)));
    let negative = number.starts_with('-');
    let unsigned = number.trim_start_matches(['+', '-']);
    let (mantissa, power) = match unsigned.split_once(['e', 'E']) {
        None => (unsigned, 0),
        Some((mantissa, power)) => {
            let magnitude = power.trim_start_matches(['+', '-']).trim_start_matches('0');
            let size = if magnitude.is_empty() {
                0
            } else if magnitude.len() > 9 {
                i64::from(i32::MAX)
            } else {
                magnitude.parse::<i64>().expect("nine digits")
            };
            let size = if power.starts_with('-') { -size } else { size };
            (mantissa, size)
        }
    };
    let (before, after) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let all: String = [before, after].concat();
    let significant = all.trim_start_matches('0');
    if significant.is_empty() {
        return Ok(Number {
            negative,
            digits: 0,
            exponent: 0,
        });
    }
    // computes the powers of ten of the first digit and of the last digit that is not 0
    let leading = power + significant.len() as i64 - after.len() as i64 - 1;
    if leading > MAX_MAGNITUDE {
        return Err(too("large"));
    }
    if leading < -MAX_MAGNITUDE {
        return Err(too("small"));
    }
    let kept = significant.trim_end_matches('0');
    if kept.len() > MAX_DIGITS {
        return Err(Refused::new(format!(
            "{} has more than {MAX_DIGITS} digits",
            quoted(&shown)
        )));
    }
    let exponent = leading - kept.len() as i64 + 1;
    Ok(Number {
        negative,
        digits: kept.parse().expect("twenty digits"),
        exponent: i32::try_from(exponent).expect("within 30 and 20 digits"),
    })
}

/// Converts text to a whole number of the smallest unit. The number must be at least `least`, which
/// is 0 or 1.
pub(crate) fn scaled(
    text: &str,
    kind: &str,
    units: &[&[Unit]],
    shown: &str,
    least: u128,
) -> Result<u64, Refused> {
    let (number, unit) = split(text, kind, shown)?;
    let mut all = units.iter().copied().flatten();
    let Some((_, factor)) = all.find(|(name, _)| *name == unit) else {
        let (unit, text) = (quoted(unit), quoted(text));
        return Err(Refused::new(format!(
            "unknown unit {unit} in {text}; allowed: {shown}"
        )));
    };
    let value = number.times(u128::from(*factor));
    let Some(value) = value.filter(|value| *value <= MAX_VALUE) else {
        return Err(Refused::new(format!("{} is too large", quoted(text))));
    };
    if (number.negative && number.digits > 0) || value < least {
        let bound = if least > 0 { "more than" } else { "at least" };
        return Err(Refused::new(format!("{} must be {bound} 0", quoted(text))));
    }
    Ok(value as u64)
}

/// Parses a rate: bits per second, more than 0.
///
/// # Errors
/// One line with the allowed units.
pub fn parse_rate(text: &str) -> Result<u64, Refused> {
    scaled(text, "rate", &[&RATES_BPS, &RATES_TOO], RATES_SHOWN, 1)
}

/// Parses a time: nanoseconds, 0 or more.
///
/// # Errors
/// One line with the allowed units.
pub fn parse_time(text: &str) -> Result<u64, Refused> {
    scaled(text, "time", &[&TIMES_NS], TIMES_SHOWN, 0)
}

/// Parses a time: nanoseconds, more than 0.
///
/// # Errors
/// One line with the allowed units.
pub fn parse_positive_time(text: &str) -> Result<u64, Refused> {
    scaled(text, "time", &[&TIMES_NS], TIMES_SHOWN, 1)
}

/// Parses a size: bytes, 0 or more.
///
/// # Errors
/// One line with the allowed units.
pub fn parse_size(text: &str) -> Result<u64, Refused> {
    scaled(text, "size", &[&SIZES_BYTES], SIZES_SHOWN, 0)
}

/// Parses a size: bytes, more than 0.
///
/// # Errors
/// One line with the allowed units.
pub fn parse_positive_size(text: &str) -> Result<u64, Refused> {
    scaled(text, "size", &[&SIZES_BYTES], SIZES_SHOWN, 1)
}

/// Parses a probability from 0 up to, but not including, 1: "0.01" or "1%".
///
/// # Errors
/// One line for any other text.
pub fn parse_probability(text: &str) -> Result<f64, Refused> {
    probability(text, &quoted(text), false)
}

/// The number that a text such as "0.01" or "1%" has; None for other text.
pub(crate) fn fraction(text: &str) -> Option<f64> {
    let text = text.trim();
    let (number, divisor) = match text.strip_suffix('%') {
        Some(percent) => (percent.trim_end(), 100.0),
        None => (text, 1.0),
    };
    number.parse::<f64>().ok().map(|number| number / divisor)
}

/// Like [`parse_probability`], but error messages show `shown` instead of `text`; `with_one` also
/// allows 1.
///
/// # Errors
/// One line for any other text.
pub fn probability(text: &str, shown: &str, with_one: bool) -> Result<f64, Refused> {
    let value = fraction(text)
        .ok_or_else(|| Refused::new(format!("{shown} is not a probability; write 0.01 or 1%")))?;
    if (0.0..1.0).contains(&value) || with_one && value == 1.0 {
        Ok(value)
    } else {
        let most = if with_one { "at most" } else { "less than" };
        Err(Refused::new(format!(
            "{shown} must be at least 0 and {most} 1 (or 100%)"
        )))
    }
}

/// The shortest exact text of `value`. It uses the first (largest) unit in which the value is at
/// least 1 and has at most three decimals.
fn shown(value: i128, units: &[Unit]) -> String {
    let magnitude = value.unsigned_abs();
    let fits = |factor: u64| {
        let factor = u128::from(factor);
        magnitude >= factor && magnitude.checked_mul(1000).is_some_and(|m| m % factor == 0)
    };
    let Some((name, factor)) = units.iter().find(|(_, factor)| fits(*factor)) else {
        return format!("{value} {}", units[units.len() - 1].0);
    };
    let thousandths = magnitude * 1000 / u128::from(*factor);
    let sign = if value < 0 { "-" } else { "" };
    let (whole, rest) = (thousandths / 1000, thousandths % 1000);
    if rest == 0 {
        return format!("{sign}{whole} {name}");
    }
    let decimals = format!("{rest:03}");
    format!("{sign}{whole}.{} {name}", decimals.trim_end_matches('0'))
}

/// Checks that a time does not exceed the limit.
///
/// # Errors
/// One line for a time that is too long.
pub fn any_time(ns: u64) -> Result<u64, Refused> {
    if ns <= MAX_TIME_NS {
        return Ok(ns);
    }
    let shown = format_time(ns.into());
    Err(Refused::new(format!(
        "{shown} is not allowed; at most 10 years"
    )))
}

/// Formats bits per second as the shortest exact text; [`parse_rate`] returns the same number.
#[must_use]
pub fn format_rate(rate_bps: i128) -> String {
    let units = [RATES_BPS[0], RATES_BPS[4], RATES_BPS[8], RATES_BPS[11]];
    shown(rate_bps, &units)
}

/// Formats nanoseconds as the shortest exact text; [`parse_time`] returns the same number.
#[must_use]
pub fn format_time(time_ns: i128) -> String {
    shown(
        time_ns,
        &[TIMES_NS[2], TIMES_NS[4], TIMES_NS[5], TIMES_NS[8]],
    )
}

/// Formats bytes as exact text in B; [`parse_size`] returns the same number.
#[must_use]
pub fn format_size(size_bytes: i128) -> String {
    format!("{size_bytes} B")
}

/// The shortest exact text of a number of bytes: "1 MB", "64 kB", "1500 B".
#[must_use]
pub fn format_size_shortly(size_bytes: u64) -> String {
    let units = [SIZES_BYTES[0], SIZES_BYTES[1], SIZES_BYTES[2]];
    match units
        .iter()
        .find(|(_, factor)| size_bytes > 0 && size_bytes % factor == 0)
    {
        Some((name, factor)) => format!("{} {name}", size_bytes / factor),
        None => format!("{size_bytes} B"),
    }
}
