//! `headwayctl detach`

use clap::Args;
use serde::Serialize;

use super::proxies;
use crate::attach::detach::{self, Outcome, Target};
use crate::attach::inventory;
use crate::attach::names::find_name;
use crate::error::Failure;
use crate::mechanisms::endpoints;
use crate::objects::{hooks, load};
use crate::out::{self, say};
use crate::system::netns::Netns;
use crate::system::rundir;

/// Detach a congestion control, the programs at a device, or everything of Headway
#[derive(Debug, Args)]
pub struct DetachCommand {
    /// Congestion control, named as in `status` or as it was attached [the only thing that is
    /// attached]
    #[arg(value_name = "CONTROL", conflicts_with_all = ["all", "dev"])]
    name: Option<String>,
    /// Detach all programs of `host` and `router` at this device
    #[arg(long, value_name = "DEVICE", conflicts_with = "all")]
    dev: Option<String>,
    /// Network namespace of the device: a name of `ip netns`, or a path [the current one]
    #[arg(long, requires = "dev")]
    netns: Option<String>,
    /// Detach everything of Headway, including programs that other processes attached or left
    /// behind. First end all proxies and reset their connections
    #[arg(long)]
    all: bool,
    /// Only print what the command would change
    #[arg(long)]
    dry_run: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// What was detached from the kernel, and which proxies were ended.
#[derive(Serialize)]
struct Report<'a> {
    #[serde(flatten)]
    outcome: &'a Outcome,
    /// Names of proxies.
    proxies: &'a [String],
}

/// What a `detach` command without arguments can detach: a congestion control, or the programs at
/// one device.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum OnlyTarget {
    Control(String),
    Device(String),
    Hints,
}

/// What `detach` without arguments detaches: the only thing that is attached. It is an error if
/// nothing or more than one thing is attached.
fn only_target() -> Result<OnlyTarget, Failure> {
    load::required("detach")?;
    rundir::enter()?;
    let controls = inventory::find()?.into_iter().filter(|a| a.attached);
    let mut things: Vec<OnlyTarget> = controls.map(|a| OnlyTarget::Control(a.name)).collect();
    things.extend(hooks::find()?.into_iter().map(|hook| {
        if endpoints::is_ours(&hook) {
            OnlyTarget::Control(endpoints::control_of(&hook))
        } else if hook.program.starts_with("hw_hints") {
            OnlyTarget::Hints
        } else {
            OnlyTarget::Device(hook.place)
        }
    }));
    things.sort();
    things.dedup();
    if things.len() == 1 && things[0] != OnlyTarget::Hints {
        return Ok(things.remove(0));
    }
    let here = Netns::own()?.place_label();
    let ways: Vec<String> = things
        .iter()
        .map(|thing| match thing {
            OnlyTarget::Control(name) => format!("`detach {name}`"),
            OnlyTarget::Device(place) => match place.rsplit_once(':') {
                Some((netns, dev)) if netns != here => {
                    format!("`detach --dev {dev} --netns {netns}`")
                }
                _ => format!(
                    "`detach --dev {}`",
                    place.rsplit(':').next().unwrap_or(place)
                ),
            },
            OnlyTarget::Hints => "`hints detach`".to_owned(),
        })
        .collect();
    Err(Failure::bad_input(if ways.is_empty() {
        "detach what? nothing is attached".to_owned()
    } else {
        format!("detach what? {}, or `detach --all`", ways.join(", "))
    }))
}

pub(super) fn run(command: &DetachCommand) -> Result<(), Failure> {
    let device = match &command.dev {
        Some(name) => Some(detach::place(command.netns.as_deref(), name)?),
        None => None,
    };
    let name = match &command.name {
        Some(typed) => Some(find_name(typed)?.unwrap_or_else(|| typed.clone())),
        None => None,
    };
    let only = match (&name, &device) {
        (None, None) if !command.all => Some(only_target()?),
        _ => None,
    };
    let what = match (&name, &device, &only) {
        (Some(name), ..) | (_, _, Some(OnlyTarget::Control(name))) => Target::Control(name),
        (_, Some(place), _) | (_, _, Some(OnlyTarget::Device(place))) => Target::Device(place),
        (None, None, _) => Target::All,
    };
    // end the proxies first, because they use congestion controls that are detached below
    let proxies = match what {
        Target::All => proxies::end_all(command.dry_run)?,
        _ => Vec::new(),
    };
    let outcome = if command.dry_run {
        detach::plan(what)?
    } else {
        detach::detach(what)?
    };
    if command.json {
        return out::json(&Report {
            outcome: &outcome,
            proxies: &proxies,
        });
    }
    let (detached, made) = if command.dry_run {
        ("would detach", "would make")
    } else {
        ("detached", "made")
    };
    if outcome.detached.is_empty() && outcome.restored.is_empty() && proxies.is_empty() {
        say!("nothing is attached");
    }
    for name in &proxies {
        say!(
            "{} proxy {name}",
            if command.dry_run {
                "would end"
            } else {
                "ended"
            }
        );
    }
    for name in &outcome.detached {
        say!("{detached} {name}");
    }
    for restored in &outcome.restored {
        say!(
            "{made} {} the default of namespace {} again",
            restored.control,
            restored.namespace
        );
    }
    Ok(())
}
