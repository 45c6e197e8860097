//! Checks every object with the running kernel's verifier, and compares it with the native binding.
//! The kernel runs programs, but no time is measured, so other work may run at the same time.

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
