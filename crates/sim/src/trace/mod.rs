//! Results of a run: the tables of the trace, or a digest's sums.

pub mod digest;
pub mod record;
