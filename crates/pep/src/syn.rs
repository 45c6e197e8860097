//! Parses a client's SYN packet, and builds the negative answers that can be sent to the client.

use std::net::{IpAddr, SocketAddr};

use headway_wire::checksum::Sum;
use rustix::io::Errno;

const TCP: u8 = 6;
const TCP_BYTES: usize = 20;
const V4_BYTES: usize = 20;
const V6_BYTES: usize = 40;
/// Offsets in the TCP header.
const SEQUENCE_AT: usize = 4;
const CHECKSUM_AT: usize = 16;
/// How many bytes of the SYN an ICMP error quotes at most, so that the error has fewer than 576
/// bytes (RFC 1812, 4.3.2.3).
const QUOTED_BYTES: usize = 512;

/// A complete SYN packet, with its IP header.
#[derive(Clone, Debug)]
pub(crate) struct Syn {
    packet: Vec<u8>,
    /// Length of the SYN's IP header.
    header_bytes: usize,
    pub client: SocketAddr,
    pub server: SocketAddr,
}

fn be16(bytes: &[u8], at: usize) -> u16 {
    u16::from_be_bytes([bytes[at], bytes[at + 1]])
}

/// The sum of the pseudo header, which is the part of a TCP or ICMPv6 checksum outside the segment
/// (RFC 9293, 3.1; RFC 8200, 8.1).
fn pseudo_header(from: IpAddr, to: IpAddr, protocol: u8, bytes: usize) -> Sum {
    match (from, to) {
        (IpAddr::V4(from), IpAddr::V4(to)) => Sum::pseudo_header(from, to, protocol, bytes as u16),
        (from, to) => {
            let octets = |address: IpAddr| match address {
                IpAddr::V4(address) => address.to_ipv6_mapped().octets(),
                IpAddr::V6(address) => address.octets(),
            };
            let (from, to) = (octets(from), octets(to));
            let length = (bytes as u32).to_be_bytes();
            let sum = Sum::default().plus(&from).plus(&to);
            sum.plus(&length).plus(&[0, 0, 0, protocol])
        }
    }
}

impl Syn {
    /// Parses a SYN. None: the packet is no SYN, or a kernel would not accept it.
    pub fn parse(packet: &[u8]) -> Option<Self> {
        let (from, to, header_bytes, end): (IpAddr, IpAddr, usize, usize) =
            match packet.first()? >> 4 {
                4 => {
                    let header: &[u8; V4_BYTES] = packet.first_chunk()?;
                    let is_part = be16(header, 6) & 0x3fff != 0;
                    if header[9] != TCP || is_part {
                        return None;
                    }
                    let octets = |at: usize| <[u8; 4]>::try_from(&header[at..at + 4]).ok();
                    (
                        octets(12)?.into(),
                        octets(16)?.into(),
                        usize::from(header[0] & 0xf) * 4,
                        usize::from(be16(header, 2)),
                    )
                }
                6 => {
                    let header: &[u8; V6_BYTES] = packet.first_chunk()?;
                    if header[6] != TCP {
                        return None;
                    }
                    let octets = |at: usize| <[u8; 16]>::try_from(&header[at..at + 16]).ok();
                    (
                        octets(8)?.into(),
                        octets(24)?.into(),
                        V6_BYTES,
                        V6_BYTES + usize::from(be16(header, 4)),
                    )
                }
                _ => return None,
            };
        let segment = packet.get(header_bytes..end)?;
        let options = usize::from(*segment.get(TCP_BYTES - 8)? >> 4) * 4;
        if header_bytes < V4_BYTES || options < TCP_BYTES || segment.len() < options {
            return None;
        }
        let mut syn = Self {
            client: (from, be16(segment, 0)).into(),
            server: (to, be16(segment, 2)).into(),
            packet: packet[..end].to_vec(),
            header_bytes,
        };
        syn.has_checksum().then_some(syn)
    }

    /// Whether the SYN's checksum is valid. For a SYN from this machine, the kernel leaves the
    /// checksum to the network device, and the checksum field has only the sum of the pseudo
    /// header. As such a SYN never reaches a device, this function completes its checksum.
    fn has_checksum(&mut self) -> bool {
        let (from, to) = (self.client.ip(), self.server.ip());
        let segment = &mut self.packet[self.header_bytes..];
        let sum = pseudo_header(from, to, TCP, segment.len());
        if sum.plus(segment).finish() == 0 {
            return true;
        }
        let begun = !sum.finish();
        if be16(segment, CHECKSUM_AT) != begun {
            return false;
        }
        segment[CHECKSUM_AT..CHECKSUM_AT + 2].fill(0);
        let whole = sum.plus(segment).finish();
        segment[CHECKSUM_AT..CHECKSUM_AT + 2].copy_from_slice(&whole.to_be_bytes());
        true
    }

