//! Protocols whose routers lead the senders: each against its own paper's numbers, and on
//! paths where no router takes part.

mod common;

#[path = "router_controlled/load_factor.rs"]
mod load_factor;

#[path = "router_controlled/explicit.rs"]
mod explicit;

#[path = "router_controlled/local.rs"]
mod local;
