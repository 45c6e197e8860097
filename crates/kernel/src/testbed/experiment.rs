//! Reads the links of a testbed from an experiment's file. The testbed gets the same numbers and
//! routes as a simulation of the experiment.

use std::fs;
use std::path::Path;

use headway_experiment::graph::Routes;
use headway_experiment::lower::{crossed, path_of, Crossed, Shape};
use headway_experiment::testbed;
use headway_sim::scenario::LinkSpec;

use crate::error::Failure;

/// The parts of an experiment that a testbed needs.
pub(super) struct Asked {
    /// All links, in the order of their numbers; of a dumbbell first the one from left to right.
    pub(super) links: Vec<LinkSpec>,
    /// In a network, the routes of each flow, and the delay that it adds in each direction. Empty in
    /// a dumbbell, where the two links join all hosts.
    pub(super) flows: Vec<(Routes, u64)>,
    /// Seed of the links' random numbers.
    pub(super) seed: u64,
    /// Delay of each host's access link.
    pub(super) access_delay_ns: u64,
    /// Rate of each access link.
    pub(super) access_rate_bps: u64,
}

/// Reads an experiment's JSON, as Python's typed model writes it. Does not read the flows of a
/// dumbbell.
///
/// # Errors
/// A one-line error for a file that is not an experiment, and for a network that a testbed cannot
/// have.
pub(super) fn read(file: &Path) -> Result<Asked, Failure> {
    let bad = |line: String| Failure::bad_input(format!("{}: {line}", file.display()));
    let text = fs::read_to_string(file).map_err(|e| bad(e.to_string()))?;
    let known = headway_algorithms::known();
    let (topology, seed) = path_of(&text, &known).map_err(|e| bad(e.to_string()))?;
    let asked = if topology.shape == Shape::Dumbbell {
        Crossed {
            topology,
            seed,
            flows: vec![],
        }
    } else {
        let asked = crossed(&text, &known).map_err(|e| bad(e.to_string()))?;
        testbed::check(&asked.topology, asked.flows.len()).map_err(|e| bad(e.to_string()))?;
        asked
    };
    let topology = asked.topology;
    let links = topology.links.into_iter().map(serde_json::from_value);
    let links: Result<Vec<LinkSpec>, _> = links.collect();
    Ok(Asked {
        links: links.map_err(|e| bad(e.to_string()))?,
        flows: asked.flows,
        seed: asked.seed,
        access_delay_ns: topology.access_delay_ns,
        access_rate_bps: topology.access_rate_bps,
    })
}
