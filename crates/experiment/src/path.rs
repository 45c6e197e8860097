//! How the numbers that describe a path are split between its links.

use crate::graph::Graph;

/// The one-way delays that add up to a round-trip time: half of it in each direction. If the time
/// is an odd number of nanoseconds, the reverse direction is longer by one.
#[must_use]
pub fn halves_ns(rtt_ns: u64) -> (u64, u64) {
    let there_ns = rtt_ns / 2;
    (there_ns, rtt_ns - there_ns)
}

/// Propagation delay of a round trip over the longest route of a network and over both hosts' access
/// links. The bandwidth-delay product uses this delay. A flow's own extra delay is not included.
#[must_use]
pub fn base_rtt_ns(graph: &Graph, access_delay_ns: u64) -> u64 {
    graph.base_rtt_ns().saturating_add(4 * access_delay_ns)
}
