//! The program `headwayctl`: the part of Headway that changes the running kernel and needs root.

use std::process::ExitCode;

fn main() -> ExitCode {
    ExitCode::from(headway_kernel::cli::main())
}
