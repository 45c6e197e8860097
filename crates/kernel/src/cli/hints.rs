//! `headwayctl hints`

use std::path::PathBuf;

use clap::{Args, Subcommand};
use serde_json::json;

use super::at_device::print_list;
use super::change::Change;
use crate::error::Failure;
use crate::mechanisms::hints::{self, Prefix, PrefixDefault, TYPES};
use crate::mechanisms::paths::{self, Memory};
use crate::out::{self, say};

/// The shortest lifetime of a remembered path that a user may set. With a shorter lifetime, a path
/// would expire before the next connection could use it.
const LEAST_LIFETIME_NS: u64 = 1_000_000_000;

/// Hints that applications give about their connections, and defaults for destinations
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

/// Accept the socket options of include/headway.h, such as TCP_INITIAL_RATE
#[derive(Debug, Args)]
struct AttachCommand {
    /// Folder of the cgroup whose processes may use the socket options [the root cgroup]
    #[arg(long, value_name = "DIR")]
    cgroup: Option<PathBuf>,
    #[command(flatten)]
    change: Change,
}

/// Stop accepting the socket options, and delete the default hints of all prefixes; open
/// connections keep their hints
#[derive(Debug, Args)]
struct DetachCommand {
    /// Keep the default hints for prefixes
    #[arg(long)]
    keep_defaults: bool,
    #[command(flatten)]
    change: Change,
}

/// Set default hints for connections to a prefix, for applications that set no hints themselves
#[derive(Debug, Args)]
struct SetCommand {
    /// Destination: 10.0.0.0/8, 2001:db8::/32, an address, or default
    prefix: String,
    /// Initial rate, like 10mbit
    #[arg(long, required_unless_present = "application_type")]
    rate: Option<String>,
    /// Typical volume of a connection, like 1MB. With a known volume, the SYN can carry a
    /// Quick-Start request [unknown]
    #[arg(long, value_name = "SIZE")]
    volume: Option<String>,
    /// Application type: standard, responsive or lowpriority [standard]
    #[arg(long = "type", value_name = "TYPE")]
    application_type: Option<String>,
    #[command(flatten)]
    change: Change,
}

/// Delete the default hints of a prefix
#[derive(Debug, Args)]
struct UnsetCommand {
    /// Destination, as given to `hints set`
    prefix: String,
    #[command(flatten)]
    change: Change,
}

/// Remember the delivery rate and round-trip time that a connection measures on its path, for later
/// connections
#[derive(Debug, Args)]
struct RememberCommand {
    /// How long a remembered path is valid, like 10min
    lifetime: String,
    #[command(flatten)]
    change: Change,
}

/// Delete all remembered paths, and stop remembering paths
#[derive(Debug, Args)]
struct ForgetCommand {
    #[command(flatten)]
    change: Change,
}

