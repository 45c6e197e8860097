//! How commands report a change to the system: as text or JSON, after the change or in a dry run.

use clap::Args;
use serde_json::{json, Value};

use crate::error::Failure;
use crate::out::{self, say};

/// The options that every command has that changes the system.
#[derive(Clone, Copy, Debug, Args)]
pub(super) struct Change {
    /// Only print what the command would change
    #[arg(long)]
    pub(super) dry_run: bool,
    /// Print JSON
    #[arg(long)]
    pub(super) json: bool,
}

impl Change {
    /// Reports one change. As text it prints `done`, or in a dry run "would `to_do`". As JSON it
    /// prints `value` with the key "dry_run" added.
    ///
    /// # Errors
    /// The value cannot be written as JSON, which does not happen in practice.
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
