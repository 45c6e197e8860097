//! Linux interfaces other than eBPF.

pub(crate) mod cgroup;
pub mod clock;
pub(crate) mod lock;
pub mod namespace;
pub mod netns;
pub(crate) mod processes;
pub(crate) mod rundir;
pub(crate) mod sockets;
