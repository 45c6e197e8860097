//! Hosts: TCP endpoints, the connections between them and the applications on them.

pub(crate) mod apps;
pub(crate) mod connection;
pub mod tcp;
