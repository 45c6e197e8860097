//! Sends datagrams at a constant rate, each with its number and the time of sending, and receives
//! them.

use std::io::ErrorKind;
use std::net::{SocketAddrV4, UdpSocket};
use std::os::fd::AsRawFd;
use std::path::PathBuf;

use headway_system::socket::set;
use serde::Serialize;

use super::records::Records;
use super::socket::readable_until;
use crate::error::{Attempt, Failure};
use crate::system::clock::{exact_timers, now_ns, sleep_until};

/// Size of the headers of IPv4 and UDP.
const HEADER_BYTES: usize = 28;
/// Size of the number and the time in each datagram.
const STAMP_BYTES: usize = 16;
/// ECT(0) in the type of service field (RFC 3168 section 5).
const ECT_0: i32 = 2;
/// Size of the largest IP packet, with its headers.
const LARGEST_BYTES: usize = 65_535;

/// A sender.
#[derive(Clone, Debug)]
pub struct CbrSend {
    /// The receiver's address.
    pub to: SocketAddrV4,
    /// Size of each IP packet with all headers.
    pub ip_bytes: usize,
    /// Time between two datagrams.
    pub interval_ns: i64,
    /// When to send the first datagram.
    pub start_ns: i64,
    /// When to stop: no datagram is sent at this time or later.
    pub stop_ns: i64,
    /// Whether datagrams carry the codepoint ECT(0), so that routers can mark them with CE.
    pub ecn: bool,
    /// File of rows (number, time sent in ns) for all datagrams, including those that are lost
    /// later.
    pub out: Option<PathBuf>,
}

/// The results of a sender of datagrams.
#[derive(Clone, Debug, Serialize)]
pub struct CbrSent {
    /// Datagrams passed to the kernel.
    pub sent_pkts: u64,
    /// Datagrams that the kernel refused to send. The file of records has no row for them.
    pub refused_pkts: u64,
    /// The longest time by which a datagram was sent too late.
    pub late_max_ns: i64,
}

/// Sends the datagrams.
///
/// # Errors
/// A size that does not fit; a file that cannot be written.
pub fn send(task: &CbrSend) -> Result<CbrSent, Failure> {
    let sizes = HEADER_BYTES + STAMP_BYTES..=LARGEST_BYTES;
    if !sizes.contains(&task.ip_bytes) {
        return Err(Failure::bad_input(format!(
            "IP packets of {} bytes: must be from {} to {}",
            task.ip_bytes,
            sizes.start(),
            sizes.end()
        )));
    }
    if task.interval_ns <= 0 {
        return Err(Failure::bad_input("the interval must be more than 0 ns"));
    }
    let socket = UdpSocket::bind("0.0.0.0:0").attempt("open a UDP socket")?;
    if task.ecn {
        set(&socket, libc::IPPROTO_IP, libc::IP_TOS, &ECT_0).attempt("set ECT(0)")?;
    }
    let mut records = task.out.as_deref().map(Records::<2>::create).transpose()?;
    exact_timers();
    let mut payload = vec![0u8; task.ip_bytes - HEADER_BYTES];
    let mut sent = CbrSent {
        sent_pkts: 0,
        refused_pkts: 0,
        late_max_ns: 0,
    };
    let mut due_ns = task.start_ns;
    for number in 0i64.. {
        if due_ns >= task.stop_ns {
            break;
        }
        sleep_until(due_ns);
        let time_ns = now_ns();
        payload[..8].copy_from_slice(&number.to_le_bytes());
        payload[8..STAMP_BYTES].copy_from_slice(&time_ns.to_le_bytes());
        match socket.send_to(&payload, task.to) {
            Ok(_) => {
                sent.sent_pkts += 1;
                sent.late_max_ns = sent.late_max_ns.max(time_ns - due_ns);
                if let Some(records) = &mut records {
                    records.push([number, time_ns])?;
                }
            }
            // count this datagram as refused: the receiver does not listen yet, or the device's
            // queue is full
            Err(error)
                if matches!(error.kind(), ErrorKind::ConnectionRefused)
                    || error.raw_os_error() == Some(libc::ENOBUFS) =>
            {
                sent.refused_pkts += 1;
            }
            Err(error) => return Err(error).attempt(format_args!("send to {}", task.to)),
        }
        due_ns += task.interval_ns;
    }
    if let Some(records) = records {
        records.finish()?;
    }
    Ok(sent)
}

