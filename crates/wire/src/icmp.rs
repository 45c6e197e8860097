//! The ICMP message "fragmentation needed" (RFC 792, RFC 1191 section 4): a router tells a sender that
//! its packet is larger than the next link's MTU.

use crate::bytes::put16;
use crate::checksum;
use crate::ipv4::{Ipv4Repr, FIXED_BYTES, PROTOCOL_ICMP};
use std::net::Ipv4Addr;

const UNREACHABLE: u8 = 3;
const FRAGMENTATION_NEEDED: u8 = 4;
const HEADER_BYTES: usize = 8;

/// Size of the largest message. It quotes as much of the packet as fits (RFC 1812 section 4.3.2.3).
pub const TOO_BIG_BYTES: usize = 576;

/// Builds the message about a packet, from a router to the packet's sender; replaces the content of
/// `out`.
pub fn build_too_big(
    out: &mut Vec<u8>,
    packet: &[u8],
    (router, sender): (Ipv4Addr, Ipv4Addr),
    mtu_bytes: u16,
) {
    let start = FIXED_BYTES + HEADER_BYTES;
    let quoted = &packet[..packet.len().min(TOO_BIG_BYTES - start)];
    out.clear();
    out.resize(start, 0);
    out.extend_from_slice(quoted);
    let total = out.len() as u16;
    let message = &mut out[FIXED_BYTES..];
    message[0] = UNREACHABLE;
    message[1] = FRAGMENTATION_NEEDED;
    put16(message, 6, mtu_bytes);
    let sum = checksum::of(message);
    put16(message, 2, sum);
    Ipv4Repr::new(router, sender, PROTOCOL_ICMP).emit(total, out);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ipv4::Ipv4View;

    #[test]
    fn a_message_has_the_mtu_the_packet_s_beginning_and_valid_checksums() {
        let packet: Vec<u8> = (0..1500).map(|i| i as u8).collect();
        let (router, sender) = (Ipv4Addr::new(10, 0, 0, 1), Ipv4Addr::new(10, 0, 0, 2));
        let mut out = vec![1, 2, 3];
        for (len, size) in [(1500, 576), (60, 88)] {
            build_too_big(&mut out, &packet[..len], (router, sender), 1400);
            let ip = Ipv4View::parse(&out).unwrap();
            ip.verify_checksum().unwrap();
            assert_eq!((ip.source(), ip.destination()), (router, sender));
            assert_eq!((ip.protocol(), out.len()), (PROTOCOL_ICMP, size));
            assert_eq!(checksum::of(ip.payload()), 0);
            assert_eq!(ip.payload()[..2], [3, 4]);
            assert_eq!(ip.payload()[6..8], 1400_u16.to_be_bytes());
            assert_eq!(ip.payload()[8..], packet[..size - 28]);
        }
    }
}
