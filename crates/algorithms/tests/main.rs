//! The integration tests of this crate, a module each: one binary compiles what they share once.

mod approval;
mod approval_load;
mod arithmetic;
mod brought;
mod choices;
mod codel;
mod common;
mod contract;
mod first_flights;
mod headers;
mod laws;
mod layout;
mod maxnet;
mod quick_start;
mod router_controlled;
mod routers;
mod said;
mod startups;
