//! Requests and responses on the connections of a file (docs/exchanges.md): bytes asked, the
//! server's time, bytes answered and time to think, and which come after which. Both ends know
//! the file; the bytes carry nothing. Where there are several connections, the client's port
//! says which of them one is.
//!
//! One thread plays all of them at either end; memory follows the file and the connections that
//! are open.

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
use super::socket::{tcp_info, Hints, TcpInfo, TcpOptions};
use super::{write_at_once, CHUNK_BYTES};
use crate::error::{Attempt, Failure};
use crate::system::clock::now_ns;

/// Request in bytes, response in bytes, think time until the next in ns.
pub type Epoch = (u64, u64, u64);

/// Port of the client's end of the first of several connections; the others' follow.
const FIRST_PORT: u16 = (u16::MAX as usize + 1 - MAX_CONNECTIONS_LIVE) as u16;
/// How often it is looked whether all was acknowledged, of which the kernel tells nobody.
const LOOK_NS: i64 = 1_000_000;

/// One end of the conversation.
#[derive(Clone, Debug)]
pub struct Conversation {
    /// The client: where to connect; the server: where to listen.
    pub address: SocketAddrV4,
    /// The kernel's name of the congestion control; None leaves the namespace's.
    pub control: Option<String>,
    /// TCP_NODELAY.
    pub nodelay: bool,
    /// What this end says of its connections before they open; the deadline is the server's, and
    /// of each response that has none of its own.
    pub hints: Hints,
    /// What is asked and answered.
    pub exchanges: Exchanges,
    /// From when the connections' starts count.
    pub start_ns: i64,
    /// When the client opens no more connections.
    pub stop_ns: i64,
    /// When to give up.
    pub end_ns: i64,
    /// The client's file of rows (exchange, start ns, end ns).
    pub out: Option<PathBuf>,
    /// A file of rows (time ns, bytes received since the start), of either end.
    pub received: Option<PathBuf>,
}

/// Exchanges on one connection, whose server answers at once.
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

/// What one end did.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Conversed {
    /// When the client first called connect; None for a server, or if that was too late.
    pub started_ns: Option<i64>,
    /// When the first connection was established; None if none ever was.
    pub connected_ns: Option<i64>,
    /// Exchanges whose last byte came in time.
    pub complete_epochs: u64,
    /// When the last of them ended.
    pub finished_ns: Option<i64>,
    /// TCP_INFO before each connection was closed, as the sum over them; one SYN counts as a byte
    /// that the server acknowledged.
    pub tcp_info: Option<TcpInfo>,
    /// The longest that anything was begun after its time; None: not measured.
    pub late_max_ns: Option<i64>,
}

impl Conversed {
    pub(in crate::traffic) fn connected_at(time_ns: i64) -> Self {
        Self {
            connected_ns: Some(time_ns),
            ..Self::default()
        }
    }

    /// Another exchange is complete.
    fn complete(&mut self, time_ns: i64) {
        self.complete_epochs += 1;
        self.finished_ns = self.finished_ns.max(Some(time_ns));
    }

    /// A connection is over, or its time; the SYN was one of this end's or not.
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

/// What one end received, for its file of rows (time ns, bytes since the start).
struct Received {
    bytes: u64,
    records: Option<Records<2>>,
    chunk: Vec<u8>,
}

/// How far a read or a write came.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Moved {
    /// All of it.
    All,
    /// The socket takes or has no more for now.
    Part,
    /// The peer has closed or reset the connection.
    Ended,
}

impl Received {
    fn create(task: &Conversation) -> Result<Self, Failure> {
        let create = |path: &PathBuf| Records::create(path);
        Ok(Self {
            bytes: 0,
            records: task.received.as_ref().map(create).transpose()?,
            chunk: vec![0; CHUNK_BYTES],
        })
    }

    /// Receives what is left of a number of bytes, as far as they are there.
    fn take(&mut self, mut socket: &TcpStream, left: &mut u64) -> Result<Moved, Failure> {
        while *left > 0 {
            let part = usize::try_from(*left).map_or(CHUNK_BYTES, |left| left.min(CHUNK_BYTES));
            match socket.read(&mut self.chunk[..part]) {
                Ok(0) => return Ok(Moved::Ended),
                Ok(bytes) => {
                    *left -= bytes as u64;
                    self.bytes += bytes as u64;
                    if let Some(records) = &mut self.records {
                        records.push([now_ns(), self.bytes as i64])?;
                    }
                }
                Err(error) => match stopped_by(&error) {
                    Some(moved) => return Ok(moved),
                    None => return Err(error).attempt("receive"),
                },
            }
        }
        Ok(Moved::All)
    }

    fn finish(self) -> Result<(), Failure> {
        self.records.map_or(Ok(()), Records::finish)
    }
}

/// Sends what is left of a number of bytes, as far as there is room.
fn give(socket: &TcpStream, left: &mut u64) -> Result<Moved, Failure> {
    while *left > 0 {
        match write_at_once(socket, *left) {
            Ok(bytes) => *left -= bytes as u64,
            Err(error) => match stopped_by(&error) {
                Some(moved) => return Ok(moved),
                None => return Err(error).attempt("send"),
            },
        }
    }
    Ok(Moved::All)
}

/// An error that only says how far it came.
fn stopped_by(error: &std::io::Error) -> Option<Moved> {
    match error.kind() {
        // Interrupted is tried again with the next event: sockets that do not block are not.
        ErrorKind::WouldBlock | ErrorKind::Interrupted => Some(Moved::Part),
        ErrorKind::ConnectionReset | ErrorKind::BrokenPipe => Some(Moved::Ended),
        _ => None,
    }
}

/// Whether the peer has acknowledged everything.
fn is_drained(socket: &TcpStream) -> bool {
    let mut queued: libc::c_int = 0;
    // SAFETY: TIOCOUTQ stores one int, in `queued`.
    let known = unsafe { libc::ioctl(socket.as_raw_fd(), libc::TIOCOUTQ, &mut queued) } == 0;
    !known || queued == 0
}

/// How long a packet is under way to this end, or from it: half of the shortest round trip.
fn one_way_ns(socket: &TcpStream) -> Result<i64, Failure> {
    Ok(i64::from(tcp_info(socket)?.min_rtt_us.unwrap_or(0)) * 500)
}

/// Of each exchange, where the column may be empty.
fn value_at(column: &[u64], exchange: u32) -> u64 {
    column.get(exchange as usize).copied().unwrap_or(0)
}

impl Conversation {
    /// Without the deadline, which is each response's.
    fn options(&self) -> TcpOptions<'_> {
        TcpOptions {
            control: self.control.as_deref(),
            nodelay: self.nodelay,
            hints: Hints {
                deadline_ns: None,
                ..self.hints
            },
        }
    }
}

#[cfg(test)]
mod tests;
