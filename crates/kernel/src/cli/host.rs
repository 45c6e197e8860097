//! `headwayctl host`

use clap::{Args, Subcommand};
use serde_json::json;

use super::at_device::{print_list, print_recent, AtDevice};
use super::change::Change;
use crate::benches::receive_window::{self, Bench, Outcome, Setting};
use crate::error::Failure;
use crate::mechanisms::headers_out::{self, HeadersOut};
use crate::mechanisms::quick_start::{self, Host};
use crate::mechanisms::window::{self, FirstWindow};
use crate::out::{self, say};

/// Attach a host's eBPF programs to its network device, or measure the receive window's effect
#[derive(Debug, Args)]
pub struct HostCommand {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    QuickStart(QuickStartCommand),
    Headers(HeadersCommand),
    Window(WindowCommand),
    WindowBench(WindowBenchCommand),
}

/// Send Quick-Start requests, and answer the requests of peers (RFC 4782) until `detach --dev`
#[derive(Debug, Args)]
struct QuickStartCommand {
    #[command(flatten)]
    at: AtDevice,
    /// Highest rate that this host grants to a peer's request, like 100mbit [any]
    #[arg(long, value_name = "RATE")]
    at_most: Option<String>,
    #[command(flatten)]
    change: Change,
}

/// Send those headers of congestion controls that sockets cannot send: in the two ECN bits, and in
/// ACKs whose SACK blocks leave no room. `detach --dev` ends this
#[derive(Debug, Args)]
struct HeadersCommand {
    #[command(flatten)]
    at: AtDevice,
    #[command(flatten)]
    change: Change,
}

/// Let connections begin with larger receive windows than a SYN can announce (thesis 5.2). Attach
/// this before `host quick-start` at the same device. `detach --dev` ends this
#[derive(Debug, Args)]
struct WindowCommand {
    #[command(flatten)]
    at: AtDevice,
    /// Send an ACK with this window after every SYN-ACK, like 1MB
    #[arg(long, value_name = "SIZE", required_unless_present = "ignore_peer")]
    extra_ack: Option<String>,
    /// Assume that a peer's receive window is at least this large until the first data is
    /// acknowledged
    #[arg(long, value_name = "SIZE")]
    ignore_peer: Option<String>,
    #[command(flatten)]
    change: Change,
}

/// Measure how the receive window limits the start of a connection. Runs transfers over an emulated
/// path between two temporary hosts, and prints the congestion window, the receive window and the
/// data that arrives
#[derive(Debug, Args)]
struct WindowBenchCommand {
    /// The sender's congestion control: CONTROL[+STARTUP]
    #[arg(long, default_value = "cubic+jump-start")]
    control: String,
    /// Set a tunable of the congestion control or startup; can be repeated
    #[arg(long = "set", value_name = "NAME=VALUE")]
    settings: Vec<String>,
    /// Size of each transfer
    #[arg(long, value_name = "SIZE", default_value = "1MB")]
    bytes: String,
    /// Number of transfers
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=1000))]
    rounds: u32,
    /// Let the sender open the connection. By default the receiver opens it and sends a request
    #[arg(long)]
    sender_connects: bool,
    /// The receive window that the receiver announces first, in packets [as its buffer allows]
    #[arg(long, value_name = "PKTS", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    first_window: Option<u32>,
    /// The sender's initial congestion window, in packets [the kernel's]
    #[arg(long, value_name = "PKTS", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    initial_window: Option<u32>,
    /// Let the receiver send an extra ACK with this window after its SYN-ACK
    #[arg(long, value_name = "SIZE")]
    extra_ack: Option<String>,
    /// Let the sender assume a receive window of at least this size until the first data is
    /// acknowledged
    #[arg(long, value_name = "SIZE")]
    ignore_peer: Option<String>,
    /// tcp_rmem and tcp_wmem of both hosts: minimum, initial and maximum bytes
    #[arg(long, num_args = 3, value_name = "BYTES",
          default_values_t = [4096, 4_194_304, 8_388_608])]
    buffers: Vec<u64>,
    /// Rate of the path in each direction
    #[arg(long, default_value = "10mbit")]
    rate: String,
    /// Base round-trip time of the path
    #[arg(long, default_value = "200ms")]
    rtt: String,
    /// Limit of each queue, like 1bdp, 60000B, 64kB or 100pkts
    #[arg(long, default_value = "1000pkts")]
    buffer: String,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// The largest window that TCP can announce, with a window scale of 14.
const LARGEST_WINDOW_BYTES: u64 = 65_535 << 14;

/// Parses the size of a receive window; 0 if the option is not given.
fn window_bytes(name: &str, text: Option<&str>) -> Result<u32, Failure> {
    let Some(text) = text else {
        return Ok(0);
    };
    let bytes = headway_experiment::parse_positive_size(text)
        .map_err(|e| Failure::bad_input(format!("{name} {e}")))?;
    if !(1..=LARGEST_WINDOW_BYTES).contains(&bytes) {
        return Err(Failure::bad_input(format!(
            "{name} \"{text}\": must be at most {LARGEST_WINDOW_BYTES} bytes"
        )));
    }
    Ok(u32::try_from(bytes).unwrap_or(0))
}

