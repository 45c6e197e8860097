//! Removes a testbed, even if the `testbed up` that created it did not complete.

use std::ffi::CString;
use std::fs::{self, File};
use std::io;
use std::path::Path;
use std::time::Duration;

use headway_emulator::Summary;
use headway_system::identity::Identity;
use serde::Serialize;

use super::control;
use super::gateway;
use super::process::{self, Process};
use super::state::{self, State};
use crate::attach::detach;
use crate::error::{Attempt as _, Failure};
use crate::system::lock::Lock;
use crate::system::netns::{Netns, NAMED_FOLDER};
use crate::system::processes;
use crate::system::rundir;

const ALLOWED: &str = "/proc/sys/net/ipv4/tcp_allowed_congestion_control";

/// A removed testbed.
#[derive(Debug, Serialize)]
pub struct Removed {
    /// Its name.
    pub name: String,
    /// The namespaces that were removed, together with their devices.
    pub namespaces: Vec<String>,
    /// Ids of the processes in these namespaces that were ended.
    pub ended_processes: Vec<i32>,
    /// The emulator's last summary; null if it wrote none.
    pub summary: Option<Summary>,
    /// The congestion control that `testbed up` had attached, if `down` detached it; null: none was
    /// detached.
    pub detached: Option<String>,
    /// The gateway's congestion control, if `testbed up` had attached it and `down` detached it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub detached_of_gateway: Option<String>,
}

/// Removes one testbed, or all. With `dry_run`, only reports what would be removed.
///
/// # Errors
/// The testbed does not exist, or part of it cannot be removed.
pub fn down(name: Option<&str>, dry_run: bool) -> Result<Vec<Removed>, Failure> {
    let lock = state::lock()?;
    let names = state::names();
    let chosen = match name {
        Some(name) if names.iter().any(|n| n == name) => vec![name.to_owned()],
        Some(name) => {
            return Err(Failure::bad_input(format!(
                "there is no testbed {name}; there are: {}",
                names.join(", ")
            )))
        }
        None => names,
    };
    let (mut removed, mut errors) = (vec![], vec![]);
    for name in &chosen {
        // if one testbed cannot be removed, remove the others before reporting that
        match remove(&lock, name, dry_run) {
            Ok(testbed) => removed.push(testbed),
            Err(error) => errors.push(error),
        }
    }
    match errors.as_slice() {
        [] => Ok(removed),
        [first, ..] => {
            let messages: Vec<&str> = errors.iter().map(|e| e.message.as_str()).collect();
            Err(Failure {
                message: messages.join("; "),
                exit_status: first.exit_status,
            })
        }
    }
}

/// Removes everything of a testbed.
pub fn remove(_lock: &Lock, name: &str, dry_run: bool) -> Result<Removed, Failure> {
    let state = State::load(name);
    let mut removed = Removed {
        name: name.to_owned(),
        namespaces: state::namespaces(name),
        ended_processes: vec![],
        summary: state::load_summary(name),
        detached: None,
        detached_of_gateway: None,
    };
    // Keep the namespaces' files open, so that no new namespace gets the same identity (device and
    // inode).
    let held: Vec<(File, Identity, String)> = removed
        .namespaces
        .iter()
        .filter_map(|namespace| {
            let netns = Netns::find(namespace).ok()?;
            Some((
                File::open(&netns.path).ok()?,
                netns.identity,
                namespace.clone(),
            ))
        })
        .collect();
    let identities: Vec<Identity> = held.iter().map(|(_, identity, _)| *identity).collect();
    let inside = || process::inside(&identities);
    if dry_run {
        removed.ended_processes = inside().iter().map(|p| p.pid).collect();
        if let Some(state) = &state {
            [removed.detached, removed.detached_of_gateway] = control::give_up(state, true)?;
        }
        return Ok(removed);
    }
    if let Some(control) = state.as_ref().and_then(|s| s.allowed_control.as_deref()) {
        let controls = rundir::lock_machine()?;
        forbid(control)?;
        drop(controls);
    }
    gateway::end_proxies(&inside());
    // End the programs in the testbed's namespaces first, while their network still exists.
    let programs = process::end(inside, Duration::from_secs(2));
    removed.ended_processes = programs.asked;
    all_ended(name, &programs.left)?;
    gateway::forget_killed_proxies(&identities)?;
    // Then end the emulator, whose devices disappear with it. The state file may be lost, so search
    // for emulators, too.
    let noted = state.as_ref().and_then(|s| s.emulator);
    let emulators = || -> Vec<Process> {
        let found = process::emulators().into_iter();
        let mut found: Vec<Process> = found.filter(|e| e.0 == name).map(|e| e.1).collect();
        found.extend(noted.filter(|p| p.is_alive() && !found.contains(p)));
        found
    };
    all_ended(name, &process::end(emulators, Duration::from_secs(5)).left)?;
    removed.summary = state::load_summary(name);
    let named = held
        .iter()
        .map(|(_, identity, name)| (*identity, name.as_str()));
    detach::detach_in(&named.collect::<Vec<_>>())?;
    for namespace in &removed.namespaces {
        let path = Path::new(NAMED_FOLDER).join(namespace);
        unmount(&path).attempt(format!("remove namespace {namespace}"))?;
    }
    // End processes that entered a namespace by its name just before the name was removed.
    let late = process::end(inside, Duration::from_secs(1));
    removed.ended_processes.extend(late.asked);
    all_ended(name, &late.left)?;
    for path in state.iter().flat_map(state::unmounted_names) {
        fs::remove_file(&path).attempt(format!("remove {}", path.display()))?;
    }
    if let Some(state) = &state {
        [removed.detached, removed.detached_of_gateway] = control::give_up(state, false)?;
    }
    state::forget(name)?;
    Ok(removed)
}

