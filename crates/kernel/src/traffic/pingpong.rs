//! Sends messages at exponential intervals on one connection; the other end echoes them. The sender
//! matches the simulator's application: the same seed and flow give the same intervals.

use std::collections::VecDeque;
use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddrV4, TcpStream};
use std::os::fd::AsRawFd;
use std::path::PathBuf;

use headway_sim::rng::{exponential_ns, stream, Purpose};

use super::exchanges::ExchangeResults;
use super::records::Records;
use super::socket::{
    accept_until, connect_until, drained_until, listen, ready_until, reset_on_close, tcp_info,
    Buffers, Hints, TcpOptions,
};
use super::CHUNK_BYTES;
use crate::error::{Attempt, Failure};
use crate::system::clock::{now_ns, sleep_until};

/// Settings of one end of a ping-pong connection.
#[derive(Clone, Debug)]
pub struct Pingpong {
    /// The address to connect to (client), or to listen at (server).
    pub address: SocketAddrV4,
    /// Name of the congestion control in the kernel; None: the namespace's default.
    pub control: Option<String>,
    /// TCP_NODELAY.
    pub nodelay: bool,
    /// Sizes of the socket's buffers.
    pub buffers: Buffers,
    /// Size of a message and of its echo.
    pub message_bytes: u64,
    /// Mean interval between two messages.
    pub mean_interval_ns: u64,
    /// The experiment's seed.
    pub seed: u64,
    /// Number of the flow. The seed and this number determine the intervals.
    pub flow: u32,
    /// When the client connects.
    pub start_ns: i64,
    /// When the client stops sending messages.
    pub stop_ns: i64,
    /// When to give up and close the connection.
    pub end_ns: i64,
    /// The client's file of rows (message, start ns, end ns), or the server's file of rows (time
    /// ns, bytes received since the start).
    pub out: Option<PathBuf>,
}

/// A connection with the bytes that it has received and those that it still has to write.
struct End<'a> {
    socket: &'a TcpStream,
    received_bytes: u64,
    owed_bytes: u64,
    closed: bool,
}

impl<'a> End<'a> {
    fn new(socket: &'a TcpStream) -> Result<Self, Failure> {
        socket
            .set_nonblocking(true)
            .attempt("make a socket non-blocking")?;
        reset_on_close(socket, true);
        Ok(Self {
            socket,
            received_bytes: 0,
            owed_bytes: 0,
            closed: false,
        })
    }

    /// Writes and reads as much as possible without waiting. Returns how many bytes were read.
    fn turn(&mut self) -> Result<u64, Failure> {
        let mut chunk = [0x5au8; CHUNK_BYTES];
        while self.owed_bytes > 0 {
            let part = self.owed_bytes.min(CHUNK_BYTES as u64) as usize;
            match self.socket.write(&chunk[..part]) {
                Ok(bytes) => self.owed_bytes -= bytes as u64,
                Err(error) if self.goes_on(&error) => break,
                Err(error) => return Err(error).attempt("send"),
            }
        }
        let before_bytes = self.received_bytes;
        loop {
            match self.socket.read(&mut chunk) {
                Ok(0) => {
                    self.closed = true;
                    break;
                }
                Ok(bytes) => self.received_bytes += bytes as u64,
                Err(error) if self.goes_on(&error) => break,
                Err(error) => return Err(error).attempt("receive"),
            }
        }
        Ok(self.received_bytes - before_bytes)
    }

    /// Returns whether an error of a read or write is harmless: it only means to try again, or that
    /// the other end closed the connection.
    fn goes_on(&mut self, error: &std::io::Error) -> bool {
        match error.kind() {
            ErrorKind::WouldBlock | ErrorKind::Interrupted => true,
            ErrorKind::ConnectionReset | ErrorKind::BrokenPipe => {
                self.closed = true;
                true
            }
            _ => false,
        }
    }

    /// Waits until the socket can be read or written, but at most until `until_ns`.
    fn wait(&self, until_ns: i64) -> Result<(), Failure> {
        let write = if self.owed_bytes > 0 {
            libc::POLLOUT
        } else {
            0
        };
        ready_until(self.socket.as_raw_fd(), libc::POLLIN | write, until_ns).map(drop)
    }
}

impl Pingpong {
    fn options(&self) -> TcpOptions<'_> {
        TcpOptions {
            control: self.control.as_deref(),
            nodelay: self.nodelay,
            buffers: self.buffers,
            hints: Hints::default(),
        }
    }
}

