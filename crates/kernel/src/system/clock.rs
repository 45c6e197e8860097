//! Reads CLOCK_MONOTONIC and sleeps until its times, which are in ns.

use std::io;
use std::time::Duration;

use crate::error::{Attempt as _, Failure};

/// The present time of CLOCK_MONOTONIC, in ns.
#[must_use]
pub fn now_ns() -> i64 {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: the pointer is to a timespec of our own; this clock always exists.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut time) };
    time.tv_sec * 1_000_000_000 + time.tv_nsec
}

/// Time between two timer ticks (jiffies) of the kernel, in ns.
///
/// # Errors
/// The kernel does not report it.
pub fn tick_ns() -> Result<u64, Failure> {
    let mut tick = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: a valid place for the result.
    if unsafe { libc::clock_getres(libc::CLOCK_MONOTONIC_COARSE, &mut tick) } != 0 {
        return Err(io::Error::last_os_error()).attempt("read the kernel's tick length");
    }
    Ok((tick.tv_sec * 1_000_000_000 + tick.tv_nsec) as u64)
}

/// Sleeps until a time of CLOCK_MONOTONIC. Returns at once if this time has passed.
pub fn sleep_until(time_ns: i64) {
    let time = libc::timespec {
        tv_sec: time_ns.max(0) / 1_000_000_000,
        tv_nsec: time_ns.max(0) % 1_000_000_000,
    };
    // SAFETY: `time` outlives the call. The loop continues the sleep if a signal ends the call
    // early.
    while unsafe {
        libc::clock_nanosleep(
            libc::CLOCK_MONOTONIC,
            libc::TIMER_ABSTIME,
            &time,
            std::ptr::null_mut(),
        )
    } == libc::EINTR
    {}
}

/// Makes this thread's wake-ups as exact as possible. By default the kernel may delay each wake-up
/// by 50 µs.
pub fn exact_timers() {
    // SAFETY: an option with one integer.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1) };
}

/// How long it is until a time of CLOCK_MONOTONIC; zero if this time has passed.
#[must_use]
pub fn until(time_ns: i64) -> Duration {
    Duration::from_nanos(u64::try_from(time_ns - now_ns()).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sleep_ends_after_its_time_and_a_past_one_at_once() {
        let due_ns = now_ns() + 3_000_000;
        sleep_until(due_ns);
        assert!(now_ns() >= due_ns);
        sleep_until(0); // returns at once, because the time has passed
        assert_eq!(until(0), Duration::ZERO);
    }
}
