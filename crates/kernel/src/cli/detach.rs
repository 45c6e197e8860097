//! `headwayctl detach`

use clap::Args;

use super::error::CliError;
use super::print_json;
use crate::detach::{self, What};
use crate::device::Device;

/// Take a control away, or what is at a device, or everything of Headway
#[derive(Debug, Args)]
pub struct DetachCommand {
    /// The kernel's name of the control, as `status` shows it
    #[arg(required_unless_present_any = ["all", "dev"], conflicts_with_all = ["all", "dev"])]
    name: Option<String>,
    /// What Headway has at a device: `host` and `router`
    #[arg(long, value_name = "DEVICE", conflicts_with = "all")]
    dev: Option<String>,
    /// The device's namespace: a name of `ip netns`, or a path [this one]
    #[arg(long, requires = "dev")]
    netns: Option<String>,
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
    let device = match &command.dev {
        Some(name) => Some(Device::find(command.netns.as_deref(), name)?.place()),
        None => None,
    };
    let what = match (&command.name, &device) {
        (Some(name), _) => What::Control(name),
        (None, Some(place)) => What::Device(place),
        (None, None) => What::All,
    };
    let outcome = if command.dry_run {
        detach::plan(what)?
    } else {
        detach::detach(what)?
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
