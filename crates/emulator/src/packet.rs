//! Reads those fields of an IPv4 packet that the emulator uses.

use std::net::Ipv4Addr;

use headway_sim::net::packet::Acked;
use headway_wire::checksum;
use headway_wire::ipv4::{Ecn, Ipv4View, FIXED_BYTES};
use headway_wire::TcpFlags;

/// The fields of a packet by which the emulator routes and identifies it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Header {
    pub source: Ipv4Addr,
    pub destination: Ipv4Addr,
    pub protocol: u8,
    /// The two ECN bits.
    pub ecn: u8,
    /// Whether the IPv4 header has options.
    pub ip_options: bool,
    /// Whether routers must not fragment the packet.
    pub dont_fragment: bool,
    /// Whether the packet is a TCP SYN, with or without ACK.
    pub opens: bool,
    /// Whether the packet is a TCP SYN that requests ECN (RFC 3168 section 6.1.1).
    pub asks_ecn: bool,
    /// Whether the packet is a TCP segment.
    pub is_tcp: bool,
    /// Whether the packet is a TCP segment that has only an acknowledgement.
    pub is_ack: bool,
    /// The acknowledgement of a TCP segment; None if the packet has none.
    pub acked: Option<Acked>,
    /// Port of the sender; 0 if the packet is neither TCP nor UDP.
    pub source_port: u16,
    /// Port of the receiver; 0 if the packet is neither TCP nor UDP.
    pub destination_port: u16,
}

const TCP: u8 = 6;
const UDP: u8 = 17;

impl Header {
    /// Parses a packet; `None` if it is not an IPv4 packet.
    pub fn parse(bytes: &[u8]) -> Option<Header> {
        let ip = Ipv4View::parse(bytes).ok()?;
        let payload = ip.payload();
        let protocol = ip.protocol();
        let has_ports =
            matches!(protocol, TCP | UDP) && ip.fragment_offset_words() == 0 && payload.len() >= 4;
        let port = |at: usize| {
            if has_ports {
                u16::from_be_bytes([payload[at], payload[at + 1]])
            } else {
                0
            }
        };
        let segment = Some(payload).filter(|_| has_ports && protocol == TCP);
        let flags = segment.and_then(|segment| segment.get(13));
        let ip_options = ip.header_len_bytes() > FIXED_BYTES;
        let is_ack = segment.is_some_and(is_ack);
        Some(Header {
            source: ip.source(),
            destination: ip.destination(),
            protocol,
            ecn: bytes[1] & 3,
            ip_options,
            dont_fragment: ip.dont_fragment(),
            opens: flags.is_some_and(|flags| u16::from(*flags) & TcpFlags::SYN.bits() != 0),
            asks_ecn: flags.is_some_and(asks_ecn),
            is_tcp: protocol == TCP,
            is_ack,
            acked: segment.and_then(|segment| acked(segment, is_ack && !ip_options)),
            source_port: port(0),
            destination_port: port(2),
        })
    }
}

/// Whether a TCP segment has no data, and no flags other than ACK and those of ECN.
fn is_ack(segment: &[u8]) -> bool {
    let (Some(header_words), Some(flags)) = (segment.get(12), segment.get(13)) else {
        return false;
    };
    let others = TcpFlags::SYN | TcpFlags::FIN | TcpFlags::RST | TcpFlags::PSH | TcpFlags::URG;
    segment.len() == usize::from(header_words >> 4) * 4 && u16::from(*flags) & others.bits() == 0
}

/// The acknowledgement of a TCP segment. It is pure if the packet has nothing else (`is_alone`); its
/// only TCP option may be timestamps.
fn acked(segment: &[u8], is_alone: bool) -> Option<Acked> {
    let &[offset, flags] = segment.get(12..14)? else {
        return None;
    };
    if u16::from(flags) & TcpFlags::ACK.bits() == 0 {
        return None;
    }
    let ecn = TcpFlags::ECE | TcpFlags::CWR;
    Some(Acked {
        number: u32::from_be_bytes(segment[8..12].try_into().ok()?),
        // the lowest bit of the other byte is the third flag of Accurate ECN (RFC 9768)
        ecn_flags: flags & ecn.bits() as u8 | offset & 1,
        is_pure: is_alone && segment.get(20..).is_some_and(has_only_timestamps),
    })
}

