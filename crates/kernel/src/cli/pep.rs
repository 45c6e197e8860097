//! `headwayctl pep`

use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use clap::{Args, Subcommand};
use headway_experiment::{parse_positive_size, parse_positive_time, parse_rate, parse_time};
use headway_pep::control::{self, Status};
use headway_pep::{
    Config, ConnectionStatus, DescriptorTables, Journal, LegStatus, Manager, Side, Totals,
};
use serde_json::json;

use super::background::{self, Forked};
use super::change::Change;
use super::proxies::{self, Ended};
use super::stop::on_signals;
use crate::error::{Attempt as _, Failure};
use crate::out::{self, say};
use crate::system::rundir;

/// Run and stop transparent split-TCP proxies, which use separate congestion controls and buffers
/// towards clients and servers
#[derive(Debug, Args)]
pub struct PepCommand {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Run(Box<RunCommand>),
    Status(StatusCommand),
    Stop(StopCommand),
}

/// Split the TCP connections that arrive at clients' devices and leave by servers' devices, until
/// SIGTERM, SIGINT or `pep stop`
#[derive(Debug, Args)]
struct RunCommand {
    /// Name of the proxy
    #[arg(long, default_value = "pep")]
    name: String,
    /// Network device that leads to clients; can be repeated
    #[arg(long, value_name = "DEVICE", required = true)]
    client_dev: Vec<String>,
    /// Network device that leads to servers; can be repeated
    #[arg(long, value_name = "DEVICE", required = true)]
    server_dev: Vec<String>,
    /// Congestion control towards clients, by its name in the kernel [the namespace's default]
    #[arg(long, value_name = "CONTROL")]
    client_cc: Option<String>,
    /// Congestion control towards servers, by its name in the kernel [the namespace's default]
    #[arg(long, value_name = "CONTROL")]
    server_cc: Option<String>,
    /// Send and receive buffer of each connection to a client, like 4MB. Or the rate and round-trip
    /// time of the path to clients, like 50mbit,600ms, for buffers of two bandwidth-delay products
    /// [kernel autotuning]
    #[arg(long, value_name = "SIZE|RATE,RTT", value_parser = buffer)]
    client_buffer: Option<u64>,
    /// Send and receive buffer of each connection to a server, like --client-buffer
    #[arg(long, value_name = "SIZE|RATE,RTT", value_parser = buffer)]
    server_buffer: Option<u64>,
    /// Number of worker threads; each runs one event loop [one per core]
    #[arg(long, value_name = "COUNT")]
    workers: Option<usize>,
    /// Size of each pipe through which the proxy splices data between two connections, like 1MiB
    #[arg(long, value_name = "SIZE", value_parser = size, default_value = "1MiB")]
    pipe_bytes: u64,
    /// Maximum number of connections; further connections bypass the proxy [10000, or a quarter of
    /// the descriptors that the proxy may open]
    #[arg(long, value_name = "COUNT")]
    max_connections: Option<usize>,
    /// Limit for the memory that all TCP sockets use; while they use more, new connections bypass
    /// the proxy [half of the machine's memory]
    #[arg(long, value_name = "SIZE", value_parser = size)]
    max_memory: Option<u64>,
    /// Reset connections that transfer no data for this long
    #[arg(long, value_name = "TIME", value_parser = time, default_value = "125min")]
    idle_timeout: Duration,
    /// Give up connecting to a server that does not answer for this long
    #[arg(long, value_name = "TIME", value_parser = time, default_value = "60s")]
    handshake_timeout: Duration,
    /// Complete the handshake with the client only after the handshake with the server. Then a
    /// connection that the server refuses also fails for the client
    #[arg(long)]
    confirm: bool,
    /// Append a JSON line for each ended connection to FILE [stderr]
    #[arg(long, value_name = "FILE", num_args = 0..=1)]
    log_connections: Option<Option<PathBuf>>,
    /// Serve counters for Prometheus (GET /metrics) at a port of 127.0.0.1 or another loopback
    /// address
    #[arg(long, value_name = "[ADDRESS:]PORT", value_parser = loopback)]
    metrics: Option<SocketAddr>,
    /// How long open connections may continue after the proxy gets a signal or `pep stop`
    #[arg(long, value_name = "TIME", value_parser = time, default_value = "30s")]
    drain_timeout: Duration,
    /// Firewall mark of intercepted packets, and number of the proxy's routing table. The next
    /// number is the mark of packets that the proxy sends
    #[arg(long, default_value_t = 18_519)]
    mark: u32,
    /// Replace a running proxy of this name. The old proxy keeps its connections until they end,
    /// for at most --drain-timeout; this proxy gets new connections
    #[arg(long)]
    replace: bool,
    /// Run in a background process, and return when the proxy accepts connections
    #[arg(long)]
    background: bool,
    /// User as which the proxy runs if root starts it [headway-pep if that user exists, else
    /// nobody]
    #[arg(long, value_name = "NAME")]
    user: Option<String>,
    #[command(flatten)]
    change: Change,
}

