//! A test harness for tests that some machines cannot run. Unlike libtest, it prints why tests were
//! skipped.
#![allow(dead_code)]

#[path = "../../../../tests/skipped.rs"]
pub mod skipped;

#[path = "../../../../tests/machine.rs"]
pub mod machine;

use std::fmt::Debug;
use std::fs::File;
use std::panic::{catch_unwind, resume_unwind, AssertUnwindSafe};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

/// The reason why the eBPF tests cannot run on this machine; None: the tests can run.
pub fn reason_to_skip() -> Option<String> {
    match headway_kernel::objects() {
        Err(reason) => Some(reason.to_owned()),
        Ok(_) => headway_kernel::missing(),
    }
}

/// Calls a function for each element of a list, on all cores in parallel. Panics if a call panics.
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

/// Repeats a measurement until its result is right (tests/machine.rs). If the machine is too busy,
/// the test ends as skipped, and `run` reports this.
pub fn holds<T: Debug>(what: &str, measure: impl FnMut() -> T, is_right: impl Fn(&T) -> bool) -> T {
    machine::measured(what, measure, is_right).unwrap_or_else(|busy| resume_unwind(Box::new(busy)))
}

/// Removes everything that a failed test has left in its scope, so that this does not affect the
/// next test.
pub fn take_down() {
    if std::env::var_os("HEADWAY_SCOPE").is_some() {
        for command in [
            ["testbed", "down", "--all"].as_slice(),
            &["detach", "--all"],
        ] {
            // ignore the result, because the commands print their errors
            let _ = Command::new(env!("CARGO_BIN_EXE_headwayctl"))
                .args(command)
                .status();
        }
    }
}

/// A test with its name.
pub type Test<'a> = (&'a str, &'a dyn Fn());

/// The tests of one file.
pub struct Suite<'a> {
    pub name: &'a str,
    /// The function that is called before the first test. Its result is dropped after the last
    /// test.
    pub begin: fn() -> Option<File>,
    pub tests: &'a [Test<'a>],
}

/// Runs the tests in order, under the names `SUITE::TEST`. A command-line argument selects the
/// tests whose name contains it, or with `--exact` the one test of this name.
pub fn run(suites: &[Suite<'_>]) {
    let (flags, words): (Vec<_>, Vec<_>) =
        std::env::args().skip(1).partition(|a| a.starts_with('-'));
    let is_exact = flags.iter().any(|flag| flag == "--exact");
    let is_chosen = |name: &str| match words.first() {
        Some(word) if is_exact => name == word,
        Some(word) => name.contains(word.as_str()),
        None => true,
    };
    if let Some(reason) = reason_to_skip() {
        let tests = suites.iter().map(|suite| suite.tests.len()).sum();
        return skipped::skipped(tests, &reason);
    }
    let (mut passed, mut failed, mut skipped) = (0, 0, 0);
    for suite in suites {
        let named = suite.tests.iter();
        let named = named.map(|(name, test)| (format!("{}::{name}", suite.name), test));
        let chosen: Vec<_> = named.filter(|(name, _)| is_chosen(name)).collect();
        if chosen.is_empty() {
            continue;
        }
        println!("\n{}: running {} tests", suite.name, chosen.len());
        let _held = (suite.begin)();
        for (name, test) in chosen {
            let start = Instant::now();
            let Err(ended) = catch_unwind(AssertUnwindSafe(test)) else {
                passed += 1;
                println!("test {name} ... ok, {:.1} s", start.elapsed().as_secs_f64());
                continue;
            };
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
    let verdict = if failed == 0 { "ok" } else { "FAILED" };
    println!("\ntest result: {verdict}. {passed} passed; {failed} failed; {skipped} skipped");
    if failed > 0 {
        std::process::exit(1);
    }
}
