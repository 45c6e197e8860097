//! The lists of built-in algorithms, and how to find one by name.

use std::sync::OnceLock;

use super::info::{
    control_info, queue_info, router_info, startup_info, ControlInfo, QueueInfo, RouterInfo,
    StartupInfo,
};
use super::tables::{tables, text};
use crate::error::{nearest, AlgorithmError};
use crate::ffi;

/// All built-in controls, sorted by name.
pub fn controls() -> &'static [ControlInfo] {
    static LIST: OnceLock<Vec<ControlInfo>> = OnceLock::new();
    LIST.get_or_init(|| {
        // SAFETY: the build script has written the registry: an array of pointers to constant
        // tables, whose texts are literals and whose tunables belong to them. A control without a
        // startup's name has its own start.
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

/// All built-in startups, sorted by name.
pub fn startups() -> &'static [StartupInfo] {
    static LIST: OnceLock<Vec<StartupInfo>> = OnceLock::new();
    LIST.get_or_init(|| {
        // SAFETY: as for controls.
        let mut list: Vec<StartupInfo> = unsafe {
            tables(
                &raw const ffi::hw_native_startups,
                ffi::hw_native_n_startups,
            )
            .iter()
            .map(|&ops| startup_info(&*ops))
            .collect()
        };
        list.sort_by_key(|info| info.name);
        list
    })
}

/// All built-in queue disciplines, sorted by name.
pub fn queues() -> &'static [QueueInfo] {
    static LIST: OnceLock<Vec<QueueInfo>> = OnceLock::new();
    LIST.get_or_init(|| {
        // SAFETY: as for controls.
        let mut list: Vec<QueueInfo> = unsafe {
            tables(&raw const ffi::hw_native_queues, ffi::hw_native_n_queues)
                .iter()
                .map(|&ops| queue_info(&*ops))
                .collect()
        };
        list.sort_by_key(|info| info.name);
        list
    })
}

/// All built-in router algorithms, sorted by name.
///
/// # Panics
/// If a router declares more counters or events than the contract allows.
pub fn routers() -> &'static [RouterInfo] {
    static LIST: OnceLock<Vec<RouterInfo>> = OnceLock::new();
    LIST.get_or_init(|| {
        // SAFETY: as for controls.
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

/// Every control with each startup that it can be combined with. A control that starts by itself
/// occurs once, without a startup.
pub fn choices() -> impl Iterator<Item = (&'static ControlInfo, Option<&'static StartupInfo>)> {
    controls().iter().flat_map(|control| {
        let alone = control.flags.own_start().then_some((control, None));
        let joined = startups().iter().map(move |s| (control, Some(s)));
        let joined = joined.filter(|(control, _)| !control.flags.own_start());
        alone.into_iter().chain(joined)
    })
}

/// Finds the algorithm with this name in a list. An error message calls the algorithm's kind
/// `kind`.
pub(super) fn by_name<T>(
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

/// Finds the startup with this name.
///
/// # Errors [`AlgorithmError::Unknown`] with the nearest names.
pub fn startup(name: &str) -> Result<&'static StartupInfo, AlgorithmError> {
    by_name("startup", startups(), |info| info.name, name)
}

/// Finds the queue discipline with this name.
///
/// # Errors [`AlgorithmError::Unknown`] with the nearest names.
pub fn queue(name: &str) -> Result<&'static QueueInfo, AlgorithmError> {
    by_name("queue discipline", queues(), |info| info.name, name)
}
