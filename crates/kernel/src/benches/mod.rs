//! Benchmarks that measure a mechanism's cost or benefit on this machine.

pub mod forwarding;
pub mod receive_window;