/// Show which cgroups may use the socket options, how often the options were used, and all default
/// hints
#[derive(Debug, Args)]
struct ListCommand {
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(command: &HintsCommand) -> Result<(), Failure> {
    match &command.command {
        Command::Attach(command) => attach(command),
        Command::Detach(command) => detach(command),
        Command::Set(command) => set(command),
        Command::Unset(command) => {
            let prefix = Prefix::parse(&command.prefix)?;
            hints::unset_default(prefix, command.change.dry_run)?;
            command.change.report(
                &format!("{prefix} has no default"),
                &format!("delete the default of {prefix}"),
                json!({ "prefix": prefix.to_string() }),
            )
        }
        Command::Remember(command) => remember(command),
        Command::Forget(command) => {
            paths::remember(0, command.change.dry_run)?;
            let value = json!({ "lifetime_s": null });
            let change = command.change;
            change.report("paths are not remembered", "delete all paths", value)
        }
        Command::List(command) => list(command),
    }
}

fn attach(command: &AttachCommand) -> Result<(), Failure> {
    let place = hints::attach(command.cgroup.as_deref(), command.change.dry_run)?;
    command.change.report(
        &format!("accepting hints from the processes of {place}"),
        &format!("accept hints from the processes of {place}"),
        json!({ "cgroup": place }),
    )
}

fn detach(command: &DetachCommand) -> Result<(), Failure> {
    let dry_run = command.change.dry_run;
    let ended = hints::detach(command.keep_defaults, dry_run)?;
    if command.change.json {
        let value = json!({
            "cgroups": ended.places, "defaults": ended.defaults, "dry_run": dry_run
        });
        return out::json(&value);
    }
    for place in &ended.places {
        if dry_run {
            say!("would stop accepting hints from the processes of {place}");
        } else {
            say!("stopped accepting hints from the processes of {place}");
        }
    }
    for prefix in &ended.defaults {
        if dry_run {
            say!("would delete the default of {prefix}");
        } else {
            say!("{prefix} has no default");
        }
    }
    Ok(())
}

fn remember(command: &RememberCommand) -> Result<(), Failure> {
    let lifetime = &command.lifetime;
    let ns = headway_experiment::parse_time(lifetime)
        .map_err(|e| Failure::bad_input(format!("LIFETIME {e}")))?;
    if ns < LEAST_LIFETIME_NS {
        return Err(Failure::bad_input(format!(
            "LIFETIME \"{lifetime}\": must be 1s or more; to remember no paths, use `headwayctl \
             hints forget`"
        )));
    }
    paths::remember(ns, command.change.dry_run)?;
    command.change.report(
        &format!("remembering for {lifetime} what connections measure on their paths"),
        &format!("remember for {lifetime} what connections measure on their paths"),
        json!({ "lifetime_s": ns / 1_000_000_000 }),
    )
}

fn set(command: &SetCommand) -> Result<(), Failure> {
    let prefix = Prefix::parse(&command.prefix)?;
    let rate_bps = match &command.rate {
        Some(text) => stored_rate(text)?,
        None => 0,
    };
    let kind = match &command.application_type {
        None => 0,
        Some(name) => TYPES.iter().position(|t| t == name).ok_or_else(|| {
            Failure::bad_input(format!(
                "--type \"{name}\": must be one of {}",
                TYPES.join(", ")
            ))
        })?,
    };
    let volume_bytes = match &command.volume {
        Some(text) => headway_experiment::parse_positive_size(text)
            .map_err(|e| Failure::bad_input(format!("--volume {e}")))?,
        None => 0,
    };
    hints::set_default(
        prefix,
        rate_bps,
        volume_bytes,
        u8::try_from(kind).unwrap_or(0),
        command.change.dry_run,
    )?;
    let default = PrefixDefault {
        prefix: prefix.to_string(),
        rate_bps,
        volume_bytes: Some(volume_bytes).filter(|&bytes| bytes > 0),
        application_type: TYPES[kind],
    };
    let shown = describe(&default);
    command.change.report(
        &format!("{prefix}: {shown}"),
        &format!("make this the default of {prefix}: {shown}"),
        json!(default),
    )
}

/// Rounds a rate in bit/s down to whole bytes per second, the unit in which the eBPF map stores
/// rates.
fn stored_rate(text: &str) -> Result<u64, Failure> {
    let rate_bps = headway_experiment::parse_rate(text)
        .map_err(|e| Failure::bad_input(format!("--rate {e}")))?;
    match rate_bps / 8 {
        0 => Err(Failure::bad_input(format!(
            "--rate \"{text}\": must be 8 bit/s or more: rates are stored in bytes per second"
        ))),
        bytes => Ok(bytes * 8),
    }
}

fn describe(default: &PrefixDefault) -> String {
    let mut text = default.application_type.to_owned();
    text += &match default.rate_bps {
        0 => ", no initial rate".to_owned(),
        bps => format!(", initial rate {} Mbit/s", bps as f64 / 1e6),
    };
    if let Some(bytes) = default.volume_bytes {
        text += &format!(
            ", volume {}",
            headway_experiment::quantity::format_size_shortly(bytes)
        );
    }
    text
}

fn list(command: &ListCommand) -> Result<(), Failure> {
    let (hints, defaults) = (hints::status()?, hints::defaults());
    let memory = paths::memory();
    if command.json {
        return out::json(&json!({ "hints": hints, "defaults": defaults, "memory": memory }));
    }
    if hints.is_empty() && defaults.is_empty() && memory.lifetime_s.is_none() {
        say!("no hints are accepted, and no prefix has a default");
    }
    print(&hints, &defaults);
    print_memory(&memory);
    Ok(())
}

fn print_memory(memory: &Memory) {
    let Some(lifetime_s) = memory.lifetime_s else {
        return;
    };
    say!("paths are remembered for {lifetime_s} s");
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
        say!("  {}: {what}, {} s ago", path.destination, path.age_s);
    }
}

/// Prints the cgroups whose hints are accepted, and the default hints; also used by `status`.
pub(super) fn print(hints: &[hints::Hints], defaults: &[PrefixDefault]) {
    for entry in hints {
        say!(
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
            say!("  this kernel reports only the first piece of a large write");
        }
    }
    for entry in defaults {
        say!("hint for {}: {}", entry.prefix, describe(entry));
    }
}
