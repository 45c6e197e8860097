//! `headwayctl hints`

use std::path::PathBuf;

use clap::{Args, Subcommand};
use serde_json::json;

use super::at_device::print_list;
use super::error::CliError;
use super::print_json;
use crate::hints::{self, Prefix, PrefixDefault, TYPES};
use crate::paths::{self, Memory};
use crate::testbed::units;

/// Shorter, and nothing would be there when it is needed.
const LEAST_LIFETIME_NS: u64 = 1_000_000_000;

/// What applications tell of their connections, and defaults for those that do not
#[derive(Debug, Args)]
pub struct HintsCommand {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Attach(AttachCommand),
    Detach(DetachCommand),
    Set(SetCommand),
    Unset(UnsetCommand),
    Remember(RememberCommand),
    Forget(ForgetCommand),
    List(ListCommand),
}

/// Take the socket options of include/headway.h: TCP_INITIAL_RATE and the others
#[derive(Debug, Args)]
struct AttachCommand {
    /// Folder of the cgroup whose processes may use them [the machine's]
    #[arg(long, value_name = "DIR")]
    cgroup: Option<PathBuf>,
}

/// Take them no more; connections keep what they were given
#[derive(Debug, Args)]
struct DetachCommand {}

/// Set what connections to a prefix do that say nothing themselves
#[derive(Debug, Args)]
struct SetCommand {
    /// 10.0.0.0/8, 2001:db8::/32, an address, or default
    prefix: String,
    /// Rate to start at, like 10mbit
    #[arg(long, required_unless_present = "application_type")]
    rate: Option<String>,
    /// What they carry as a rule, like 1MB; a request for a rate can then go with the
    /// handshake [not known]
    #[arg(long, value_name = "SIZE")]
    volume: Option<String>,
    /// standard, responsive or lowpriority [standard]
    #[arg(long = "type", value_name = "TYPE")]
    application_type: Option<String>,
}

/// Forget the default of a prefix
#[derive(Debug, Args)]
struct UnsetCommand {
    /// As it was set
    prefix: String,
}

/// Remember what connections find out of their paths, for those that come later
#[derive(Debug, Args)]
struct RememberCommand {
    /// How long it is good for, like 10min
    lifetime: String,
}

/// Forget all of it, and remember nothing more
#[derive(Debug, Args)]
struct ForgetCommand {}

/// Show where options are taken, how often they were used, and all defaults
#[derive(Debug, Args)]
struct ListCommand {
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(command: &HintsCommand) -> Result<(), CliError> {
    match &command.command {
        Command::Attach(command) => {
            let place = hints::attach(command.cgroup.as_deref())?;
            println!("taking hints from the processes of {place}");
        }
        Command::Detach(_) => {
            for place in hints::detach()? {
                println!("no more hints from the processes of {place}");
            }
        }
        Command::Set(command) => set(command)?,
        Command::Unset(command) => {
            let prefix = Prefix::parse(&command.prefix)?;
            hints::unset_default(prefix)?;
            println!("{prefix} has no default");
        }
        Command::Remember(command) => remember(&command.lifetime)?,
        Command::Forget(_) => {
            paths::remember(0)?;
            println!("paths are not remembered");
        }
        Command::List(command) => list(command)?,
    }
    Ok(())
}

fn remember(lifetime: &str) -> Result<(), CliError> {
    let ns = units::time_ns(lifetime).map_err(|e| CliError::bad_input(format!("LIFETIME {e}")))?;
    if ns < LEAST_LIFETIME_NS {
        return Err(CliError::bad_input(format!(
            "LIFETIME \"{lifetime}\": must be 1s or more, or use `headwayctl hints forget`"
        )));
    }
    paths::remember(ns)?;
    println!("what connections find out of their paths is good for {lifetime}");
    Ok(())
}

fn set(command: &SetCommand) -> Result<(), CliError> {
    let prefix = Prefix::parse(&command.prefix)?;
    let rate_bps = match &command.rate {
        Some(text) => {
            units::rate_bps(text).map_err(|e| CliError::bad_input(format!("--rate {e}")))?
        }
        None => 0,
    };
    let kind = match &command.application_type {
        None => 0,
        Some(name) => TYPES.iter().position(|t| t == name).ok_or_else(|| {
            CliError::bad_input(format!(
                "--type \"{name}\": must be one of {}",
                TYPES.join(", ")
            ))
        })?,
    };
    let volume_bytes = match command.volume.as_deref().map(units::buffer) {
        None => 0,
        Some(Ok(units::Buffer::Bytes(bytes))) if bytes > 0 => bytes,
        Some(_) => {
            return Err(CliError::bad_input(format!(
                "--volume \"{}\": must be a number of bytes like 60000, 64kB or 1MB",
                command.volume.as_deref().unwrap_or_default()
            )))
        }
    };
    hints::set_default(
        prefix,
        rate_bps,
        volume_bytes,
        u8::try_from(kind).unwrap_or(0),
    )?;
    println!("{prefix}: {}", describe(rate_bps, TYPES[kind]));
    Ok(())
}

fn describe(rate_bps: u64, kind: &str) -> String {
    if rate_bps == 0 {
        format!("{kind}, no initial rate")
    } else {
        format!("{kind}, initial rate {} Mbit/s", rate_bps as f64 / 1e6)
    }
}

fn list(command: &ListCommand) -> Result<(), CliError> {
    let (hints, defaults) = (hints::status()?, hints::defaults());
    let memory = paths::memory();
    if command.json {
        return print_json(&json!({ "hints": hints, "defaults": defaults, "memory": memory }));
    }
    if hints.is_empty() && defaults.is_empty() && memory.lifetime_s.is_none() {
        println!("no hints are taken, and no prefix has a default");
    }
    print(&hints, &defaults);
    print_memory(&memory);
    Ok(())
}

fn print_memory(memory: &Memory) {
    let Some(lifetime_s) = memory.lifetime_s else {
        return;
    };
    println!("paths are remembered for {lifetime_s} s");
    for path in &memory.paths {
        let what = match (path.rate_bps, path.min_rtt_us) {
            (Some(bps), Some(us)) => format!(
                "{} Mbit/s, {} packets in {} ms",
                bps as f64 / 1e6,
                path.cwnd_pkts,
                f64::from(us) / 1e3
            ),
            _ => "in use".to_owned(),
        };
        println!("  {}: {what}, {} s ago", path.destination, path.age_s);
    }
}

/// As `status` shows it too.
pub(super) fn print(hints: &[hints::Hints], defaults: &[PrefixDefault]) {
    for entry in hints {
        println!(
            "hints from the processes of {}{}",
            entry.cgroup,
            if entry.pinned {
                ""
            } else {
                "  kept by a process"
            }
        );
        print_list("counters", &entry.counters);
        if !entry.sees_writes {
            println!("  of a large write its first piece only: this kernel tells of no more");
        }
    }
    for entry in defaults {
        println!(
            "hint for {}: {}",
            entry.prefix,
            describe(entry.rate_bps, entry.application_type)
        );
    }
}
