//! `headwayctl traffic`: small programs that send and receive test traffic.

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

/// Run one end of one test flow: the sender or the receiver. Times are ns of CLOCK_MONOTONIC.
/// Prints a JSON summary at the end.
#[derive(Debug, Args)]
pub struct Traffic {
    #[command(subcommand)]
    end: End,
    /// End this command when its parent process ends.
    #[arg(long, global = true)]
    die_with_parent: bool,
    /// Run with real-time priority. Use this only if the emulated link leaves a core idle.
    #[arg(long, global = true)]
    real_time: bool,
}

#[derive(Debug, Subcommand)]
enum End {
    /// Send a given number of bytes over one TCP connection, or send without end.
    BulkSend(BulkSend),
    /// Accept one TCP connection and receive its data.
    BulkReceive(BulkReceive),
    /// Send UDP datagrams at a constant rate.
    CbrSend(CbrSend),
    /// Receive the UDP datagrams that cbr-send sends.
    CbrReceive(Receive),
    /// Play a connection vector as its client: send a request, wait for the response, wait for the
    /// think time, repeat.
    VectorsClient(VectorsEnd),
    /// Answer the requests of vectors-client.
    VectorsServer(VectorsEnd),
    /// Send messages at exponential intervals and wait for their echoes.
    PingpongClient(PingpongEnd),
    /// Echo the messages of pingpong-client.
    PingpongServer(PingpongEnd),
}

/// Hints for the connection, which are set before it opens. They need `headwayctl hints attach`.
#[derive(Debug, Args)]
struct Hints {
    /// Hint: initial rate in bit/s, including headers.
    #[arg(long, value_name = "BPS")]
    initial_rate: Option<u64>,
    /// Hint: how many bytes this end will send.
    #[arg(long, value_name = "BYTES")]
    data_volume: Option<u64>,
    /// Hint: deadline in ns. For a transfer, the time runs from now. For a response without a
    /// deadline of its own, the time runs from the request.
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
    /// Congestion control, by its name in the kernel or as it was attached [default: the
    /// namespace's default].
    #[arg(long)]
    control: Option<String>,
    /// Send small segments at once (TCP_NODELAY).
    #[arg(long)]
    nodelay: bool,
    #[command(flatten)]
    buffers: Buffers,
}

/// Sizes of the socket's buffers, which then do not grow. The kernel doubles them. For root, the
/// sysctls net.core.rmem_max and wmem_max do not limit them.
#[derive(Debug, Args)]
struct Buffers {
    /// Size of the receive buffer in bytes (SO_RCVBUF) [default: as tcp_rmem].
    #[arg(long, value_name = "BYTES", value_parser = clap::value_parser!(u32).range(1..=1 << 29))]
    rcvbuf: Option<u32>,
    /// Size of the send buffer in bytes (SO_SNDBUF) [default: as tcp_wmem].
    #[arg(long, value_name = "BYTES", value_parser = clap::value_parser!(u32).range(1..=1 << 29))]
    sndbuf: Option<u32>,
}

impl From<Buffers> for traffic::Buffers {
    fn from(buffers: Buffers) -> Self {
        Self {
            receive_bytes: buffers.rcvbuf,
            send_bytes: buffers.sndbuf,
        }
    }
}

#[derive(Debug, Args)]
struct BulkSend {
    /// Address and port of the receiver, to connect to.
    #[arg(long)]
    to: SocketAddrV4,
    #[command(flatten)]
    socket: Socket,
    #[command(flatten)]
    hints: Hints,
    /// Bytes to send [default: until --stop].
    #[arg(long)]
    bytes: Option<u64>,
    /// When to connect [default: now].
    #[arg(long)]
    start: Option<i64>,
    /// When to stop writing; TCP still delivers the data in the send buffer [default: --end].
    #[arg(long)]
    stop: Option<i64>,
    /// When to give up and reset the connection [default: never].
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
    /// When to give up and close the connection [default: never].
    #[arg(long, default_value_t = i64::MAX, hide_default_value = true)]
    end: i64,
}

#[derive(Debug, Args)]
struct BulkReceive {
    #[command(flatten)]
    receive: Receive,
    /// Congestion control, for controls that need one at both ends [default: the namespace's].
    #[arg(long)]
    control: Option<String>,
    #[command(flatten)]
    buffers: Buffers,
    /// Read the received data at this rate in bit/s [default: as it arrives].
    #[arg(long, value_name = "BPS", conflicts_with = "read_bytes",
          value_parser = clap::value_parser!(u64).range(1..))]
    read_rate: Option<u64>,
    /// Read this many bytes per read() call, with one call every `--read-interval`.
    #[arg(long, value_name = "BYTES", requires = "read_interval",
          value_parser = clap::value_parser!(u64).range(1..))]
    read_bytes: Option<u64>,
    /// Time in ns between two read() calls, and before the first one.
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
    /// Address and port of the receiver, to send to.
    #[arg(long)]
    to: SocketAddrV4,
    /// Size of an IP packet, headers included.
    #[arg(long, default_value_t = 186)]
    ip_bytes: usize,
    /// Interval between two packets, in ns.
    #[arg(long, default_value_t = 20_000_000)]
    interval_ns: i64,
    /// Send packets with the codepoint ECT(0), so that queues can mark them with CE.
    #[arg(long)]
    ecn: bool,
    /// When to send the first packet [default: now].
    #[arg(long)]
    start: Option<i64>,
    /// When to stop sending packets.
    #[arg(long)]
    stop: i64,
    /// File to write records to: rows (number, time sent in ns).
    #[arg(long)]
    out: Option<PathBuf>,
}

