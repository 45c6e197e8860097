//! What a run leaves behind: tables of what happened, or sums of it.

pub mod digest;
pub mod record;
