//! Headers at endpoints (`algorithms/port/bpf/endpoint.h`): the program beside a control
//! that owns one, for all sockets of the machine's cgroup. It comes and goes with its
//! control.

use std::collections::BTreeMap;
use std::fs::File;
use std::os::fd::{AsFd as _, AsRawFd as _};
use std::path::PathBuf;

use headway_algorithms::HeaderInfo;
use libbpf_rs::{Object, OpenObject};
use serde::Serialize;

use crate::error::{Attempt as _, Failure};
use crate::objects::bpf::{self, Point};
use crate::objects::hooks::{self, Hook};
use crate::system::cgroup;
use crate::system::rundir::Lock;

const PROGRAM: &str = "hw_endpoint";
const COUNTERS: &str = "hw_carried_cnt";

/// A header that endpoints send and answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Endpoint {
    /// The kernel's name of the control that it is there for.
    pub control: String,
    /// The header; null: a control that this build does not have.
    pub header: Option<&'static str>,
    /// The cgroup whose sockets take part.
    pub cgroup: String,
    /// Whether headwayctl's pin keeps it, rather than a process.
    pub pinned: bool,
    /// What happened, by name.
    pub counters: BTreeMap<String, u64>,
}

/// The header that a control's endpoints send.
fn header_of(control: &str) -> Option<&'static HeaderInfo> {
    headway_algorithms::control(control).ok()?.header_in_tcp()
}

/// The cgroup whose sockets send it: the machine's.
fn cgroup_for(header: &HeaderInfo) -> Result<PathBuf, Failure> {
    cgroup::root(&format!("send the header {}", header.name))
}

fn text(hook: &Hook, name: &str) -> String {
    let raw = hook.constant(name).unwrap_or_default();
    let end = raw.iter().position(|&b| b == 0).unwrap_or(raw.len());
    String::from_utf8_lossy(&raw[..end]).into_owned()
}

/// Whether it is a program beside a control.
#[must_use]
pub fn is_ours(hook: &Hook) -> bool {
    hook.program == PROGRAM
}

/// The kernel's name of the control that a program is there for.
#[must_use]
pub fn control_of(hook: &Hook) -> String {
    text(hook, "hw_attached_name")
}

/// The programs beside a control, one or, of a command that was killed, several.
///
/// # Errors
/// Lack of privilege.
pub fn beside(name: &str) -> Result<Vec<Hook>, Failure> {
    let mut found = hooks::find()?;
    found.retain(|hook| is_ours(hook) && control_of(hook) == name);
    Ok(found)
}

/// Refuses a second control with the same header: packets would carry it twice.
///
/// # Errors
/// There is one; no cgroup2.
pub fn check(control: &str, name: &str) -> Result<(), Failure> {
    let Some(header) = header_of(control) else {
        return Ok(());
    };
    cgroup_for(header)?;
    match endpoints()?
        .iter()
        .find(|e| e.control != name && e.header == Some(header.name))
    {
        Some(other) => Err(Failure::bad_input(format!(
            "name \"{name}\": the header {} is sent by {} already; detach that first",
            header.name, other.control
        ))),
        None => Ok(()),
    }
}

/// Says in the object of a control where its program will be, if it has one.
///
/// # Errors
/// No cgroup2 is mounted.
pub fn describe(open: &mut OpenObject, control: &str) -> Result<(), Failure> {
    let Some(header) = header_of(control) else {
        return Ok(());
    };
    let root = cgroup_for(header)?;
    hooks::set_place(open, &root.display().to_string())
}

/// Attaches a loaded control's program, if it has one, in the place of those in `before`.
///
/// # Errors
/// The kernel refuses.
pub fn attach(object: &Object, control: &str, before: &[Hook], lock: &Lock) -> Result<(), Failure> {
    if let Some(header) = header_of(control) {
        let root = cgroup_for(header)?;
        let place = root.display().to_string();
        let target = File::open(&root).attempt(format!("open {place}"))?;
        let program = hooks::program(object, PROGRAM)?;
        let link = bpf::attach(program.as_fd(), target.as_raw_fd(), Point::SockOps);
        hooks::keep(link, &place, PROGRAM, lock)?;
    }
    before.iter().try_for_each(|hook| hook.detach(lock))
}

/// All of them.
///
/// # Errors
/// Lack of privilege.
pub fn endpoints() -> Result<Vec<Endpoint>, Failure> {
    let mut found = hooks::find()?;
    found.retain(is_ours);
    Ok(found
        .into_iter()
        .map(|hook| Endpoint {
            control: control_of(&hook),
            header: header_of(&text(&hook, "hw_control_name")).map(|header| header.name),
            counters: hook.named_counters(COUNTERS),
            cgroup: hook.place,
            pinned: hook.pinned,
        })
        .collect())
}
