//! `headwayctl traffic`: small traffic sources and sinks.

use std::net::SocketAddrV4;
use std::path::PathBuf;

use clap::{Args, Subcommand};
use serde::Serialize;

use crate::attach::names::{find_name, is_available};
use crate::error::{Attempt, Failure};
use crate::out::{self, say};
use crate::system::clock::now_ns;
use crate::system::processes;
use crate::traffic::{self, Epoch, Reading};
use headway_experiment::exchanges::Exchanges;
use std::fs::File;
use std::io::BufReader;
use std::path::Path;

/// One end of one flow. Times are ns of CLOCK_MONOTONIC. Prints a JSON summary at the end.
#[derive(Debug, Args)]
pub struct Traffic {
    #[command(subcommand)]
    end: End,
    /// End when the parent process ends.
    #[arg(long, global = true)]
    die_with_parent: bool,
    /// Run with real-time priority; for links that leave a core idle.
    #[arg(long, global = true)]
    real_time: bool,
}

#[derive(Debug, Subcommand)]
enum End {
    /// Send a number of bytes, or without limit, over one TCP connection.
    BulkSend(BulkSend),
    /// Receive one TCP connection.
    BulkReceive(BulkReceive),
    /// Send UDP datagrams at a constant rate.
    CbrSend(CbrSend),
    /// Receive UDP datagrams of cbr-send.
    CbrReceive(Receive),
    /// Play connection vectors: request, wait for the response, think, repeat.
    VectorsClient(VectorsEnd),
    /// Answer the requests of vectors-client.
    VectorsServer(VectorsEnd),
    /// Send messages at exponential intervals and wait for their echoes.
    PingpongClient(PingpongEnd),
    /// Echo the messages of pingpong-client.
    PingpongServer(PingpongEnd),
}

/// Hints that are set before the connection opens; they need `headwayctl hints attach`.
#[derive(Debug, Args)]
struct Hints {
    /// Initial rate in bit/s, headers included.
    #[arg(long, value_name = "BPS")]
    initial_rate: Option<u64>,
    /// Bytes that this end will send.
    #[arg(long, value_name = "BYTES")]
    data_volume: Option<u64>,
    /// Deadline in ns: after the request for each response without its own, or from now for a
    /// transfer.
    #[arg(long, value_name = "NS")]
    deadline: Option<u64>,
}

impl From<Hints> for traffic::Hints {
    fn from(hints: Hints) -> Self {
        Self {
            initial_rate_bps: hints.initial_rate,
            data_volume_bytes: hints.data_volume,
            deadline_ns: hints.deadline,
        }
    }
}

#[derive(Debug, Args)]
struct Socket {
    /// Congestion control, by its kernel name or as it was attached [default: the namespace's].
    #[arg(long)]
    control: Option<String>,
    /// Send small segments at once (TCP_NODELAY).
    #[arg(long)]
    nodelay: bool,
}

#[derive(Debug, Args)]
struct BulkSend {
    /// Address and port of the receiver.
    #[arg(long)]
    to: SocketAddrV4,
    #[command(flatten)]
    socket: Socket,
    #[command(flatten)]
    hints: Hints,
    /// Bytes to send [default: until --stop].
    #[arg(long)]
    bytes: Option<u64>,
    /// Time to connect at [default: now].
    #[arg(long)]
    start: Option<i64>,
    /// Time to stop writing at; the send buffer is still delivered [default: --end].
    #[arg(long)]
    stop: Option<i64>,
    /// Time to give up at [default: never].
    #[arg(long, default_value_t = i64::MAX, hide_default_value = true)]
    end: i64,
}

#[derive(Debug, Args)]
struct Receive {
    /// Address and port to listen at.
    #[arg(long)]
    listen: SocketAddrV4,
    /// File to write records to: rows of little-endian 64-bit integers.
    #[arg(long)]
    out: Option<PathBuf>,
    /// Time to give up at [default: never].
    #[arg(long, default_value_t = i64::MAX, hide_default_value = true)]
    end: i64,
}

#[derive(Debug, Args)]
struct BulkReceive {
    #[command(flatten)]
    receive: Receive,
    /// Read application data at this rate in bit/s [default: as it arrives].
    #[arg(long, value_name = "BPS", conflicts_with = "read_bytes",
          value_parser = clap::value_parser!(u64).range(1..))]
    read_rate: Option<u64>,
    /// Read this many bytes per call, every `--read-interval`.
    #[arg(long, value_name = "BYTES", requires = "read_interval",
          value_parser = clap::value_parser!(u64).range(1..))]
    read_bytes: Option<u64>,
    /// Nanoseconds between two reads, and before the first read.
    #[arg(long, value_name = "NS", requires = "read_bytes",
          value_parser = clap::value_parser!(i64).range(1..))]
    read_interval: Option<i64>,
}

