//! The network between the hosts.

use super::limits::gigabit;
use super::{LinkSpec, Vary};
use serde::Deserialize;

/// The network between the hosts.
#[derive(Clone, Debug, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase", deny_unknown_fields)]
// A scenario has a single topology, so the size of the larger variant does not matter.
#[allow(clippy::large_enum_variant)]
pub enum Topology {
    /// Every host pair has its own access links to one shared bottleneck.
    Dumbbell {
        /// Senders to receivers.
        forward: LinkSpec,
        /// Receivers to senders.
        reverse: LinkSpec,
        /// Rate of each access link, bits per second.
        #[serde(default = "gigabit")]
        access_rate_bps: u64,
        /// One-way delay of each access link.
        #[serde(default)]
        access_delay_ns: u64,
    },
    /// Routers in a row (parking lot). Each flow chooses where it enters and leaves.
    Chain {
        /// The links between neighbouring routers.
        hops: Vec<Hop>,
        /// Rate of each access link, bits per second.
        #[serde(default = "gigabit")]
        access_rate_bps: u64,
        /// One-way delay of each access link.
        #[serde(default)]
        access_delay_ns: u64,
    },
}

/// Both directions between two neighbouring routers.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Hop {
    /// Direction away from the first router.
    pub forward: LinkSpec,
    /// Direction towards the first router.
    pub reverse: LinkSpec,
}

impl Topology {
    /// Number of links in a row.
    pub fn hops(&self) -> u32 {
        match self {
            Topology::Dumbbell { .. } => 1,
            Topology::Chain { hops, .. } => hops.len() as u32,
        }
    }

    /// Longest propagation and reordering delay in one direction.
    pub(super) fn largest_delay_ns(&self) -> u64 {
        let link = |l: &LinkSpec| {
            let held_ns = |vary: &Vary| vary.longest_ns(l.delay_ns);
            l.vary.as_ref().map_or(l.delay_ns, held_ns) + l.reorder_delay_ns
        };
        match self {
            Topology::Dumbbell {
                forward,
                reverse,
                access_delay_ns,
                ..
            } => link(forward).max(link(reverse)) + 2 * access_delay_ns,
            Topology::Chain {
                hops,
                access_delay_ns,
                ..
            } => {
                let longest = |h: &Hop| link(&h.forward).max(link(&h.reverse));
                hops.iter().map(longest).sum::<u64>() + 2 * access_delay_ns
            }
        }
    }
}