/// Sends messages. A message's row covers the time from its write until its echo is complete.
///
/// # Errors
/// An unknown control; a server that refuses; a file that cannot be written.
pub fn client(task: &Pingpong) -> Result<ExchangeResults, Failure> {
    let mut records = task.out.as_deref().map(Records::<3>::create).transpose()?;
    let mut gaps = stream(task.seed, Purpose::App, task.flow);
    let mut gap_ns = || exponential_ns(&mut gaps, task.mean_interval_ns) as i64;
    sleep_until(task.start_ns.min(task.end_ns));
    let Some(socket) = connect_until(task.address, task.options(), task.end_ns)? else {
        return Ok(ExchangeResults::default());
    };
    let connected_ns = now_ns();
    let mut done = ExchangeResults::connected_at(connected_ns);
    let mut end = End::new(&socket)?;
    let mut waiting = VecDeque::new();
    let mut due_ns = connected_ns + gap_ns();
    let mut number = 0;
    loop {
        let time_ns = now_ns();
        let may_ask = due_ns < task.stop_ns.min(task.end_ns);
        if time_ns >= task.end_ns || end.closed {
            break;
        }
        if may_ask && time_ns >= due_ns {
            waiting.push_back(time_ns);
            end.owed_bytes += task.message_bytes;
            due_ns += gap_ns();
        }
        end.turn()?;
        while end.received_bytes >= (done.complete_epochs + 1) * task.message_bytes {
            let Some(asked_ns) = waiting.pop_front() else {
                break;
            };
            let answered_ns = now_ns();
            if let Some(records) = &mut records {
                records.push([number, asked_ns, answered_ns])?;
            }
            number += 1;
            done.complete_epochs += 1;
            done.finished_ns = Some(answered_ns);
        }
        if !may_ask && waiting.is_empty() {
            break;
        }
        let next_ns = if may_ask { due_ns } else { task.end_ns };
        end.wait(next_ns.min(task.end_ns))?;
    }
    if let Some(records) = records {
        records.finish()?;
    }
    done.tcp_info = Some(tcp_info(&socket)?);
    reset_on_close(&socket, !drained_until(&socket, task.end_ns));
    Ok(done)
}

/// Echoes the messages of one connection. Calls `ready` when it listens.
///
/// # Errors
/// An unknown control; an address in use; a file that cannot be written.
pub fn server(task: &Pingpong, ready: impl FnOnce()) -> Result<ExchangeResults, Failure> {
    let mut records = task.out.as_deref().map(Records::<2>::create).transpose()?;
    let listener = listen(task.address, task.options())?;
    ready();
    let mut done = ExchangeResults::default();
    if let Some(socket) = accept_until(&listener, task.end_ns)? {
        done.connected_ns = Some(now_ns());
        let mut end = End::new(&socket)?;
        while now_ns() < task.end_ns && !end.closed {
            if end.turn()? > 0 {
                let time_ns = now_ns();
                if let Some(records) = &mut records {
                    records.push([time_ns, end.received_bytes as i64])?;
                }
                let complete = end.received_bytes / task.message_bytes;
                if complete > done.complete_epochs {
                    end.owed_bytes += (complete - done.complete_epochs) * task.message_bytes;
                    done.complete_epochs = complete;
                    done.finished_ns = Some(time_ns);
                    end.turn()?;
                }
            }
            end.wait(task.end_ns)?;
        }
        done.tcp_info = Some(tcp_info(&socket)?);
        reset_on_close(&socket, !drained_until(&socket, task.end_ns));
    }
    if let Some(records) = records {
        records.finish()?;
    }
    Ok(done)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::Ipv4Addr;

    /// Runs both ends over the loopback device. Does not check how late messages are sent, because
    /// that depends on the machine. If the machine connects half a second late, no message is sent
    /// and nothing is checked.
    #[test]
    fn every_message_is_echoed_and_the_seed_sets_the_intervals() {
        let begin_ns = now_ns();
        let out = |side| std::env::temp_dir().join(format!("hw-pp-{side}-{}", std::process::id()));
        let task = Pingpong {
            address: SocketAddrV4::new(Ipv4Addr::LOCALHOST, 47_314),
            control: None,
            nodelay: true,
            buffers: Buffers::default(),
            message_bytes: 100_000,
            mean_interval_ns: 10_000_000,
            seed: 7,
            flow: 2,
            start_ns: 0,
            stop_ns: begin_ns + 500_000_000,
            end_ns: begin_ns + 60_000_000_000,
            out: Some(out("server")),
        };
        let (tell, told) = std::sync::mpsc::channel();
        let server = {
            let task = task.clone();
            std::thread::spawn(move || server(&task, || tell.send(()).unwrap()))
        };
        told.recv().unwrap();
        let asked = client(&Pingpong {
            out: Some(out("client")),
            ..task.clone()
        })
        .unwrap();
        let answered = server.join().unwrap().unwrap();
        assert_eq!(asked.complete_epochs, answered.complete_epochs);
        let rows = |side| -> Vec<i64> {
            let bytes = std::fs::read(out(side)).unwrap();
            std::fs::remove_file(out(side)).unwrap();
            bytes
                .chunks_exact(8)
                .map(|b| i64::from_le_bytes(b.try_into().unwrap()))
                .collect()
        };
        assert_eq!(
            *rows("server").last().unwrap() as u64,
            asked.complete_epochs * task.message_bytes
        );
        let rows = rows("client");
        let mut gaps = stream(7, Purpose::App, 2);
        let mut due_ns = asked.connected_ns.unwrap();
        let due: Vec<i64> = std::iter::repeat_with(|| {
            due_ns += exponential_ns(&mut gaps, task.mean_interval_ns) as i64;
            due_ns
        })
        .take_while(|&due_ns| due_ns < task.stop_ns)
        .collect();
        assert!(!due.is_empty(), "connected after the end: {asked:?}");
        assert_eq!(rows.len(), 3 * due.len());
        for (row, due_ns) in rows.chunks_exact(3).zip(due) {
            assert!(row[1] >= due_ns && row[2] >= row[1], "never early: {row:?}");
        }
    }
}
