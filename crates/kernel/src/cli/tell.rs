//! How commands that change something tell of it: in words or JSON, afterwards or instead.

use clap::Args;
use serde_json::{json, Value};

use crate::error::Failure;
use crate::out::{self, say};

/// What every command takes that changes something.
#[derive(Clone, Copy, Debug, Args)]
pub(super) struct Tell {
    /// Only say what would change
    #[arg(long)]
    pub(super) dry_run: bool,
    /// Print JSON
    #[arg(long)]
    pub(super) json: bool,
}

impl Tell {
    /// Tells of one change: "took hints" was done, "take hints" would be. The JSON is
    /// `value` with "dry_run".
    ///
    /// # Errors
    /// None in practice; see [`out::json`].
    pub(super) fn change(&self, done: &str, to_do: &str, mut value: Value) -> Result<(), Failure> {
        if self.json {
            value["dry_run"] = json!(self.dry_run);
            return out::json(&value);
        }
        if self.dry_run {
            say!("would {to_do}");
        } else {
            say!("{done}");
        }
        Ok(())
    }
}
