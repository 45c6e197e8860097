//! What to simulate, as plain data in SI units.
//!
//! The scenario is the engine's input: people write the Python `Experiment`,
//! which is lowered to this. Unknown fields are errors, so a misspelt option
//! never passes silently.

pub mod app;
mod exchanges;
mod flow;
pub mod limits;
mod link;
mod pages;
mod record;
mod sessions;
mod topology;
mod vary;

pub use app::App;
pub use flow::{Control, EcnMode, Flow, Relay};
pub(crate) use limits::bad;
pub use limits::{check_rate, ScenarioError};
pub use link::{Aqm, EcnPath, LinkSpec};
pub use record::{Capture, Record};
pub use topology::{Hop, Topology};
pub use vary::{Step, Vary};

use limits::{check_time, default_stack, one, yes, MAX_DURATION_NS, MAX_SESSION_DELAY_NS};
use serde::Deserialize;

/// A complete, deterministic run.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// Seed of every random stream of the run.
    #[serde(default = "one")]
    pub seed: u64,
    /// Simulated time, in nanoseconds; at least 1.
    pub duration_ns: u64,
    /// Stack profile of all hosts whose flow names none.
    #[serde(default = "default_stack")]
    pub stack: String,
    /// The network.
    pub topology: Topology,
    /// Who sends what to whom.
    pub flows: Vec<Flow>,
    /// Times at which all counters are recorded, besides the end.
    #[serde(default)]
    pub checkpoints_ns: Vec<u64>,
    /// What to keep.
    #[serde(default)]
    pub record: Record,
    /// Totals of what happens from the first of these times on, and of what had arrived
    /// at each of them; they take no more memory when the run is longer.
    #[serde(default)]
    pub digest_at_ns: Vec<u64>,
    /// Keep a trace; false: no table gets a row.
    #[serde(default = "yes")]
    pub trace: bool,
    /// One link to export as pcapng.
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
        match &self.topology {
            Topology::Dumbbell {
                forward,
                reverse,
                access_rate_bps,
                access_delay_ns,
            } => {
                check_rate("topology.access_rate_bps", *access_rate_bps)?;
                check_time("topology.access_delay_ns", *access_delay_ns)?;
                forward.check("topology.forward")?;
                reverse.check("topology.reverse")?;
            }
            Topology::Chain {
                hops,
                access_rate_bps,
                access_delay_ns,
            } => {
                check_rate("topology.access_rate_bps", *access_rate_bps)?;
                check_time("topology.access_delay_ns", *access_delay_ns)?;
                if hops.is_empty() || hops.len() > 64 {
                    return Err(bad("topology.hops", hops.len(), "1 to 64 hops"));
                }
                for (i, hop) in hops.iter().enumerate() {
                    hop.forward.check(&format!("topology.hops[{i}].forward"))?;
                    hop.reverse.check(&format!("topology.hops[{i}].reverse"))?;
                }
            }
        }
        for (i, flow) in self.flows.iter().enumerate() {
            flow.check(&format!("flows[{i}]"), self.topology.hops())?;
            if flow.app.spec().has_many_connections() {
                self.check_for_sessions(i, flow.extra_delay_ns)?;
            }
        }
        Ok(())
    }

    /// Sockets are used again after TIME_WAIT, so no packet may take longer; and a
    /// capture could not tell a pair's connections apart.
    fn check_for_sessions(&self, number: usize, extra_ns: u64) -> Result<(), ScenarioError> {
        if self.capture.is_some() {
            let allowed = "null with many connections of one pair";
            return Err(bad("capture", "a capture", allowed));
        }
        let path_ns = self.topology.largest_delay_ns() + extra_ns;
        if path_ns > MAX_SESSION_DELAY_NS {
            let field = format!("flows[{number}].app");
            let allowed = "a path of at most 30 s one-way delay with many connections of one pair";
            return Err(bad(&field, path_ns, allowed));
        }
        Ok(())
    }
}
