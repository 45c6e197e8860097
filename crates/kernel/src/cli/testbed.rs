//! `headwayctl testbed`

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, Subcommand};
use headway_emulator::{Path, Summary};
use serde_json::json;

use super::change::Change;
use crate::error::Failure;
use crate::out::{self, say};
use crate::system::processes::be_prompt;
use crate::testbed::{self, LinkOptions, Spec, State, DEFAULT_NAME};

/// Create and use testbeds: hosts in network namespaces that an emulated link connects
#[derive(Debug, Args)]
pub struct TestbedCommand {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Up(Box<UpCommand>),
    Exec(ExecCommand),
    Begin(BeginCommand),
    Status(StatusCommand),
    Down(DownCommand),
    Emulator(EmulatorCommand),
}

/// Create a testbed: left1, left2, ... reach right1, right2, ... through the link
#[derive(Debug, Args)]
struct UpCommand {
    /// Name of the testbed
    #[arg(long, default_value = DEFAULT_NAME)]
    name: String,
    /// Predefined path: dsl, lte, geo-satellite, geo-gateway or transatlantic. Servers are on the
    /// left, the user is on the right
    #[arg(long)]
    preset: Option<String>,
    /// File that describes both directions, as JSON: {"forward": {"link": ..., "vary": ...},
    /// "reverse": ..., "ground": {"forward", "reverse"} before a gateway, "further": [...] and
    /// "routes": [...] of a network, "seed", "extra_delay_ns": [...], "access_rate_bps", "capture",
    /// "late_threshold_ns", "spin_ns", "spin_share", "real_time"}
    #[arg(long, value_name = "FILE", conflicts_with_all = [
        "preset", "rate", "reverse_rate", "rtt", "buffer", "loss", "aqm", "vary",
        "reverse_vary", "seed", "capture"])]
    config: Option<PathBuf>,
    /// Take the links, the access links and the seed from this file, which is the JSON of a Python
    /// Experiment. In a network, the first flow's packets travel between left1 and right1 over the
    /// flow's route, those of the second flow between left2 and right2, and so on
    #[arg(long, value_name = "FILE", conflicts_with_all = [
        "config", "preset", "rate", "reverse_rate", "rtt", "buffer", "loss", "aqm", "vary",
        "reverse_vary", "seed"])]
    experiment: Option<PathBuf>,
    /// Rate of the link in both directions, like 10mbit [without preset: 10mbit]
    #[arg(long)]
    rate: Option<String>,
    /// Rate of the link from right to left [--rate]
    #[arg(long, value_name = "RATE")]
    reverse_rate: Option<String>,
    /// Base round-trip time, like 50ms [without preset: 50ms]
    #[arg(long)]
    rtt: Option<String>,
    /// Limit of the queue in each direction, like 1bdp, 60000B, 64kB or 100pkts [without preset:
    /// 1bdp]
    #[arg(long)]
    buffer: Option<String>,
    /// Random loss in each direction, like 1% [none]
    #[arg(long)]
    loss: Option<String>,
    /// Active queue management of both queues with its tunables, like red:ecn=on [drop-tail]
    #[arg(long)]
    aqm: Option<String>,
    /// Vary the link from left to right: schedule:FILE or mahimahi:FILE
    #[arg(long, value_name = "KIND:FILE")]
    vary: Option<String>,
    /// Vary the link from right to left, like --vary
    #[arg(long, value_name = "KIND:FILE")]
    reverse_vary: Option<String>,
    /// Seed of the link's random numbers [1]
    #[arg(long)]
    seed: Option<u64>,
    /// Capture the packets of both directions, as the hosts on the left see them, into this file
    /// (pcapng)
    #[arg(long, value_name = "FILE")]
    capture: Option<PathBuf>,
    /// Number of hosts on each side
    #[arg(long, default_value_t = 1, value_name = "K")]
    hosts: u32,
    /// Default congestion control of all hosts: one of the kernel's own, or one of Headway's as
    /// CONTROL[+STARTUP][:TUNABLE=VALUE]... One of Headway's stays attached until `testbed down`
    #[arg(long, default_value = "cubic")]
    control: String,
    /// Default congestion control of the gateway in preset geo-gateway [--control]
    #[arg(long, value_name = "CONTROL")]
    gateway_control: Option<String>,
    /// Set a sysctl in all hosts' namespaces, like net.ipv4.tcp_sack=0; can be repeated
    #[arg(long, value_name = "NAME=VALUE")]
    sysctl: Vec<String>,
    /// Folder for a log with a row for every packet of the emulated link
    #[arg(long, value_name = "DIR")]
    log: Option<PathBuf>,
    /// Only print what the command would change
    #[arg(long)]
    dry_run: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Run a program on a host