/// A receiver.
#[derive(Clone, Debug)]
pub struct CbrReceive {
    /// Where to listen.
    pub listen: SocketAddrV4,
    /// File of rows (number, time sent, time received, in ns).
    pub out: Option<PathBuf>,
    /// When to end.
    pub end_ns: i64,
}

/// The results of a receiver of datagrams.
#[derive(Clone, Debug, Serialize)]
pub struct CbrReceived {
    /// Datagrams received.
    pub received_pkts: u64,
    /// Received datagrams that were too short for a number and a time.
    pub foreign_pkts: u64,
}

/// Receives until `end_ns`. Calls `ready` when it listens.
///
/// # Errors
/// An address in use; a file that cannot be written.
pub fn receive(task: &CbrReceive, ready: impl FnOnce()) -> Result<CbrReceived, Failure> {
    let socket = UdpSocket::bind(task.listen).attempt(format_args!("listen on {}", task.listen))?;
    let mut records = task.out.as_deref().map(Records::<3>::create).transpose()?;
    ready();
    let mut got = CbrReceived {
        received_pkts: 0,
        foreign_pkts: 0,
    };
    let mut payload = vec![0u8; LARGEST_BYTES];
    while readable_until(socket.as_raw_fd(), task.end_ns)? {
        let (bytes, _) = match socket.recv_from(&mut payload) {
            Ok(datagram) => datagram,
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            Err(error) => return Err(error).attempt("receive a datagram"),
        };
        let time_ns = now_ns();
        if bytes < STAMP_BYTES {
            got.foreign_pkts += 1;
            continue;
        }
        let word = |at: usize| i64::from_le_bytes(payload[at..at + 8].try_into().expect("8"));
        got.received_pkts += 1;
        if let Some(records) = &mut records {
            records.push([word(0), word(8), time_ns])?;
        }
    }
    if let Some(records) = records {
        records.finish()?;
    }
    Ok(got)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::Ipv4Addr;

    fn sender(ip_bytes: usize) -> CbrSend {
        let start_ns = now_ns() + 20_000_000;
        CbrSend {
            to: SocketAddrV4::new(Ipv4Addr::LOCALHOST, 47_312),
            ip_bytes,
            interval_ns: 1_000_000,
            start_ns,
            stop_ns: start_ns + 50_000_000,
            ecn: false,
            out: None,
        }
    }

    #[test]
    fn datagrams_leave_on_time_and_arrive_with_their_number() {
        let out = std::env::temp_dir().join(format!("headway-cbr-{}", std::process::id()));
        let (tell, told) = std::sync::mpsc::channel();
        let receiver = {
            let task = CbrReceive {
                listen: sender(186).to,
                out: Some(out.clone()),
                // two seconds are enough for the test's receiver to get datagrams that arrive late
                end_ns: now_ns() + 2_000_000_000,
            };
            std::thread::spawn(move || receive(&task, || tell.send(()).unwrap()))
        };
        told.recv().unwrap();
        let task = sender(186);
        let sent = send(&task).unwrap();
        let got = receiver.join().unwrap().unwrap();
        assert_eq!((sent.sent_pkts, sent.refused_pkts), (50, 0));
        assert_eq!(got.received_pkts, sent.sent_pkts);
        let rows = std::fs::read(&out).unwrap();
        std::fs::remove_file(out).unwrap();
        let words: Vec<i64> = rows
            .chunks_exact(8)
            .map(|word| i64::from_le_bytes(word.try_into().unwrap()))
            .collect();
        let mut previous = -1;
        for row in words.chunks_exact(3) {
            assert!(row[0] > previous, "numbers rise");
            assert!(
                row[1] >= task.start_ns + row[0] * task.interval_ns,
                "never early"
            );
            assert!(row[2] >= row[1], "received after it was sent");
            previous = row[0];
        }
    }

    #[test]
    fn a_packet_too_small_for_its_stamp_is_bad_input() {
        let error = send(&sender(43)).unwrap_err();
        assert_eq!(error.exit_status, crate::error::BAD_INPUT);
    }
}
