//! One TCP connection that sends as fast as TCP allows, or sends a given number of bytes.

use std::io::{ErrorKind, Read};
use std::net::{SocketAddrV4, TcpStream};
use std::os::fd::AsRawFd;
use std::path::PathBuf;

use serde::Serialize;

use super::reader::{Calls, Reading};
use super::records::Records;
use super::socket::{
    accept_until, connect_until, drained_until, listen, readable_until, reset_on_close, tcp_info,
    writable_until, Buffers, Hints, TcpInfo, TcpOptions,
};
use super::{write_at_once, CHUNK_BYTES};
use crate::error::{Attempt, Failure};
use crate::system::clock::{now_ns, sleep_until};

/// Minimum time between two rows of the receiver's file.
const RECORD_GAP_NS: i64 = 500_000;
/// Size of one read call: more than any receive buffer holds.
const LARGEST_CALL_BYTES: usize = 16 << 20;

/// A bulk sender.
#[derive(Clone, Debug)]
pub struct BulkSend {
    /// Where to connect.
    pub to: SocketAddrV4,
    /// Name of the congestion control in the kernel; None: the namespace's default.
    pub control: Option<String>,
    /// TCP_NODELAY.
    pub nodelay: bool,
    /// Sizes of the socket's buffers.
    pub buffers: Buffers,
    /// Hints that are set before the connection opens.
    pub hints: Hints,
    /// Number of bytes to send; None: send until `stop_ns`.
    pub bytes: Option<u64>,
    /// When to connect.
    pub start_ns: i64,
    /// When to stop writing. Data in the send buffer is still delivered.
    pub stop_ns: i64,
    /// When to give up and reset the connection.
    pub end_ns: i64,
}

/// The results of a bulk sender.
#[derive(Clone, Debug, Serialize)]
pub struct BulkSent {
    /// When connect() was called; None if `end_ns` had passed before.
    pub started_ns: Option<i64>,
    /// When the connection was established; None: never.
    pub connected_ns: Option<i64>,
    /// When the last byte was acknowledged, or when the sender gave up.
    pub finished_ns: i64,
    /// Bytes that were written to the socket.
    pub written_bytes: u64,
    /// Whether all written bytes were acknowledged.
    pub complete: bool,
    /// Whether the sender closed with a FIN; otherwise it closed with a reset at `end_ns`.
    pub closed: bool,
    /// TCP_INFO before the connection was closed.
    pub tcp_info: Option<TcpInfo>,
}

/// Connects and sends.
///
/// # Errors
/// An unknown control; a peer that refuses or resets.
pub fn send(task: &BulkSend) -> Result<BulkSent, Failure> {
    let options = TcpOptions {
        control: task.control.as_deref(),
        nodelay: task.nodelay,
        buffers: task.buffers,
        hints: task.hints,
    };
    sleep_until(task.start_ns.min(task.end_ns));
    let started_ns = now_ns();
    let Some(socket) = connect_until(task.to, options, task.end_ns)? else {
        return Ok(BulkSent {
            started_ns: (started_ns < task.end_ns).then_some(started_ns),
            connected_ns: None,
            finished_ns: now_ns(),
            written_bytes: 0,
            complete: false,
            closed: false,
            tcp_info: None,
        });
    };
    let connected_ns = now_ns();
    let written_bytes = write_until(&socket, task)?;
    let complete = drained_until(&socket, task.end_ns);
    let finished_ns = now_ns();
    let info = tcp_info(&socket)?;
    reset_on_close(&socket, !complete);
    Ok(BulkSent {
        started_ns: Some(started_ns),
        connected_ns: Some(connected_ns),
        finished_ns,
        written_bytes,
        complete,
        closed: complete,
        tcp_info: Some(info),
    })
}

fn write_until(socket: &TcpStream, task: &BulkSend) -> Result<u64, Failure> {
    let mut written = 0u64;
    let mut left = task.bytes.unwrap_or(u64::MAX);
    while left > 0 && now_ns() < task.stop_ns {
        match write_at_once(socket, left) {
            Ok(bytes) => {
                written += bytes as u64;
                left -= bytes as u64;
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                writable_until(socket.as_raw_fd(), task.stop_ns)?;
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error).attempt(format_args!("send to {}", task.to)),
        }
    }
    Ok(written)
}

/// Settings of a receiver, which accepts one connection.
#[derive(Clone, Debug)]
pub struct BulkReceive {
    /// Where to listen.
    pub listen: SocketAddrV4,
    /// Name of the congestion control in the kernel, for controls that need one at both ends; None:
    /// the namespace's default.
    pub control: Option<String>,
    /// How it reads.
    pub reading: Reading,
    /// Sizes of the socket's buffers.
    pub buffers: Buffers,
    /// File of rows (time ns, bytes received since the start).
    pub out: Option<PathBuf>,
    /// When to give up and close the connection.
    pub end_ns: i64,
}

/// The results of a bulk receiver.
#[derive(Clone, Debug, Serialize)]
pub struct BulkReceived {
    /// When the connection was accepted; None if no connection arrived.
    pub accepted_ns: Option<i64>,
    /// When the last data were read.
    pub last_ns: Option<i64>,
    /// Bytes received.
    pub received_bytes: u64,
    /// Whether the sender closed the connection with a FIN; otherwise a reset or `end_ns` ended it.
    pub closed: bool,
}

