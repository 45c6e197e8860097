//! Limits of a network in a testbed, where one emulator carries all links and each flow has two
//! hosts of its own.

use serde_json::Value as Json;

use crate::lower::Topology;
use crate::quantity::format_rate;
use crate::text::Refused;

/// Largest number of nodes. The emulator's log has one byte for a link's number, and 16 nodes have
/// at most 240 links.
pub const MAX_NODES: usize = 16;
/// Largest number of hosts on each side of a testbed.
pub const MAX_HOSTS: u32 = 100;
/// Highest rate of a link at which the emulator and the hosts' programs run with real-time priority
/// by default. Below it, cores are idle part of the time, so real-time programs do not starve
/// others.
pub const REAL_TIME_MAX_BPS: u64 = 200_000_000;
/// Highest rate of a link of a network. Without real-time priority, a late emulator can be late
/// again at each link of a route.
pub const MAX_RATE_BPS: u64 = REAL_TIME_MAX_BPS;

/// Checks whether a testbed can have this network with this number of flows.
///
/// # Errors
/// One line that names the field, its value and what is allowed.
pub fn check(topology: &Topology, flows: usize) -> Result<(), Refused> {
    let nodes = topology.graph.nodes().len();
    if nodes > MAX_NODES {
        let line = format!("topology: {nodes} nodes are not allowed; at most {MAX_NODES}");
        return Err(Refused::new(line));
    }
    if flows > MAX_HOSTS as usize {
        return Err(Refused::new(format!(
            "flows: {flows} are not allowed; at most {MAX_HOSTS} in a network, where each flow has \
             hosts of its own"
        )));
    }
    for (link, named) in topology.links.iter().zip(topology.graph.links()) {
        let refuse = |what: String| Err(Refused::new(format!("topology: {}: {what}", named.name)));
        let rate_bps = highest_rate_bps(link);
        if rate_bps > MAX_RATE_BPS {
            let [rate, most] = [rate_bps, MAX_RATE_BPS].map(|bps| format_rate(bps.into()));
            return refuse(format!(
                "rate: {rate} is not allowed; at most {most} in a network"
            ));
        }
        if let Some(router) = link["routers"][0]["name"].as_str() {
            return refuse(format!(
                "routers: {router} is not allowed; only a dumbbell and a chain with a gateway can \
                 have routers"
            ));
        }
    }
    Ok(())
}

/// The highest rate that a link has in the run. The link is in the scenario's form.
fn highest_rate_bps(link: &Json) -> u64 {
    let steps = link["vary"]["steps"].as_array().into_iter().flatten();
    let rates = steps.filter_map(|step| step[1].as_u64());
    rates
        .max()
        .unwrap_or(link["rate_bps"].as_u64().unwrap_or(0))
}
