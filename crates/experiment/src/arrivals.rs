//! How often transfers arrive: an arrival rate, or a load of the path's slowest link.

use crate::quantity::{fraction, split, Unit};
use crate::text::{quoted, Refused};

/// Units of arrival rates: the length of each in nanoseconds.
const PER_NS: [Unit; 3] = [
    ("/s", 1_000_000_000),
    ("/min", 60_000_000_000),
    ("/h", 3_600_000_000_000),
];
const PER_SHOWN: &str = "/s, /min, /h";
/// Shortest mean time between the arrivals of a flow.
pub const MIN_INTERVAL_NS: u64 = 1000;
/// Longest mean time between the arrivals of a flow: a year.
const MAX_INTERVAL_NS: u64 = 365 * 86_400 * 1_000_000_000;
/// The share of payload in full packets with timestamps, in which loads are counted.
const PAYLOAD_SHARE: f64 = 1448.0 / 1500.0;

/// Parses an arrival rate such as "50/s". Returns the mean time between arrivals in nanoseconds.
///
/// # Errors
/// One line with the text and what is allowed.
pub fn parse_arrivals(text: &str) -> Result<u64, Refused> {
    let (number, unit) = split(text, "rate of arrivals", PER_SHOWN)?;
    let Some((_, length_ns)) = PER_NS.iter().find(|(name, _)| *name == unit) else {
        let (unit, text) = (quoted(unit), quoted(text));
        return Err(Refused::new(format!(
            "unknown unit {unit} in {text}; allowed: {PER_SHOWN}"
        )));
    };
    let rate = number.plain().parse::<f64>().unwrap_or(0.0);
    within(*length_ns as f64 / rate).ok_or_else(|| {
        let what = quoted(text);
        Refused::new(format!(
            "{what} is not allowed; more than 1 a year, at most 1000000/s"
        ))
    })
}

/// Parses a load: more than 0. A load of 1 or more cannot last.
///
/// # Errors
/// One line with the text and what is allowed.
pub fn parse_load(text: &str) -> Result<f64, Refused> {
    fraction(text)
        .filter(|load| *load > 0.0 && *load <= 100.0)
        .ok_or_else(|| {
            Refused::new(format!(
                "{} is not allowed; more than 0, such as 0.6 or 60%",
                quoted(text)
            ))
        })
}

/// Mean time between the arrivals, in nanoseconds, of transfers of mean size `mean_bytes` that
/// offer this load to a link of `rate_bps`. The load counts application bytes over 1448/1500 of the
/// rate, the share of payload in full packets with timestamps.
///
/// # Errors
/// One line if the transfers would arrive more often than once per microsecond, or less often than
/// once a year.
pub fn interval_of_load_ns(load: f64, mean_bytes: f64, rate_bps: u64) -> Result<u64, Refused> {
    let interval_ns = mean_bytes * 8e9 / (load * rate_bps as f64 * PAYLOAD_SHARE);
    within(interval_ns).ok_or_else(|| {
        let per_s = 1e9 / interval_ns;
        Refused::new(format!(
            "{load} is not allowed; with these sizes it means {per_s:.3e} arrivals per second; \
             more than 1 a year, at most 1000000/s"
        ))
    })
}

fn within(interval_ns: f64) -> Option<u64> {
    let whole = libm::round(interval_ns);
    (whole >= MIN_INTERVAL_NS as f64 && whole <= MAX_INTERVAL_NS as f64).then_some(whole as u64)
}