/// Fails if some processes of the testbed still run. The error names these processes and says what
/// to do.
fn all_ended(name: &str, left: &[Process]) -> Result<(), Failure> {
    if left.is_empty() {
        return Ok(());
    }
    let list: Vec<String> = left
        .iter()
        .take(5)
        .map(|p| processes::describe(p.pid))
        .collect();
    let more = left.len() - list.len();
    Err(Failure::failed(format!(
        "testbed {name} is not removed: {} of its processes {} not end, {}{}; \
         run `headwayctl testbed down {name}` again",
        left.len(),
        if left.len() == 1 { "does" } else { "do" },
        list.join(", "),
        if more > 0 { " and others" } else { "" }
    )))
}

/// Removes a namespace's name like `ip netns del`, but also if no namespace was ever mounted on the
/// name's file.
fn unmount(path: &Path) -> io::Result<()> {
    let target = CString::new(path.as_os_str().as_encoded_bytes())?;
    // SAFETY: a terminated string.
    while unsafe { libc::umount2(target.as_ptr(), libc::MNT_DETACH) } == 0 {}
    match io::Error::last_os_error() {
        // not mounted
        e if e.raw_os_error() == Some(libc::EINVAL) => {}
        e => return Err(e),
    }
    fs::remove_file(path)
}

/// The congestion controls that the kernel allows as default in every namespace.
fn allowed() -> io::Result<Vec<String>> {
    let text = fs::read_to_string(ALLOWED)?;
    Ok(text.split_whitespace().map(str::to_owned).collect())
}

/// Allows a congestion control in all namespaces, by adding it to the kernel's list of allowed
/// ones. The list applies to the whole machine and can only be written as a whole. So no congestion
/// control of Headway may be attached or detached meanwhile.
pub fn allow(control: &str) -> Result<(), Failure> {
    let what = format!("allow {control} in namespaces");
    let mut controls = allowed().attempt(&what)?;
    controls.push(control.to_owned());
    fs::write(ALLOWED, controls.join(" ")).attempt(&what)
}

/// Removes a congestion control from the kernel's list of allowed ones. Those that other processes
/// allowed meanwhile stay allowed.
pub fn forbid(control: &str) -> Result<(), Failure> {
    let what = format!("withdraw the permission of {control} in namespaces");
    let mut controls = allowed().attempt(&what)?;
    controls.retain(|c| c != control);
    fs::write(ALLOWED, controls.join(" ")).attempt(&what)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processes_that_stay_are_named_with_the_next_step() {
        all_ended("a", &[]).unwrap();
        let own = Process::find(std::process::id() as i32).unwrap();
        let error = all_ended("a", &[own; 7]).unwrap_err();
        assert_eq!(error.exit_status, crate::error::FAILED);
        let name = format!("process {} (", own.pid);
        assert_eq!(error.message.matches(&name).count(), 5, "{error}");
        for word in ["a is not removed", "7 of", "and others", "testbed down a"] {
            assert!(error.message.contains(word), "{word}: {error}");
        }
    }
}
