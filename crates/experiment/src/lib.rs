//! The description of an experiment, shared by all its readers: the Python package, whose typed
//! models have the same fields, `headwayctl`, the emulator, and code that runs in a browser.
//!
//! This crate is the only place that defines
//! - the units of quantities ([`quantity`]) and the bandwidth-delay product ([`queue`]),
//! - how algorithms and flows are written ([`algorithm`], [`flow`]),
//! - the limits of values ([`limits`]), and those of a network in a testbed ([`testbed`]),
//! - the sysctls and attributes of routes that hosts can have ([`host`]),
//! - the start times of flows without one ([`start`]),
//! - the routes of flows through a network ([`graph`]), and how a path's numbers are split between
//!   its two links ([`path`]),
//! - the files of requests and responses ([`exchanges`]) and of Web pages ([`pages`]), and which of
//!   them wait for which ([`order`]),
//! - how a whole experiment becomes the engine's scenario ([`lower`]).
//!
//! Results are in SI units: bits per second, nanoseconds, bytes. An error is one line that names
//! what was written and what is allowed.
//!
//! The crate opens no file, reads no clock and starts no thread, so it also compiles for
//! WebAssembly. It contains no list of algorithms: the caller passes one ([`algorithm::Known`]).
#![warn(missing_docs)]

pub mod algorithm;
mod columns;
pub mod exchanges;
pub mod flow;
pub mod graph;
pub mod host;
pub mod limits;
pub mod lower;
pub mod order;
pub mod pages;
pub mod path;
pub mod quantity;
pub mod queue;
pub mod start;
pub mod testbed;
pub mod text;

pub use quantity::{
    any_time, parse_positive_size, parse_positive_time, parse_probability, parse_rate, parse_size,
    parse_time,
};
pub use queue::{bdp_bytes, parse_buffer, Buffer, Limit};
pub use text::Refused;
