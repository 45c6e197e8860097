//! The cost and the benefit of a mechanism, measured on this machine.

pub mod forwarding;
pub mod receive_window;
