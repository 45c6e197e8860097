//! Packets of a script in the bytes of a TUN device.

use super::network::{OWN, PEER};
use crate::script::TcpOption;
use crate::segment::Segment;
use headway_wire::tcp::TcpRepr;
use headway_wire::tcp_options::{Mss, Sack, SackBlock, SackPermitted, Timestamps, WindowScale};
use headway_wire::{Ecn, Ipv4Repr, Ipv4View, OptionSpace, TcpFlags, TcpView};
use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::net::Ipv4Addr;
use std::os::fd::AsRawFd as _;
use std::time::{Duration, Instant};

/// Protocol number of TCP.
const TCP: u8 = 6;
/// Size of an IPv4 header without options.
const IPV4_BYTES: usize = 20;
/// Larger than any packet of the device.
const BUFFER_BYTES: usize = 1 << 16;

/// A packet from the kernel.
pub(super) struct Received {
    pub source_port: u16,
    pub destination_port: u16,
    /// Its sequence number is that on the wire.
    pub segment: Segment,
}

/// A TUN device.
pub(super) struct Device(File);

impl Device {
    /// Creates the device in the calling thread's namespace.
    pub fn new(name: &str) -> io::Result<Device> {
        headway_emulator::tun::create(name).map(|fd| Device(File::from(fd)))
    }

    /// Reads the next TCP segment, waiting at most this long.
    pub fn read(&mut self, most: Duration) -> io::Result<Option<Received>> {
        let until = Instant::now() + most;
        let mut buffer = vec![0; BUFFER_BYTES];
        loop {
            match self.0.read(&mut buffer) {
                Ok(len) => {
                    if let Some(received) = received(&buffer[..len]) {
                        return Ok(Some(received));
                    }
                    continue;
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => return Err(error),
            }
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(None);
            }
            let mut poll = libc::pollfd {
                fd: self.0.as_raw_fd(),
                events: libc::POLLIN,
                revents: 0,
            };
            let timeout = libc::timespec {
                tv_sec: left.as_secs() as libc::time_t,
                tv_nsec: libc::c_long::from(left.subsec_nanos() as i32),
            };
            // SAFETY: both structures outlive the call.
            unsafe { libc::ppoll(&raw mut poll, 1, &raw const timeout, std::ptr::null()) };
        }
    }

    /// Makes a segment arrive at the kernel. The endpoint's own numbers begin at `first` on the
    /// wire.
    pub fn write(&mut self, segment: &Segment, first: u32, from: u16, to: u16) -> io::Result<()> {
        let peer = address(PEER);
        let own = address(OWN);
        let tcp = TcpRepr {
            source_port: from,
            destination_port: to,
            sequence: segment.seq,
            acknowledgement: segment.ack.map_or(0, |ack| ack.wrapping_add(first)),
            flags: TcpFlags::from_bits(segment.flags),
            window: segment.window as u16,
            urgent_pointer: 0,
            options: options(&segment.options, first).map_err(io::Error::other)?,
        };
        let mut ip = Ipv4Repr::new(peer, own, TCP);
        ip.ecn = Ecn::from_bits(segment.ecn);
        let len = IPV4_BYTES + tcp.header_len_bytes() + segment.payload_bytes as usize;
        let total = u16::try_from(len).map_err(io::Error::other)?;
        let mut bytes = vec![0; len];
        let (head, rest) = bytes.split_at_mut(IPV4_BYTES);
        ip.emit(total, head);
        tcp.emit(peer, own, rest);
        self.0.write_all(&bytes)
    }
}

fn address(text: &str) -> Ipv4Addr {
    text.parse().expect("an address")
}

fn options(
    all: &[TcpOption],
    first: u32,
) -> Result<OptionSpace<headway_wire::options::InTcp>, headway_wire::options::NoRoom> {
    let mut space = OptionSpace::new();
    for option in all {
        match option {
            TcpOption::Mss(mss_bytes) => space.push(&Mss {
                mss_bytes: *mss_bytes,
            })?,
            TcpOption::Scale(shift) => space.push(&WindowScale { shift: *shift })?,
            TcpOption::SackPermitted => space.push(&SackPermitted)?,
            TcpOption::Timestamps(value, echo_reply) => space.push(&Timestamps {
                value: *value,
                echo_reply: *echo_reply,
            })?,
            TcpOption::Sack(blocks) => {
                let block = |&(start, end): &(u32, u32)| SackBlock {
                    left: start.wrapping_add(first),
                    right: end.wrapping_add(first),
                };
                let blocks: Vec<SackBlock> = blocks.iter().map(block).collect();
                space.push(&Sack::new(&blocks))?;
            }
            TcpOption::AccurateEcn(kind, counters) => {
                let mut bytes = vec![*kind, 2 + 3 * counters.len() as u8];
                for counter in counters {
                    bytes.extend(&counter.to_be_bytes()[1..]);
                }
                space.push_encoded("Accurate ECN", &bytes)?;
            }
            TcpOption::Other(_) => {}
        }
    }
    Ok(space)
}

/// Reads a packet; None if it is no TCP segment.
fn received(bytes: &[u8]) -> Option<Received> {
    let ip = Ipv4View::parse(bytes).ok()?;
    if ip.protocol() != TCP {
        return None;
    }
    let tcp = TcpView::parse(ip.payload()).ok()?;
    let mut options = vec![];
    for option in tcp.options() {
        let option = option.ok()?;
        options.push(match option.kind {
            2 => TcpOption::Mss(u16::from_be_bytes(option.data.try_into().ok()?)),
            3 => TcpOption::Scale(*option.data.first()?),
            4 => TcpOption::SackPermitted,
            5 => {
                let word = |at: usize| -> Option<u32> {
                    Some(u32::from_be_bytes(
                        option.data.get(at..at + 4)?.try_into().ok()?,
                    ))
                };
                let starts = (0..option.data.len()).step_by(8);
                TcpOption::Sack(
                    starts
                        .map(|at| Some((word(at)?, word(at + 4)?)))
                        .collect::<Option<_>>()?,
                )
            }
            8 => {
                let (value, echo) = option.data.split_at_checked(4)?;
                TcpOption::Timestamps(
                    u32::from_be_bytes(value.try_into().ok()?),
                    u32::from_be_bytes(echo.try_into().ok()?),
                )
            }
            kind @ (172 | 174) => {
                let counters = option.data.chunks_exact(3);
                let counter = |bytes: &[u8]| u32::from_be_bytes([0, bytes[0], bytes[1], bytes[2]]);
                TcpOption::AccurateEcn(kind, counters.map(counter).collect())
            }
            kind => TcpOption::Other(format!("kind {kind}")),
        });
    }
    let flags = tcp.flags();
    Some(Received {
        source_port: tcp.source_port(),
        destination_port: tcp.destination_port(),
        segment: Segment {
            at_us: 0,
            ecn: ip.ecn() as u8,
            flags: flags.bits(),
            seq: tcp.sequence(),
            payload_bytes: u32::try_from(tcp.payload().len()).ok()?,
            ack: flags.contains(TcpFlags::ACK).then(|| tcp.acknowledgement()),
            window: u32::from(tcp.window()),
            options,
        },
    })
}
