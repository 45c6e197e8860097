//! Taking a testbed away, also one that was never finished.

use std::ffi::CString;
use std::fs;
use std::io;
use std::path::Path;
use std::time::Duration;

use headway_emulator::Summary;
use serde::Serialize;

use super::control;
use super::process;
use super::state::{self, State};
use crate::cli::error::{Attempt as _, CliError};
use crate::detach;
use crate::lock::Lock;
use crate::rundir;

const ALLOWED: &str = "/proc/sys/net/ipv4/tcp_allowed_congestion_control";

/// A testbed that was taken away.
#[derive(Debug, Serialize)]
pub struct Removed {
    /// Its name.
    pub name: String,
    /// Namespaces, and with them their devices.
    pub namespaces: Vec<String>,
    /// Processes that ran in them and were ended.
    pub ended_processes: Vec<i32>,
    /// The emulator's last word; null if it never had one.
    pub summary: Option<Summary>,
    /// The control that went with it, for `up` had attached it; null: none.
    pub detached: Option<String>,
}

/// Takes one testbed away, or all. With `dry_run` says what would be taken away.
///
/// # Errors
/// There is no such testbed, or something of it cannot be removed.
pub fn down(name: Option<&str>, dry_run: bool) -> Result<Vec<Removed>, CliError> {
    let lock = state::lock()?;
    let names = state::names();
    let chosen = match name {
        Some(name) if names.iter().any(|n| n == name) => vec![name.to_owned()],
        Some(name) => {
            return Err(CliError::bad_input(format!(
                "there is no testbed {name}; there are: {}",
                names.join(", ")
            )))
        }
        None => names,
    };
    let removed = chosen
        .iter()
        .map(|name| remove(&lock, name, dry_run))
        .collect();
    state::release(lock);
    removed
}

/// Removes everything of a testbed.
pub fn remove(_lock: &Lock, name: &str, dry_run: bool) -> Result<Removed, CliError> {
    let state = State::load(name);
    let namespaces = state::namespaces(name);
    let path = |namespace: &String| Path::new(state::NAMED).join(namespace);
    let inside: Vec<_> = namespaces
        .iter()
        .flat_map(|namespace| process::inside(&path(namespace)))
        .collect();
    let mut removed = Removed {
        name: name.to_owned(),
        namespaces: namespaces.clone(),
        ended_processes: inside.iter().map(|p| p.pid).collect(),
        summary: state::load_summary(name),
        detached: None,
    };
    if dry_run {
        removed.detached = match &state {
            Some(state) => control::give_up(state, true)?,
            None => None,
        };
        return Ok(removed);
    }
    if let Some(control) = state.as_ref().and_then(|s| s.allowed_control.as_deref()) {
        let controls = rundir::lock()?;
        forbid(control)?;
        rundir::release(controls);
    }
    // Programs first, while their network is still there.
    if !process::end(&inside, Duration::from_secs(2)) {
        return Err(CliError::failed(format!(
            "a process in testbed {name} does not end"
        )));
    }
    // Then the emulator, whose devices go with it.
    if let Some(emulator) = state.as_ref().and_then(|s| s.emulator) {
        if !process::end(&[emulator], Duration::from_secs(5)) {
            return Err(CliError::failed(format!(
                "the emulator of testbed {name}, process {}, does not end",
                emulator.pid
            )));
        }
        removed.summary = state::load_summary(name);
    }
    detach::detach_in(&namespaces)?;
    for namespace in &namespaces {
        unmount(&path(namespace)).attempt(format!("remove namespace {namespace}"))?;
    }
    if let Some(state) = &state {
        removed.detached = control::give_up(state, false)?;
    }
    state::forget(name)?;
    Ok(removed)
}

/// What `ip netns del` does, also for a name whose namespace was never mounted.
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

/// The congestion controls that any namespace may make its default.
fn allowed() -> io::Result<Vec<String>> {
    let text = fs::read_to_string(ALLOWED)?;
    Ok(text.split_whitespace().map(str::to_owned).collect())
}

/// Lets all namespaces use a control. The list is the machine's and can only be
/// written as a whole: no control of Headway may come or go meanwhile.
pub fn allow(control: &str) -> Result<(), CliError> {
    let what = format!("allow {control} in namespaces");
    let mut controls = allowed().attempt(&what)?;
    controls.push(control.to_owned());
    fs::write(ALLOWED, controls.join(" ")).attempt(&what)
}

/// Takes that back; what others allowed meanwhile stays.
pub fn forbid(control: &str) -> Result<(), CliError> {
    let what = format!("take back that {control} is allowed in namespaces");
    let mut controls = allowed().attempt(&what)?;
    controls.retain(|c| c != control);
    fs::write(ALLOWED, controls.join(" ")).attempt(&what)
}
