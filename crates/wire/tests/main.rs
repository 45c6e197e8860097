//! The integration tests of this crate, a module each: one binary compiles what they share once.

mod captures;
mod headers;
mod properties;
mod quick_start;
mod sample;