#[derive(Debug, Args)]
struct VectorsEnd {
    /// Address and port to connect to (client), or to listen at (server).
    #[arg(long)]
    address: SocketAddrV4,
    /// The exchanges of one connection (epochs) as JSON: [[request bytes, response bytes, think
    /// ns], ...].
    #[arg(long, required_unless_present = "file", conflicts_with = "file")]
    epochs: Option<String>,
    /// File of exchanges, instead of --epochs, for several connections that depend on one another,
    /// with server times and deadlines (docs/exchanges.md).
    #[arg(long)]
    file: Option<PathBuf>,
    #[command(flatten)]
    socket: Socket,
    #[command(flatten)]
    hints: Hints,
    /// Time zero of the file: its start times count from this time [default: now].
    #[arg(long)]
    start: Option<i64>,
    /// When to stop opening connections [default: --end].
    #[arg(long)]
    stop: Option<i64>,
    /// When to give up and close all connections [default: never].
    #[arg(long, default_value_t = i64::MAX, hide_default_value = true)]
    end: i64,
    /// File for the client's records: one row (number, start ns, end ns) per exchange of a request
    /// and a response.
    #[arg(long)]
    out: Option<PathBuf>,
    /// File for the bytes that this end received over time: rows (time ns, bytes since the start).
    #[arg(long)]
    received: Option<PathBuf>,
}

#[derive(Debug, Args)]
struct PingpongEnd {
    /// Address and port to connect to (client), or to listen at (server).
    #[arg(long)]
    address: SocketAddrV4,
    /// Size of a message and of its echo.
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..))]
    bytes: u64,
    /// Mean time between two messages, in ns.
    #[arg(long)]
    mean_interval_ns: u64,
    /// Seed of the experiment. The seed and the flow's number determine the random intervals
    /// between messages.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Number of this flow in the experiment.
    #[arg(long, default_value_t = 0)]
    flow: u32,
    #[command(flatten)]
    socket: Socket,
    /// When to connect [default: now].
    #[arg(long)]
    start: Option<i64>,
    /// When to stop sending messages [default: --end].
    #[arg(long)]
    stop: Option<i64>,
    /// When to give up and close the connection [default: never].
    #[arg(long, default_value_t = i64::MAX, hide_default_value = true)]
    end: i64,
    /// File to write records to: the client's rows (message, start ns, end ns), the server's rows
    /// (time ns, bytes since the start).
    #[arg(long)]
    out: Option<PathBuf>,
}

/// Runs one end of a flow until the flow is complete, and prints a summary.
///
/// # Errors
/// An option is invalid, or a system call fails.
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
            buffers: a.socket.buffers.into(),
            hints: a.hints.into(),
            bytes: a.bytes,
            start_ns: a.start.unwrap_or_else(now_ns),
            stop_ns: a.stop.unwrap_or(a.end),
            end_ns: a.end,
        })?),
        End::BulkReceive(a) => {
            let task = traffic::BulkReceive {
                listen: a.receive.listen,
                control: a.control.clone(),
                reading: a.reading(),
                buffers: a.buffers.into(),
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
        buffers: a.socket.buffers.into(),
        hints: a.hints.into(),
        exchanges,
        start_ns: a.start.unwrap_or_else(now_ns),
        stop_ns: a.stop.unwrap_or(a.end),
        end_ns: a.end,
        out: a.out,
        received: a.received,
    })
}

/// Reads a file of exchanges. Fails if the file has exchanges that `headwayctl traffic` cannot
/// play.
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
        buffers: a.socket.buffers.into(),
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

/// Finds the name in the kernel of the congestion control that the user gave, either by that name
/// or as CONTROL+STARTUP.
fn known(control: Option<String>) -> Result<Option<String>, Failure> {
    match control {
        Some(name) if !is_available(&name) => Ok(Some(find_name(&name)?.unwrap_or(name))),
        other => Ok(other),
    }
}

/// Prints the line "ready" when peers may connect. The summary is printed at the end.
pub(super) fn ready() {
    say!("ready");
    out::flush();
}

pub(super) fn print(summary: &impl Serialize) -> Result<(), Failure> {
    let text = serde_json::to_string(summary).expect("numbers and names");
    say!("{text}");
    Ok(())
}

/// Makes the kernel end this process when its parent process ends, so that a killed experiment
/// leaves no program running.
pub(super) fn die_with_parent() -> Result<(), Failure> {
    // SAFETY: PR_SET_PDEATHSIG takes one integer and no pointer.
    if unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGTERM) } == 0 {
        Ok(())
    } else {
        Err(std::io::Error::last_os_error()).attempt("end together with the parent process")
    }
}
