//! Requests and responses on one connection: exchanges of bytes asked, the server's time,
//! bytes answered and time to think. Both ends know them; the bytes carry nothing.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddrV4, TcpStream};
use std::os::fd::AsRawFd;
use std::path::PathBuf;

use headway_experiment::exchanges::Exchanges;
use serde::Serialize;

use super::records::Records;
use super::socket::{
    accept_until, connect_until, drained_until, listen, readable_until, reset_on_close, tcp_info,
    writable_until, Hints, TcpInfo, TcpOptions,
};
use super::CHUNK_BYTES;
use crate::error::{Attempt, Failure};
use crate::system::clock::{now_ns, sleep_until};

/// Request in bytes, response in bytes, think time until the next in ns.
pub type Epoch = (u64, u64, u64);

/// One end of the conversation.
#[derive(Clone, Debug)]
pub struct Vectors {
    /// The client: where to connect; the server: where to listen.
    pub address: SocketAddrV4,
    /// The kernel's name of the congestion control; None leaves the namespace's.
    pub control: Option<String>,
    /// TCP_NODELAY.
    pub nodelay: bool,
    /// What this end says of the connection before it opens.
    pub hints: Hints,
    /// What is asked and answered.
    pub exchanges: Exchanges,
    /// When the client connects.
    pub start_ns: i64,
    /// When to give up.
    pub end_ns: i64,
    /// The client's file of rows (epoch, start ns, end ns).
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
    /// When the client called connect; None for a server.
    pub started_ns: Option<i64>,
    /// When the connection was established; None if it never was.
    pub connected_ns: Option<i64>,
    /// Epochs whose last byte came in time.
    pub complete_epochs: u64,
    /// When the last of them ended.
    pub finished_ns: Option<i64>,
    /// TCP_INFO before the connection was closed.
    pub tcp_info: Option<TcpInfo>,
}

impl Conversed {
    pub(super) fn connected_at(time_ns: i64) -> Self {
        Self {
            connected_ns: Some(time_ns),
            ..Self::default()
        }
    }
}

/// What one end received, for its file of rows (time ns, bytes since the start).
struct Received {
    bytes: u64,
    records: Option<Records<2>>,
}

impl Received {
    fn create(task: &Vectors) -> Result<Self, Failure> {
        let create = |path: &PathBuf| Records::create(path);
        Ok(Self {
            bytes: 0,
            records: task.received.as_ref().map(create).transpose()?,
        })
    }

    fn add(&mut self, bytes: usize) -> Result<(), Failure> {
        self.bytes += bytes as u64;
        match &mut self.records {
            Some(records) => records.push([now_ns(), self.bytes as i64]),
            None => Ok(()),
        }
    }

    fn finish(self) -> Result<(), Failure> {
        self.records.map_or(Ok(()), Records::finish)
    }
}

impl Vectors {
    fn options(&self) -> TcpOptions<'_> {
        TcpOptions {
            control: self.control.as_deref(),
            nodelay: self.nodelay,
            hints: self.hints,
        }
    }

    /// Sends a number of bytes; false if the connection or the time ended before.
    fn give(&self, mut socket: &TcpStream, bytes: u64) -> Result<bool, Failure> {
        let chunk = [0x5au8; CHUNK_BYTES];
        let mut left = bytes;
        while left > 0 {
            let part = usize::try_from(left).map_or(CHUNK_BYTES, |left| left.min(CHUNK_BYTES));
            match socket.write(&chunk[..part]) {
                Ok(bytes) => left -= bytes as u64,
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    if !writable_until(socket.as_raw_fd(), self.end_ns)? {
                        return Ok(false);
                    }
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if ended(&error) => return Ok(false),
                Err(error) => return Err(error).attempt("send"),
            }
        }
        Ok(true)
    }

    /// Receives a number of bytes; false if the connection or the time ended before.
    fn take(
        &self,
        mut socket: &TcpStream,
        bytes: u64,
        received: &mut Received,
    ) -> Result<bool, Failure> {
        let mut chunk = vec![0u8; CHUNK_BYTES];
        let mut left = bytes;
        while left > 0 {
            if !readable_until(socket.as_raw_fd(), self.end_ns)? {
                return Ok(false);
            }
            let part = usize::try_from(left).map_or(CHUNK_BYTES, |left| left.min(CHUNK_BYTES));
            match socket.read(&mut chunk[..part]) {
                Ok(0) => return Ok(false),
                Ok(bytes) => {
                    left -= bytes as u64;
                    received.add(bytes)?;
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if ended(&error) => return Ok(false),
                Err(error) => return Err(error).attempt("receive"),
            }
        }
        Ok(true)
    }
}

fn ended(error: &std::io::Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::ConnectionReset | ErrorKind::BrokenPipe
    )
}

