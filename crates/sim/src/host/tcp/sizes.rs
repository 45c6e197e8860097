//! Sizes of packets.

use super::options::SocketOptions;
use headway_experiment::path::PacketSizes;

/// Size of the largest IP packet: Ethernet's MTU.
pub const MTU_BYTES: u32 = 1500;
/// Size of the IPv4 and TCP headers without options.
pub const HEADER_BYTES: u32 = 40;
/// Size of the timestamp option with its padding.
pub const TIMESTAMP_BYTES: u32 = 12;

/// Size of a SYN or SYN-ACK without protocol headers. With all options it is 60 bytes.
pub(super) fn syn_bytes(options: &SocketOptions) -> u32 {
    let bytes_if = |is_on: bool, bytes: u32| if is_on { bytes } else { 0 };
    let mss_bytes = 4;
    let option_bytes = mss_bytes
        + bytes_if(options.timestamps, 10)
        + bytes_if(options.sack, 2)
        + bytes_if(options.rules.window_scaling, 4);
    HEADER_BYTES + option_bytes.div_ceil(4) * 4
}

/// Sizes of a connection's packets, without protocol headers.
pub(crate) fn packet_sizes(options: &SocketOptions) -> PacketSizes {
    let payload_bytes = options.segment_bytes();
    PacketSizes {
        syn_bytes: syn_bytes(options).into(),
        header_bytes: (options.mtu_bytes - payload_bytes).into(),
        payload_bytes: payload_bytes.into(),
    }
}
