//! Exports the packets of a link, or those that hosts send and receive, as pcapng with real headers
//! and checksums.
//!
//! Hosts of flow `i` are 10.a.b.1 (opener) and 10.a.b.2, where a.b is the flow's number. The
//! payload is a deterministic pattern of its stream, so that reassembled bytes can be checked.

use crate::host::tcp::accurate_ecn::option::Carried as AccurateEcnOption;
use crate::net::packet::{about, flags, Headers, Packet, Sacks};
use crate::net::topology::Built;
use crate::rng::{stream, Purpose};
use crate::scenario::{bad, Capture, ScenarioError};
use headway_algorithms::header::numbered;
use headway_algorithms::Fields;
use headway_wire::icmp::build_too_big;
use headway_wire::options::{InTcp, NoRoom};
use headway_wire::packet::{build_tcp, build_udp};
use headway_wire::pcapng::{Section, Writer};
use headway_wire::tcp_options::{
    AccurateEcn1, Mss, Sack, SackBlock, SackPermitted, Timestamps, WindowScale,
};
use headway_wire::{Ecn, Ipv4Repr, OptionSpace, Payload, TcpFlags, TcpRepr, UdpRepr};
use rand_core::RngCore;
use std::net::Ipv4Addr;

/// Port of the responder, as in iperf.
const SERVER_PORT: u16 = 5001;
const CLIENT_PORT: u16 = 40_000;

/// Bytes that pcapng adds to each packet.
const BLOCK_BYTES: usize = 36;

/// Where packets are captured, and the capture file.
pub(crate) struct Tap {
    /// Links whose packets are captured as they arrive, before the queue decides.
    entering: Vec<u32>,
    /// Links whose packets are captured as they leave.
    leaving: Vec<u32>,
    /// Whether packets are captured at hosts: interface 0 for openers, 1 for responders.
    at_hosts: bool,
    seed: u64,
    /// Window scale of each flow's hosts; None: their SYNs have no window scale option.
    pub scales: Vec<Option<u8>>,
    writer: Writer<Vec<u8>>,
    packets: Vec<CapturedPacket>,
    snaplen_bytes: u32,
    /// Number of bytes that the packets that are not written yet will take in the file.
    file_bytes: usize,
    written: u64,
}

/// A captured packet with its SACK blocks and headers.
type FullPacket = (Packet, Sacks, Headers);

/// A captured packet with its time and its interface.
type CapturedPacket = (u64, u32, FullPacket);

/// Name with which a scenario requests captures at hosts instead of at a link.
const HOSTS: &str = "hosts";
/// Name with which a scenario requests captures of what enters the first link and of what leaves the
/// second: both directions of the bottleneck, at the senders' side.
const BOTTLENECK: &str = "bottleneck";

impl Tap {
    pub fn new(capture: &Capture, built: &Built, seed: u64) -> Result<Tap, ScenarioError> {
        let (entering, leaving, names) = if capture.link == HOSTS {
            (vec![], vec![], vec!["left", "right"])
        } else if capture.link == BOTTLENECK && built.names.len() > 1 {
            (vec![0], vec![1], vec![BOTTLENECK])
        } else {
            let at = built
                .names
                .iter()
                .position(|n| *n == capture.link)
                .ok_or_else(|| {
                    let allowed = format!("{BOTTLENECK}, {HOSTS}, {}", built.names.join(", "));
                    bad("capture.link", &capture.link, &allowed)
                })?;
            (vec![at as u32], vec![], vec![capture.link.as_str()])
        };
        let section = Section {
            comment: "simulated by Headway",
            hardware: "",
            os: "",
            application: concat!("headway ", env!("CARGO_PKG_VERSION")),
        };
        let writer = Writer::new(Vec::new(), &section).and_then(|mut writer| {
            for name in names {
                writer.add_interface(name, capture.snaplen_bytes)?;
            }
            Ok(writer)
        });
        let writer = writer.map_err(|e| ScenarioError(format!("capture: {e}")))?;
        Ok(Tap {
            entering,
            leaving,
            at_hosts: capture.link == HOSTS,
            seed,
            scales: vec![],
            writer,
            packets: vec![],
            snaplen_bytes: capture.snaplen_bytes,
            file_bytes: 0,
            written: 0,
        })
    }