/// Whether TCP options contain nothing but timestamps and padding.
fn has_only_timestamps(mut options: &[u8]) -> bool {
    const TIMESTAMPS: usize = 10;
    loop {
        options = match options {
            [] | [0, ..] => return true,
            [1, rest @ ..] => rest,
            [8, 10, ..] if options.len() >= TIMESTAMPS => &options[TIMESTAMPS..],
            _ => return false,
        };
    }
}

/// Whether the flags are SYN, ECE and CWR without ACK.
fn asks_ecn(flags: &u8) -> bool {
    let asks = TcpFlags::SYN | TcpFlags::ECE | TcpFlags::CWR;
    u16::from(*flags) & (asks | TcpFlags::ACK).bits() == asks.bits()
}

impl Header {
    /// A hash of addresses, ports and protocol. It is the same for all packets of a connection in
    /// one direction, and rarely the same for two connections.
    pub fn flow(&self) -> u32 {
        let ports = u32::from(self.source_port) << 16 | u32::from(self.destination_port);
        let words = [self.source.to_bits(), self.destination.to_bits(), ports];
        words.iter().fold(u32::from(self.protocol), |flow, word| {
            // The odd factor spreads neighbouring values over the high bits. The shift moves the
            // high bits to the low bits.
            let mixed = (flow ^ word).wrapping_mul(0x9e37_79b1);
            mixed ^ mixed >> 15
        })
    }
}

/// Sets the packet's ECN bits to CE, and updates the header checksum.
pub(crate) fn mark(bytes: &mut [u8]) {
    set_ecn(bytes, Ecn::Ce);
}