/// Receives one connection. Calls `ready` when it listens, and prints nothing.
///
/// # Errors
/// An address in use; a file that cannot be written.
pub fn receive(task: &BulkReceive, ready: impl FnOnce()) -> Result<BulkReceived, Failure> {
    let options = TcpOptions {
        control: task.control.as_deref(),
        nodelay: false,
        buffers: task.buffers,
        hints: Hints::default(),
    };
    let listener = listen(task.listen, options)?;
    let mut records = task.out.as_deref().map(Records::<2>::create).transpose()?;
    ready();
    let mut got = BulkReceived {
        accepted_ns: None,
        last_ns: None,
        received_bytes: 0,
        closed: false,
    };
    if let Some(socket) = accept_until(&listener, task.end_ns)? {
        got.accepted_ns = Some(now_ns());
        read_until(&socket, task, &mut got, &mut records)?;
    }
    if let Some(records) = records {
        records.finish()?;
    }
    Ok(got)
}

fn read_until(
    mut socket: &TcpStream,
    task: &BulkReceive,
    got: &mut BulkReceived,
    records: &mut Option<Records<2>>,
) -> Result<(), Failure> {
    // Allocate the buffer for the largest read in advance. Preparing a large buffer takes tens of
    // ms, and would delay reads that are due.
    let largest = usize::try_from(task.reading.largest_call_bytes()).unwrap_or(usize::MAX);
    let mut chunk = vec![0u8; largest.clamp(CHUNK_BYTES, LARGEST_CALL_BYTES)];
    let (mut recorded_ns, mut recorded_bytes) = (i64::MIN, 0);
    let mut calls = Calls::of(task.reading, got.accepted_ns.unwrap_or_else(now_ns));
    if calls.is_some() {
        socket
            .set_nonblocking(true)
            .attempt("make a socket non-blocking")?;
    }
    while let Some(bytes) = next_call(socket, task, &mut calls)? {
        let bytes = bytes.min(chunk.len());
        match socket.read(&mut chunk[..bytes]) {
            Err(error) if error.kind() == ErrorKind::WouldBlock => {}
            Ok(0) => {
                got.closed = true;
                break;
            }
            Ok(bytes) => {
                let time_ns = now_ns();
                // A row has the number of bytes received until after this read. The times of two
                // rows differ by at least RECORD_GAP_NS.
                if time_ns.saturating_sub(recorded_ns) >= RECORD_GAP_NS {
                    record(records, time_ns, got.received_bytes + bytes as u64)?;
                    (recorded_ns, recorded_bytes) = (time_ns, got.received_bytes + bytes as u64);
                }
                got.received_bytes += bytes as u64;
                got.last_ns = Some(time_ns);
            }
            Err(error) if error.kind() == ErrorKind::ConnectionReset => break,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error).attempt("receive"),
        }
    }
    if let (Some(last_ns), true) = (got.last_ns, got.received_bytes > recorded_bytes) {
        record(records, last_ns, got.received_bytes)?;
    }
    Ok(())
}

/// Waits until the application is to read again, and returns how many bytes to read. None: `end_ns`
/// has passed.
fn next_call(
    socket: &TcpStream,
    task: &BulkReceive,
    calls: &mut Option<Calls>,
) -> Result<Option<usize>, Failure> {
    let Some(calls) = calls else {
        let readable = readable_until(socket.as_raw_fd(), task.end_ns)?;
        return Ok(readable.then_some(CHUNK_BYTES));
    };
    loop {
        let (due_ns, bytes) = calls.next();
        if due_ns >= task.end_ns {
            sleep_until(task.end_ns);
            return Ok(None);
        }
        sleep_until(due_ns);
        if bytes > 0 {
            return Ok(Some(usize::try_from(bytes).unwrap_or(usize::MAX)));
        }
    }
}

fn record(records: &mut Option<Records<2>>, time_ns: i64, bytes: u64) -> Result<(), Failure> {
    match records {
        Some(records) => records.push([time_ns, i64::try_from(bytes).unwrap_or(i64::MAX)]),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::Ipv4Addr;

    #[test]
    fn every_byte_sent_is_received_and_recorded() {
        let out = std::env::temp_dir().join(format!("headway-bulk-{}", std::process::id()));
        let address = SocketAddrV4::new(Ipv4Addr::LOCALHOST, 47_311);
        let end_ns = now_ns() + 10_000_000_000;
        let (tell, told) = std::sync::mpsc::channel();
        let receiver = {
            let out = out.clone();
            std::thread::spawn(move || {
                let task = BulkReceive {
                    listen: address,
                    control: None,
                    reading: Reading::Eager,
                    buffers: Buffers::default(),
                    out: Some(out),
                    end_ns,
                };
                receive(&task, || tell.send(()).unwrap())
            })
        };
        told.recv().unwrap();
        let sent = send(&BulkSend {
            to: address,
            control: None,
            nodelay: false,
            buffers: Buffers::default(),
            hints: Hints::default(),
            bytes: Some(1_000_001),
            start_ns: 0,
            stop_ns: end_ns,
            end_ns,
        })
        .unwrap();
        let got = receiver.join().unwrap().unwrap();
        assert_eq!(
            (sent.written_bytes, got.received_bytes),
            (1_000_001, 1_000_001)
        );
        assert!(sent.complete && got.closed);
        let rows = std::fs::read(&out).unwrap();
        let last = &rows[rows.len() - 8..];
        assert_eq!(i64::from_le_bytes(last.try_into().unwrap()), 1_000_001);
        std::fs::remove_file(out).unwrap();
    }
}
