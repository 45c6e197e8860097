//! Reads the network path of a testbed from an experiment's file. The testbed gets the same numbers
//! as a simulation of the experiment.

use std::fs;
use std::path::Path;

use headway_experiment::lower::{path_of, Shape};
use headway_sim::scenario::LinkSpec;

use crate::error::Failure;

/// The parts of an experiment that a testbed needs.
pub(super) struct Asked {
    /// The links of both directions: first from left to right, then from right to left.
    pub(super) links: [LinkSpec; 2],
    /// Seed of the links' random numbers.
    pub(super) seed: u64,
    /// Sum of the delays of both access links, in each direction.
    pub(super) access_ns: u64,
    /// Rate of each access link.
    pub(super) access_rate_bps: u64,
}

/// Reads an experiment's JSON, as Python's typed model writes it. Does not read its flows.
///
/// # Errors
/// A one-line error for a file that is not an experiment, and for a path that a testbed cannot
/// have.
pub(super) fn read(file: &Path) -> Result<Asked, Failure> {
    let bad = |line: String| Failure::bad_input(format!("{}: {line}", file.display()));
    let text = fs::read_to_string(file).map_err(|e| bad(e.to_string()))?;
    let known = headway_algorithms::known();
    let (path, seed) = path_of(&text, &known).map_err(|e| bad(e.to_string()))?;
    if path.shape != Shape::Dumbbell {
        let line = "topology.kind: a testbed needs dumbbell; no other kind is allowed";
        return Err(bad(line.into()));
    }
    let access_ns = 2 * path.access_delay_ns;
    let access_rate_bps = path.access_rate_bps;
    let links = path.links.into_iter().map(serde_json::from_value);
    let links: Result<Vec<LinkSpec>, _> = links.collect();
    let links = links.map_err(|e| bad(e.to_string()))?;
    let links = links
        .try_into()
        .map_err(|_| bad("topology: one hop".into()))?;
    Ok(Asked {
        links,
        seed,
        access_ns,
        access_rate_bps,
    })
}