    /// Memory allocated for the packets that are not written yet, plus the bytes that they will
    /// take in the file.
    pub fn bytes(&self) -> usize {
        self.packets.capacity() * size_of::<CapturedPacket>() + self.file_bytes
    }

    /// Memory that the packets that are not written yet use, plus the bytes that they will take in
    /// the file. Unlike `bytes`, this leaves out capacity that is allocated but not used.
    pub fn noted_bytes(&self) -> usize {
        self.packets.len() * size_of::<CapturedPacket>() + self.file_bytes
    }

    /// Bytes that a packet takes in the file.
    fn kept_bytes(snaplen_bytes: u32, packet: &Packet) -> usize {
        let kept_bytes = match snaplen_bytes {
            0 => packet.ip_bytes,
            snaplen => packet.ip_bytes.min(snaplen),
        };
        kept_bytes as usize + BLOCK_BYTES
    }

    fn note(&mut self, time_ns: u64, interface: u32, whole: FullPacket) {
        self.file_bytes += Tap::kept_bytes(self.snaplen_bytes, &whole.0);
        self.packets.push((time_ns, interface, whole));
    }

    /// If packets are captured at hosts, captures a packet that has reached the first router of its
    /// route. The capture has the time at which the packet's host sent it.
    pub fn sent(&mut self, whole: impl FnOnce() -> FullPacket) {
        if self.at_hosts {
            let whole = whole();
            self.note(whole.0.sent_ns, whole.0.route % 2, whole);
        }
    }

    /// If packets are captured at hosts, captures a packet that will reach its host at `time_ns`.
    pub fn received(&mut self, time_ns: u64, whole: impl FnOnce() -> FullPacket) {
        if self.at_hosts {
            let whole = whole();
            self.note(time_ns, 1 - whole.0.route % 2, whole);
        }
    }

    pub fn entering(&mut self, link: u32, now_ns: u64, whole: impl FnOnce() -> FullPacket) {
        if self.entering.contains(&link) {
            self.note(now_ns, 0, whole());
        }
    }

    pub fn leaving(&mut self, link: u32, now_ns: u64, whole: impl FnOnce() -> FullPacket) {
        if self.leaving.contains(&link) {
            self.note(now_ns, 0, whole());
        }
    }

    /// Returns the rest of the capture file, with all packets up to `until_ns`. Packets become
    /// known in another order than that of their times; the file is ordered by time.
    pub fn finish(mut self, until_ns: u64) -> Vec<u8> {
        self.write(until_ns);
        self.writer
            .finish()
            .expect("writing to memory does not fail")
    }

    /// Returns the part of the capture file that ends at `now_ns` and was not returned before. All
    /// packets that become known after this call have later times.
    pub fn take(&mut self, now_ns: u64) -> Vec<u8> {
        self.write(now_ns);
        self.packets.shrink_to_fit();
        std::mem::take(self.writer.out_mut())
    }

    fn write(&mut self, until_ns: u64) {
        self.packets.sort_by_key(|p| p.0);
        let ready = self.packets.partition_point(|p| p.0 <= until_ns);
        // Reserve exactly as much as is needed, because this may be most of the free memory.
        self.writer.out_mut().reserve_exact(self.file_bytes);
        let mut buffer = Vec::new();
        for (time_ns, interface, whole) in self.packets.drain(..ready) {
            self.file_bytes -= Tap::kept_bytes(self.snaplen_bytes, &whole.0);
            let scale = self.scales[whole.0.flow as usize];
            let number = self.written as u16;
            write_packet(&mut buffer, &whole, self.seed, scale, number);
            self.written += 1;
            self.writer
                .write_packet(interface, time_ns, &buffer, None)
                .expect("writing to memory does not fail");
        }
    }
}

