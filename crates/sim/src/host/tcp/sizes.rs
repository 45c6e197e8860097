//! Sizes of packets.

use headway_experiment::path::PacketSizes;

/// Size of the largest IP packet: Ethernet's MTU.
pub const MTU_BYTES: u32 = 1500;
/// Size of the IPv4 and TCP headers without options.
pub const HEADER_BYTES: u32 = 40;
/// Size of the timestamp option with its padding.
pub const TIMESTAMP_BYTES: u32 = 12;

/// Size of a SYN or SYN-ACK with the options MSS, window scale, and those given. With both it is 60
/// bytes.
pub(super) fn syn_bytes(timestamps: bool, sack: bool) -> u32 {
    let options = 4 + if timestamps { 10 } else { 0 } + if sack { 2 } else { 0 } + 4;
    HEADER_BYTES + u32::div_ceil(options, 4) * 4
}

/// Sizes of a connection's packets, without protocol headers.
pub(crate) fn packet_sizes(timestamps: bool, sack: bool) -> PacketSizes {
    let header_bytes = HEADER_BYTES + if timestamps { TIMESTAMP_BYTES } else { 0 };
    PacketSizes {
        syn_bytes: syn_bytes(timestamps, sack).into(),
        header_bytes: header_bytes.into(),
        payload_bytes: (MTU_BYTES - header_bytes).into(),
    }
}
