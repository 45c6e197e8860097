//! Counters of a link, and the state from which its digest is computed.

use crate::trace::digest::Spread;

/// Counters of a link.
#[derive(Clone, Default)]
pub struct Counters {
    /// Packets offered.
    pub arrived_pkts: u64,
    /// Bytes offered.
    pub arrived_bytes: u64,
    /// Packets completely transmitted.
    pub sent_pkts: u64,
    /// Bytes completely transmitted.
    pub sent_bytes: u64,
    /// Packets lost or dropped.
    pub dropped_pkts: u64,
    /// Bytes lost or dropped.
    pub dropped_bytes: u64,
    /// Integral of the queue length, bytes times nanoseconds.
    pub queue_byte_ns: u128,
}

/// State from which a link's digest is computed.
#[derive(Default)]
pub(super) struct Watch {
    pub from_ns: u64,
    pub before: Counters,
    pub queue_bytes: Spread,
    pub full_events: u64,
}
