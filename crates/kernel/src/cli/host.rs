//! `headwayctl host`

use clap::{Args, Subcommand};

use super::at_device::{print_list, AtDevice};
use super::error::CliError;
use crate::quick_start::{self, Host};
use crate::testbed::units;

/// What a host does at a device of its own
#[derive(Debug, Args)]
pub struct HostCommand {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    QuickStart(QuickStartCommand),
}

/// Ask for rates, and answer those who ask (RFC 4782); `detach --dev` ends it
#[derive(Debug, Args)]
struct QuickStartCommand {
    #[command(flatten)]
    at: AtDevice,
    /// Highest rate granted as receiver, like 100mbit [any]
    #[arg(long, value_name = "RATE")]
    at_most: Option<String>,
}

pub(super) fn run(command: &HostCommand) -> Result<(), CliError> {
    let Command::QuickStart(command) = &command.command;
    let code = match &command.at_most {
        None => 15,
        Some(text) => {
            let rate_bps =
                units::rate_bps(text).map_err(|e| CliError::bad_input(format!("--at-most {e}")))?;
            headway_algorithms::quick_start::code_down(rate_bps / 8)
        }
    };
    let device = command.at.find()?;
    quick_start::attach_host(&device, code)?;
    println!(
        "the host behind {} takes part in Quick-Start",
        device.place()
    );
    Ok(())
}

/// As `status` shows it.
pub(super) fn print(hosts: &[Host]) {
    for host in hosts {
        println!(
            "{}  host of Quick-Start{}",
            host.place,
            if host.complete {
                ""
            } else {
                "  (incomplete: attach or detach it again)"
            }
        );
        print_list("counters", &host.counters);
        for remark in &host.remarks {
            println!("  {remark}");
        }
    }
}
