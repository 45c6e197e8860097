//! Waits for a condition.

use std::thread;
use std::time::{Duration, Instant};

/// Waits until a condition is true, however busy the machine is.
pub fn wait_until(what: &str, is_so: impl Fn() -> bool) {
    let end = Instant::now() + Duration::from_secs(20);
    while !is_so() {
        assert!(Instant::now() < end, "waited in vain: {what}");
        thread::sleep(Duration::from_millis(10));
    }
}
