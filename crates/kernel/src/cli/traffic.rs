//! `headwayctl traffic`: small programs that send and receive.

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

/// One end of one flow. Times are ns of CLOCK_MONOTONIC; a JSON summary ends it.
#[derive(Debug, Args)]
pub struct Traffic {
    #[command(subcommand)]
    end: End,
    /// End when the program that started this one does.
    #[arg(long, global = true)]
    die_with_parent: bool,
    /// Run before all programs that are not real-time; for links that leave a core idle.
    #[arg(long, global = true)]
    real_time: bool,
}

#[derive(Debug, Subcommand)]
enum End {
    /// Send over TCP, as fast as it lets or a number of bytes.
    BulkSend(BulkSend),
    /// Receive one TCP connection.
    BulkReceive(BulkReceive),
    /// Send UDP datagrams at a constant rate.
    CbrSend(CbrSend),
    /// Receive them.
    CbrReceive(Receive),
    /// Ask, wait for the response, think, ask again.
    VectorsClient(VectorsEnd),
    /// Answer.
    VectorsServer(VectorsEnd),
    /// Send messages at exponential gaps and wait for their echoes.
    PingpongClient(PingpongEnd),
    /// Echo them.
    PingpongServer(PingpongEnd),
}

/// What is said before the connection opens; it needs `headwayctl hints attach`.
#[derive(Debug, Args)]
struct Hints {
    /// Rate to start at, bit/s with headers.
    #[arg(long, value_name = "BPS")]
    initial_rate: Option<u64>,
    /// Bytes that this end will send.
    #[arg(long, value_name = "BYTES")]
    data_volume: Option<u64>,
    /// Time from its request for each response without its own, or from now for a transfer, ns.
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
    /// The congestion control, by the kernel's name or as it was attached [default: the
    /// namespace's].
    #[arg(long)]
    control: Option<String>,
    /// Send small segments at once.
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
    /// How much to send [default: until --stop].
    #[arg(long)]
    bytes: Option<u64>,
    /// When to connect [default: now].
    #[arg(long)]
    start: Option<i64>,
    /// When to write no more; the send buffer is still delivered [default: --end].
    #[arg(long)]
    stop: Option<i64>,
    /// When to give up [default: never].
    #[arg(long, default_value_t = i64::MAX, hide_default_value = true)]
    end: i64,
}

#[derive(Debug, Args)]
struct Receive {
    /// Address and port.
    #[arg(long)]
    listen: SocketAddrV4,
    /// File of records: rows of little-endian 64-bit integers.
    #[arg(long)]
    out: Option<PathBuf>,
    /// When to give up [default: never].
    #[arg(long, default_value_t = i64::MAX, hide_default_value = true)]
    end: i64,
}

#[derive(Debug, Args)]
struct BulkReceive {
    #[command(flatten)]
    receive: Receive,
    /// Read application data at this rate, bit/s [default: all there is].
    #[arg(long, value_name = "BPS", conflicts_with = "read_bytes",
          value_parser = clap::value_parser!(u64).range(1..))]
    read_rate: Option<u64>,
    /// Read so many bytes in one call, every `--read-interval`.
    #[arg(long, value_name = "BYTES", requires = "read_interval",
          value_parser = clap::value_parser!(u64).range(1..))]
    read_bytes: Option<u64>,
    /// Nanoseconds from one call to the next, and to the first.
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
    /// Size of an IP packet, headers and all.
    #[arg(long, default_value_t = 186)]
    ip_bytes: usize,
    /// Time between two, ns.
    #[arg(long, default_value_t = 20_000_000)]
    interval_ns: i64,
    /// They can be marked: they carry ECT(0).
    #[arg(long)]
    ecn: bool,
    /// When the first is due [default: now].
    #[arg(long)]
    start: Option<i64>,
    /// None is due from then on.
    #[arg(long)]
    stop: i64,
    /// File of records: rows (number, time sent in ns).
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
    /// File of exchanges instead, of several connections that wait for one another, with servers'
    /// times and deadlines: docs/exchanges.md.
    #[arg(long)]
    file: Option<PathBuf>,
    #[command(flatten)]
    socket: Socket,
    #[command(flatten)]
    hints: Hints,
    /// From when the connections' starts count [default: now].
    #[arg(long)]
    start: Option<i64>,
    /// When to open no more connections [default: --end].
    #[arg(long)]
    stop: Option<i64>,
    /// When to give up [default: never].
    #[arg(long, default_value_t = i64::MAX, hide_default_value = true)]
    end: i64,
    /// File of the client's records: rows (epoch, start ns, end ns).
    #[arg(long)]
    out: Option<PathBuf>,
    /// File of what this end received: rows (time ns, bytes since the start).
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
    /// Mean time between two messages, ns.
    #[arg(long)]
    mean_interval_ns: u64,
    /// Of the experiment; with --flow it decides the gaps.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Number of the flow.
    #[arg(long, default_value_t = 0)]
    flow: u32,
    #[command(flatten)]
    socket: Socket,
    /// When to connect [default: now].
    #[arg(long)]
    start: Option<i64>,
    /// When to send no more [default: --end].
    #[arg(long)]
    stop: Option<i64>,
    /// When to give up [default: never].
    #[arg(long, default_value_t = i64::MAX, hide_default_value = true)]
    end: i64,
    /// File of records: the client's rows (message, start ns, end ns), the server's
    /// rows (time ns, bytes since the start).
    #[arg(long)]
    out: Option<PathBuf>,
}

/// Runs one end until it is done and prints what it did.
///
/// # Errors
/// Bad input; what the kernel refuses.
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
        End::VectorsClient(a) => print(&traffic::vectors_client(&conversation(a)?)?),
        End::VectorsServer(a) => print(&traffic::vectors_server(&conversation(a)?, ready)?),
        End::PingpongClient(a) => print(&traffic::pingpong_client(&messages(a)?)?),
        End::PingpongServer(a) => print(&traffic::pingpong_server(&messages(a)?, ready)?),
    }
}

fn conversation(a: VectorsEnd) -> Result<traffic::Conversation, Failure> {
    let exchanges = match (&a.epochs, &a.file) {
        (Some(epochs), _) => {
            let epochs: Vec<Epoch> = serde_json::from_str(epochs)
                .map_err(|error| Failure::bad_input(format!("--epochs: {error}")))?;
            traffic::of_epochs(&epochs)
        }
        (None, file) => exchanges_of(file.as_deref().unwrap_or(Path::new("")))?,
    };
    Ok(traffic::Conversation {
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

/// What a file says, if two programs can play it.
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

/// The kernel's name of a control that may be named as it was attached.
fn known(control: Option<String>) -> Result<Option<String>, Failure> {
    match control {
        Some(name) if !is_available(&name) => Ok(Some(find_name(&name)?.unwrap_or(name))),
        other => Ok(other),
    }
}

/// Says that peers may come: one line, before the summary.
pub(super) fn ready() {
    say!("ready");
    out::flush();
}

pub(super) fn print(summary: &impl Serialize) -> Result<(), Failure> {
    let text = serde_json::to_string(summary).expect("numbers and names");
    say!("{text}");
    Ok(())
}

/// A session that is killed leaves no program behind.
pub(super) fn die_with_parent() -> Result<(), Failure> {
    // SAFETY: an option with one integer.
    if unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGTERM) } == 0 {
        Ok(())
    } else {
        Err(std::io::Error::last_os_error()).attempt("end with the parent")
    }
}
