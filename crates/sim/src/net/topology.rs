//! Links and routes of a topology. Hosts do not know each other: a packet carries the number of its
//! route.

use crate::net::link::{Link, Wire};
use crate::scenario::{LinkSpec, Routes, Scenario, ScenarioError};
use headway_algorithms::{routers_of, QueueInfo, RouterInfo};
use std::collections::BTreeMap;

/// The path of one direction of a flow: links between routers, and an access link at either end.
/// Flow `i` has routes `2i` (from its opener) and `2i + 1` (back). If the flow has a relay, these
/// routes end at the relay. The routes from relays to responders come after those of all flows,
/// also in pairs.
pub(crate) struct Route {
    pub near: Wire,
    pub far: Wire,
    /// Number of the first link. It is stored here because most routes of a dumbbell have no other.
    first: u32,
    /// Where the further links begin in the list of [`Built::further`].
    further: u32,
    pub hops: u8,
}

impl Route {
    /// Number of the next link of a packet that has crossed `hop` links between routers. `all` is
    /// the list of [`Built::further`].
    #[inline]
    pub fn link(&self, hop: u8, all: &[u32]) -> u32 {
        match hop {
            0 => self.first,
            _ => all[self.further as usize + usize::from(hop) - 1],
        }
    }

    /// Whether a route starts at its opener's end.
    #[inline]
    pub fn is_outbound(number: u32) -> bool {
        number % 2 == 0
    }
}

/// The network of a scenario. The trace uses the numbers of its links.
pub(crate) struct Built {
    pub links: Vec<Link>,
    pub routes: Vec<Route>,
    /// The links of routes after their first link. Routes with the same links share them.
    pub further: Vec<u32>,
    pub names: Vec<String>,
    /// Router algorithms of the run. The trace refers to them by their index in this list.
    pub routers: Vec<&'static RouterInfo>,
    /// Queue disciplines of the run that declare counters. The trace refers to them by their index
    /// in this list.
    pub queues: Vec<&'static QueueInfo>,
}

/// Where the further links of a route begin in [`Built::further`].
type Shared<'a> = BTreeMap<&'a [u32], u32>;

impl Built {
    pub fn new(scenario: &Scenario) -> Result<Built, ScenarioError> {
        let topology = &scenario.topology;
        let routers = topology.links.iter().flat_map(|link| &link.routers);
        let mut built = Built {
            links: vec![],
            routes: vec![],
            further: vec![],
            names: vec![],
            routers: routers_of(routers.map(|router| router.name.as_str())),
            queues: vec![],
        };
        for (number, link) in topology.links.iter().enumerate() {
            let own = link.name.clone();
            let name = own.unwrap_or_else(|| format!("link{number}"));
            built.add_link(scenario, name, link)?;
        }
        let mut shared = Shared::new();
        let host = Wire::new(topology.access_rate_bps, topology.access_delay_ns);
        // the access link of a relay, which is attached to a router
        let relay = Wire::new(topology.access_rate_bps, 0);
        for flow in &scenario.flows {
            // A flow's extra delay belongs to the opener's access link.
            let near = Wire::new(
                topology.access_rate_bps,
                topology.access_delay_ns + flow.extra_delay_ns,
            );
            let far = if flow.relay.is_some() { relay } else { host };
            built.add_routes(flow.routes(), near, far, &mut shared);
        }
        for behind in scenario.flows.iter().filter_map(|flow| flow.relay.as_ref()) {
            built.add_routes(behind.routes(), relay, host, &mut shared);
        }
        Ok(built)
    }

    /// Adds the routes of both directions between a host with the access link `near` and one with
    /// the access link `far`.
    fn add_routes<'a>(
        &mut self,
        routes: Routes<'a>,
        near: Wire,
        far: Wire,
        shared: &mut Shared<'a>,
    ) {
        for (links, near, far) in [(routes.there, near, far), (routes.back, far, near)] {
            let further = *shared.entry(&links[1..]).or_insert_with(|| {
                self.further.extend(&links[1..]);
                (self.further.len() - (links.len() - 1)) as u32
            });
            self.routes.push(Route {
                near,
                far,
                first: links[0],
                further,
                hops: links.len() as u8,
            });
        }
    }

    fn add_link(
        &mut self,
        scenario: &Scenario,
        name: String,
        spec: &LinkSpec,
    ) -> Result<(), ScenarioError> {
        let number = self.links.len() as u32;
        let record = scenario.record.queue && scenario.trace;
        let link = Link::new(spec, number, scenario.seed, record)
            .map_err(|e| ScenarioError(format!("{name}.aqm: {e}")))?
            .with_routers(spec, &self.routers, scenario.seed)
            .map_err(|e| ScenarioError(format!("{name}.routers: {e}")))?;
        let queue = link.discipline();
        if !queue.counters.is_empty() && !self.queues.contains(&queue) {
            self.queues.push(queue);
        }
        self.links.push(link);
        self.names.push(name);
        Ok(())
    }
}
