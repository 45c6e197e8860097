//! The mechanisms of hosts and routers that eBPF programs provide. Each file attaches the programs
//! of one mechanism, reads their counters and detaches them.

mod approval;
pub(crate) mod endpoints;
pub(crate) mod headers_out;
pub mod hints;
pub(crate) mod paths;
mod prefix;
pub(crate) mod quick_start;
pub(crate) mod recent;
pub(crate) mod routers;
pub mod sampler;
pub mod trial;
pub(crate) mod window;
