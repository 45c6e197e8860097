//! Interfaces of Linux other than eBPF: namespaces, cgroups, processes, locks, clocks, sockets.

pub(crate) mod cgroup;
pub mod clock;
pub(crate) mod lock;
pub mod namespace;
pub mod netns;
pub(crate) mod processes;
pub(crate) mod rundir;
pub(crate) mod sockets;
