//! Builds packets with headers as an attacker may build them, and checks that routers change
//! nothing else in them.

use std::net::Ipv4Addr;

use headway_algorithms::header::HeaderInfo;
use headway_algorithms::{Carrier, Fields};

use crate::wire::{self, sum_up, Random, IP_BYTES};

pub const TCP_BYTES: usize = 20;

/// Builds a header with valid or invalid values in its fields.
fn forged(random: &mut Random, info: &HeaderInfo) -> Vec<u8> {
    let mut words = [random.next(), random.next(), random.next()];
    if random.below(3) == 0 {
        words = words.map(|word| word & 0xff_0000_00ff); // small values
    }
    let mut bytes = info.emit(&Fields(words));
    match random.below(6) {
        0 => bytes[1] = random.next() as u8,
        1 => {
            let at = random.below(bytes.len() as u64);
            bytes[at] = random.next() as u8;
        }
        2 => bytes.truncate(random.below(bytes.len() as u64)),
        _ => {}
    }
    bytes
}

/// Builds random TCP options, padded to 32-bit words: a valid header, a wrong one, several, or a
/// truncated one.
pub fn options(random: &mut Random, info: &HeaderInfo) -> Vec<u8> {
    let mut list = vec![1u8; random.below(4)];
    while list.len() < 40 && random.below(4) > 0 {
        match random.below(4) {
            0 => list.extend(random.next().to_be_bytes()),
            1 => list.extend([random.next() as u8, random.below(12) as u8]),
            _ if info.carrier == Carrier::TcpOption => list.extend(forged(random, info)),
            _ => list.extend(vec![1u8; random.below(5)]),
        }
    }
    list.resize(list.len().min(40).next_multiple_of(4), 0);
    list
}

/// The ones' complement sum of a TCP segment and its pseudo-header, without the checksum field.
fn tcp_sum(packet: &[u8]) -> u16 {
    let at = usize::from(packet[0] & 15) * 4;
    let bytes = (packet.len() - at) as u16;
    let pseudo = [&packet[12..20], &[0, 6], &bytes.to_be_bytes()].concat();
    wire::checksum(&[&pseudo, &packet[at..]].concat())
}

/// The fields of a TCP segment to build.
pub struct Segment {
    pub from: (Ipv4Addr, u16),
    pub to: (Ipv4Addr, u16),
    pub sequence: u32,
    pub ack: u32,
    pub flags: u8,
}

/// Builds an IPv4 packet with valid checksums from these fields.
pub fn packet(segment: &Segment, ecn: u8, options: &[u8], data: &[u8]) -> Vec<u8> {
    let mut packet = vec![0u8; IP_BYTES + TCP_BYTES];
    packet[..2].copy_from_slice(&[0x45, ecn]);
    packet[6] = 0x40; // DF
    packet[8..10].copy_from_slice(&[60, 6]);
    packet[12..16].copy_from_slice(&segment.from.0.octets());
    packet[16..20].copy_from_slice(&segment.to.0.octets());
    packet[20..22].copy_from_slice(&segment.from.1.to_be_bytes());
    packet[22..24].copy_from_slice(&segment.to.1.to_be_bytes());
    packet[24..28].copy_from_slice(&segment.sequence.to_be_bytes());
    packet[28..32].copy_from_slice(&segment.ack.to_be_bytes());
    packet[32..36].copy_from_slice(&[
        ((TCP_BYTES + options.len()) as u8) << 2,
        segment.flags,
        255,
        255,
    ]);
    packet.extend(options);
    packet.extend(data);
    let total = packet.len() as u16;
    packet[2..4].copy_from_slice(&total.to_be_bytes());
    sum_up(&mut packet, IP_BYTES);
    let sum = tcp_sum(&packet);
    packet[36..38].copy_from_slice(&sum.to_be_bytes());
    packet
}

/// Finds the begin and the end of the first TCP option of a kind. None if the list of options is
/// inconsistent.
fn option_at(packet: &[u8], kind: u8) -> Option<(usize, usize)> {
    let tcp = usize::from(packet[0] & 15) * 4;
    let end = (tcp + usize::from(packet.get(tcp + 12)? >> 4) * 4).min(packet.len());
    let mut at = tcp + TCP_BYTES;
    while at + 1 < end && packet[at] != 0 {
        if packet[at] == 1 {
            at += 1;
            continue;
        }
        let length = usize::from(packet[at + 1]);
        if length < 2 || at + length > end {
            return None;
        }
        if packet[at] == kind {
            return Some((at, at + length));
        }
        at += length;
    }
    None
}

/// Checks that a router has changed nothing but an option with the header's kind and length, or the
/// two ECN bits, and the checksum that covers them. If the checksum was right before, it must be
/// right now. If it was wrong, it must be wrong by the same amount.
pub fn unharmed(info: &HeaderInfo, sent: &[u8], came: &[u8]) {
    assert_eq!(sent.len(), came.len());
    let tcp = usize::from(sent[0] & 15) * 4;
    let mut may_change = vec![0u8; sent.len()];
    if info.carrier == Carrier::EcnBits {
        may_change[1] = 3;
        may_change[10..12].fill(0xff);
    } else if let Some((start, end)) = option_at(sent, info.kind) {
        if end - start == usize::from(info.wire_bytes) {
            may_change[start + 2..end].fill(0xff);
            may_change[tcp + 16..tcp + 18].fill(0xff);
        }
    }
    for (at, (before, after)) in sent.iter().zip(came).enumerate() {
        assert_eq!(
            before & !may_change[at],
            after & !may_change[at],
            "{} byte {at}: {sent:x?} became {came:x?}",
            info.name
        );
    }
    if sent == came {
        return;
    }
    let header_bytes = tcp.min(sent.len());
    assert_eq!(
        wire::checksum(&sent[..header_bytes]),
        wire::checksum(&came[..header_bytes])
    );
    if info.carrier == Carrier::TcpOption {
        assert_eq!(tcp_sum(sent), tcp_sum(came), "{sent:x?} became {came:x?}");
    }
}
