//! Socket options that a flow sets.

use super::sizes::{HEADER_BYTES, TIMESTAMP_BYTES};
use super::state::Reading;
use crate::scenario::EcnMode;

/// Socket options of a flow. The fields that packets need are at the end, so that they share a
/// cache line with the fields after them in `Socket`.
#[derive(Clone, Debug)]
#[repr(C)]
pub struct SocketOptions {
    /// Initial receive buffer; None: the profile's.
    pub receive_buffer_bytes: Option<u64>,
    /// Send buffer, including the overhead of sk_buffs; None: it grows with cwnd.
    pub send_buffer_bytes: Option<u64>,
    /// Initial receive window; None: the profile's.
    pub receive_window_bytes: Option<u64>,
    /// Largest packet that the route takes.
    pub mtu_bytes: u32,
    /// How the application reads.
    pub reading: Reading,
    /// Seed of the run.
    pub seed: u64,
    /// ECN of the end that opens the connection, then of the other; None: the profile's.
    pub ecn: [Option<EcnMode>; 2],
    /// F-RTO; None: the profile's.
    pub frto: Option<bool>,
    /// Highest Quick-Start rate code that the receiver accepts; 0: it does not respond.
    pub willing_code: u8,
    /// Rate codes that the receiver adds to its Quick-Start responses (a lie).
    pub inflates_codes: u8,
    /// Whether the receiver invents the nonce in its Quick-Start responses.
    pub forges_nonce: bool,
    /// Whether the responder sends an ACK with its scaled window after the SYN-ACK.
    pub extra_ack: bool,
    /// Delay ACKs.
    pub delayed_ack: bool,
    /// Offer SACK.
    pub sack: bool,
    /// Offer timestamps.
    pub timestamps: bool,
    /// TCP_NODELAY.
    pub nodelay: bool,
    /// Whether the application responds to what arrives.
    pub interactive: bool,
}

impl SocketOptions {
    /// Data bytes of a full segment without options, or with timestamps only.
    pub fn segment_bytes(&self) -> u32 {
        let timestamps = if self.timestamps { TIMESTAMP_BYTES } else { 0 };
        self.mtu_bytes - HEADER_BYTES - timestamps
    }
}
