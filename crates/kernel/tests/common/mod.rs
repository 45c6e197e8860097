//! Running tests that a machine may not be able to run: the reason is shown, which
//! libtest would hide.
#![allow(dead_code)]

use std::fs::{File, OpenOptions};
use std::os::fd::AsRawFd as _;
use std::panic::{catch_unwind, AssertUnwindSafe};

/// Why the eBPF tests cannot run here.
pub fn reason_to_skip() -> Option<String> {
    match headway_kernel::objects() {
        Err(reason) => Some(reason.to_owned()),
        Ok(_) => headway_kernel::missing(),
    }
}

/// Runs tests in order, those whose name holds the argument if there is one.
pub fn run(tests: &[(&str, &dyn Fn())]) {
    let filter = std::env::args().skip(1).find(|a| !a.starts_with('-'));
    if let Some(reason) = reason_to_skip() {
        println!(
            "\ntest result: ok. 0 passed; 0 failed\nskipped {} tests: {reason}",
            tests.len()
        );
        return;
    }
    let chosen: Vec<_> = tests
        .iter()
        .filter(|(name, _)| filter.as_deref().is_none_or(|f| name.contains(f)))
        .collect();
    println!("\nrunning {} tests", chosen.len());
    let mut failed = 0;
    for (name, test) in &chosen {
        match catch_unwind(AssertUnwindSafe(test)) {
            Ok(()) => println!("test {name} ... ok"),
            Err(_) => {
                failed += 1;
                println!("test {name} ... FAILED");
            }
        }
    }
    let verdict = if failed == 0 { "ok" } else { "FAILED" };
    println!(
        "\ntest result: {verdict}. {} passed; {failed} failed",
        chosen.len() - failed
    );
    if failed > 0 {
        std::process::exit(1);
    }
}

/// Names of congestion controls are the whole machine's, and `detach --all` takes
/// all of Headway's away: one at a time.
pub fn exclusive() -> File {
    let path = "/run/lock/headway-tests";
    let file = OpenOptions::new()
        .create(true)
        .truncate(false)
        .write(true)
        .open(path)
        .expect("root may write to /run/lock");
    // SAFETY: a valid descriptor.
    let result = unsafe { libc::flock(file.as_raw_fd(), libc::LOCK_EX) };
    assert_eq!(result, 0, "flock {path}");
    file
}
