//! Headway's congestion controls in the running kernel. The build compiles every control and every
//! startup to an eBPF object, from the same C files that the simulator runs. A control and a
//! startup are linked to one object when they are attached together. The binary `headwayctl`
//! attaches and detaches them.
//!
//! Modules, lowest first. A module uses only modules above it in this list (tests/arrows.rs checks
//! this):
//!
//! - [`error`], [`out`]: how a command fails and prints;
//! - `mirror`, `generated`, `uapi`: structures of the eBPF programs and of Linux;
//! - [`socket_options`]: the socket options with which applications describe their connections;
//! - [`system`]: Linux interfaces other than eBPF: namespaces, a lock on a folder, processes,
//!   clocks;
//! - [`objects`]: the eBPF objects of this build: how they are loaded and hooked;
//! - [`mechanisms`]: the functions of hosts and routers that eBPF programs provide, one file each;
//! - [`attach`]: attaching, listing, checking and detaching controls;
//! - [`traffic`], [`testbed`]: senders and receivers, and hosts to run them in;
//! - [`benches`]: benchmarks of a mechanism's cost or benefit on this machine;
//! - [`cli`]: the command line, which no other module uses.
#![warn(missing_docs)]

#[cfg(test)]
#[path = "../tests/arrows.rs"]
mod arrows;
pub mod attach;
pub mod benches;
pub mod cli;
// `make mirrors` generates this module; this crate does not use all of its items
#[allow(dead_code, non_camel_case_types)]
mod generated;
pub mod mechanisms;
mod mirror;
pub mod objects;
pub mod out;
#[cfg(test)]
#[path = "../../../tests/skipped.rs"]
mod skipped;
#[allow(missing_docs)] // `make mirrors` writes this module from include/headway.h
pub mod socket_options;
pub mod system;
pub mod testbed;
pub mod traffic;
#[allow(missing_docs)] // `make mirrors` writes this module from Linux's headers
mod uapi;

pub use headway_system::error;
pub use objects::load::{missing, verify};
pub use objects::{objects, probe_object, ControlObject};