pub(super) fn run(command: &HostCommand) -> Result<(), Failure> {
    match &command.command {
        Command::QuickStart(command) => quick_start(command),
        Command::Headers(command) => {
            let device = command.at.find()?;
            headers_out::attach(&device, command.change.dry_run)?;
            let place = device.place();
            command.change.report(
                &format!("sending complete headers through {place}"),
                &format!("send complete headers through {place}"),
                json!({ "place": place }),
            )
        }
        Command::Window(command) => {
            let own = window_bytes("--extra-ack", command.extra_ack.as_deref())?;
            let peer = window_bytes("--ignore-peer", command.ignore_peer.as_deref())?;
            let device = command.at.find()?;
            window::attach(&device, own, peer, command.change.dry_run)?;
            let place = device.place();
            command.change.report(
                &format!("connections at {place} begin with larger windows"),
                &format!("let connections at {place} begin with larger windows"),
                json!({ "place": place, "extra_ack_bytes": own, "ignore_peer_bytes": peer }),
            )
        }
        Command::WindowBench(command) => bench(command),
    }
}

/// The largest transfer of `window-bench`, in bytes. It is limited because the benchmark keeps the
/// data in memory.
const MOST_BYTES: u64 = 1 << 30;

fn bench(command: &WindowBenchCommand) -> Result<(), Failure> {
    let bytes = headway_experiment::parse_positive_size(&command.bytes)
        .map_err(|e| Failure::bad_input(format!("--bytes {e}")))?;
    if bytes > MOST_BYTES {
        return Err(Failure::bad_input(format!(
            "--bytes \"{}\": must be at most {MOST_BYTES} bytes",
            command.bytes
        )));
    }
    let bytes = bytes as usize;
    let buffers = <[u64; 3]>::try_from(command.buffers.as_slice()).map_err(|_| {
        Failure::bad_input("--buffers: must be three sizes: minimum, initial and maximum")
    })?;
    let outcome = receive_window::measure(&Bench {
        control: command.control.clone(),
        settings: command.settings.clone(),
        setting: Setting {
            rate: command.rate.clone(),
            rtt: command.rtt.clone(),
            buffer: command.buffer.clone(),
            buffers,
            initial_window_pkts: command.initial_window,
            first_window_pkts: command.first_window,
        },
        bytes,
        rounds: command.rounds,
        sender_connects: command.sender_connects,
        extra_ack_bytes: window_bytes("--extra-ack", command.extra_ack.as_deref())?,
        ignore_peer_bytes: window_bytes("--ignore-peer", command.ignore_peer.as_deref())?,
    })?;
    if command.json {
        return out::json(&outcome);
    }
    print_outcome(&outcome);
    Ok(())
}

fn print_outcome(outcome: &Outcome) {
    say!("{}, {} bytes:", outcome.control, outcome.bytes);
    for round in &outcome.rounds {
        let first = round.windows.first().map_or(0, |w| w.window_bytes);
        let limited = round
            .window_limited_us
            .map_or_else(|| "?".to_owned(), |us| format!("{:.0}", us as f64 / 1e3));
        say!(
            "  {:7.1} ms, first window {first} bytes, limited by the window for {limited} ms, \
             {} segments retransmitted",
            round.took_us as f64 / 1e3,
            round.retransmits_pkts
        );
    }
    print_list("counters", &outcome.counters);
    for warning in &outcome.warnings {
        say!("  the emulated link was late: {warning}");
    }
}

/// Prints the devices at which a program writes the headers of congestion controls; also used by
/// `status`.
pub(super) fn print_headers_out(devices: &[HeadersOut]) {
    for device in devices {
        say!(
            "{}  headers in ECN bits or in place of SACK blocks{}",
            device.place,
            if device.gone {
                "  (its device has gone)"
            } else {
                ""
            }
        );
        print_list("counters", &device.counters);
    }
}

/// Prints the devices whose connections begin with enlarged receive windows; also used by `status`.
pub(super) fn print_windows(devices: &[FirstWindow]) {
    for device in devices {
        say!(
            "{}  first windows: {}{}",
            device.place,
            [
                device.own_bytes.map(|n| format!("extra ACK of {n} bytes")),
                device
                    .peer_bytes
                    .map(|n| format!("peer's assumed to be {n} bytes")),
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

fn quick_start(command: &QuickStartCommand) -> Result<(), Failure> {
    let code = match &command.at_most {
        None => 15,
        Some(text) => {
            let rate_bps = headway_experiment::parse_rate(text)
                .map_err(|e| Failure::bad_input(format!("--at-most {e}")))?;
            headway_algorithms::quick_start::code_down(rate_bps / 8)
        }
    };
    let device = command.at.find()?;
    quick_start::attach_host(&device, code, command.change.dry_run)?;
    let place = device.place();
    command.change.report(
        &format!("the host at {place} takes part in Quick-Start"),
        &format!("let the host at {place} take part in Quick-Start"),
        json!({
            "place": place,
            "at_most_bps": 8 * headway_algorithms::quick_start::rate_bytes_per_s(code),
        }),
    )
}

/// Prints the devices behind which a host takes part in Quick-Start; also used by `status`.
pub(super) fn print(hosts: &[Host]) {
    for host in hosts {
        say!(
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
            say!("  {remark}");
        }
        print_recent(&host.recent);
    }
}