    /// The SYN's sequence number, which is the client's initial sequence number.
    pub fn sequence(&self) -> u32 {
        let at = self.header_bytes + SEQUENCE_AT;
        u32::from_be_bytes([0, 1, 2, 3].map(|n| self.packet[at + n]))
    }

    pub fn packet(&self) -> &[u8] {
        &self.packet
    }

    /// Builds the packet that tells the client why the server cannot be reached. Its source is the
    /// server's address. None: the client gets no answer, as from a silent server.
    pub fn answer(&self, why: Errno) -> Option<Vec<u8>> {
        // each pair has the code of ICMP (RFC 792), then the code of ICMPv6 (RFC 4443, 3.1)
        match why {
            Errno::TIMEDOUT => None,
            Errno::NETUNREACH => Some(self.unreachable(0, 0)),
            Errno::HOSTUNREACH => Some(self.unreachable(1, 3)),
            Errno::ACCESS => Some(self.unreachable(13, 1)),
            _ => Some(self.refusal()),
        }
    }

    /// Builds a reset that answers a segment without ACK (RFC 9293, 3.5.2).
    fn refusal(&self) -> Vec<u8> {
        let segment = &self.packet[self.header_bytes..];
        let options = usize::from(segment[TCP_BYTES - 8] >> 4) * 4;
        let [a, b, c, d] = [segment[4], segment[5], segment[6], segment[7]];
        let length = 1 + (segment.len() - options) as u32;
        let acknowledged = u32::from_be_bytes([a, b, c, d]).wrapping_add(length);
        let mut reset = [0; TCP_BYTES];
        reset[..2].copy_from_slice(&self.server.port().to_be_bytes());
        reset[2..4].copy_from_slice(&self.client.port().to_be_bytes());
        reset[8..12].copy_from_slice(&acknowledged.to_be_bytes());
        reset[12] = (TCP_BYTES as u8 / 4) << 4;
        reset[13] = 0x14; // RST, ACK
        self.back(TCP, &mut reset, CHECKSUM_AT)
    }

    /// Builds an ICMP or ICMPv6 error "destination unreachable", with the code for the version of
    /// IP.
    fn unreachable(&self, v4_code: u8, v6_code: u8) -> Vec<u8> {
        let (protocol, kind, code) = match self.client {
            SocketAddr::V4(_) => (1, 3, v4_code),
            SocketAddr::V6(_) => (58, 1, v6_code),
        };
        let quoted = &self.packet[..self.packet.len().min(QUOTED_BYTES)];
        let mut message = [&[kind, code, 0, 0, 0, 0, 0, 0][..], quoted].concat();
        self.back(protocol, &mut message, 2)
    }

