//! The command line of `headwayctl`: one file per subcommand.

mod at_device;
mod attach;
mod background;
mod change;
mod detach;
mod doctor;
mod hints;
mod host;
mod pages;
mod parse;
mod pep;
mod proxies;
mod router;
mod sample;
mod status;
mod stop;
mod testbed;
mod traffic;
mod version;
mod watchdog;

use std::io::Write as _;

use clap::{CommandFactory as _, Parser, Subcommand};

use crate::error::Failure;
use crate::out;
use crate::system::rundir;

/// The program's name.
const NAME: &str = "headwayctl";

/// Attach Headway's congestion controls and router algorithms to the running kernel, and run its
/// proxies
#[derive(Debug, Parser)]
#[command(name = NAME, version = version::version(), propagate_version = true)]
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
    Pep(Box<pep::PepCommand>),
    Traffic(traffic::Traffic),
    Sample(sample::Sample),
    Testbed(testbed::TestbedCommand),
    #[command(hide = true)]
    Pages(pages::PagesCommand),
    #[command(hide = true)]
    Watchdog(watchdog::WatchdogCommand),
}

/// Reads the command line and runs it. Returns the exit status.
#[must_use]
pub fn main() -> u8 {
    let result = match parse::read(Cli::try_parse()) {
        Ok(Some(cli)) => run(cli.command),
        Ok(None) => Ok(()),
        Err(failure) => Err(failure),
    };
    let printed = out::finish();
    match result.and(printed) {
        Ok(()) => 0,
        Err(error) => {
            // stderr may be closed
            let _ = writeln!(std::io::stderr(), "headwayctl: {error}");
            error.exit_status
        }
    }
}

fn run(command: Command) -> Result<(), Failure> {
    // an invalid HEADWAY_SCOPE ends the command, because without a scope it would act on everything
    // of Headway
    rundir::scope()?;
    match command {
        Command::Doctor(command) => doctor::run(&command),
        Command::Attach(command) => attach::run(&command),
        Command::Detach(command) => detach::run(&command),
        Command::Status(command) => status::run(&command),
        Command::Hints(command) => hints::run(&command),
        Command::Host(command) => host::run(&command),
        Command::Router(command) => router::run(&command),
        Command::Pep(command) => pep::run(&command),
        Command::Traffic(command) => traffic::run(command),
        Command::Sample(command) => sample::run(command),
        Command::Testbed(command) => testbed::run(&command),
        Command::Pages(command) => pages::run(&command, &Cli::command()),
        Command::Watchdog(command) => watchdog::run(&command),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    /// Lists every command that has no subcommands, with its full name and its options.
    fn leaves(command: &clap::Command, name: &str, found: &mut Vec<(String, Vec<String>)>) {
        let children: Vec<_> = command
            .get_subcommands()
            .filter(|c| !c.is_hide_set())
            .collect();
        if children.is_empty() {
            let options = command.get_arguments().filter_map(|a| a.get_long());
            found.push((name.to_owned(), options.map(str::to_owned).collect()));
        }
        for child in children {
            let name = format!("{name} {}", child.get_name());
            leaves(child, name.trim(), found);
        }
    }

    #[test]
    fn every_command_prints_json_and_says_what_it_would_change() {
        // these commands have no option --json, because they always print JSON or the output of
        // another program
        let prints_its_own =
            |name: &str| name.starts_with("traffic ") || ["sample", "testbed exec"].contains(&name);
        // these commands have no option --dry-run, because they change nothing or undo all their
        // changes
        let changes_nothing = [
            "doctor",
            "status",
            "hints list",
            "host window-bench",
            "pep status",
            "router bench",
            "router watch",
            "testbed status",
        ];
        let mut found = Vec::new();
        leaves(&Cli::command(), "", &mut found);
        assert!(found.len() > 25, "{found:?}");
        for (name, options) in found {
            let has = |option: &str| options.iter().any(|o| o == option);
            if prints_its_own(&name) {
                continue;
            }
            assert!(has("json"), "{name} has no --json");
            let changes = !changes_nothing.contains(&name.as_str());
            assert_eq!(has("dry-run"), changes, "{name}: --dry-run");
        }
    }

    #[test]
    fn a_wrong_command_line_is_one_line() {
        for line in [
            vec!["headwayctl"],
            vec!["headwayctl", "atach", "cubic"],
            vec!["headwayctl", "detach", "--all", "cubic"],
            vec!["headwayctl", "attach", "cubic", "--colour"],
        ] {
            let text = parse::one_line(&Cli::try_parse_from(line).unwrap_err());
            assert!(
                !text.is_empty() && !text.contains('\n') && !text.contains("Usage"),
                "{text}"
            );
        }
    }

    #[test]
    fn completions_and_manual_know_every_command_that_is_shown_and_no_other() {
        let folder = std::env::temp_dir().join(format!("headway-pages-{}", std::process::id()));
        let files = pages::write(&Cli::command(), &folder).unwrap();
        let read = |name: &str| fs::read_to_string(folder.join(name)).unwrap();
        for (shell, name) in pages::COMPLETIONS {
            let text = read(name);
            for word in ["headwayctl", "testbed", "dry-run", "window-bench"] {
                assert!(text.contains(word), "{shell}: {word}");
            }
            for word in ["watchdog", "lock-fd"] {
                assert!(!text.contains(word), "{shell}: {word}");
            }
        }
        let page = read("man/man1/headwayctl-testbed-up.1");
        for word in ["headwayctl\\-testbed\\-up", "\\-\\-control", "\\-\\-preset"] {
            assert!(page.contains(word), "{word}: {page}");
        }
        assert!(files.len() > 30, "{files:?}");
        assert!(!folder.join("man/man1/headwayctl-watchdog.1").exists());
        fs::remove_dir_all(folder).unwrap();
    }
}