impl BulkReceive {
    fn reading(&self) -> Reading {
        match (self.read_rate, self.read_bytes, self.read_interval) {
            (Some(bps), ..) => Reading::Rate { bps },
            (None, Some(bytes), Some(interval_ns)) => Reading::Portions { bytes, interval_ns },
            _ => Reading::Eager,
        }
    }
}

#[derive(Debug, Args)]
struct CbrSend {
    /// Address and port of the receiver.
    #[arg(long)]
    to: SocketAddrV4,
    /// Size of an IP packet, headers included.
    #[arg(long, default_value_t = 186)]
    ip_bytes: usize,
    /// Time between two packets, in ns.
    #[arg(long, default_value_t = 20_000_000)]
    interval_ns: i64,
    /// Send packets with ECT(0), so that queues can mark them.
    #[arg(long)]
    ecn: bool,
    /// Time of the first packet [default: now].
    #[arg(long)]
    start: Option<i64>,
    /// Time from which on no packet is sent.
    #[arg(long)]
    stop: i64,
    /// File to write records to: rows (number, time sent in ns).
    #[arg(long)]
    out: Option<PathBuf>,
}

#[derive(Debug, Args)]
struct VectorsEnd {
    /// Address and port: where to connect, or to listen.
    #[arg(long)]
    address: SocketAddrV4,
    /// The epochs as JSON: [[request bytes, response bytes, think ns], ...].
    #[arg(long, required_unless_present = "file", conflicts_with = "file")]
    epochs: Option<String>,
    /// File of exchanges instead of --epochs: several connections that depend on one another, with
    /// server times and deadlines (docs/exchanges.md).
    #[arg(long)]
    file: Option<PathBuf>,
    #[command(flatten)]
    socket: Socket,
    #[command(flatten)]
    hints: Hints,
    /// Time that the connections' starts count from [default: now].
    #[arg(long)]
    start: Option<i64>,
    /// Time from which on no connection is opened [default: --end].
    #[arg(long)]
    stop: Option<i64>,
    /// Time to give up at [default: never].
    #[arg(long, default_value_t = i64::MAX, hide_default_value = true)]
    end: i64,
    /// File for the client's records: rows (epoch, start ns, end ns).
    #[arg(long)]
    out: Option<PathBuf>,
    /// File for the data that this end received: rows (time ns, bytes since the start).
    #[arg(long)]
    received: Option<PathBuf>,
}

#[derive(Debug, Args)]
struct PingpongEnd {
    /// Address and port: where to connect, or to listen.
    #[arg(long)]
    address: SocketAddrV4,
    /// Size of a message and of its echo.
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..))]
    bytes: u64,
    /// Mean time between two messages, in ns.
    #[arg(long)]
    mean_interval_ns: u64,
    /// Seed of the experiment; seed and flow number determine the intervals.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Number of the flow.
    #[arg(long, default_value_t = 0)]
    flow: u32,
    #[command(flatten)]
    socket: Socket,
    /// Time to connect at [default: now].
    #[arg(long)]
    start: Option<i64>,
    /// Time to stop sending at [default: --end].
    #[arg(long)]
    stop: Option<i64>,
    /// Time to give up at [default: never].
    #[arg(long, default_value_t = i64::MAX, hide_default_value = true)]
    end: i64,
    /// File to write records to: the client's rows (message, start ns, end ns), the server's rows
    /// (time ns, bytes since the start).
    #[arg(long)]
    out: Option<PathBuf>,
}

