//! How a path's numbers become those of its links.

/// The one-way delays that a round trip is made of: half of it each way, and what is left of an
/// odd number of nanoseconds on the way back.
#[must_use]
pub fn halves_ns(rtt_ns: u64) -> (u64, u64) {
    let there_ns = rtt_ns / 2;
    (there_ns, rtt_ns - there_ns)
}

/// Propagation there and back over all hops and through the access links of both hosts: what a
/// bandwidth-delay product counts. A flow's own extra delay does not.
#[must_use]
pub fn base_rtt_ns(hops: impl IntoIterator<Item = (u64, u64)>, access_delay_ns: u64) -> u64 {
    let hops_ns: u64 = hops.into_iter().map(|(there, back)| there + back).sum();
    hops_ns + 4 * access_delay_ns
}
