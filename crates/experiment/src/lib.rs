//! One description of an experiment, for everybody who reads one: the Python package (whose
//! typed models are its face), `headwayctl`, the emulator, and what runs in a browser.
//!
//! Here stand, once: what units quantities have ([`quantity`]), what a bandwidth-delay product is
//! ([`queue`]), how algorithms and flows are written ([`algorithm`], [`flow`]), what may be asked
//! for ([`limits`]), when flows start that name no time ([`start`]), how a path's numbers
//! become those of its two links ([`path`]), how requests and responses ([`exchanges`]) and Web
//! pages ([`pages`]) stand in a file, which of them wait for which ([`order`]), and how a whole experiment becomes
//! the engine's scenario ([`lower`]). Numbers come out in SI units: bits per second, nanoseconds,
//! bytes. What is wrong is one line that names what was written and what is allowed.
//!
//! The crate reads no file and no clock, opens nothing and starts no thread: it compiles wherever
//! `core` and `alloc` do, WebAssembly included. It knows no algorithm either: who calls it
//! brings what there is ([`algorithm::Known`]).
#![warn(missing_docs)]

pub mod algorithm;
mod columns;
pub mod exchanges;
pub mod flow;
pub mod limits;
pub mod lower;
pub mod order;
pub mod pages;
pub mod path;
pub mod quantity;
pub mod queue;
pub mod start;
pub mod text;

pub use quantity::{
    any_time, parse_positive_size, parse_positive_time, parse_probability, parse_rate, parse_size,
    parse_time,
};
pub use queue::{bdp_bytes, parse_buffer, Buffer, Limit};
pub use text::Refused;
