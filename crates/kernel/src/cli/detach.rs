//! `headwayctl detach`

use clap::Args;

use super::error::CliError;
use super::print_json;
use crate::detach;

/// Take a control away, or everything of Headway
#[derive(Debug, Args)]
pub struct DetachCommand {
    /// The kernel's name of the control, as `status` shows it
    #[arg(required_unless_present = "all", conflicts_with = "all")]
    name: Option<String>,
    /// Everything, whoever attached it and however it was left
    #[arg(long)]
    all: bool,
    /// Only say what would change
    #[arg(long)]
    dry_run: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(command: &DetachCommand) -> Result<(), CliError> {
    let name = command.name.as_deref();
    let outcome = if command.dry_run {
        detach::plan(name)?
    } else {
        detach::detach(name)?
    };
    if command.json {
        return print_json(&outcome);
    }
    let (detached, made) = if command.dry_run {
        ("would detach", "would make")
    } else {
        ("detached", "made")
    };
    if outcome.detached.is_empty() && outcome.restored.is_empty() {
        println!("nothing is attached");
    }
    for name in &outcome.detached {
        println!("{detached} {name}");
    }
    for restored in &outcome.restored {
        println!(
            "{made} {} the default of namespace {} again",
            restored.control, restored.namespace
        );
    }
    Ok(())
}
