//! `headwayctl host`

use clap::{Args, Subcommand};

use super::at_device::{print_list, AtDevice};
use super::error::CliError;
use crate::quick_start::{self, Host};
use crate::testbed::units;
use crate::window::{self, FirstWindow};

/// What a host does at a device of its own
#[derive(Debug, Args)]
pub struct HostCommand {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    QuickStart(QuickStartCommand),
    Window(WindowCommand),
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

/// Let connections begin with larger windows than TCP's header or receiver say (thesis
/// 5.2); before `host quick-start` at the same device; `detach --dev` ends it
#[derive(Debug, Args)]
struct WindowCommand {
    #[command(flatten)]
    at: AtDevice,
    /// Send an ACK with this window right after every SYN-ACK, like 1MB
    #[arg(long, value_name = "SIZE", required_unless_present = "ignore_peer")]
    extra_ack: Option<String>,
    /// Until the first data is acknowledged take a peer's window to be this large
    #[arg(long, value_name = "SIZE")]
    ignore_peer: Option<String>,
}

/// What TCP's largest scale allows.
const LARGEST_WINDOW_BYTES: u64 = 65_535 << 14;

/// 0 where there is none.
fn window_bytes(name: &str, text: Option<&str>) -> Result<u32, CliError> {
    match text.map(units::buffer) {
        None => Ok(0),
        Some(Ok(units::Buffer::Bytes(bytes))) if (1..=LARGEST_WINDOW_BYTES).contains(&bytes) => {
            Ok(u32::try_from(bytes).unwrap_or(0))
        }
        Some(_) => Err(CliError::bad_input(format!(
            "{name} \"{}\": must be a number of bytes up to {LARGEST_WINDOW_BYTES}, like 64kB or 1MB",
            text.unwrap_or_default()
        ))),
    }
}

pub(super) fn run(command: &HostCommand) -> Result<(), CliError> {
    match &command.command {
        Command::QuickStart(command) => quick_start(command),
        Command::Window(command) => {
            let own = window_bytes("--extra-ack", command.extra_ack.as_deref())?;
            let peer = window_bytes("--ignore-peer", command.ignore_peer.as_deref())?;
            let device = command.at.find()?;
            window::attach(&device, own, peer)?;
            println!(
                "connections at {} begin with larger windows",
                device.place()
            );
            Ok(())
        }
    }
}

/// As `status` shows it.
pub(super) fn print_windows(devices: &[FirstWindow]) {
    for device in devices {
        println!(
            "{}  first windows: {}{}",
            device.place,
            [
                device.own_bytes.map(|n| format!("extra ACK of {n} bytes")),
                device
                    .peer_bytes
                    .map(|n| format!("the peer's taken as {n} bytes")),
            ]
            .into_iter()
            .flatten()
            .collect::<Vec<_>>()
            .join(", "),
            if device.complete {
                ""
            } else {
                "  (incomplete: attach or detach it again)"
            }
        );
        print_list("counters", &device.counters);
    }
}

fn quick_start(command: &QuickStartCommand) -> Result<(), CliError> {
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
