//! The command line of `headwayctl`: one file per subcommand.

pub mod error;

use clap::{Parser, Subcommand};

use error::CliError;

/// Attaches Headway's congestion controls to the running kernel and takes them away.
#[derive(Debug, Parser)]
#[command(name = "headwayctl", version, propagate_version = true)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {}

/// Reads the command line and runs it. Returns the exit status.
#[must_use]
pub fn main() -> u8 {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            let _ = error.print();
            return u8::try_from(error.exit_code()).unwrap_or(error::BAD_INPUT);
        }
    };
    match run(cli.command) {
        Ok(()) => 0,
        Err(error) => {
            eprintln!("headwayctl: {error}");
            error.exit_status
        }
    }
}

fn run(command: Command) -> Result<(), CliError> {
    match command {}
}
