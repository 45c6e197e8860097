//! What a flow asks of its two sockets.

use super::{Reading, HEADER_BYTES, TIMESTAMP_BYTES};
use crate::scenario::EcnMode;

/// What a flow asks of both its sockets. What packets ask for stands at the end, so that
/// it shares a cache line with what follows in [`Socket`].
#[derive(Clone, Debug)]
#[repr(C)]
pub struct SocketOptions {
    /// Receive buffer at the start, if it is not the profile's.
    pub receive_buffer_bytes: Option<u64>,
    /// Send buffer with what its sk_buffs take, if it is not to grow with cwnd.
    pub send_buffer_bytes: Option<u64>,
    /// Receive window from the start; None is the profile's.
    pub receive_window_bytes: Option<u64>,
    /// Largest packet that the route takes.
    pub mtu_bytes: u32,
    /// How the application reads.
    pub reading: Reading,
    /// Of the run.
    pub seed: u64,
    /// ECN of the end that opens the connection, then of the other; None is the
    /// profile's.
    pub ecn: [Option<EcnMode>; 2],
    /// F-RTO; None is the profile's.
    pub frto: Option<bool>,
    /// Highest Quick-Start rate code it takes as a receiver; 0: it does not answer.
    pub willing_code: u8,
    /// Codes by which it lies in its answers.
    pub inflates_codes: u8,
    /// It does not know the nonce that it answers with.
    pub forges_nonce: bool,
    /// As responder, an ACK with the scaled window follows the SYN-ACK.
    pub extra_ack: bool,
    /// Delay ACKs.
    pub delayed_ack: bool,
    /// Offer SACK.
    pub sack: bool,
    /// Offer timestamps.
    pub timestamps: bool,
    /// TCP_NODELAY.
    pub nodelay: bool,
    /// The application acts on what arrives.
    pub interactive: bool,
}

impl SocketOptions {
    /// Data bytes of a full segment without options, or with timestamps only.
    pub fn segment_bytes(&self) -> u32 {
        let timestamps = if self.timestamps { TIMESTAMP_BYTES } else { 0 };
        self.mtu_bytes - HEADER_BYTES - timestamps
    }
}
