//! Requests and responses on the connections of a file (docs/exchanges.md): request bytes, the
//! server's time, response bytes, think time, and dependencies between exchanges. Client and server
//! both read the file; the bytes that they exchange carry no information. With several connections,
//! the server identifies each by the client's port.
//!
//! Client and server each run all connections in one thread. Memory grows with the file and the
//! open connections.

mod client;
mod server;
mod waits;

use std::io::{ErrorKind, Read};
use std::net::{SocketAddrV4, TcpStream};
use std::os::fd::AsRawFd;
use std::path::PathBuf;

use headway_experiment::exchanges::{Exchanges, MAX_CONNECTIONS_LIVE};
use serde::Serialize;

pub use client::client;
pub use server::server;

use super::records::Records;
use super::socket::{tcp_info, Buffers, Hints, TcpInfo, TcpOptions};
use super::{write_at_once, CHUNK_BYTES};
use crate::error::{Attempt, Failure};
use crate::system::clock::now_ns;

/// One exchange: request in bytes, response in bytes, and think time until the next request in ns.
pub type Epoch = (u64, u64, u64);

/// The client's port for the first of several connections. Further connections use the following
/// ports.
const FIRST_PORT: u16 = (u16::MAX as usize + 1 - MAX_CONNECTIONS_LIVE) as u16;
/// How often a sender checks whether all its bytes were acknowledged. The kernel reports no event
/// for this.
const CHECK_NS: i64 = 1_000_000;

/// The task of one end, client or server.
#[derive(Clone, Debug)]
pub struct ExchangeTask {
    /// The address to connect to (client), or to listen at (server).
    pub address: SocketAddrV4,
    /// Name of the congestion control in the kernel; None: the namespace's default.
    pub control: Option<String>,
    /// TCP_NODELAY.
    pub nodelay: bool,
    /// Sizes of the sockets' buffers.
    pub buffers: Buffers,
    /// Hints for this end's connections, which are set before they open. The server uses the hint's
    /// deadline for every response that has no deadline in the file.
    pub hints: Hints,
    /// The exchanges.
    pub exchanges: Exchanges,
    /// Time zero of the file: the connections' start times count from this time.
    pub start_ns: i64,
    /// When the client stops opening connections.
    pub stop_ns: i64,
    /// When to give up and close all connections.
    pub end_ns: i64,
    /// The client's file of rows (exchange, start ns, end ns).
    pub out: Option<PathBuf>,
    /// This end's file of rows (time ns, bytes received since the start).
    pub received: Option<PathBuf>,
}

/// Exchanges on one connection whose server responds at once.
#[must_use]
pub fn of_epochs(epochs: &[Epoch]) -> Exchanges {
    Exchanges {
        start_ns: vec![0],
        exchanges: vec![epochs.len() as u32],
        request_bytes: epochs.iter().map(|epoch| epoch.0).collect(),
        response_bytes: epochs.iter().map(|epoch| epoch.1).collect(),
        think_ns: epochs.iter().map(|epoch| epoch.2).collect(),
        ..Exchanges::default()
    }
}

/// The results of one end, client or server.
#[derive(Clone, Debug, Default, Serialize)]
pub struct ExchangeResults {
    /// When the client first called connect(); None for a server, or if `end_ns` had passed before.
    pub started_ns: Option<i64>,
    /// When the first connection was established; None: no connection was established.
    pub connected_ns: Option<i64>,
    /// Number of exchanges whose last byte arrived before `end_ns`.
    pub complete_epochs: u64,
    /// When the last complete exchange ended.
    pub finished_ns: Option<i64>,
    /// The sum of TCP_INFO over the connections, each read before it was closed. The server's
    /// acknowledged bytes include one SYN per connection.
    pub tcp_info: Option<TcpInfo>,
    /// Longest delay between the due time of an action and the action; None: not measured.
    pub late_max_ns: Option<i64>,
}

impl ExchangeResults {
    pub(in crate::traffic) fn connected_at(time_ns: i64) -> Self {
        Self {
            connected_ns: Some(time_ns),
            ..Self::default()
        }
    }

    /// Adds a complete exchange to the results.
    fn complete(&mut self, time_ns: i64) {
        self.complete_epochs += 1;
        self.finished_ns = self.finished_ns.max(Some(time_ns));
    }

