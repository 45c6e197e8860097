//! Additions to generated.rs, the mirror of the C structures (`make mirrors`): sizes in 8-byte
//! words, and default values that mean "nothing yet".

pub use crate::generated::*;

/// Largest number of tunables that an algorithm may declare.
pub const MAX_TUNABLES: usize = crate::generated::MAX_TUNABLES;
/// Largest number of readings that a control may declare.
pub const MAX_READINGS: usize = crate::generated::MAX_READINGS;
/// Value of ssthresh before the first congestion event.
pub const SSTHRESH_INFINITE: u32 = crate::generated::SSTHRESH_INFINITE;
/// Number of words of a flow's state, which holds a control's state and a startup's
/// (`HW_FLOW_STATE_BYTES`).
pub const FLOW_STATE_WORDS: usize = FLOW_STATE_BYTES / 8;
/// Number of words of a router algorithm's state (`HW_ROUTER_STATE_BYTES`).
pub const ROUTER_STATE_WORDS: usize = ROUTER_STATE_BYTES / 8;

impl Default for Conn {
    /// A connection before its first ACK: cwnd 10, no limit, no samples.
    fn default() -> Self {
        // SAFETY: all fields are integers, for which zero is a valid value.
        let zeros: Self = unsafe { std::mem::zeroed() };
        Self {
            cwnd_pkts: 10,
            ssthresh_pkts: SSTHRESH_INFINITE,
            cwnd_clamp_pkts: u32::MAX,
            min_rtt_us: u32::MAX,
            mss_bytes: 1448,
            ca_state: CaState::Open as u8,
            cwnd_limited: 1,
            grant: Grant::None as u8,
            peer_window_bytes: u32::MAX,
            header_bytes: 52,
            ..zeros
        }
    }
}

impl Default for Held {
    /// Without packets and without memory for them.
    fn default() -> Self {
        // SAFETY: all fields are integers or pointers, for which zero is a valid value.
        let zeros: Self = unsafe { std::mem::zeroed() };
        Self {
            free: NOWHERE,
            dropped: NOWHERE,
            dropped_last: NOWHERE,
            ..zeros
        }
    }
}

impl Default for RateSample {
    /// A rate sample without values: the ACK gave no sample.
    fn default() -> Self {
        // SAFETY: all fields are integers, for which zero is a valid value.
        let zeros: Self = unsafe { std::mem::zeroed() };
        Self {
            delivered_pkts: -1,
            interval_us: -1,
            rtt_us: -1,
            ..zeros
        }
    }
}