/// Initial sequence number of one direction of a flow in the capture.
fn initial_sequence(seed: u64, direction: u32) -> u32 {
    stream(seed, Purpose::Wire, direction).next_u32()
}

/// Addresses of a packet's sender and receiver.
fn addresses(packet: &Packet) -> (Ipv4Addr, Ipv4Addr) {
    let flow = packet.flow;
    let host = |n: u8| Ipv4Addr::new(10, (flow >> 8) as u8, flow as u8, n);
    if packet.route % 2 == 0 {
        (host(1), host(2))
    } else {
        (host(2), host(1))
    }
}

/// Writes a packet's bytes as they would be on the wire. A damaged packet has a wrong bit, its last.
fn write_packet(out: &mut Vec<u8>, whole: &FullPacket, seed: u64, scale: Option<u8>, number: u16) {
    if whole.0.is(about::TOO_BIG) {
        write_too_big(out, whole, seed, scale);
    } else {
        write_segment(out, whole, seed, scale, number);
    }
    debug_assert_eq!(
        out.len(),
        whole.0.ip_bytes as usize,
        "the simulated size must equal the real one"
    );
    if let (true, Some(last)) = (whole.0.is(about::CORRUPT), out.last_mut()) {
        *last ^= 1;
    }
}

/// Writes a router's message about a packet that was too big. As in the emulator, the router uses
/// the address of that packet's receiver.
fn write_too_big(out: &mut Vec<u8>, whole: &FullPacket, seed: u64, scale: Option<u8>) {
    let (message, sacks, headers) = whole;
    let segment = Packet {
        route: message.route ^ 1,
        ip_id: 0,
        ..*message
    };
    let mut packet = Vec::new();
    write_segment(&mut packet, &(segment, *sacks, *headers), seed, scale, 0);
    build_too_big(out, &packet, addresses(message), message.ip_id);
}

/// Writes a TCP segment or a UDP datagram.
fn write_segment(out: &mut Vec<u8>, whole: &FullPacket, seed: u64, scale: Option<u8>, number: u16) {
    let (packet, _, headers) = whole;
    let outbound = packet.route % 2 == 0;
    let (source, destination) = addresses(packet);
    let (from_port, to_port) = if outbound {
        (CLIENT_PORT, SERVER_PORT)
    } else {
        (SERVER_PORT, CLIENT_PORT)
    };
    let mut ip = Ipv4Repr {
        ecn: Ecn::from_bits(packet.ecn),
        // if a sender does not count its packets in the IP identification, the packet's number in
        // the file is used
        identification: if packet.ip_id == 0 {
            number
        } else {
            packet.ip_id
        },
        dont_fragment: true,
        // `hop` counts the links that the packet has crossed
        ttl: Packet::ttl(packet.hop),
        ..Ipv4Repr::new(source, destination, 0)
    };
    if packet.ip_header() != 0 {
        ip.options
            .push_encoded("header", &on_wire(packet.ip_header(), &headers.ip))
            .expect("an IPv4 header has room for 40 bytes");
    }
    let stream = u64::from(packet.route);
    let len_bytes = packet.payload_bytes as usize;
    let built = if packet.is(about::UDP) {
        let udp = UdpRepr {
            source_port: from_port,
            destination_port: to_port,
        };
        let offset_bytes = packet.seq * u64::from(packet.payload_bytes);
        build_udp(
            out,
            &ip,
            &udp,
            Payload::Stream {
                stream,
                offset_bytes,
                len_bytes,
            },
        )
    } else {
        let tcp = tcp_header(whole, seed, scale, (from_port, to_port));
        let offset_bytes = packet.seq.saturating_sub(1);
        build_tcp(
            out,
            &ip,
            &tcp,
            Payload::Stream {
                stream,
                offset_bytes,
                len_bytes,
            },
        )
    };
    built.expect("a simulated packet fits IPv4");
}

