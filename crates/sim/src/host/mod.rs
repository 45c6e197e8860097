//! Hosts: TCP endpoints and the applications on them.

pub(crate) mod apps;
pub mod tcp;
