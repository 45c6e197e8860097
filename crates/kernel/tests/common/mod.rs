//! Running tests that a machine may not be able to run: the reason is shown, which
//! libtest would hide.
#![allow(dead_code)]

#[path = "../../../../tests/skipped.rs"]
pub mod skipped;

#[path = "../../../../tests/machine.rs"]
pub mod machine;

use std::fmt::Debug;
use std::panic::{catch_unwind, resume_unwind, AssertUnwindSafe};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

/// Why the eBPF tests cannot run here.
pub fn reason_to_skip() -> Option<String> {
    match headway_kernel::objects() {
        Err(reason) => Some(reason.to_owned()),
        Ok(_) => headway_kernel::missing(),
    }
}

/// Calls with each, on all cores; panics if one of the calls does.
pub fn each<T: Sync>(all: &[T], call: impl Fn(&T) + Sync) {
    let next = AtomicUsize::new(0);
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..cores {
            scope.spawn(|| {
                while let Some(one) = all.get(next.fetch_add(1, Ordering::Relaxed)) {
                    call(one);
                }
            });
        }
    });
}

/// A measurement that is right (machine.rs). A test that cannot make one ends, and `run` tells.
pub fn holds<T: Debug>(what: &str, measure: impl FnMut() -> T, is_right: impl Fn(&T) -> bool) -> T {
    machine::measured(what, measure, is_right).unwrap_or_else(|busy| resume_unwind(Box::new(busy)))
}

/// Takes down what a test that failed left of its scope: the next is judged by what it does
/// itself.
pub fn take_down() {
    if std::env::var_os("HEADWAY_SCOPE").is_some() {
        for command in [
            ["testbed", "down", "--all"].as_slice(),
            &["detach", "--all"],
        ] {
            // says itself what it cannot
            let _ = Command::new(env!("CARGO_BIN_EXE_headwayctl"))
                .args(command)
                .status();
        }
    }
}

/// Runs tests in order, those whose name holds the argument if there is one.
pub fn run(tests: &[(&str, &dyn Fn())]) {
    let filter = std::env::args().skip(1).find(|a| !a.starts_with('-'));
    if let Some(reason) = reason_to_skip() {
        return skipped::skipped(tests.len(), &reason);
    }
    let chosen: Vec<_> = tests
        .iter()
        .filter(|(name, _)| filter.as_deref().is_none_or(|f| name.contains(f)))
        .collect();
    println!("\nrunning {} tests", chosen.len());
    let (mut failed, mut skipped) = (0, 0);
    for (name, test) in &chosen {
        let start = Instant::now();
        match catch_unwind(AssertUnwindSafe(test)) {
            Ok(()) => println!("test {name} ... ok, {:.1} s", start.elapsed().as_secs_f64()),
            Err(ended) => {
                if let Some(machine::TooBusy(reason)) = ended.downcast_ref() {
                    skipped += 1;
                    skipped::skipped(1, &format!("{name}: {reason}"));
                } else {
                    failed += 1;
                    println!("test {name} ... FAILED");
                }
                take_down();
            }
        }
    }
    let verdict = if failed == 0 { "ok" } else { "FAILED" };
    println!(
        "\ntest result: {verdict}. {} passed; {failed} failed; {skipped} skipped",
        chosen.len() - failed - skipped
    );
    if failed > 0 {
        std::process::exit(1);
    }
}
