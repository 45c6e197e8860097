//! Reports of commands that change something: as text or JSON, after the change or as a dry run.

use clap::Args;
use serde_json::{json, Value};

use crate::error::Failure;
use crate::out::{self, say};

/// The options of every command that changes something.
#[derive(Clone, Copy, Debug, Args)]
pub(super) struct Change {
    /// Only print what would change
    #[arg(long)]
    pub(super) dry_run: bool,
    /// Print JSON
    #[arg(long)]
    pub(super) json: bool,
}

impl Change {
    /// Reports one change: `done` after the change, "would `to_do`" in a dry run. The JSON is
    /// `value` with "dry_run" added.
    ///
    /// # Errors
    /// None in practice; see [`out::json`].
    pub(super) fn report(&self, done: &str, to_do: &str, mut value: Value) -> Result<(), Failure> {
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
