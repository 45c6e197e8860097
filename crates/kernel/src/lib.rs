//! Headway's controls in the running kernel: every control joined with every
//! startup is one eBPF object, compiled with the crate from the same C files that
//! the simulator runs. The binary `headwayctl` attaches them and takes them away.
#![warn(missing_docs)]

pub mod attach;
mod bpf;
mod btf;
pub mod cli;
mod constants;
pub mod contract;
pub mod detach;
mod device;
pub mod doctor;
pub mod forwarding;
pub mod hints;
mod hooks;
pub mod inventory;
mod load;
mod lock;
mod names;
pub mod namespace;
mod netlink;
pub mod netns;
mod objects;
mod paths;
mod prefix;
mod quick_start;
mod recent;
mod router;
mod rundir;
pub mod sampler;
mod shared;
#[cfg(test)]
#[path = "../../../tests/skipped.rs"]
mod skipped;
mod sockets;
pub mod status;
pub mod testbed;
pub mod traffic;
pub mod trial;
mod window;
pub mod window_bench;

pub use load::{missing, verify};
pub use objects::{objects, probe_object, ControlObject};
