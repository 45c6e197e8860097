//! Socket options that a flow sets.

use super::rules::HostRules;
use super::sizes::{HEADER_BYTES, TIMESTAMP_BYTES};
use super::state::Reading;
use crate::scenario::EcnMode;
use headway_experiment::host::Memory;
use headway_experiment::path::PacketSizes;

/// Socket options of a flow. Fields that are needed for every packet are at the end, so that they
/// share a cache line with the next fields of `Socket`.
#[derive(Clone, Debug)]
#[repr(C)]
pub struct SocketOptions {
    /// SO_RCVBUF.
    pub rcvbuf_bytes: Option<u64>,
    /// SO_SNDBUF.
    pub sndbuf_bytes: Option<u64>,
    /// Minimum, default and maximum of the receive buffer that the flow sets.
    pub rmem_bytes: Option<Memory>,
    /// Minimum, default and maximum of the send buffer; None: the stack profile's.
    pub wmem_bytes: Option<Memory>,
    /// Receive window at the start; None: the stack profile's.
    pub initial_rwnd_bytes: Option<u64>,
    /// Rules that sysctls and the attributes of routes set.
    pub rules: HostRules,
    /// Largest packet that the route takes.
    pub mtu_bytes: u32,
    /// How the application reads arrived data.
    pub reading: Reading,
    /// Seed of the run.
    pub seed: u64,
    /// ECN setting of the end that opens the connection, then of the other end; None: the stack
    /// profile's.
    pub ecn: [Option<EcnMode>; 2],
    /// Whether F-RTO is on; None: the stack profile's setting.
    pub frto: Option<bool>,
    /// Highest Quick-Start rate code that the receiver accepts; 0: it does not respond.
    pub willing_code: u8,
    /// Rate codes that a lying receiver adds to the rate in its Quick-Start responses.
    pub inflates_codes: u8,
    /// Whether a lying receiver sends a random nonce in its Quick-Start responses.
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
    /// Whether the application is called when data, room or a state change occurs at the socket.
    pub interactive: bool,
}

impl SocketOptions {
    /// Data bytes of a full segment without TCP options, or with the timestamp option only.
    pub fn segment_bytes(&self) -> u32 {
        let timestamps = if self.timestamps { TIMESTAMP_BYTES } else { 0 };
        self.mtu_bytes - HEADER_BYTES - timestamps
    }

    /// Size of a SYN or SYN-ACK without protocol headers. With all options it is 60 bytes.
    pub fn syn_bytes(&self) -> u32 {
        let bytes_if = |is_on: bool, bytes: u32| if is_on { bytes } else { 0 };
        let mss_bytes = 4;
        let option_bytes = mss_bytes
            + bytes_if(self.timestamps, 10)
            + bytes_if(self.sack, 2)
            + bytes_if(self.rules.window_scaling, 4);
        HEADER_BYTES + option_bytes.div_ceil(4) * 4
    }

    /// Sizes of a connection's packets, without protocol headers.
    pub fn packet_sizes(&self) -> PacketSizes {
        let payload_bytes = self.segment_bytes();
        PacketSizes {
            syn_bytes: self.syn_bytes().into(),
            header_bytes: (self.mtu_bytes - payload_bytes).into(),
            payload_bytes: payload_bytes.into(),
        }
    }
}
