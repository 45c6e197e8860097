//! Headway's controls in the running kernel: every control and every startup is an eBPF
//! object, compiled with the crate from the same C files that the simulator runs, and a
//! pair is linked when it is wanted. The binary `headwayctl` attaches them and takes them away.
//!
//! Rooms, from the ground up; one knows only those before it (tests/arrows.rs):
//!
//! - [`error`], [`out`]: how a command fails and prints;
//! - `mirror`, `generated`, `uapi`: structures of the eBPF programs, and of Linux;
//! - [`socket_options`]: what applications say of their connections;
//! - [`system`]: what of Linux is no eBPF: namespaces, a folder's lock, processes, clocks;
//! - [`objects`]: the eBPF objects of this build, how they are loaded and hooked;
//! - [`mechanisms`]: what they do for hosts and routers, one file each;
//! - [`attach`]: controls: attached, listed, judged, taken away;
//! - [`traffic`], [`testbed`]: senders and receivers, and hosts to run them in;
//! - [`benches`]: what a mechanism costs and brings, measured on this machine;
//! - [`cli`]: the command line, which nobody knows.
#![warn(missing_docs)]

#[cfg(test)]
#[path = "../tests/arrows.rs"]
mod arrows;
pub mod attach;
pub mod benches;
pub mod cli;
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
#[allow(missing_docs)] // written by `make mirrors`, of include/headway.h
pub mod socket_options;
pub mod system;
pub mod testbed;
pub mod traffic;
#[allow(missing_docs)] // written by `make mirrors`, of Linux's headers
mod uapi;

pub use headway_system::error;
pub use objects::load::{missing, verify};
pub use objects::{objects, probe_object, ControlObject};
