//! Headway's controls in the running kernel: every control joined with every
//! startup is one eBPF object, compiled with the crate from the same C files that
//! the simulator runs. The binary `headwayctl` attaches them and takes them away.
#![warn(missing_docs)]

pub mod cli;
mod load;
mod objects;

pub use load::{missing, verify};
pub use objects::{objects, probe_object, ControlObject};
