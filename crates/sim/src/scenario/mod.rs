//! The scenario to simulate, as plain data in SI units.
//!
//! The scenario is the engine's input. People write the Python `Experiment`, which is lowered to a
//! scenario. Unknown fields are errors, so that a misspelt option is never ignored.

pub mod app;
mod effects;
mod exchanges;
mod faults;
mod flow;
pub mod limits;
mod link;
mod over_time;
mod pages;
mod record;
mod sessions;
mod switches;
mod topology;
mod vary;

pub use app::App;
pub use effects::{
    Aggregation, BurstLoss, Distribution, Effects, Jitter, Policer, Shaper, PARETO_MOST,
    TABLE_SCALE,
};
pub use faults::{AckThinning, Corruption, Mtu};
pub use flow::{Control, EcnMode, Flow, Relay};
pub(crate) use limits::bad;
pub use limits::{check_rate, ScenarioError};
pub(crate) use link::Segment;
pub use link::{Aqm, EcnPath, LinkSpec};
pub use record::{Capture, Record};
pub use switches::{ever, OverTime, Switch, Switches};
pub(crate) use topology::Routes;
pub use topology::Topology;
pub use vary::{Step, TraceStep, Vary};

use crate::host::tcp::MTU_BYTES;
use headway_experiment::host::{Table, OF_ROUTES, OF_SYSCTLS};
use limits::{default_stack, one, yes, MAX_DURATION_NS, MAX_SESSION_DELAY_NS};
use serde::Deserialize;
use std::collections::BTreeMap;

/// Values of settings, by their names; a value is a list of numbers.
pub type Settings = BTreeMap<String, Vec<u64>>;

/// A complete, deterministic run.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// Seed of every random stream of the run.
    #[serde(default = "one")]
    pub seed: u64,
    /// Simulated time, in nanoseconds; at least 1.
    pub duration_ns: u64,
    /// Stack profile of all hosts whose flow does not set one.
    #[serde(default = "default_stack")]
    pub stack: String,
    /// Sysctls of net.ipv4 that all hosts have, by name.
    #[serde(default)]
    pub sysctls: Settings,
    /// Attributes of all hosts' routes, by name; times are in nanoseconds.
    #[serde(default)]
    pub route_attributes: Settings,
    /// The network.
    pub topology: Topology,
    /// The flows.
    pub flows: Vec<Flow>,
    /// Times at which all counters are recorded. They are also recorded at the end.
    #[serde(default)]
    pub checkpoints_ns: Vec<u64>,
    /// What the trace contains.
    #[serde(default)]
    pub record: Record,
    /// Times at which the digest records delivered bytes. The digest sums up the run from the
    /// earliest of these times on. Its memory does not grow with the length of the run.
    #[serde(default)]
    pub digest_at_ns: Vec<u64>,
    /// Whether to keep a trace; false: the trace's tables stay empty.
    #[serde(default = "yes")]
    pub trace: bool,
    /// The link to export as pcapng.
    #[serde(default)]
    pub capture: Option<Capture>,
}

impl Scenario {
    /// Parses and checks a scenario.
    ///
    /// # Errors
    /// One line for malformed JSON, an unknown field or a value out of range.
    pub fn from_json(text: &str) -> Result<Scenario, ScenarioError> {
        let scenario: Scenario =
            serde_json::from_str(text).map_err(|e| ScenarioError(format!("scenario: {e}")))?;
        scenario.check()?;
        Ok(scenario)
    }

    fn check(&self) -> Result<(), ScenarioError> {
        if self.duration_ns == 0 || self.duration_ns > MAX_DURATION_NS {
            return Err(bad("duration_ns", self.duration_ns, "1 ns to 49 days"));
        }
        if self.flows.is_empty() || self.flows.len() > 1_000_000 {
            return Err(bad("flows", self.flows.len(), "1 to 1000000 flows"));
        }
        for (table, settings) in self.settings() {
            for (name, numbers) in settings {
                let checked = table.find(name).and_then(|setting| setting.check(numbers));
                checked.map_err(|e| ScenarioError(format!("{}.{e}", table.field)))?;
            }
        }
        self.topology.check()?;
        for (i, flow) in self.flows.iter().enumerate() {
            flow.check(&format!("flows[{i}]"), &self.topology)?;
            if flow.app.spec().has_many_connections() {
                self.check_for_sessions(i, flow)?;
            }
        }
        Ok(())
    }

    /// How many packets all links together receive per second if every route gets an equal share
    /// of its links and all packets have full size. This is only an estimate: flows may send less,
    /// and ACKs are smaller.
    pub(crate) fn pkts_per_s(&self) -> u64 {
        let topology = &self.topology;
        let routes = || {
            let legs = self.flows.iter().flat_map(Flow::legs);
            legs.flat_map(|leg| [leg.there, leg.back])
        };
        let mut users = vec![0; topology.links.len()];
        for &link in routes().flatten() {
            users[link as usize] += 1;
        }
        let shares_bps: Vec<_> = topology
            .links
            .iter()
            .zip(users)
            .map(|(link, users)| link.fastest_bps() / u64::max(users, 1))
            .collect();
        let of_route = |route: &[u32]| {
            let shares_bps = route.iter().map(|&link| shares_bps[link as usize]);
            let share_bps = shares_bps.fold(topology.access_rate_bps, u64::min);
            share_bps * route.len() as u64
        };
        let bps = routes().map(of_route).fold(0, u64::saturating_add);
        bps / u64::from(8 * MTU_BYTES)
    }

    fn settings(&self) -> [(Table, &Settings); 2] {
        [
            (OF_SYSCTLS, &self.sysctls),
            (OF_ROUTES, &self.route_attributes),
        ]
    }

    /// Checks that a stack has all of the run's sysctls and attributes of routes.
    pub(crate) fn check_stack(&self, stack: &str) -> Result<(), ScenarioError> {
        for (table, settings) in self.settings() {
            for (name, numbers) in settings {
                let checked = table.check_stacks(name, numbers, [stack]);
                checked.map_err(|e| ScenarioError(format!("{}.{e}", table.field)))?;
            }
        }
        Ok(())
    }

    /// Checks a flow with many connections. Sockets are used again after TIME_WAIT, so every packet
    /// must arrive within that time. A capture is not allowed, because it could not distinguish the
    /// connections of a host pair.
    fn check_for_sessions(&self, number: usize, flow: &Flow) -> Result<(), ScenarioError> {
        if self.capture.is_some() {
            let allowed = "null with many connections of one pair";
            return Err(bad("capture", "a capture", allowed));
        }
        let legs: Vec<_> = flow.legs().collect();
        let path_ns = self.topology.largest_delay_ns(&legs) + flow.extra_delay_ns;
        if path_ns > MAX_SESSION_DELAY_NS {
            let field = format!("flows[{number}].app");
            let allowed = "a path of at most 30 s one-way delay with many connections of one pair";
            return Err(bad(&field, path_ns, allowed));
        }
        Ok(())
    }
}
