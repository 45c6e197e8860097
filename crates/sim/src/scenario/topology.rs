//! The network between the hosts: a graph of links. A flow's routes list the links that its packets
//! cross, so the engine needs no nodes.

use super::limits::{bad, check_rate, check_time, gigabit, ScenarioError};
use super::{LinkSpec, Vary};
use headway_experiment::graph::DEFAULT_ROUTES;
use headway_experiment::limits::{MAX_HOPS, MAX_LINKS};
use headway_experiment::path::{Crossed, IdealPath, PacketSizes};
use serde::Deserialize;
use std::collections::BTreeSet;

/// The links between routers. Every host has an access link of its own to the router where its flow
/// begins or ends.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Topology {
    /// The links. Routes and the trace refer to a link by its index in this list.
    pub links: Vec<LinkSpec>,
    /// Rate of each access link, bits per second.
    #[serde(default = "gigabit")]
    pub access_rate_bps: u64,
    /// One-way delay of each access link.
    #[serde(default)]
    pub access_delay_ns: u64,
}

/// The routes of a flow or of its relay, each a list of link numbers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Routes<'a> {
    /// From the opener to the other end.
    pub there: &'a [u32],
    /// From the other end to the opener.
    pub back: &'a [u32],
}

impl<'a> Routes<'a> {
    /// The given routes, or the default ones.
    pub fn of(there: Option<&'a Vec<u32>>, back: Option<&'a Vec<u32>>) -> Routes<'a> {
        Routes {
            there: there.map_or(&DEFAULT_ROUTES.0, Vec::as_slice),
            back: back.map_or(&DEFAULT_ROUTES.1, Vec::as_slice),
        }
    }
}

impl Topology {
    pub(super) fn check(&self) -> Result<(), ScenarioError> {
        check_rate("topology.access_rate_bps", self.access_rate_bps)?;
        check_time("topology.access_delay_ns", self.access_delay_ns)?;
        if self.links.is_empty() || self.links.len() > MAX_LINKS {
            let allowed = format!("1 to {MAX_LINKS} links");
            return Err(bad("topology.links", self.links.len(), &allowed));
        }
        let mut names = BTreeSet::new();
        for (number, link) in self.links.iter().enumerate() {
            let field = format!("topology.links[{number}]");
            link.check(&field)?;
            if let Some(name) = &link.name {
                if !names.insert(name) {
                    let allowed = "each link has a name of its own";
                    return Err(bad(&format!("{field}.name"), name, allowed));
                }
            }
        }
        Ok(())
    }

    /// Checks that routes consist of existing links, and that no route crosses a link twice.
    pub(super) fn check_routes(&self, field: &str, routes: Routes) -> Result<(), ScenarioError> {
        for (name, route) in [("route", routes.there), ("reverse_route", routes.back)] {
            let field = format!("{field}.{name}");
            if route.is_empty() || route.len() > MAX_HOPS {
                let allowed = format!("1 to {MAX_HOPS} links");
                return Err(bad(&field, route.len(), &allowed));
            }
            if let Some(other) = route.iter().find(|&&n| n as usize >= self.links.len()) {
                let allowed = format!("a link's number, 0 to {}", self.links.len() - 1);
                return Err(bad(&field, other, &allowed));
            }
            let mut crossed = BTreeSet::new();
            if let Some(again) = route.iter().find(|&&n| !crossed.insert(n)) {
                return Err(bad(&field, again, "a route crosses a link only once"));
            }
        }
        Ok(())
    }

    /// The path of data along these routes, for ideal completion times. `extra_delay_ns` is that of
    /// the opener's access link. None if a link's rate or delay varies.
    pub(crate) fn ideal(
        &self,
        routes: Routes,
        extra_delay_ns: u64,
        mut sizes: PacketSizes,
    ) -> Option<IdealPath> {
        let varies = |&number: &u32| {
            let link = &self.links[number as usize];
            link.vary.is_some() || link.jitter.is_some()
        };
        if routes.there.iter().chain(routes.back).any(varies) {
            return None;
        }
        for &number in routes.there {
            if let Some(mtu) = self.links[number as usize].mtu {
                let room_bytes = u64::from(mtu.size_bytes) - sizes.header_bytes;
                sizes.payload_bytes = sizes.payload_bytes.min(room_bytes);
            }
        }
        let access = |delay_ns| Crossed {
            rate_bps: self.access_rate_bps,
            delay_ns,
            shaper: None,
        };
        let link = |&number: &u32| {
            let link = &self.links[number as usize];
            let shaper = link.shaper;
            Crossed {
                rate_bps: link.rate_bps,
                delay_ns: link.delay_ns,
                shaper: shaper.map(|shaper| (shaper.rate_bps, shaper.burst_bytes)),
            }
        };
        let near = access(self.access_delay_ns + extra_delay_ns);
        let far = access(self.access_delay_ns);
        let whole = |from, links: &[u32], to| -> Vec<Crossed> {
            let inner = links.iter().map(link);
            std::iter::once(from).chain(inner).chain([to]).collect()
        };
        let there = whole(near, routes.there, far);
        let back = whole(far, routes.back, near);
        Some(IdealPath::new(there, &back, sizes))
    }

    /// Longest delay in one direction of these routes: propagation, reordering, delay variation.
    pub(super) fn largest_delay_ns(&self, legs: &[Routes]) -> u64 {
        let link = |&number: &u32| {
            let link = &self.links[number as usize];
            let held_ns = |vary: &Vary| vary.longest_ns(link.delay_ns);
            let held_ns = link.vary.as_ref().map_or(link.delay_ns, held_ns);
            held_ns.saturating_add(link.longest_late_ns())
        };
        let sum_ns =
            |links: &mut dyn Iterator<Item = &u32>| links.map(link).fold(0, u64::saturating_add);
        let there_ns = sum_ns(&mut legs.iter().flat_map(|leg| leg.there));
        let back_ns = sum_ns(&mut legs.iter().flat_map(|leg| leg.back));
        there_ns
            .max(back_ns)
            .saturating_add(2 * self.access_delay_ns)
    }
}
