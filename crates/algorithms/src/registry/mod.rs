//! Finds algorithms, built in or from users' own files, and their tunables.

mod built_in;
mod info;
mod tables;
mod tunable;

use headway_experiment::algorithm::{self, Known};
use headway_experiment::text::Refused;

use crate::error::{nearest, AlgorithmError};
use crate::user_file;

use built_in::by_name;
pub use built_in::{choices, controls, queue, queues, routers, startup, startups};
pub(crate) use info::{control_info, router_info};
pub use info::{ControlFlags, ControlInfo, CounterInfo, QueueInfo, RouterInfo, StartupInfo};
pub(crate) use tables::{tables, text, Ops};
pub use tunable::TunableInfo;

/// The startup for a control: the named one, or the control's default. None if the control starts
/// by itself.
///
/// # Errors Unknown names; a startup for a control that takes none.
pub fn startup_of(
    control: &ControlInfo,
    named: Option<&str>,
) -> Result<Option<&'static StartupInfo>, AlgorithmError> {
    match (control.flags.own_start(), named) {
        (true, Some(named)) => Err(AlgorithmError::OwnStart(control.name, named.to_owned())),
        (true, None) => Ok(None),
        (false, named) => startup(named.or(control.startup).unwrap_or_default()).map(Some),
    }
}

/// Describes an algorithm to the parser of flow and queue texts.
fn named(name: &str, startup: Option<&str>, tunables: &[TunableInfo]) -> algorithm::Algorithm {
    algorithm::Algorithm {
        name: name.to_owned(),
        startup: startup.map(str::to_owned),
        tunables: tunables.iter().map(TunableInfo::described).collect(),
    }
}

/// Finds the algorithm that a user's file declares.
fn named_of_file(kind: &str, name: &str) -> Result<algorithm::Algorithm, Refused> {
    match kind {
        "control" => control(name)
            .map(|c| named(c.file.unwrap_or(c.name), c.startup, &c.tunables))
            .map_err(Refused::from),
        "router" => router(name)
            .map(|r| named(r.file.unwrap_or(r.name), None, &r.tunables))
            .map_err(Refused::from),
        _ => Err(Refused::new(format!(
            "{name}: a {kind} cannot be a file of one's own; a control and a router can"
        ))),
    }
}

/// All names that a flow or queue, written as text, may contain, except names of stack profiles.
#[must_use]
pub fn known() -> Known {
    let controls = controls().iter();
    let startups = startups().iter();
    let queues = queues().iter();
    let routers = routers().iter();
    Known {
        controls: controls
            .map(|c| named(c.name, c.startup, &c.tunables))
            .collect(),
        startups: startups.map(|s| named(s.name, None, &s.tunables)).collect(),
        queues: queues.map(|q| named(q.name, None, &q.tunables)).collect(),
        routers: routers.map(|r| named(r.name, None, &r.tunables)).collect(),
        stacks: vec![],
        load_file: Some(named_of_file),
    }
}

/// The control with this name, which may be a user's file.
///
/// # Errors
/// [`AlgorithmError::Unknown`] with the nearest names; [`AlgorithmError::File`].
pub fn control(name: &str) -> Result<&'static ControlInfo, AlgorithmError> {
    user_file::control(name)
        .unwrap_or_else(|| by_name("control", controls(), |info| info.name, name))
}

/// The router algorithm with this name, which may be a user's file.
///
/// # Errors
/// [`AlgorithmError::Unknown`] with the nearest names; [`AlgorithmError::File`].
pub fn router(name: &str) -> Result<&'static RouterInfo, AlgorithmError> {
    user_file::router(name).unwrap_or_else(|| by_name("router", routers(), |info| info.name, name))
}

/// All built-in router algorithms by name, then those of `names` that are users' files. A run's
/// record refers to its algorithms by their index in this list. The list does not depend on other
/// files that this process has read.
#[must_use]
pub fn routers_of<'a>(names: impl IntoIterator<Item = &'a str>) -> Vec<&'static RouterInfo> {
    let mut all: Vec<&RouterInfo> = routers().iter().collect();
    let files: Vec<_> = names
        .into_iter()
        .filter_map(|name| user_file::router(name)?.ok())
        .collect();
    for info in files {
        if !all
            .iter()
            .any(|known| known.file == info.file && info.file.is_some())
        {
            all.push(info);
        }
    }
    all
}

/// Finds the tunable with this name, of a control or of its startup.
///
/// # Errors
/// Unknown control, startup or tunable, with the nearest names.
pub fn find_tunable(
    control_name: &str,
    startup_name: Option<&str>,
    tunable: &str,
) -> Result<&'static TunableInfo, AlgorithmError> {
    let control = control(control_name)?;
    let of_startup = startup_of(control, startup_name)?.map_or(&[][..], |s| &s.tunables);
    let mut all = control.tunables.iter().chain(of_startup);
    all.find(|t| t.name == tunable)
        .ok_or_else(|| unknown_tunable(control_name, tunable, &[&control.tunables, of_startup]))
}

pub(crate) fn unknown_tunable(
    owner: &str,
    tunable: &str,
    lists: &[&[TunableInfo]],
) -> AlgorithmError {
    AlgorithmError::UnknownTunable {
        owner: owner.to_owned(),
        name: tunable.to_owned(),
        nearest: nearest(
            tunable,
            lists.iter().flat_map(|list| list.iter().map(|t| t.name)),
        ),
    }
}
