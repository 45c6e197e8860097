//! Links and routes of a topology. Hosts know nothing of each other: a packet
//! carries the number of its route, a route is a list of links.

use crate::link::Link;
use crate::scenario::{LinkSpec, Scenario, ScenarioError, Topology};
use headway_algorithms::RouterInstance;

/// The network of a scenario. Flow `i` has routes `2i` (from its opener) and
/// `2i + 1` (back).
pub(crate) struct Built {
    pub links: Vec<Link>,
    pub routes: Vec<Vec<u32>>,
    /// Names of the recorded links and their positions in `links`.
    pub names: Vec<String>,
    pub recorded: Vec<u32>,
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
        let mut built = Built {
            links: vec![],
            routes: vec![],
            names: vec![],
            recorded: vec![],
        };
        for (i, (forward, reverse)) in hops.iter().enumerate() {
            built.add_recorded(scenario, &format!("forward{i}"), forward)?;
            built.add_recorded(scenario, &format!("reverse{i}"), reverse)?;
        }
        for flow in &scenario.flows {
            let from = flow.from_hop;
            let to = flow.to_hop.unwrap_or(hops.len() as u32);
            // Both hosts' access links, each in both directions; the extra delay
            // is the sender's.
            let near_ns = access_delay_ns + flow.extra_delay_ns;
            let [out, home] = [(), ()].map(|()| built.add_access(access_rate_bps, near_ns));
            let [there, back] =
                [(), ()].map(|()| built.add_access(access_rate_bps, access_delay_ns));
            let forward = (from..to).map(|hop| hop * 2);
            let reverse = (from..to).rev().map(|hop| hop * 2 + 1);
            built
                .routes
                .push(std::iter::once(out).chain(forward).chain([there]).collect());
            built
                .routes
                .push(std::iter::once(back).chain(reverse).chain([home]).collect());
        }
        Ok(built)
    }

    fn add_access(&mut self, rate_bps: u64, delay_ns: u64) -> u32 {
        self.links.push(Link::access(rate_bps, delay_ns));
        (self.links.len() - 1) as u32
    }

    fn add_recorded(
        &mut self,
        scenario: &Scenario,
        name: &str,
        spec: &LinkSpec,
    ) -> Result<(), ScenarioError> {
        let tunables: Vec<_> = spec
            .aqm
            .tunables
            .iter()
            .map(|(name, value)| (name.clone(), *value))
            .collect();
        let number = self.names.len() as u32;
        let router = |view: &_| RouterInstance::new(&spec.aqm.name, &tunables, view);
        let link = Link::managed(spec, router, number, scenario.seed, scenario.record.queue)
            .map_err(|e| ScenarioError(format!("{name}.aqm: {e}")))?;
        self.recorded.push(self.links.len() as u32);
        self.links.push(link);
        self.names.push(name.to_string());
        Ok(())
    }
}
