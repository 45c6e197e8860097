//! Names of programs and maps in the object of a router (algorithms/port/bpf/router.h), and the
//! kinds of queue that a router can use.

use serde::Serialize;

/// The name of the program.
pub(super) const PROGRAM: &str = "hw_router";
pub(super) const LINKS: &str = "hw_router_links";
pub(super) const TRAFFIC: &str = "hw_router_seen";

/// The queue that a router uses as its link's queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Queue {
    /// A computed queue: the bytes that arrived minus the bytes that the link has sent since at its
    /// rate.
    #[default]
    Virtual,
    /// The packets that wait in the device's own queueing discipline.
    Backlog,
}
