//! Headway's controls in the running kernel: every control and every startup is an eBPF
//! object, compiled with the crate from the same C files that the simulator runs, and a
//! pair is linked when it is wanted. The binary `headwayctl` attaches them and takes them away.
//!
//! Rooms, from the ground up; one knows only those before it (tests/arrows.rs):
//!
//! - [`error`], [`out`]: how a command fails and prints;
//! - `mirror`, `generated`: structures of the eBPF programs;
//! - [`system`]: what of Linux is no eBPF: namespaces, locks, netlink, processes, clocks;
//! - [`objects`]: the eBPF objects of this build, how they are loaded and hooked;
//! - [`mechanisms`]: what they do for hosts and routers, one file each;
//! - [`attach`]: controls: attached, listed, judged, taken away;
//! - [`traffic`], [`testbed`]: senders and receivers, and hosts to run them in;
//! - [`benches`]: what a mechanism costs and brings, measured on this machine;
//! - [`cli`]: the command line, which nobody knows.
#![warn(missing_docs)]

pub mod attach;
pub mod benches;
pub mod cli;
pub mod error;
// written by `make mirrors`; not all of it is used here
#[allow(dead_code, non_camel_case_types)]
mod generated;
pub mod mechanisms;
mod mirror;
pub mod objects;
pub mod out;
#[cfg(test)]
#[path = "../../../tests/skipped.rs"]
mod skipped;
pub mod system;
pub mod testbed;
pub mod traffic;

pub use objects::load::{missing, verify};
pub use objects::{objects, probe_object, ControlObject};
