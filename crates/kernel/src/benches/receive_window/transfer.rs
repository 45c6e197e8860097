//! One transfer between two hosts. Records both windows at the sender and the data that reached the
//! receiver.

use std::io::{self, Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4, TcpStream};
use std::os::fd::AsRawFd as _;
use std::time::Duration;

use serde::Serialize;

use crate::error::{Attempt as _, Failure};
use crate::system::clock::{exact_timers, now_ns};
use crate::system::netns::Netns;
use crate::traffic::socket::{self, reset_on_close, Buffers, Hints, TcpInfo, TcpOptions};

/// Interval between two samples of the sender's windows.
const SAMPLE: Duration = Duration::from_millis(5);
/// Time limit of a transfer. A transfer that takes longer has failed.
const LONGEST_NS: i64 = 60_000_000_000;
/// The request that the receiver sends after it has opened the connection. The sender then starts
/// to send.
const REQUEST: &[u8; 3] = b"get";
const CHUNK_BYTES: usize = 64 * 1024;

/// One of the two hosts of a transfer.
#[derive(Clone, Copy, Debug)]
pub struct End<'a> {
    /// The host's namespace.
    pub netns: &'a Netns,
    /// The address at which this host listens, if it listens.
    pub address: Ipv4Addr,
}

/// The two hosts of a transfer, and the transfer's parameters.
#[derive(Clone, Copy, Debug)]
pub struct Transfer<'a> {
    /// The host that sends the data.
    pub sender: End<'a>,
    /// The host that receives the data.
    pub receiver: End<'a>,
    /// Name of the sender's congestion control in the kernel.
    pub control: &'a str,
    /// Payload.
    pub bytes: usize,
    /// True: the sender opens the connection. False: the receiver opens it and sends a request.
    pub sender_connects: bool,
}

/// The congestion window and the receive window at the sender at one time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Windows {
    /// Time since the transfer began.
    pub time_us: u64,
    /// Congestion window.
    pub cwnd_bytes: u64,
    /// The receive window that the receiver announced last.
    pub window_bytes: u64,
}

/// The results of a transfer. A transfer begins with the receiver's request, or with connect() if
/// the sender connects.
#[derive(Clone, Debug, Serialize)]
pub struct Transferred {
    /// Time until the last byte reached the receiver.
    pub took_us: u64,
    /// Samples every few milliseconds from the first byte on.
    pub windows: Vec<Windows>,
    /// For each read() of the receiver, its time and the bytes received until then.
    pub arrived: Vec<(u64, u64)>,
    /// For how long the receive window limited the sender; null: unknown.
    pub window_limited_us: Option<u64>,
    /// Retransmitted segments.
    pub retransmits_pkts: u32,
}

/// Records of the sender and the receiver. All times are of CLOCK_MONOTONIC.
#[derive(Debug, Default)]
struct Recorded {
    began_ns: Option<i64>,
    windows: Vec<(i64, TcpInfo)>,
    arrived: Vec<(i64, u64)>,
}

