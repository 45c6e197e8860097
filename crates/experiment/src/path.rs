//! How the numbers that describe a path are split between its links, and how fast a transfer over an
//! empty path is.

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

/// Nanobits per byte. A rate in bits per second times nanoseconds is a number of nanobits.
pub const NANOBITS_PER_BYTE: u128 = 8_000_000_000;

/// A link as a packet crosses it on an empty path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Crossed {
    /// IP bits per second, at least 1.
    pub rate_bps: u64,
    /// Propagation delay.
    pub delay_ns: u64,
    /// Rate and size of the token bucket of the link's shaper.
    pub shaper: Option<(u64, u64)>,
}

impl Crossed {
    /// Time to send packets that have `all_bytes` together and wait for the link, the last of which
    /// has `last_bytes`. A shaper sends as much as its bucket has at the link's rate.
    fn sending_ns(self, all_bytes: u64, last_bytes: u64) -> u128 {
        let wire_ns = self.transmission_ns(all_bytes);
        let Some((rate_bps, burst_bytes)) = self.shaper else {
            return wire_ns;
        };
        let missing = u128::from(all_bytes.saturating_sub(burst_bytes)) * NANOBITS_PER_BYTE;
        let tokens_ns = missing.div_ceil(u128::from(rate_bps));
        wire_ns.max(tokens_ns + self.transmission_ns(last_bytes))
    }

    fn transmission_ns(self, ip_bytes: u64) -> u128 {
        (u128::from(ip_bytes) * NANOBITS_PER_BYTE).div_ceil(u128::from(self.rate_bps))
    }

    fn crossing_ns(self, ip_bytes: u64) -> u128 {
        self.transmission_ns(ip_bytes) + u128::from(self.delay_ns)
    }
}

/// Sizes of a connection's packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PacketSizes {
    /// The SYN and the SYN-ACK.
    pub syn_bytes: u64,
    /// Headers of a packet with data.
    pub header_bytes: u64,
    /// Largest payload of a packet.
    pub payload_bytes: u64,
}

/// The completion time of a transfer on an empty path, to which its slowdown is relative: the
/// handshake (SYN and SYN-ACK), then all data packets back to back, as if no window limited the
/// sender. Links store and forward whole packets. The slowest link therefore needs the time of all
/// packets, each link before it the time of the first packet, and each link behind it the time of
/// the last packet. The bucket of a shaper is full when the data arrives. A transfer cannot be
/// faster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IdealPath {
    sizes: PacketSizes,
    /// The handshake, and the propagation of the data.
    fixed_ns: u128,
    /// The links to the receiver, with the hosts' access links.
    there: Vec<Crossed>,
}

impl IdealPath {
    /// A path with these links to the receiver and back, access links included.
    ///
    /// # Panics
    /// If there is no link to the receiver.
    #[must_use]
    pub fn new(there: Vec<Crossed>, back: &[Crossed], sizes: PacketSizes) -> IdealPath {
        assert!(!there.is_empty(), "a link");
        let handshake = there.iter().chain(back);
        let handshake_ns: u128 = handshake
            .map(|link| link.crossing_ns(sizes.syn_bytes))
            .sum();
        let delay_ns: u128 = there.iter().map(|link| u128::from(link.delay_ns)).sum();
        IdealPath {
            sizes,
            fixed_ns: handshake_ns + delay_ns,
            there,
        }
    }

    /// Time from the SYN until the last of `bytes` bytes has arrived.
    #[must_use]
    pub fn completion_ns(&self, bytes: u64) -> u64 {
        let PacketSizes {
            header_bytes,
            payload_bytes,
            ..
        } = self.sizes;
        let pkts = bytes.div_ceil(payload_bytes).max(1);
        let last_bytes = bytes - (pkts - 1) * payload_bytes + header_bytes;
        let first_bytes = bytes.min(payload_bytes) + header_bytes;
        let all_bytes = bytes + pkts * header_bytes;
        let (slowest, sending_ns) = self.slowest(all_bytes, last_bytes);
        let (before, rest) = self.there.split_at(slowest);
        let before_ns: u128 = before
            .iter()
            .map(|link| link.transmission_ns(first_bytes))
            .sum();
        let behind_ns: u128 = rest[1..]
            .iter()
            .map(|link| link.transmission_ns(last_bytes))
            .sum();
        let sum_ns = self.fixed_ns + before_ns + sending_ns + behind_ns;
        u64::try_from(sum_ns).unwrap_or(u64::MAX)
    }

    /// Index of the slowest link, the first one of several, and its time to send all packets.
    fn slowest(&self, all_bytes: u64, last_bytes: u64) -> (usize, u128) {
        let mut slowest = (0, 0);
        for (at, link) in self.there.iter().enumerate() {
            let sending_ns = link.sending_ns(all_bytes, last_bytes);
            if sending_ns > slowest.1 {
                slowest = (at, sending_ns);
            }
        }
        slowest
    }
}