    /// Builds a packet with the server's address as source and the client's as destination, and
    /// computes its checksum.
    fn back(&self, protocol: u8, payload: &mut [u8], checksum_at: usize) -> Vec<u8> {
        let length = payload.len();
        let (from, to) = (self.server.ip(), self.client.ip());
        let sum = match protocol {
            1 => Sum::default(), // ICMP's checksum covers only the message
            _ => pseudo_header(from, to, protocol, length),
        };
        let sum = sum.plus(payload).finish().to_be_bytes();
        payload[checksum_at..checksum_at + 2].copy_from_slice(&sum);
        let mut packet = Vec::with_capacity(V6_BYTES + length);
        match (from, to) {
            (IpAddr::V4(from), IpAddr::V4(to)) => {
                let [high, low] = ((V4_BYTES + length) as u16).to_be_bytes();
                // the kernel fills in the identification and the checksum of the IP header
                packet.extend([0x45, 0, high, low, 0, 0, 0x40, 0, 64, protocol, 0, 0]);
                packet.extend(from.octets());
                packet.extend(to.octets());
            }
            (IpAddr::V6(from), IpAddr::V6(to)) => {
                let [high, low] = (length as u16).to_be_bytes();
                packet.extend([0x60, 0, 0, 0, high, low, protocol, 64]);
                packet.extend(from.octets());
                packet.extend(to.octets());
            }
            _ => unreachable!("both addresses are of one version"),
        }
        packet.extend_from_slice(payload);
        packet
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A SYN packet of 40 or 60 bytes. The function `fill` sets its checksum.
    fn packet(from: &str, to: &str, fill: fn(&mut [u8], Sum)) -> Vec<u8> {
        let mut segment = [0; TCP_BYTES];
        segment[..4].copy_from_slice(&[0x10, 0, 0, 80]);
        segment[4..8].copy_from_slice(&u32::MAX.to_be_bytes());
        (segment[12], segment[13]) = (0x50, 2);
        let (from, to): (IpAddr, IpAddr) = (from.parse().unwrap(), to.parse().unwrap());
        fill(&mut segment, pseudo_header(from, to, TCP, TCP_BYTES));
        // `back` builds a packet from `server` to `client`, so `from` is the server here and `to`
        // the client
        let shape = Syn {
            packet: Vec::new(),
            header_bytes: 0,
            client: (to, 0).into(),
            server: (from, 0).into(),
        };
        let mut packet = shape.back(TCP, &mut [0; TCP_BYTES], CHECKSUM_AT);
        let header_bytes = packet.len() - TCP_BYTES;
        packet[header_bytes..].copy_from_slice(&segment);
        packet
    }

    fn whole(segment: &mut [u8], pseudo: Sum) {
        let sum = pseudo.plus(segment).finish();
        segment[16..18].copy_from_slice(&sum.to_be_bytes());
    }

    fn begun(segment: &mut [u8], pseudo: Sum) {
        segment[16..18].copy_from_slice(&(!pseudo.finish()).to_be_bytes());
    }

    fn wrong(segment: &mut [u8], pseudo: Sum) {
        whole(segment, pseudo);
        segment[16] ^= 1;
    }

    impl Syn {
        /// A SYN packet for tests, from a client with this port.
        pub(crate) fn example(port: u16) -> Self {
            let mut packet = packet("10.1.0.2", "192.0.2.1", |segment, pseudo| {
                whole(segment, pseudo);
            });
            let header_bytes = packet.len() - TCP_BYTES;
            packet[header_bytes..header_bytes + 2].copy_from_slice(&port.to_be_bytes());
            let mut segment = packet.split_off(header_bytes);
            segment[CHECKSUM_AT..CHECKSUM_AT + 2].fill(0);
            let [from, to] = ["10.1.0.2", "192.0.2.1"].map(|host| host.parse().unwrap());
            whole(&mut segment, pseudo_header(from, to, TCP, TCP_BYTES));
            packet.extend(segment);
            Self::parse(&packet).unwrap()
        }
    }

    const ENDS: [(&str, &str); 2] = [("10.1.0.2", "192.0.2.1"), ("fd00::2", "2001:db8::1")];

    #[test]
    fn a_partial_checksum_is_completed_and_a_wrong_one_refused() {
        for (from, to) in ENDS {
            let complete = Syn::parse(&packet(from, to, whole)).unwrap();
            assert_eq!(complete.packet(), packet(from, to, whole));
            assert_eq!((complete.client.port(), complete.server.port()), (4096, 80));
            assert_eq!(complete.server.ip().to_string(), to);
            let filled = Syn::parse(&packet(from, to, begun)).unwrap();
            assert_eq!(filled.packet(), complete.packet());
            assert!(Syn::parse(&packet(from, to, wrong)).is_none());
        }
    }

    #[test]
    fn no_input_makes_the_parser_panic() {
        for (from, to) in ENDS {
            let good = packet(from, to, whole);
            for length in 0..good.len() {
                assert!(Syn::parse(&good[..length]).is_none());
            }
            for at in 0..good.len() {
                for value in 0..=255 {
                    let mut changed = good.clone();
                    changed[at] = value;
                    if let Some(syn) = Syn::parse(&changed) {
                        assert!(syn.refusal().len() >= 40);
                    }
                }
            }
        }
    }

    #[test]
    fn an_answer_has_the_servers_address_and_matches_the_syn() {
        for (from, to) in ENDS {
            let syn = Syn::parse(&packet(from, to, whole)).unwrap();
            let reset = syn.answer(Errno::CONNREFUSED).unwrap();
            // build a segment that seems to come from the server: swapped addresses and a valid
            // checksum
            let seen = Syn::parse(&reset).unwrap();
            assert_eq!((seen.client, seen.server), (syn.server, syn.client));
            let segment = &reset[seen.header_bytes..];
            assert_eq!(
                segment[8..12],
                [0; 4],
                "the sequence number after the SYN's"
            );
            let error = syn.answer(Errno::HOSTUNREACH).unwrap();
            assert!(error.ends_with(syn.packet()));
            let message = &error[syn.header_bytes..];
            let sum = match syn.client.is_ipv4() {
                true => Sum::default(),
                false => pseudo_header(syn.server.ip(), syn.client.ip(), 58, message.len()),
            };
            assert_eq!(sum.plus(message).finish(), 0);
            assert!(syn.answer(Errno::TIMEDOUT).is_none());
        }
    }
}
