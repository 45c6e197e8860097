//! Sizes of packets.

/// Size of the largest IP packet: Ethernet's MTU.
pub const MTU_BYTES: u32 = 1500;
/// Size of the IPv4 and TCP headers without options.
pub const HEADER_BYTES: u32 = 40;
/// Size of the timestamp option with its padding.
pub const TIMESTAMP_BYTES: u32 = 12;
