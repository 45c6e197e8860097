//! A deterministic packet-level simulator of networks with a TCP endpoint
//! modelled on Linux.
//!
//! Time is virtual and counted in integer nanoseconds. The same scenario and seed give the same
//! trace, bit for bit, on every machine. A run uses one thread; runs are independent of each other.
//! The congestion controls and queue algorithms are the C files of `algorithms/`, which the kernel
//! runs too.
//!
//! ```
//! let outcome = headway_sim::run(r#"{
//!     "duration_ns": 2000000000,
//!     "topology": {"links": [
//!         {"rate_bps": 1000000, "delay_ns": 25000000, "limit_bytes": 60000},
//!         {"rate_bps": 1000000, "delay_ns": 25000000, "limit_bytes": 60000}]},
//!     "flows": [{"name": "tcp", "app": {"kind": "bulk"}, "control": {"name": "reno"}}]
//! }"#).unwrap();
//! assert!(outcome.summary.flows[0].unique_bytes > 100_000);
//! ```

mod controls;
pub mod event;
pub mod host;
pub mod net;
mod ring;
pub mod rng;
pub mod scenario;
pub mod trace;
mod world;

pub use scenario::{Scenario, ScenarioError};
pub use world::{Alone, EcnCounters, Outcome, Sent, World};

/// Parses, builds and runs a scenario.
///
/// # Errors
/// A one-line message for a scenario that cannot run.
pub fn run(scenario_json: &str) -> Result<Outcome, ScenarioError> {
    let scenario = Scenario::from_json(scenario_json)?;
    Ok(World::new(&scenario)?.run())
}
