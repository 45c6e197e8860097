//! The integration tests of this crate, one module each. A single binary compiles the shared code
//! once.

mod approval;
mod approval_load;
mod arithmetic;
mod choices;
mod codel;
mod common;
mod contract;
mod first_flights;
mod headers;
mod hints;
mod laws;
mod layout;
mod maxnet;
mod queues;
mod quick_start;
mod router_controlled;
mod routers;
mod startups;
mod user_file;
