//! Counts of what a capture has and the results lack.

use crate::decode::Skip;
use serde::Serialize;

/// Numbers of packets that were left out or are doubtful, by reason.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Notes {
    /// Packets of UDP.
    pub udp: u64,
    /// Packets of IP that are neither TCP nor UDP.
    pub other_protocols: u64,
    /// Frames without IP, such as ARP.
    pub not_ip: u64,
    /// Packets of an unsupported link type.
    pub unsupported_link: u64,
    /// The first unsupported link type.
    pub link_type: Option<u16>,
    /// Fragments of IP packets.
    pub fragments: u64,
    /// Packets that the snap length cut before the end of the TCP header's fixed part.
    pub cut: u64,
    /// Packets with a wrong header.
    pub malformed: u64,
    /// Packets without a time of their own; they got the time of the packet before.
    pub without_time: u64,
    /// Packets earlier than one before them; they got the time of the later one.
    pub time_reversed: u64,
    /// Packets of connections beyond the largest number that is followed.
    pub beyond_connections: u64,
    /// Segments without an RTT sample because too many were unacknowledged.
    pub beyond_unacknowledged: u64,
}

impl Notes {
    /// Counts a packet that has no segment to measure.
    pub fn skip(&mut self, skip: Skip) {
        let count = match skip {
            Skip::Udp => &mut self.udp,
            Skip::OtherProtocol => &mut self.other_protocols,
            Skip::NotIp => &mut self.not_ip,
            Skip::LinkType(link_type) => {
                self.link_type.get_or_insert(link_type);
                &mut self.unsupported_link
            }
            Skip::Fragment => &mut self.fragments,
            Skip::Cut => &mut self.cut,
            Skip::Malformed => &mut self.malformed,
        };
        *count += 1;
    }
}
