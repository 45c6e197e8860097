//! Links and routes of a topology. Hosts do not know each other: a packet carries the number of its
//! route.

use crate::net::link::{Link, Wire};
use crate::scenario::{LinkSpec, Scenario, ScenarioError, Topology};
use headway_algorithms::{routers_of, QueueInstance, RouterInfo};

/// The path of one direction of a flow: an access link at either end and consecutive links between
/// routers. Flow `i` has routes `2i` (from its opener) and `2i + 1` (back). If the flow has a
/// relay, these routes end at the relay. The routes from relays to responders come after those of
/// all flows, also in pairs.
pub(crate) struct Route {
    pub near: Wire,
    pub far: Wire,
    first: u32,
    step: i32,
    pub hops: u8,
}

impl Route {
    /// Number of the next link of a packet that has crossed `hop` links between routers.
    #[inline]
    pub fn link(&self, hop: u8) -> u32 {
        (self.first as i32 + self.step * i32::from(hop)) as u32
    }

    /// Whether a route starts at its opener's end.
    #[inline]
    pub fn is_outbound(number: u32) -> bool {
        number % 2 == 0
    }
}

/// The network of a scenario. Link `2k` leads from router `k` to router `k + 1`, link `2k + 1`
/// back. The trace uses these numbers.
pub(crate) struct Built {
    pub links: Vec<Link>,
    pub routes: Vec<Route>,
    pub names: Vec<String>,
    /// Router algorithms of the run. The trace refers to them by their index in this list.
    pub routers: Vec<&'static RouterInfo>,
}

/// The access link of a host that is attached to a router.
fn access_link(access_rate_bps: u64) -> Wire {
    Wire::new(access_rate_bps, 0)
}

impl Built {
    pub fn new(scenario: &Scenario) -> Result<Built, ScenarioError> {
        let (hops, access_rate_bps, access_delay_ns): (Vec<(&LinkSpec, &LinkSpec)>, _, _) =
            match &scenario.topology {
                Topology::Dumbbell {
                    forward,
                    reverse,
                    access_rate_bps,
                    access_delay_ns,
                } => (vec![(forward, reverse)], *access_rate_bps, *access_delay_ns),
                Topology::Chain {
                    hops,
                    access_rate_bps,
                    access_delay_ns,
                } => (
                    hops.iter().map(|h| (&h.forward, &h.reverse)).collect(),
                    *access_rate_bps,
                    *access_delay_ns,
                ),
            };
        let both_ways = hops.iter().flat_map(|(there, back)| [there, back]);
        let routers = both_ways.flat_map(|link| &link.routers);
        let mut built = Built {
            links: vec![],
            routes: vec![],
            names: vec![],
            routers: routers_of(routers.map(|router| router.name.as_str())),
        };
        for (i, (forward, reverse)) in hops.iter().enumerate() {
            built.add_link(scenario, format!("forward{i}"), forward)?;
            built.add_link(scenario, format!("reverse{i}"), reverse)?;
        }
        let last = hops.len() as u32;
        let host = Wire::new(access_rate_bps, access_delay_ns);
        for flow in &scenario.flows {
            // A flow's extra delay belongs to the opener's access link.
            let near = Wire::new(access_rate_bps, access_delay_ns + flow.extra_delay_ns);
            match &flow.relay {
                None => built.add_routes(flow.from_hop, flow.to_hop.unwrap_or(last), near, host),
                Some(relay) => {
                    built.add_routes(
                        flow.from_hop,
                        relay.at_hop,
                        near,
                        access_link(access_rate_bps),
                    );
                }
            }
        }
        for flow in &scenario.flows {
            if let Some(relay) = &flow.relay {
                let to = flow.to_hop.unwrap_or(last);
                built.add_routes(relay.at_hop, to, access_link(access_rate_bps), host);
            }
        }
        Ok(built)
    }

    /// Adds both routes between a host at router `from` and one at router `to`.
    fn add_routes(&mut self, from: u32, to: u32, near: Wire, far: Wire) {
        let hops = (to - from) as u8;
        self.routes.push(Route {
            near,
            far,
            first: from * 2,
            step: 2,
            hops,
        });
        self.routes.push(Route {
            near: far,
            far: near,
            first: (to - 1) * 2 + 1,
            step: -2,
            hops,
        });
    }

    fn add_link(
        &mut self,
        scenario: &Scenario,
        name: String,
        spec: &LinkSpec,
    ) -> Result<(), ScenarioError> {
        let tunables: Vec<_> = spec
            .aqm
            .tunables
            .iter()
            .map(|(name, value)| (name.clone(), *value))
            .collect();
        let number = self.links.len() as u32;
        let router = |view: &_| QueueInstance::new(&spec.aqm.name, &tunables, view);
        let record = scenario.record.queue && scenario.trace;
        let link = Link::new(spec, router, number, scenario.seed, record)
            .map_err(|e| ScenarioError(format!("{name}.aqm: {e}")))?
            .with_routers(spec, &self.routers, scenario.seed)
            .map_err(|e| ScenarioError(format!("{name}.routers: {e}")))?;
        self.links.push(link);
        self.names.push(name);
        Ok(())
    }
}
