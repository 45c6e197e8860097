//! Reports a test that this machine cannot run. It writes directly to the process' output, because
//! the test harness hides what a passing test prints, and to the file in HEADWAY_SKIPS, from which
//! `make test` prints its summary (tests/skipped.sh).
//!
//! Every crate with such tests includes this file.

use std::fs::OpenOptions;
use std::io::Write as _;

/// Reports that this many tests of this crate and target did not run.
pub fn skipped(tests: usize, reason: &str) {
    let reason = reason.replace(['\n', '\t'], " ");
    let who = concat!(env!("CARGO_PKG_NAME"), " ", env!("CARGO_CRATE_NAME"));
    // write to the process' own stream, because the test harness captures the output of println!
    // and eprintln!
    let _ = writeln!(std::io::stderr(), "skipped, {who}: {tests} tests: {reason}");
    if let Some(path) = std::env::var_os("HEADWAY_SKIPS") {
        let mut file = OpenOptions::new()
            .create(true)
            .append(true)
            .open(&path)
            .unwrap_or_else(|e| panic!("HEADWAY_SKIPS={}: {e}", path.to_string_lossy()));
        writeln!(file, "{tests}\ttests of {who}\t{reason}").expect("HEADWAY_SKIPS can be written");
    }
}
