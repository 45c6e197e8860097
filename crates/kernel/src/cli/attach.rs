//! `headwayctl attach`

use clap::Args;

use crate::attach::inventory::shown_tunables;
use crate::attach::{Outcome, Request};
use crate::error::Failure;
use crate::objects::pair_of;
use crate::out::{self, say};

/// Attach a control, or replace the attached control of the same name
#[derive(Debug, Args)]
pub struct AttachCommand {
    /// Congestion control, or CONTROL+STARTUP: cubic, reno+hystart, or your own C file, ./mine.c.
    /// Not every control allows a startup: bbr does not
    #[arg(value_name = "CONTROL[+STARTUP]")]
    choice: String,
    /// Set a tunable of the congestion control or startup; can be repeated
    #[arg(long = "set", value_name = "NAME=VALUE")]
    settings: Vec<String>,
    /// Also make the congestion control the default of a network namespace (a name of `ip netns`,
    /// or a path)
    #[arg(long, value_name = "NETNS")]
    default_in: Option<String>,
    /// Name of the congestion control in the kernel, by which sockets choose it
    #[arg(long)]
    name: Option<String>,
    /// Only print what the command would change
    #[arg(long)]
    dry_run: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(command: &AttachCommand) -> Result<(), Failure> {
    let request = Request::new(
        &command.choice,
        &command.settings,
        command.name.as_deref(),
        command.default_in.as_deref(),
    )?;
    let outcome = if command.dry_run {
        request.plan()?
    } else {
        request.run()?
    };
    if command.json {
        return out::json(&outcome);
    }
    print(&outcome, command.dry_run);
    Ok(())
}

fn print(outcome: &Outcome, dry_run: bool) {
    let verb = match (dry_run, outcome.replaced) {
        (true, false) => "would attach",
        (true, true) => "would replace",
        (false, false) => "attached",
        (false, true) => "replaced",
    };
    say!(
        "{verb} {} ({})",
        outcome.name,
        pair_of(outcome.control, outcome.startup)
    );
    for (name, value) in shown_tunables(outcome.control, outcome.startup, &outcome.tunables) {
        say!("  {name} = {value}");
    }
    if let Some(change) = &outcome.default_in {
        say!(
            "{} the default of namespace {} (was {})",
            if dry_run { "would make it" } else { "made it" },
            change.namespace,
            change.previous
        );
    }
}