    /// Adds the TCP_INFO counters of a connection to the results, when the connection has ended or
    /// `end_ns` has passed. `has_syn`: this end sent the SYN, which TCP_INFO counts as an
    /// acknowledged byte.
    fn add(&mut self, socket: &TcpStream, has_syn: bool) -> Result<(), Failure> {
        let mut info = tcp_info(socket)?;
        self.tcp_info = Some(match self.tcp_info {
            Some(sum) => {
                let acked = info.acked_bytes;
                info.acked_bytes = acked.map(|acked| acked.saturating_sub(u64::from(has_syn)));
                sum.and(info)
            }
            None => info,
        });
        Ok(())
    }
}

/// Counts the bytes that one end received, and writes its file of rows (time ns, bytes since the
/// start).
struct Received {
    bytes: u64,
    records: Option<Records<2>>,
    chunk: Vec<u8>,
}

/// The result of a read or a write on a socket.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Progress {
    /// All of it.
    All,
    /// The socket cannot read or write more for now.
    Part,
    /// The peer has closed or reset the connection.
    Ended,
}

impl Received {
    fn create(task: &ExchangeTask) -> Result<Self, Failure> {
        let create = |path: &PathBuf| Records::create(path);
        Ok(Self {
            bytes: 0,
            records: task.received.as_ref().map(create).transpose()?,
            chunk: vec![0; CHUNK_BYTES],
        })
    }

    /// Reads bytes of the present request or response that have arrived, at most as many as remain
    /// of it.
    fn read_remaining(
        &mut self,
        mut socket: &TcpStream,
        left: &mut u64,
    ) -> Result<Progress, Failure> {
        while *left > 0 {
            let part = usize::try_from(*left).map_or(CHUNK_BYTES, |left| left.min(CHUNK_BYTES));
            match socket.read(&mut self.chunk[..part]) {
                Ok(0) => return Ok(Progress::Ended),
                Ok(bytes) => {
                    *left -= bytes as u64;
                    self.bytes += bytes as u64;
                    if let Some(records) = &mut self.records {
                        records.push([now_ns(), self.bytes as i64])?;
                    }
                }
                Err(error) => match stopped_by(&error) {
                    Some(progress) => return Ok(progress),
                    None => return Err(error).attempt("receive"),
                },
            }
        }
        Ok(Progress::All)
    }

    fn finish(self) -> Result<(), Failure> {
        self.records.map_or(Ok(()), Records::finish)
    }
}

/// Writes remaining bytes of the present request or response, as many as the send buffer has room
/// for.
fn write_remaining(socket: &TcpStream, left: &mut u64) -> Result<Progress, Failure> {
    while *left > 0 {
        match write_at_once(socket, *left) {
            Ok(bytes) => *left -= bytes as u64,
            Err(error) => match stopped_by(&error) {
                Some(progress) => return Ok(progress),
                None => return Err(error).attempt("send"),
            },
        }
    }
    Ok(Progress::All)
}

/// Translates a harmless error of a read or write to its result. Other errors are returned.
fn stopped_by(error: &std::io::Error) -> Option<Progress> {
    match error.kind() {
        // non-blocking sockets do not return Interrupted; if one did, the next event would try
        // again
        ErrorKind::WouldBlock | ErrorKind::Interrupted => Some(Progress::Part),
        ErrorKind::ConnectionReset | ErrorKind::BrokenPipe => Some(Progress::Ended),
        _ => None,
    }
}

/// Whether the peer has acknowledged all written bytes.
fn is_drained(socket: &TcpStream) -> bool {
    let mut queued: libc::c_int = 0;
    // SAFETY: TIOCOUTQ stores one int, in `queued`.
    let known = unsafe { libc::ioctl(socket.as_raw_fd(), libc::TIOCOUTQ, &mut queued) } == 0;
    !known || queued == 0
}

/// The one-way delay to the other end, taken as half of the shortest round trip.
fn one_way_ns(socket: &TcpStream) -> Result<i64, Failure> {
    Ok(i64::from(tcp_info(socket)?.min_rtt_us.unwrap_or(0)) * 500)
}

/// The value in one column of the file for one exchange; 0 if the file does not have the column.
fn value_at(column: &[u64], exchange: u32) -> u64 {
    column.get(exchange as usize).copied().unwrap_or(0)
}

impl ExchangeTask {
    /// The options of the listening socket. They lack the deadline, which the server sets for each
    /// response.
    fn options(&self) -> TcpOptions<'_> {
        TcpOptions {
            control: self.control.as_deref(),
            nodelay: self.nodelay,
            buffers: self.buffers,
            hints: Hints {
                deadline_ns: None,
                ..self.hints
            },
        }
    }
}

#[cfg(test)]
mod tests;
