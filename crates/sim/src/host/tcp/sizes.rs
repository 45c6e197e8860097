//! Sizes of packets.

/// Ethernet's MTU: the largest IP packet.
pub const MTU_BYTES: u32 = 1500;
/// IPv4 and TCP headers without options.
pub const HEADER_BYTES: u32 = 40;
/// The timestamp option with its padding.
pub const TIMESTAMP_BYTES: u32 = 12;
