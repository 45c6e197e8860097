//! The integration tests of this crate, one module each, in one binary.

mod damaged;
mod frames;
mod measures;
mod tape;