/// Runs one end until it is done and prints a summary.
///
/// # Errors
/// Bad input; a failed system call.
pub fn run(arguments: Traffic) -> Result<(), Failure> {
    if arguments.die_with_parent {
        die_with_parent()?;
    }
    processes::be_prompt(arguments.real_time);
    match arguments.end {
        End::BulkSend(a) => print(&traffic::bulk_send(&traffic::BulkSend {
            to: a.to,
            control: known(a.socket.control)?,
            nodelay: a.socket.nodelay,
            hints: a.hints.into(),
            bytes: a.bytes,
            start_ns: a.start.unwrap_or_else(now_ns),
            stop_ns: a.stop.unwrap_or(a.end),
            end_ns: a.end,
        })?),
        End::BulkReceive(a) => {
            let task = traffic::BulkReceive {
                listen: a.receive.listen,
                reading: a.reading(),
                out: a.receive.out,
                end_ns: a.receive.end,
            };
            print(&traffic::bulk_receive(&task, ready)?)
        }
        End::CbrSend(a) => print(&traffic::cbr_send(&traffic::CbrSend {
            to: a.to,
            ip_bytes: a.ip_bytes,
            interval_ns: a.interval_ns,
            ecn: a.ecn,
            start_ns: a.start.unwrap_or_else(now_ns),
            stop_ns: a.stop,
            out: a.out,
        })?),
        End::CbrReceive(a) => {
            let task = traffic::CbrReceive {
                listen: a.listen,
                out: a.out,
                end_ns: a.end,
            };
            print(&traffic::cbr_receive(&task, ready)?)
        }
        End::VectorsClient(a) => print(&traffic::vectors_client(&exchange_task(a)?)?),
        End::VectorsServer(a) => print(&traffic::vectors_server(&exchange_task(a)?, ready)?),
        End::PingpongClient(a) => print(&traffic::pingpong_client(&messages(a)?)?),
        End::PingpongServer(a) => print(&traffic::pingpong_server(&messages(a)?, ready)?),
    }
}

fn exchange_task(a: VectorsEnd) -> Result<traffic::ExchangeTask, Failure> {
    let exchanges = match (&a.epochs, &a.file) {
        (Some(epochs), _) => {
            let epochs: Vec<Epoch> = serde_json::from_str(epochs)
                .map_err(|error| Failure::bad_input(format!("--epochs: {error}")))?;
            traffic::of_epochs(&epochs)
        }
        (None, file) => exchanges_of(file.as_deref().unwrap_or(Path::new("")))?,
    };
    Ok(traffic::ExchangeTask {
        address: a.address,
        control: known(a.socket.control)?,
        nodelay: a.socket.nodelay,
        hints: a.hints.into(),
        exchanges,
        start_ns: a.start.unwrap_or_else(now_ns),
        stop_ns: a.stop.unwrap_or(a.end),
        end_ns: a.end,
        out: a.out,
        received: a.received,
    })
}

/// Reads a file of exchanges; fails for exchanges that live programs cannot play.
fn exchanges_of(file: &Path) -> Result<Exchanges, Failure> {
    let bad = |what: &dyn std::fmt::Display| {
        Failure::bad_input(format!("--file: {}: {what}", file.display()))
    };
    let opened = File::open(file).map_err(|error| bad(&error))?;
    let read = Exchanges::read(BufReader::new(opened)).map_err(|error| bad(&error))?;
    read.playable_live().map_err(|what| bad(&what))?;
    Ok(read)
}

fn messages(a: PingpongEnd) -> Result<traffic::Pingpong, Failure> {
    Ok(traffic::Pingpong {
        address: a.address,
        control: known(a.socket.control)?,
        nodelay: a.socket.nodelay,
        message_bytes: a.bytes,
        mean_interval_ns: a.mean_interval_ns,
        seed: a.seed,
        flow: a.flow,
        start_ns: a.start.unwrap_or_else(now_ns),
        stop_ns: a.stop.unwrap_or(a.end),
        end_ns: a.end,
        out: a.out,
    })
}

/// The kernel's name of a control, which may be given as it was attached.
fn known(control: Option<String>) -> Result<Option<String>, Failure> {
    match control {
        Some(name) if !is_available(&name) => Ok(Some(find_name(&name)?.unwrap_or(name))),
        other => Ok(other),
    }
}

/// Prints "ready" before the summary: peers may connect now.
pub(super) fn ready() {
    say!("ready");
    out::flush();
}

pub(super) fn print(summary: &impl Serialize) -> Result<(), Failure> {
    let text = serde_json::to_string(summary).expect("numbers and names");
    say!("{text}");
    Ok(())
}

/// Makes this process end with its parent, so that a killed session leaves no program behind.
pub(super) fn die_with_parent() -> Result<(), Failure> {
    // SAFETY: PR_SET_PDEATHSIG takes one integer and no pointer.
    if unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGTERM) } == 0 {
        Ok(())
    } else {
        Err(std::io::Error::last_os_error()).attempt("end with the parent")
    }
}
