//! Test suites on the running kernel that measure rates and durations. Other work on the cores
//! disturbs these measurements. A failed measurement is repeated if other work used the cores
//! meanwhile (tests/machine.rs). With HEADWAY_BESIDE set, a disturbed test fails at once instead,
//! and has to be run again without other tests at the same time.

mod attach;
mod common;
mod interface;
#[path = "common/lab.rs"]
mod lab;
mod quick_start;
mod quick_start_live;
mod quick_start_options;
mod receive_window;
mod startups;
#[path = "common/wire.rs"]
mod wire;

use common::{run, Suite};

fn main() {
    run(&[
        Suite {
            name: "attach",
            begin: lab::lock_machine,
            tests: attach::TESTS,
        },
        Suite {
            name: "interface",
            begin: lab::lock_machine,
            tests: interface::TESTS,
        },
        Suite {
            name: "quick_start",
            begin: lab::lock_machine_for_quick_start,
            tests: quick_start::TESTS,
        },
        Suite {
            name: "quick_start_live",
            begin: lab::lock_machine,
            tests: quick_start_live::TESTS,
        },
        Suite {
            name: "quick_start_options",
            begin: lab::no_scope,
            tests: quick_start_options::TESTS,
        },
        Suite {
            name: "receive_window",
            begin: lab::lock_machine,
            tests: receive_window::TESTS,
        },
        Suite {
            name: "startups",
            begin: lab::lock_machine,
            tests: startups::TESTS,
        },
    ]);
}
