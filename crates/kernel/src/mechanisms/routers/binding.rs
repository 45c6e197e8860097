//! Names of programs and maps in the object of a router (algorithms/port/bpf/router.h), and the
//! kinds of queue that a router can use.

use serde::Serialize;

/// Name of a router's eBPF program.
pub(super) const PROGRAM: &str = "hw_router";
pub(super) const LINKS: &str = "hw_router_links";
pub(super) const TRAFFIC: &str = "hw_router_seen";

/// Which queue a router's algorithm takes as the queue of its link.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Queue {
    /// A computed (virtual) queue: arriving packets add their bytes, and it drains at the link's
    /// rate.
    #[default]
    Virtual,
    /// The backlog of the device's own queueing discipline.
    Backlog,
}
