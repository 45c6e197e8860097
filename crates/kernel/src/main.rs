//! `headwayctl`: the part of Headway that needs root.

use std::process::ExitCode;

fn main() -> ExitCode {
    ExitCode::from(headway_kernel::cli::main())
}
