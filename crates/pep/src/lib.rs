//! A transparent split-TCP proxy. The proxy intercepts clients' connections (TPROXY) and splits
//! each into two TCP connections, one to the client and one to the server. Each has the congestion
//! control and the buffers of its side. Both keep the addresses and ports of client and server. The
//! modules:
//!
//! - [`Config`]: the configuration;
//! - `rules`: installs and removes nftables rules and routing (`routes`); `sets`: sets of
//!   connections in the rules; `listening`: ports that the rules leave out; `untracked`: packets
//!   hidden from connection tracking;
//! - `rules_process`: the process that changes the rules after the proxy has given up its privileges;
//!   `privileges`: the privileges that a running proxy keeps;
//! - `socket`: sockets with foreign addresses, listening and connecting;
//! - `worker`: an event loop per core, each with a `table` of descriptors, a `queue` of events and
//!   its connections in a `slab`;
//! - `confirm`: clients' SYNs wait in `pending` until servers have answered; `nflog` receives them,
//!   `syn` parses them and builds answers;
//! - `connection`: two legs and their outcome; `flow`: moves the data of one direction, by splice
//!   through a `pipe`; `counters`;
//! - `limits`: whether new connections are taken or bypass the proxy;
//! - `journal`: a line for each ended connection; `metrics`: the counters, for Prometheus;
//! - `proxy`: the main thread; [`control`]: requests to a running proxy; `handover`: one process
//!   replaces another; [`run`]: from start to end.
#![warn(missing_docs)]

mod config;
mod confirm;
mod connection;
pub mod control;
mod counters;
mod descriptors;
mod flow;
mod handover;
mod journal;
mod limits;
mod listeners;
mod listening;
mod manager;
mod metrics;
mod nflog;
mod nft;
mod outcome;
mod pending;
mod pipe;
mod privileges;
mod proxy;
mod queue;
mod routes;
mod rules;
mod rules_process;
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
pub use descriptors::DescriptorTables;
pub use manager::Manager;
pub use run::{clean, plan, run};