#[derive(Debug, Args)]
struct ExecCommand {
    /// Name of the testbed [the only testbed]
    #[arg(long)]
    name: Option<String>,
    /// Run the program with real-time priority. Use this only if the emulated link leaves a core
    /// idle
    #[arg(long)]
    real_time: bool,
    /// Host: left1, right1, ...
    host: String,
    /// The program to run and its arguments, after --
    #[arg(last = true, required = true)]
    command: Vec<OsString>,
}

/// Start the schedules and traces of --vary, now or at a given time
#[derive(Debug, Args)]
struct BeginCommand {
    /// Name of the testbed [the only testbed]
    name: Option<String>,
    /// Time in nanoseconds of CLOCK_MONOTONIC, which may be in the future [now]
    #[arg(long, value_name = "NS")]
    at: Option<u64>,
    #[command(flatten)]
    change: Change,
}

/// Show all testbeds, and how late their links sent packets
#[derive(Debug, Args)]
struct StatusCommand {
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Remove a testbed and all programs that run in it
#[derive(Debug, Args)]
struct DownCommand {
    /// Name of the testbed [the only testbed]
    #[arg(conflicts_with = "all")]
    name: Option<String>,
    /// Remove all testbeds, including the remains of those whose command was killed
    #[arg(long)]
    all: bool,
    /// Only print what the command would change
    #[arg(long)]
    dry_run: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Run the emulator of a testbed; only `testbed up` calls this command
#[derive(Debug, Args)]
#[command(hide = true)]
struct EmulatorCommand {
    name: String,
    #[arg(long)]
    lock_fd: i32,
}

pub(super) fn run(command: &TestbedCommand) -> Result<(), Failure> {
    match &command.command {
        Command::Up(command) => up(command),
        Command::Exec(command) => {
            let name = command.name.as_deref();
            if command.real_time {
                be_prompt(true);
            }
            match testbed::exec(name, &command.host, &command.command)? {}
        }
        Command::Begin(command) => begin(command),
        Command::Status(command) => status(command),
        Command::Down(command) => down(command),
        Command::Emulator(command) => testbed::run_emulator(&command.name, command.lock_fd),
    }
}

fn begin(command: &BeginCommand) -> Result<(), Failure> {
    let name = match &command.name {
        Some(name) => name.clone(),
        None => testbed::only_name()?,
    };
    let at_ns = command.at.unwrap_or_else(headway_emulator::monotonic_ns);
    testbed::begin(&name, at_ns, command.change.dry_run)?;
    command.change.report(
        &format!("schedules and traces of {name} start at {at_ns} ns"),
        &format!("start schedules and traces of {name} at {at_ns} ns"),
        json!({ "name": name, "at_ns": at_ns }),
    )
}

fn up(command: &UpCommand) -> Result<(), Failure> {
    let links = LinkOptions {
        preset: command.preset.clone(),
        config: command.config.clone(),
        experiment: command.experiment.clone(),
        rate: command.rate.clone(),
        reverse_rate: command.reverse_rate.clone(),
        rtt: command.rtt.clone(),
        buffer: command.buffer.clone(),
        loss: command.loss.clone(),
        aqm: command.aqm.clone(),
        vary: command.vary.clone(),
        reverse_vary: command.reverse_vary.clone(),
        seed: command.seed,
        capture: command.capture.clone(),
    };
    let mut spec = Spec::new(
        &command.name,
        &links,
        command.hosts,
        &command.control,
        &command.sysctl,
        command.log.clone(),
    )?;
    if let Some(control) = &command.gateway_control {
        spec.set_gateway_control(control)?;
    }
    if command.dry_run {
        let steps = testbed::plan(&spec)?;
        if command.json {
            return out::json(&json!({ "steps": steps, "config": spec.config }));
        }
        steps.iter().for_each(|step| say!("would {step}"));
        return Ok(());
    }
    let state = testbed::up(&spec)?;
    if command.json {
        return out::json(&state);
    }
    print_state(&state);
    let right = state.host("right1")?;
    say!(
        "  headwayctl testbed exec --name {} left1 -- ping {}",
        state.name,
        right.address
    );
    Ok(())
}

fn print_state(state: &State) {
    say!(
        "testbed {}, congestion control {}{}",
        state.name,
        state.control,
        if state.attached_control.is_some() {
            " (attached for it)"
        } else {
            ""
        }
    );
    for (config, title) in [
        (Some(&state.config), ""),
        (state.ground.as_ref(), "before the gateway, "),
    ] {
        let Some(config) = config else { continue };
        if !config.is_network() {
            print_path(&config.forward, &format!("{title}left to right"));
            print_path(&config.reverse, &format!("{title}right to left"));
        } else {
            for (number, path) in config.paths().enumerate() {
                print_path(path, &config.link_name(number));
            }
        }
    }
    for host in &state.hosts {
        say!(
            "  {}  {}  namespace {}{}",
            host.name,
            host.address,
            host.namespace,
            match state.control_of(host) {
                control if control == state.control => String::new(),
                control => format!(", congestion control {control}"),
            }
        );
    }
}

fn print_path(path: &Path, direction: &str) {
    let link = &path.link;
    let room = match (link.limit_bytes, link.limit_pkts) {
        (Some(bytes), _) => format!("{bytes} bytes"),
        (None, Some(pkts)) => format!("{pkts} packets"),
        (None, None) => "no limit".into(),
    };
    let rate = match path.vary {
        None => format!("{} Mbit/s", link.rate_bps as f64 / 1e6),
        Some(_) => "rate from a file".into(),
    };
    say!(
        "  {direction}: {rate}, {} ms, {} of {room}, loss {} %",
        link.delay_ns as f64 / 1e6,
        link.aqm.name,
        link.loss * 100.0
    );
}

fn print_summary(summary: &Summary) {
    let ms = |ns: Option<u64>| ns.map_or("-".into(), |ns| format!("{:.3}", ns as f64 / 1e6));
    for direction in &summary.directions {
        say!(
            "  {}: {} packets arrived, {} dropped, {} delivered; late by 99 % {} ms, at most {} ms",
            direction.name,
            direction.arrived_pkts,
            direction.dropped_pkts,
            direction.delivered_pkts,
            ms(direction.departure_error.p99_ns),
            ms(direction.departure_error.max_ns)
        );
    }
    for warning in &summary.warnings {
        say!("  warning: {warning}");
    }
}

fn status(command: &StatusCommand) -> Result<(), Failure> {
    let (testbeds, leftovers) = testbed::status();
    if command.json {
        return out::json(&json!({ "testbeds": testbeds, "leftovers": leftovers }));
    }
    if testbeds.is_empty() && leftovers.is_empty() {
        say!("there is no testbed");
    }
    for testbed in &testbeds {
        print_state(&testbed.state);
        if !testbed.alive {
            let name = &testbed.state.name;
            say!("  not running; `headwayctl testbed down {name}` removes what is left");
        }
        testbed.summary.iter().for_each(print_summary);
    }
    for leftover in &leftovers {
        say!("{leftover} was left behind; `headwayctl testbed down --all` removes it");
    }
    Ok(())
}

fn down(command: &DownCommand) -> Result<(), Failure> {
    let only = match &command.name {
        None if !command.all => Some(testbed::only_name()?),
        _ => None,
    };
    let name = command.name.as_deref().or(only.as_deref());
    let removed = testbed::down(name, command.dry_run)?;
    if command.json {
        return out::json(&json!({ "removed": removed }));
    }
    if removed.is_empty() {
        say!("there is no testbed");
    }
    let verb = if command.dry_run {
        "would remove"
    } else {
        "removed"
    };
    for testbed in &removed {
        say!("{verb} testbed {}", testbed.name);
        for control in [&testbed.detached, &testbed.detached_of_gateway]
            .into_iter()
            .flatten()
        {
            let verb = if command.dry_run {
                "would detach"
            } else {
                "detached"
            };
            say!("{verb} {control}");
        }
        testbed.summary.iter().for_each(print_summary);
    }
    Ok(())
}
