//! The integration tests of this crate, a module each: one binary compiles what they share once.

mod exchanges;
mod flows;
mod lower;
mod pages;
mod quantities;