/// Show proxies, their connections and their counters
#[derive(Debug, Args)]
struct StatusCommand {
    /// Name of the proxy [all]
    #[arg(long)]
    name: Option<String>,
    /// Also list every connection
    #[arg(long)]
    connections: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Stop a proxy. The proxy accepts no new connections, and exits when all open connections have
/// ended. If the proxy was killed, this command removes its firewall rules
#[derive(Debug, Args)]
struct StopCommand {
    /// Name of the proxy [the only proxy]
    name: Option<String>,
    /// Reset connections that are still open after this time, like 0s [the proxy's --drain-timeout]
    #[arg(long, value_name = "TIME", value_parser = time_or_none)]
    within: Option<Duration>,
    #[command(flatten)]
    change: Change,
}

fn size(text: &str) -> Result<u64, String> {
    parse_positive_size(text).map_err(|e| e.to_string())
}

/// Size of a buffer in bandwidth-delay products of its path: one for the data in flight, and one
/// for the data that arrives between a lost packet and its retransmission.
const BDPS: u64 = 2;

/// Parses the size of a socket buffer: either the size itself, or the rate and round-trip time of a
/// path. Returns bytes.
fn buffer(text: &str) -> Result<u64, String> {
    let Some((rate, rtt)) = text.split_once(',') else {
        return size(text);
    };
    let rate_bps = parse_rate(rate).map_err(|e| e.to_string())?;
    let rtt_ns = parse_positive_time(rtt).map_err(|e| e.to_string())?;
    let bytes = u128::from(BDPS * rate_bps / 8) * u128::from(rtt_ns) / 1_000_000_000;
    u64::try_from(bytes).map_err(|_| "must be less".to_owned())
}

/// Parses an address and port. `Config::check` later checks that the address is a loopback address.
fn loopback(text: &str) -> Result<SocketAddr, String> {
    let port = text
        .parse::<u16>()
        .map(|port| (Ipv4Addr::LOCALHOST, port).into());
    port.or_else(|_| text.parse())
        .map_err(|_| "must be a port, or an address and a port like 127.0.0.1:9469".to_owned())
}

fn time(text: &str) -> Result<Duration, String> {
    let ns = parse_positive_time(text).map_err(|e| e.to_string())?;
    Ok(Duration::from_nanos(ns))
}

fn time_or_none(text: &str) -> Result<Duration, String> {
    let ns = parse_time(text).map_err(|e| e.to_string())?;
    Ok(Duration::from_nanos(ns))
}

pub(super) fn run(command: &PepCommand) -> Result<(), Failure> {
    match &command.command {
        Command::Run(command) => work(command),
        Command::Status(command) => status(command),
        Command::Stop(command) => stop(command),
    }
}

fn configuration(command: &RunCommand) -> Result<Config, Failure> {
    let to_size = |bytes: u64| usize::try_from(bytes).unwrap_or(usize::MAX);
    let side = |devices: &[String], control: &Option<String>, buffer: Option<u64>| Side {
        devices: devices.to_vec(),
        control: control.clone(),
        buffer_bytes: buffer.map(to_size),
    };
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let workers = command.workers.unwrap_or(cores);
    let tables = DescriptorTables::of(workers, command.confirm);
    let max_memory_bytes = match command.max_memory {
        Some(bytes) => bytes,
        None => half_of_memory()?,
    };
    Ok(Config {
        name: command.name.clone(),
        scope: rundir::scope()?,
        folder: proxies::folder(),
        client: side(
            &command.client_dev,
            &command.client_cc,
            command.client_buffer,
        ),
        server: side(
            &command.server_dev,
            &command.server_cc,
            command.server_buffer,
        ),
        workers,
        pipe_bytes: to_size(command.pipe_bytes),
        max_connections: command
            .max_connections
            .unwrap_or_else(|| tables.default_connections()),
        max_memory_bytes,
        idle_timeout: command.idle_timeout,
        handshake_timeout: command.handshake_timeout,
        confirm: command.confirm,
        journal: command.log_connections.clone().map(|file| match file {
            Some(path) => Journal::File(path),
            None => Journal::Stderr,
        }),
        metrics: command.metrics,
        drain_timeout: command.drain_timeout,
        mark: command.mark,
        replace: command.replace,
        user: command.user.clone(),
    })
}

fn half_of_memory() -> Result<u64, Failure> {
    let text = std::fs::read_to_string("/proc/meminfo").attempt("read /proc/meminfo")?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemTotal:"));
    let kib = line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<u64>().ok());
    let kib = kib.ok_or_else(|| Failure::failed("/proc/meminfo has no MemTotal"))?;
    Ok(kib * 1024 / 2)
}

