//! Results of a run: tables of events, or sums of them.

pub mod digest;
pub mod record;
