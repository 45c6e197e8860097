//! Limits of a scenario's values, its errors, and defaults.

pub(super) use headway_experiment::limits::{
    MAX_BYTES, MAX_DURATION_NS, MAX_MESSAGE_BYTES, MAX_RATE_BPS, MAX_SESSION_DELAY_NS, MAX_TIME_NS,
    MAX_WINDOW_BYTES, MIN_WINDOW_BYTES, SOCKET_OPTION_BYTES,
};

/// Why a scenario cannot run: one line that names the field, the value and what is allowed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScenarioError(pub String);

impl std::fmt::Display for ScenarioError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        use std::fmt::Write;
        // Quoted input may contain line breaks; the error must stay on one line.
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

/// Checks a link's rate.
///
/// # Errors
/// One line that names the field, the value and what is allowed.
pub fn check_rate(field: &str, rate_bps: u64) -> Result<(), ScenarioError> {
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

pub(super) fn is_true(switch: &bool) -> bool {
    *switch
}

pub(super) fn gigabit() -> u64 {
    1_000_000_000
}

pub(super) fn default_stack() -> String {
    "linux-6".into()
}
