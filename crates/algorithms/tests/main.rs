//! The integration tests of this crate, one module each. A single binary compiles the shared code
//! once.

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
