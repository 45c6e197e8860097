//! Every object against the verifier of the running kernel and against the native binding. It
//! asks the kernel to run programs and measures no time, so it can run beside other work.

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
