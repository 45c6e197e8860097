//! The integration tests of this crate, one module each, in one binary, so that shared code is
//! compiled once.

mod captures;
mod headers;
mod properties;
mod quick_start;
mod sample;