/// Bytes of a header's option, encoded by the header's codec.
fn on_wire(number: u8, fields: &Fields) -> Vec<u8> {
    numbered(number)
        .expect("a header of the registry")
        .emit(fields)
}

fn tcp_flags(packet: &Packet) -> TcpFlags {
    let octet = TcpFlags::from_bits(u16::from(packet.flags));
    if packet.is(about::AE) {
        octet | TcpFlags::AE
    } else {
        octet
    }
}

/// Adds the option of Accurate ECN and its padding, or padding of the same length.
fn add_accurate_ecn(
    options: &mut OptionSpace<InTcp>,
    option: &AccurateEcnOption,
) -> Result<(), NoRoom> {
    let before = options.len_bytes();
    if let Some([e1b, ceb, e0b]) = option.counters() {
        options.push(&AccurateEcn1 { e1b, ceb, e0b })?;
    }
    let end = before + (option.bytes() + option.shared_bytes()) as usize;
    while options.len_bytes() < end {
        options.push_no_operation()?;
    }
    Ok(())
}

fn tcp_header(
    (packet, sacks, headers): &FullPacket,
    seed: u64,
    scale: Option<u8>,
    ports: (u16, u16),
) -> TcpRepr {
    let (source_port, destination_port) = ports;
    let own = initial_sequence(seed, packet.route);
    let peer = initial_sequence(seed, packet.route ^ 1);
    let syn = packet.flags & flags::SYN != 0;
    let acked = packet.flags & flags::ACK != 0;
    let acknowledgement = if acked {
        peer.wrapping_add(packet.ack as u32)
    } else {
        0
    };
    let mut options = OptionSpace::new();
    let accurate_ecn = AccurateEcnOption::of(packet, headers);
    let mut add = || -> Result<(), NoRoom> {
        if let Some(option) = &accurate_ecn {
            add_accurate_ecn(&mut options, option)?;
        } else if packet.tcp_header() != 0 {
            options.push_encoded("header", &on_wire(packet.tcp_header(), &headers.tcp))?;
        }
        if syn {
            options.push(&Mss { mss_bytes: 1460 })?;
            if packet.is(about::SACK_PERMITTED) {
                options.push(&SackPermitted)?;
            }
            if packet.ts_val_ms != 0 {
                options.push(&Timestamps {
                    value: packet.ts_val_ms,
                    echo_reply: packet.ts_ecr_ms,
                })?;
            }
            if let Some(shift) = scale {
                options.push_no_operation()?;
                options.push(&WindowScale { shift })?;
            }
            return Ok(());
        }
        if packet.ts_val_ms != 0 {
            options.push_no_operation()?;
            options.push_no_operation()?;
            options.push(&Timestamps {
                value: packet.ts_val_ms,
                echo_reply: packet.ts_ecr_ms,
            })?;
        }
        if packet.n_sack > 0 {
            let shared_bytes = accurate_ecn.map_or(0, |option| option.shared_bytes());
            for _ in shared_bytes..2 {
                options.push_no_operation()?;
            }
            let absolute = |i: i64| peer.wrapping_add((packet.ack as i64 + i) as u32);
            let mut blocks = [SackBlock::default(); 4];
            for (block, sack) in blocks.iter_mut().zip(sacks) {
                let left = i64::from(sack.start);
                block.left = absolute(left);
                block.right = absolute(left + i64::from(sack.len));
            }
            options.push(&Sack::new(&blocks[..usize::from(packet.n_sack)]))?;
        }
        Ok(())
    };
    add().expect("the simulated options fit");
    let window = if syn {
        packet.window_bytes
    } else {
        packet.window_bytes >> scale.unwrap_or(0)
    };
    TcpRepr {
        source_port,
        destination_port,
        sequence: own.wrapping_add(packet.seq as u32),
        acknowledgement,
        flags: tcp_flags(packet),
        window: window.min(65_535) as u16,
        urgent_pointer: 0,
        options,
    }
}
