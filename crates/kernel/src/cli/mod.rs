//! The command line of `headwayctl`: one file per subcommand.

mod at_device;
mod attach;
mod caretaker;
mod detach;
mod doctor;
pub mod error;
mod hints;
mod host;
mod router;
mod sample;
mod status;
mod testbed;
mod traffic;

use clap::error::ErrorKind;
use clap::{Parser, Subcommand};
use serde::Serialize;

use error::CliError;

/// Attaches Headway's congestion controls to the running kernel and takes them away
#[derive(Debug, Parser)]
#[command(name = "headwayctl", version, propagate_version = true)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Doctor(doctor::DoctorCommand),
    Attach(attach::AttachCommand),
    Detach(detach::DetachCommand),
    Status(status::StatusCommand),
    Hints(hints::HintsCommand),
    Host(host::HostCommand),
    Router(router::RouterCommand),
    Traffic(traffic::Traffic),
    Sample(sample::Sample),
    Testbed(testbed::TestbedCommand),
    #[command(hide = true)]
    Caretaker(caretaker::CaretakerCommand),
}

/// Reads the command line and runs it. Returns the exit status.
#[must_use]
pub fn main() -> u8 {
    let result = match Cli::try_parse() {
        Ok(cli) => run(cli.command),
        Err(error) => match error.kind() {
            // what was asked for, on stdout
            ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
                let _ = error.print();
                return 0;
            }
            _ => Err(CliError::bad_input(one_line(&error))),
        },
    };
    match result {
        Ok(()) => 0,
        Err(error) => {
            eprintln!("headwayctl: {error}");
            error.exit_status
        }
    }
}

fn run(command: Command) -> Result<(), CliError> {
    match command {
        Command::Doctor(command) => doctor::run(&command),
        Command::Attach(command) => attach::run(&command),
        Command::Detach(command) => detach::run(&command),
        Command::Status(command) => status::run(&command),
        Command::Hints(command) => hints::run(&command),
        Command::Host(command) => host::run(&command),
        Command::Router(command) => router::run(&command),
        Command::Traffic(command) => traffic::run(command),
        Command::Sample(command) => sample::run(command),
        Command::Testbed(command) => testbed::run(&command),
        Command::Caretaker(command) => caretaker::run(&command),
    }
}

/// clap's message without its usage lines.
fn one_line(error: &clap::Error) -> String {
    if error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
        return "a subcommand is missing; see headwayctl --help".to_owned();
    }
    let text = error.to_string();
    let lines: Vec<&str> = text
        .lines()
        .map(|line| line.trim().trim_start_matches("error: "))
        .take_while(|line| !line.starts_with("Usage:") && !line.starts_with("For more"))
        .filter(|line| !line.is_empty())
        .collect();
    lines.join(" ")
}

fn print_json(value: &impl Serialize) -> Result<(), CliError> {
    let text = serde_json::to_string_pretty(value)
        .map_err(|e| CliError::failed(format!("cannot write JSON: {e}")))?;
    println!("{text}");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory as _;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn a_wrong_command_line_is_one_line() {
        for line in [
            vec!["headwayctl"],
            vec!["headwayctl", "atach", "cubic"],
            vec!["headwayctl", "detach"],
            vec!["headwayctl", "attach", "cubic", "--colour"],
        ] {
            let text = one_line(&Cli::try_parse_from(line).unwrap_err());
            assert!(
                !text.is_empty() && !text.contains('\n') && !text.contains("Usage"),
                "{text}"
            );
        }
    }
}
