//! What programs in the kernel do for hosts and routers. Each file attaches one mechanism, reads
//! its counters and detaches it.

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
