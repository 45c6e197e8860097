//! A transparent split-TCP proxy. What clients open is intercepted (TPROXY) and becomes two
//! connections, each with the congestion control and the buffers of its side; the addresses of
//! client and server stay what they are on both. The way of the data:
//!
//! - [`Config`]: what is asked for;
//! - `rules`: nftables and routing (`routes`), put in and taken out by itself; `sets`: what they
//!   remember; `listening`: what they are told; `untracked`: what connection tracking does not see;
//! - `keeper`: who changes them when the proxy may not any more; `privileges`: what it may then;
//! - `socket`: sockets with others' addresses, listening and connecting;
//! - `worker`: an event loop per core, each with a `table` of descriptors, a `queue` of events and its
//!   connections in a `slab`;
//! - `confirm`: clients' first packets wait in `held` until servers have answered; `nflog` brings
//!   them, `syn` reads them and makes answers;
//! - `connection`: two legs and what becomes of them; `flow`: one direction, by splice through
//!   a `pipe`; `counters`;
//! - `limits`: whether new connections are taken or pass around;
//! - `journal`: a line for each that has ended; `metrics`: what is counted, for Prometheus;
//! - `proxy`: what goes on beside that; [`control`]: who asks how it is; `handover`: a process takes
//!   the place of another; [`run`]: from start to end.
#![warn(missing_docs)]

mod config;
mod confirm;
mod connection;
pub mod control;
mod counters;
mod flow;
mod handover;
mod held;
mod journal;
mod keeper;
mod limits;
mod listening;
mod manager;
mod metrics;
mod nflog;
mod pipe;
mod privileges;
mod proxy;
mod queue;
mod routes;
mod rules;
mod run;
mod sets;
mod slab;
mod socket;
mod syn;
mod table;
mod untracked;
mod worker;

pub use config::{Config, Journal, Side};
pub use connection::{ConnectionStatus, LegStatus, Phase};
pub use counters::{Counters, Totals};
pub use limits::Tables;
pub use manager::Manager;
pub use run::{clean, plan, run};