fn work(command: &RunCommand) -> Result<(), Failure> {
    let config = configuration(command)?;
    let Change { dry_run, json } = command.change;
    if dry_run {
        let table = headway_pep::plan(&config)?;
        if json {
            return out::json(&json!({ "dry_run": true, "name": config.name, "nftables": table }));
        }
        say!(
            "would run proxy {}, route packets with mark {} to it, and add:",
            config.name,
            config.mark
        );
        say!("{}", table.trim_end());
        return Ok(());
    }
    let manager = Manager::find()?.map(Arc::new);
    let parent = match command.background {
        false => None,
        true => match background::fork()? {
            Forked::Parent(process) => return wait_for(process, manager.as_deref()),
            Forked::Child(parent) => Some(parent),
        },
    };
    let stop = on_signals()?;
    let mut told = Ok(());
    let told_later = manager.clone();
    let totals = headway_pep::run(config, stop, told_later, |status| {
        let line = takes(status);
        if json {
            told = out::json(status);
        } else {
            say!("proxy {} {line}", status.name);
        }
        out::flush(); // flush, because a script may read this line from a pipe and wait for it
        match (parent, manager) {
            (Some(parent), _) => parent.release(&line),
            (None, Some(manager)) => manager.notify_ready(status.pid, &line),
            (None, None) => {}
        }
    })?;
    told?;
    if json {
        return out::json(&totals);
    }
    print_totals(&totals);
    Ok(())
}

fn takes(status: &Status) -> String {
    format!(
        "takes {} from {} to {}",
        status.families.join(" and "),
        status.client_devices.join(", "),
        status.server_devices.join(", ")
    )
}

/// Waits until the background proxy is ready, and notifies the service manager (systemd). The
/// manager accepts notifications only from the process that it started.
fn wait_for(process: background::Child, manager: Option<&Manager>) -> Result<(), Failure> {
    let pid = process.pid();
    let line = process.wait()?;
    if let Some(manager) = manager {
        manager.notify_ready(pid, &line);
    }
    Ok(())
}

fn status(command: &StatusCommand) -> Result<(), Failure> {
    let proxies = proxies::find(command.name.as_deref(), command.connections)?;
    if command.json {
        return out::json(&proxies);
    }
    if proxies.is_empty() {
        say!("no proxy is running");
    }
    for proxy in &proxies.running {
        print(proxy);
    }
    proxies.print_killed();
    Ok(())
}

