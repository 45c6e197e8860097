//! The integration tests of this crate, one module each, in one binary, so that shared code is
//! compiled once.

mod exchanges;
mod flows;
mod graph;
mod lower;
mod pages;
mod quantities;
mod sizes;
