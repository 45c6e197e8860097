//! What a mechanism costs and brings, measured on this machine.

pub mod forwarding;
pub mod receive_window;