impl Transfer<'_> {
    /// Runs the transfer.
    ///
    /// # Errors
    /// An unknown control; no connection, or one that does not end within a minute.
    pub fn run(&self) -> Result<Transferred, Failure> {
        let (server, client) = if self.sender_connects {
            (self.receiver, self.sender)
        } else {
            (self.sender, self.receiver)
        };
        let listener = inside(server.netns, || {
            socket::listen(
                SocketAddrV4::new(server.address, 0),
                self.options(!self.sender_connects),
            )
        })?;
        let SocketAddr::V4(to) = listener.local_addr().attempt("listen")? else {
            return Err(Failure::failed("the listening address is not IPv4"));
        };
        let end_ns = now_ns() + LONGEST_NS;
        let (served, asked) = std::thread::scope(|scope| {
            let served = scope.spawn(|| {
                let stream = socket::accept_until(&listener, end_ns)?
                    .ok_or_else(|| Failure::failed("no connection arrived"))?;
                self.serve(stream, !self.sender_connects, end_ns)
            });
            let asked = inside(client.netns, || {
                let began_ns = now_ns();
                let options = self.options(self.sender_connects);
                let stream = socket::connect_until(to, options, end_ns)?
                    .ok_or_else(|| Failure::failed("no answer arrived"))?;
                stream.set_nonblocking(false).attempt("block")?;
                reset_on_close(&stream, false);
                let mut recorded = self.serve(stream, self.sender_connects, end_ns)?;
                recorded.began_ns = recorded.began_ns.or(Some(began_ns));
                Ok(recorded)
            });
            let served = served.join();
            let served =
                served.unwrap_or_else(|_| Err(Failure::failed("a thread of a transfer panicked")));
            (served, asked)
        });
        self.outcome(&asked?, &served?)
    }

    fn options(&self, sends: bool) -> TcpOptions<'_> {
        TcpOptions {
            control: sends.then_some(self.control),
            nodelay: true,
            buffers: Buffers::default(),
            hints: Hints::default(),
        }
    }

    fn serve(&self, stream: TcpStream, sends: bool, end_ns: i64) -> Result<Recorded, Failure> {
        stream
            .set_read_timeout(Some(Duration::from_nanos(LONGEST_NS as u64)))
            .attempt("set a timeout")?;
        if sends {
            self.send(stream, end_ns)
        } else {
            self.receive(stream, end_ns)
        }
    }

    /// Writes all data and samples the connection until the receiver has closed it.
    fn send(&self, mut stream: TcpStream, end_ns: i64) -> Result<Recorded, Failure> {
        let mut recorded = Recorded::default();
        if !self.sender_connects {
            let mut request = [0u8; REQUEST.len()];
            stream.read_exact(&mut request).attempt("read a request")?;
        }
        exact_timers();
        stream
            .write_all(&vec![7u8; self.bytes])
            .attempt("send the data")?;
        stream.set_nonblocking(true).attempt("watch a sender")?;
        loop {
            match stream.read(&mut [0u8; 1]) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => return Err(error).attempt("watch a sender"),
                Ok(_) => return Ok(recorded),
            }
            if now_ns() > end_ns {
                return Err(Failure::failed("the data did not arrive within a minute"));
            }
            recorded
                .windows
                .push((now_ns(), socket::tcp_info(&stream)?));
            std::thread::sleep(SAMPLE);
        }
    }

    fn receive(&self, mut stream: TcpStream, end_ns: i64) -> Result<Recorded, Failure> {
        let mut recorded = Recorded::default();
        if !self.sender_connects {
            recorded.began_ns = Some(now_ns());
            stream
                .write_all(REQUEST)
                .attempt("send the request for the data")?;
        }
        let mut chunk = vec![0u8; CHUNK_BYTES];
        let mut bytes = 0;
        while bytes < self.bytes as u64 {
            if !socket::readable_until(stream.as_raw_fd(), end_ns)? {
                return Err(Failure::failed("the data did not arrive within a minute"));
            }
            let got = stream.read(&mut chunk).attempt("receive the data")?;
            if got == 0 {
                return Err(Failure::failed(
                    "the sender closed before all data had arrived",
                ));
            }
            bytes += got as u64;
            recorded.arrived.push((now_ns(), bytes));
        }
        Ok(recorded)
    }

    fn outcome(&self, asked: &Recorded, served: &Recorded) -> Result<Transferred, Failure> {
        let (sender, receiver) = if self.sender_connects {
            (asked, served)
        } else {
            (served, asked)
        };
        let nothing = || Failure::failed("the transfer ended before its windows could be sampled");
        let began_ns = asked.began_ns.ok_or_else(nothing)?;
        let (end_ns, _) = receiver.arrived.last().ok_or_else(nothing)?;
        let (_, last) = sender.windows.last().ok_or_else(nothing)?;
        let since_us = |ns: i64| u64::try_from((ns - began_ns) / 1000).unwrap_or(0);
        Ok(Transferred {
            took_us: since_us(*end_ns),
            windows: sender
                .windows
                .iter()
                .filter_map(|(ns, info)| {
                    Some(Windows {
                        time_us: since_us(*ns),
                        cwnd_bytes: u64::from(info.cwnd_pkts) * u64::from(info.mss_bytes),
                        window_bytes: u64::from(info.peer_window_bytes?),
                    })
                })
                .collect(),
            arrived: receiver
                .arrived
                .iter()
                .map(|&(ns, bytes)| (since_us(ns), bytes))
                .collect(),
            window_limited_us: last.rwnd_limited_us,
            retransmits_pkts: last.retransmits_pkts,
        })
    }
}

/// Runs `work` in the given network namespace, on a separate thread, and waits for the result.
fn inside<T: Send>(
    netns: &Netns,
    work: impl FnOnce() -> Result<T, Failure> + Send,
) -> Result<T, Failure> {
    netns
        .inside(|| Ok(work()))
        .attempt(format!("work in namespace {}", netns.label))?
}