/// Sets the two ECN bits of the packet, and updates the header checksum.
pub(crate) fn set_ecn(bytes: &mut [u8], ecn: Ecn) {
    let old = u16::from_be_bytes([bytes[0], bytes[1]]);
    bytes[1] = bytes[1] & !(Ecn::Ce as u8) | ecn as u8;
    let new = u16::from_be_bytes([bytes[0], bytes[1]]);
    let sum = u16::from_be_bytes([bytes[10], bytes[11]]);
    bytes[10..12].copy_from_slice(&checksum::replace(sum, old, new).to_be_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_are_distinguished() {
        let header = Header::parse(&udp_packet()).unwrap();
        let flows: std::collections::HashSet<u32> = (0..10_000)
            .map(|port| {
                Header {
                    source_port: port,
                    ..header
                }
                .flow()
            })
            .collect();
        assert!(flows.len() > 9_990, "{}", flows.len());
        assert_eq!(header.flow(), Header::parse(&udp_packet()).unwrap().flow());
    }

    fn udp_packet() -> Vec<u8> {
        let mut bytes = vec![0; 28];
        bytes[0] = 0x45;
        bytes[1] = 1;
        bytes[3] = 28;
        bytes[8] = 64;
        bytes[9] = UDP;
        bytes[12..16].copy_from_slice(&[10, 77, 0, 1]);
        bytes[16..20].copy_from_slice(&[10, 78, 0, 2]);
        bytes[20..24].copy_from_slice(&[0x12, 0x34, 0x56, 0x78]);
        bytes[25] = 8;
        let sum = checksum::of(&bytes[..20]);
        bytes[10..12].copy_from_slice(&sum.to_be_bytes());
        bytes
    }

    #[test]
    fn addresses_and_ports_of_a_packet_are_parsed() {
        let header = Header::parse(&udp_packet()).unwrap();
        assert_eq!(header.source, Ipv4Addr::new(10, 77, 0, 1));
        assert_eq!(header.destination, Ipv4Addr::new(10, 78, 0, 2));
        assert_eq!(
            (header.source_port, header.destination_port),
            (0x1234, 0x5678)
        );
        assert_eq!((header.protocol, header.ecn), (UDP, 1));
    }

    #[test]
    fn an_ack_is_pure_if_its_only_option_is_timestamps() {
        let plain = [1, 1, 8, 10, 0, 0, 0, 1, 0, 0, 0, 2];
        let sack = [1, 1, 5, 10, 0, 0, 0, 1, 0, 0, 0, 2];
        let with = |options: &[u8], flags: u8, data: usize| {
            let mut bytes = udp_packet();
            bytes.resize(20, 0);
            bytes.extend([
                0, 1, 0, 2, 0, 0, 0, 3, 0, 0, 0, 4, 0, flags, 0, 9, 0, 0, 0, 0,
            ]);
            bytes[32] = (5 + options.len() as u8 / 4) << 4;
            bytes.extend(options);
            bytes.resize(bytes.len() + data, 0);
            (bytes[3], bytes[9]) = (bytes.len() as u8, TCP);
            Header::parse(&bytes).unwrap().acked
        };
        let acked = |ecn_flags, is_pure| {
            Some(Acked {
                number: 4,
                ecn_flags,
                is_pure,
            })
        };
        assert_eq!(with(&plain, 0x10, 0), acked(0, true));
        assert_eq!(with(&[], 0x10, 0), acked(0, true));
        assert_eq!(with(&plain, 0x50, 0), acked(0x40, true));
        assert_eq!(with(&plain, 0x10, 1), acked(0, false));
        assert_eq!(with(&sack, 0x10, 0), acked(0, false));
        for flags in [0x11, 0x12, 0x14, 0x18] {
            assert_eq!(with(&plain, flags, 0), acked(0, false), "{flags:#x}");
        }
        assert_eq!(with(&plain, 0x02, 0), None);
    }

    #[test]
    fn packets_other_than_ipv4_are_rejected() {
        assert_eq!(Header::parse(&[]), None);
        assert_eq!(Header::parse(&[0x60; 60]), None);
        assert_eq!(Header::parse(&udp_packet()[..27]), None);
    }

    #[test]
    fn a_syn_that_requests_ecn_is_recognized() {
        for (flags, asks) in [(0xc2, true), (0x02, false), (0x52, false), (0xd2, false)] {
            let mut bytes = udp_packet();
            bytes.resize(40, 0);
            (bytes[3], bytes[9], bytes[33]) = (40, TCP, flags);
            assert_eq!(Header::parse(&bytes).unwrap().asks_ecn, asks, "{flags:#x}");
        }
    }

    #[test]
    fn clearing_ecn_bits_keeps_the_checksum_correct() {
        for ecn in 0..=3 {
            let mut bytes = udp_packet();
            bytes[1] = 0xb8 | ecn;
            bytes[10..12].fill(0);
            let sum = checksum::of(&bytes[..20]);
            bytes[10..12].copy_from_slice(&sum.to_be_bytes());
            set_ecn(&mut bytes, Ecn::NotEct);
            assert_eq!(bytes[1], 0xb8);
            assert_eq!(checksum::of(&bytes[..20]), 0);
        }
    }

    #[test]
    fn marking_a_packet_keeps_the_checksum_correct() {
        for ecn in [1, 2, 3] {
            for identification in 0..=u16::MAX {
                let mut bytes = udp_packet();
                bytes[1] = ecn;
                bytes[4..6].copy_from_slice(&identification.to_be_bytes());
                bytes[10..12].fill(0);
                let sum = checksum::of(&bytes[..20]);
                bytes[10..12].copy_from_slice(&sum.to_be_bytes());
                mark(&mut bytes);
                assert_eq!(bytes[1] & 3, 3);
                assert_eq!(checksum::of(&bytes[..20]), 0, "{identification}");
            }
        }
    }
}