/// Asks; the row of an epoch is from its request's first byte to its response's last. The
/// first request is there when the connection is asked for, so its row has the handshake.
///
/// # Errors
/// An unknown control; a server that refuses; a file that cannot be written.
pub fn client(task: &Vectors) -> Result<Conversed, Failure> {
    let mut records = task.out.as_deref().map(Records::<3>::create).transpose()?;
    let mut received = Received::create(task)?;
    let start_ns = task.exchanges.start_ns.first().copied().unwrap_or(0);
    sleep_until(
        task.start_ns
            .saturating_add_unsigned(start_ns)
            .min(task.end_ns),
    );
    let started_ns = now_ns();
    let Some(socket) = connect_until(task.address, task.options(), task.end_ns)? else {
        return Ok(Conversed::default());
    };
    let mut done = Conversed::connected_at(now_ns());
    done.started_ns = Some(started_ns);
    for number in 0..task.exchanges.len() {
        let request = task.exchanges.request_bytes[number];
        let response = task.exchanges.response_bytes[number];
        let think_ns = task.exchanges.think_ns[number];
        let asked_ns = if number == 0 { started_ns } else { now_ns() };
        if !(task.give(&socket, request)? && task.take(&socket, response, &mut received)?) {
            break;
        }
        let answered_ns = now_ns();
        done.complete_epochs += 1;
        done.finished_ns = Some(answered_ns);
        if let Some(records) = &mut records {
            records.push([number as i64, asked_ns, answered_ns])?;
        }
        let next_ns = answered_ns.saturating_add_unsigned(think_ns);
        sleep_until(next_ns.min(task.end_ns));
        if next_ns >= task.end_ns {
            break;
        }
    }
    if let Some(records) = records {
        records.finish()?;
    }
    received.finish()?;
    done.tcp_info = Some(tcp_info(&socket)?);
    reset_on_close(&socket, !drained_until(&socket, task.end_ns));
    Ok(done)
}

/// Answers one connection; `ready` is called when it listens.
///
/// # Errors
/// An unknown control; an address in use.
pub fn server(task: &Vectors, ready: impl FnOnce()) -> Result<Conversed, Failure> {
    let listener = listen(task.address, task.options())?;
    let mut received = Received::create(task)?;
    ready();
    let mut done = Conversed::default();
    let Some(socket) = accept_until(&listener, task.end_ns)? else {
        return Ok(done);
    };
    done.connected_ns = Some(now_ns());
    socket.set_nonblocking(true).attempt("not to block")?;
    reset_on_close(&socket, true);
    for number in 0..task.exchanges.len() {
        let request = task.exchanges.request_bytes[number];
        let response = task.exchanges.response_bytes[number];
        if !task.take(&socket, request, &mut received)? {
            break;
        }
        let serve_ns = task.exchanges.serve_ns.get(number).copied().unwrap_or(0);
        if serve_ns > 0 {
            sleep_until(now_ns().saturating_add_unsigned(serve_ns).min(task.end_ns));
        }
        if !task.give(&socket, response)? {
            break;
        }
        done.complete_epochs += 1;
        done.finished_ns = Some(now_ns());
    }
    received.finish()?;
    reset_on_close(&socket, !drained_until(&socket, task.end_ns));
    done.tcp_info = Some(tcp_info(&socket)?);
    Ok(done)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::Ipv4Addr;

    #[test]
    fn every_request_has_its_response_and_thinking_takes_its_time() {
        let end_ns = now_ns() + 10_000_000_000;
        let task = Vectors {
            address: SocketAddrV4::new(Ipv4Addr::LOCALHOST, 47_313),
            control: None,
            nodelay: true,
            hints: Hints::default(),
            exchanges: Exchanges {
                serve_ns: vec![0, 30_000_000, 0],
                ..of_epochs(&[(100, 300_000, 20_000_000), (200_000, 1, 0), (1, 5, 0)])
            },
            start_ns: 0,
            end_ns,
            out: None,
            received: None,
        };
        let (tell, told) = std::sync::mpsc::channel();
        let server = {
            let task = task.clone();
            std::thread::spawn(move || server(&task, || tell.send(()).unwrap()))
        };
        told.recv().unwrap();
        let asked = client(&task).unwrap();
        let answered = server.join().unwrap().unwrap();
        assert_eq!((asked.complete_epochs, answered.complete_epochs), (3, 3));
        assert!(asked.started_ns.unwrap() <= asked.connected_ns.unwrap());
        let length_ns = asked.finished_ns.unwrap() - asked.connected_ns.unwrap();
        assert!(length_ns >= 50_000_000, "{length_ns}");
        // the SYN's byte counts as well
        let acked = asked.tcp_info.unwrap().acked_bytes.unwrap();
        assert!((200_001..=200_102).contains(&acked), "{acked}");
    }
}