fn print(proxy: &Status) {
    say!(
        "{}  {}  process {}, {} s, {} workers",
        proxies::headline(proxy),
        proxies::taking(proxy.taking),
        proxy.pid,
        proxy.uptime_s,
        proxy.workers
    );
    let control = |name: &Option<String>| name.clone().unwrap_or_else(|| "the default".to_owned());
    say!(
        "  {}; control to clients {}, to servers {}",
        proxy.families.join(" and "),
        control(&proxy.client_control),
        control(&proxy.server_control)
    );
    say!(
        "  {} of {} connections, {} of {} of memory, {} in {} pipes",
        proxy.open,
        proxy.max_connections,
        megabytes(proxy.memory_bytes),
        megabytes(proxy.max_memory_bytes),
        megabytes(proxy.held_bytes),
        proxy.pipes
    );
    if proxy.held > 0 {
        say!("  waiting for their servers: {} clients", proxy.held);
    }
    if let Some(bypassed) = proxy.bypassed {
        say!("  bypassed the proxy: {bypassed} first packets");
    }
    print_totals(&proxy.totals);
    for connection in proxy.connections.iter().flatten() {
        print_connection(connection);
    }
}

fn megabytes(bytes: u64) -> String {
    format!("{:.1} MB", bytes as f64 / 1e6)
}

fn print_totals(totals: &Totals) {
    let rows: Vec<String> = totals
        .rows()
        .iter()
        .map(|(name, value)| format!("{name}={value}"))
        .collect();
    say!("  counters: {}", rows.join(" "));
}

fn print_connection(connection: &ConnectionStatus) {
    let phase = serde_json::to_value(connection.phase).unwrap_or_default();
    say!(
        "  {} -> {}  {}  {:.1} s, idle {:.1} s  {} B up, {} B down",
        connection.client,
        connection.server,
        phase.as_str().unwrap_or_default(),
        connection.age_ms as f64 / 1e3,
        connection.idle_ms as f64 / 1e3,
        connection.client_bytes,
        connection.server_bytes
    );
    let legs = [
        ("client", connection.client_leg),
        ("server", connection.server_leg),
    ];
    let told = legs
        .iter()
        .filter_map(|(side, leg)| Some(format!("{side} {}", leg_line(&(*leg)?))));
    let told: Vec<String> = told.collect();
    if !told.is_empty() {
        say!("    {}", told.join("; "));
    }
}

fn leg_line(leg: &LegStatus) -> String {
    let srtt = leg.srtt_us.map_or("no srtt".to_owned(), |us| {
        format!("srtt {:.1} ms", f64::from(us) / 1e3)
    });
    format!(
        "{srtt}, cwnd {} packets, {} retransmitted, {} B unacknowledged",
        leg.cwnd_pkts, leg.retrans_pkts, leg.unacknowledged_bytes
    )
}

fn only_name() -> Result<String, Failure> {
    let mut names = control::names(&proxies::folder());
    match (names.pop(), names.is_empty()) {
        (Some(name), true) => Ok(name),
        (None, _) => Err(Failure::bad_input("no proxy is running")),
        (Some(last), false) => Err(Failure::bad_input(format!(
            "several proxies are running; name one of: {}, {last}",
            names.join(", ")
        ))),
    }
}

fn stop(command: &StopCommand) -> Result<(), Failure> {
    let name = match &command.name {
        Some(name) => name.clone(),
        None => only_name()?,
    };
    match proxies::end(&name, command.within, command.change.dry_run)? {
        Some(Ended::Running(open)) => command.change.report(
            &format!("proxy {name} has ended"),
            &format!("stop proxy {name}, which has {open} connections"),
            json!({ "name": name, "running": true, "open": open }),
        ),
        Some(Ended::Killed) => command.change.report(
            &format!("proxy {name} had been killed; removed its rules"),
            &format!("remove the rules of proxy {name}, which was killed"),
            json!({ "name": name, "running": false, "open": 0 }),
        ),
        None => Err(Failure::bad_input(format!(
            "no proxy \"{name}\" is running"
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_buffer_is_a_size_or_two_bandwidth_delay_products() {
        assert_eq!(buffer("4MB"), Ok(4_000_000));
        assert_eq!(buffer("50mbit,600ms"), Ok(7_500_000));
        assert_eq!(buffer("5 Mbit/s, 600 ms"), Ok(750_000));
        for wrong in ["", "50mbit", "50mbit,", ",600ms", "50mbit,0ms", "4MB,600ms"] {
            let line = buffer(wrong).unwrap_err();
            assert_eq!(line.lines().count(), 1, "{wrong}: {line}");
        }
    }
}
