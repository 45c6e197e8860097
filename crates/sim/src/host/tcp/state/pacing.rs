//! The plan of a paced socket.

/// When the next packets may be sent.
///
/// Without a chunk size every packet has its own time. With a chunk size, packets are sent in
/// bursts, as a kernel's timers allow. A window of W packets over a time tau takes N = min(W/chunk,
/// tau's ticks) timers, both rounded down (Scharf 2011, eq. 5.1). Each timer sends W/N packets; the
/// fraction is carried over.
#[derive(Clone, Debug, Default)]
pub struct Pacing {
    /// Earliest time at which the next packet, burst or segment may be sent.
    pub next_ns: u64,
    /// Rate and chunk size for which the current plan was made; both 0 without a plan.
    pub asked: (u64, u32),
    /// Time between bursts.
    pub interval_ns: u64,
    /// Number of packets that all `bursts` bursts together send.
    pub window_pkts: u64,
    pub bursts: u64,
    /// Bursts so far.
    pub fired: u64,
    pub credit_pkts: u64,
}
