//! The lists of algorithms, their tunables, and look-up by name.

mod info;
mod tables;
mod tunable;

use std::sync::OnceLock;

use headway_experiment::algorithm::{self, Known};
use headway_experiment::text::Refused;

use crate::error::{nearest, AlgorithmError};
use crate::ffi;
use crate::user_file;

pub use info::{ControlFlags, ControlInfo, CounterInfo, QueueInfo, RouterInfo, StartupInfo};
use tables::tunables;
pub(crate) use tables::{control_info, router_info, tables, text, Ops};
pub use tunable::TunableInfo;

/// The list of one kind of table, sorted by name: `$info` from the C array `$list`
/// of `$n` tables, whose head has the texts `$text` and the switches `$switch`.
macro_rules! list {
    (
        $info:ident, $list:ident, $n:ident, [$($text:ident),*], [$($switch:ident),*]
    ) => {{
        static LIST: OnceLock<Vec<$info>> = OnceLock::new();
        LIST.get_or_init(|| {
            // SAFETY: the registry the build wrote: an array of pointers to constant
            // tables, whose texts are literals and whose tunables are theirs.
            let mut list: Vec<$info> = unsafe {
                tables(&raw const ffi::$list, ffi::$n)
                    .iter()
                    .map(|&ops| $info {
                        $($text: text((*ops).$text),)*
                        $($switch: (*ops).$switch != 0,)*
                        state_bytes: (*ops).state_bytes,
                        tunables: tunables((*ops).tunables, (*ops).n_tunables),
                        ops: Ops(ops),
                    })
                    .collect()
            };
            list.sort_by_key(|info| info.name);
            list
        })
    }};
}

/// All controls, by name.
pub fn controls() -> &'static [ControlInfo] {
    static LIST: OnceLock<Vec<ControlInfo>> = OnceLock::new();
    LIST.get_or_init(|| {
        // SAFETY: as in list!; a control without a startup's name has its own start.
        let mut list: Vec<ControlInfo> = unsafe {
            tables(
                &raw const ffi::hw_native_controls,
                ffi::hw_native_n_controls,
            )
            .iter()
            .map(|&ops| {
                let header = (*ops).header;
                control_info(
                    &*ops,
                    (!header.is_null()).then(|| text((*header).name)),
                    None,
                )
            })
            .collect()
        };
        list.sort_by_key(|info| info.name);
        list
    })
}

/// All startups, by name.
pub fn startups() -> &'static [StartupInfo] {
    list!(
        StartupInfo,
        hw_native_startups,
        hw_native_n_startups,
        [name, suffix, title, source],
        [paces]
    )
}

/// All queue disciplines, by name.
pub fn queues() -> &'static [QueueInfo] {
    list!(
        QueueInfo,
        hw_native_queues,
        hw_native_n_queues,
        [name, title, source],
        []
    )
}

/// All router algorithms, by name.
///
/// # Panics
/// If one declares more than the contract allows.
pub fn routers() -> &'static [RouterInfo] {
    static LIST: OnceLock<Vec<RouterInfo>> = OnceLock::new();
    LIST.get_or_init(|| {
        // SAFETY: as in list.
        let mut list: Vec<RouterInfo> = unsafe {
            tables(&raw const ffi::hw_native_routers, ffi::hw_native_n_routers)
                .iter()
                .map(|&ops| {
                    let table = &*ops;
                    assert!(table.n_events as usize <= ffi::MAX_NOTES);
                    assert!(table.n_counters * 8 <= table.state_bytes || table.n_counters == 0);
                    assert!(table.state_bytes as usize <= 8 * ffi::ROUTER_STATE_WORDS);
                    let header = table.header;
                    router_info(
                        table,
                        (!header.is_null()).then(|| text((*header).name)),
                        None,
                    )
                })
                .collect()
        };
        list.sort_by_key(|info| info.name);
        list
    })
}

/// Every control with every startup it can combine with; a control that owns its start once.
pub fn choices() -> impl Iterator<Item = (&'static ControlInfo, Option<&'static StartupInfo>)> {
    controls().iter().flat_map(|control| {
        let alone = control.flags.own_start().then_some((control, None));
        let joined = startups().iter().map(move |s| (control, Some(s)));
        let joined = joined.filter(|(control, _)| !control.flags.own_start());
        alone.into_iter().chain(joined)
    })
}

/// The startup for a control: the named one, otherwise the control's default. None if the control
/// owns its start.
///
/// # Errors
/// Unknown names; a startup for a control that takes none.
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

/// An algorithm for the parser of flow and queue texts.
fn named(name: &str, startup: Option<&str>, tunables: &[TunableInfo]) -> algorithm::Algorithm {
    algorithm::Algorithm {
        name: name.to_owned(),
        startup: startup.map(str::to_owned),
        tunables: tunables.iter().map(TunableInfo::described).collect(),
    }
}

/// Finds the algorithm in a user's file.
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

/// All names that the text of a flow or a queue may contain, except stacks.
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
        bring: Some(named_of_file),
    }
}

fn by_name<T>(
    kind: &'static str,
    list: &'static [T],
    name_of: fn(&T) -> &'static str,
    name: &str,
) -> Result<&'static T, AlgorithmError> {
    list.iter()
        .find(|info| name_of(info) == name)
        .ok_or_else(|| AlgorithmError::Unknown {
            kind,
            name: name.to_owned(),
            nearest: nearest(name, list.iter().map(name_of)),
        })
}

/// The control of that name, or of that file.
///
/// # Errors
/// [`AlgorithmError::Unknown`] with the nearest names; [`AlgorithmError::File`].
pub fn control(name: &str) -> Result<&'static ControlInfo, AlgorithmError> {
    user_file::control(name)
        .unwrap_or_else(|| by_name("control", controls(), |info| info.name, name))
}

/// The startup of that name.
///
/// # Errors
/// [`AlgorithmError::Unknown`] with the nearest names.
pub fn startup(name: &str) -> Result<&'static StartupInfo, AlgorithmError> {
    by_name("startup", startups(), |info| info.name, name)
}

/// The queue discipline of that name.
///
/// # Errors
/// [`AlgorithmError::Unknown`] with the nearest names.
pub fn queue(name: &str) -> Result<&'static QueueInfo, AlgorithmError> {
    by_name("queue discipline", queues(), |info| info.name, name)
}

/// The router algorithm of that name, or of that file.
///
/// # Errors
/// [`AlgorithmError::Unknown`] with the nearest names; [`AlgorithmError::File`].
pub fn router(name: &str) -> Result<&'static RouterInfo, AlgorithmError> {
    user_file::router(name).unwrap_or_else(|| by_name("router", routers(), |info| info.name, name))
}

/// All router algorithms by name, then those of `names` that are files. The numbers in a run's
/// record refer to this order, whatever other files this process has read.
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

/// Finds a tunable of a control or of its startup.
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
