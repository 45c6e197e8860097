//! Test suites on the running kernel that measure no durations and only wait for conditions. A
//! condition has 20 seconds to become true, so other work may run at the same time.

mod cleanup;
mod command_line;
mod common;
mod ecn;
mod hints;
mod hostile_headers;
mod kill;
#[path = "common/lab.rs"]
mod lab;
mod ownership;
mod quick_start_cheats;
mod routers;
mod sampler;
#[path = "common/transfer.rs"]
mod transfer;
#[path = "common/wire.rs"]
mod wire;

use common::{run, Suite};

fn main() {
    run(&[
        Suite {
            name: "command_line",
            begin: lab::lock_machine,
            tests: command_line::TESTS,
        },
        Suite {
            name: "ecn",
            begin: lab::lock_machine,
            tests: ecn::TESTS,
        },
        Suite {
            name: "hints",
            begin: lab::lock_machine,
            tests: hints::TESTS,
        },
        Suite {
            name: "hostile_headers",
            begin: lab::lock_machine,
            tests: hostile_headers::TESTS,
        },
        Suite {
            name: "kill",
            begin: lab::lock_machine,
            tests: kill::TESTS,
        },
        Suite {
            name: "cleanup",
            begin: lab::lock_machine,
            tests: cleanup::TESTS,
        },
        Suite {
            name: "quick_start_cheats",
            begin: lab::lock_machine_for_quick_start,
            tests: quick_start_cheats::TESTS,
        },
        Suite {
            name: "routers",
            begin: lab::lock_machine,
            tests: routers::TESTS,
        },
        Suite {
            name: "sampler",
            begin: lab::no_scope,
            tests: sampler::TESTS,
        },
        Suite {
            name: "ownership",
            begin: lab::lock_machine,
            tests: ownership::TESTS,
        },
    ]);
}
