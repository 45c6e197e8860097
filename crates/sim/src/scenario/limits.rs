//! What is allowed in a scenario, how a refusal reads, and what is meant by silence.

/// Why a scenario cannot run: one line that names the field, the value and
/// what is allowed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScenarioError(pub String);

impl std::fmt::Display for ScenarioError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        use std::fmt::Write;
        // What is quoted from the input may hold line breaks; the error stays one line.
        self.0.chars().try_for_each(|c| match c {
            c if c.is_control() => write!(f, "{}", c.escape_default()),
            c => f.write_char(c),
        })
    }
}

pub(crate) fn bad(field: &str, value: impl std::fmt::Display, allowed: &str) -> ScenarioError {
    ScenarioError(format!("{field}: {value} is not allowed; {allowed}"))
}

impl std::error::Error for ScenarioError {}

/// The 32-bit millisecond clock of the timestamp option wraps after 49.7 days.
pub(super) const MAX_DURATION_NS: u64 = 49 * 86_400 * 1_000_000_000;

/// A pebibyte: far from overflow in any sum of sequence numbers.
pub(super) const MAX_BYTES: u64 = 1 << 50;

/// A packet has to fit.
pub(super) const MIN_WINDOW_BYTES: u64 = 2_920;

/// Window scale of every socket: what Linux chooses for receive buffers of 4 to 8 MiB.
pub const WINDOW_SHIFT: u8 = 7;
/// What 16 bits can say with the sockets' window scale.
pub(super) const MAX_WINDOW_BYTES: u64 = 65_535 << WINDOW_SHIFT;

/// Messages have no end, so each is small.
pub(super) const MAX_MESSAGE_BYTES: u64 = 1 << 30;

/// A segment and more, and what window scaling can announce (RFC 7323, 2.3).
pub(super) const RECEIVE_BUFFER_BYTES: std::ops::RangeInclusive<u64> = 4096..=1 << 30;

/// Ten years: far from overflow in any sum of times.
pub(super) const MAX_TIME_NS: u64 = 10 * 366 * 86_400 * 1_000_000_000;

/// Half of TIME_WAIT.
pub(super) const MAX_SESSION_DELAY_NS: u64 = 30_000_000_000;

pub(super) const MAX_RATE_BPS: u64 = 10_000_000_000_000;

pub(super) fn check_rate(field: &str, rate_bps: u64) -> Result<(), ScenarioError> {
    if rate_bps == 0 || rate_bps > MAX_RATE_BPS {
        return Err(bad(field, rate_bps, "1 bit/s to 10 Tbit/s"));
    }
    Ok(())
}

pub(super) fn check_time(field: &str, time_ns: u64) -> Result<(), ScenarioError> {
    if time_ns > MAX_TIME_NS {
        return Err(bad(field, time_ns, "at most 10 years"));
    }
    Ok(())
}

pub(super) fn check_probability(field: &str, p: f64) -> Result<(), ScenarioError> {
    if !(0.0..=1.0).contains(&p) {
        return Err(bad(field, p, "a probability from 0 to 1"));
    }
    Ok(())
}

pub(super) fn one() -> u64 {
    1
}

pub(super) fn yes() -> bool {
    true
}

pub(super) fn is_false(switch: &bool) -> bool {
    !switch
}

pub(super) fn gigabit() -> u64 {
    1_000_000_000
}

pub(super) fn default_stack() -> String {
    "linux-6".into()
}
