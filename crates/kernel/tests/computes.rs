//! Suites that check every eBPF object with the running kernel's verifier, and compare its results
//! with those of the native code. The tests measure no time, so other work may run at the same
//! time.

mod common;
mod contract;
mod verifier;

use common::{run, Suite};

fn main() {
    run(&[
        Suite {
            name: "contract",
            begin: || None,
            tests: contract::TESTS,
        },
        Suite {
            name: "verifier",
            begin: || None,
            tests: verifier::TESTS,
        },
    ]);
}
