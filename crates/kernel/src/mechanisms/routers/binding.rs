//! Names in the object of a router (algorithms/port/bpf/router.h), and the queue that it reads.

use serde::Serialize;

/// The program of the binding.
pub(super) const PROGRAM: &str = "hw_router";
pub(super) const LINKS: &str = "hw_router_links";
pub(super) const TRAFFIC: &str = "hw_router_seen";

/// The queue that a router takes for its link's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Queue {
    /// A computed queue: the bytes that arrived minus what the link's rate has sent since.
    #[default]
    Virtual,
    /// The packets that wait in the device's own queueing discipline.
    Backlog,
}
