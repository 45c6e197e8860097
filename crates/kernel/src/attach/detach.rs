//! Detaches congestion controls: removes their BPF links and pins, and restores the default
//! congestion controls of namespaces.

use std::fs;
use std::os::fd::AsFd as _;

use headway_system::identity::Identity;
use serde::Serialize;

use crate::attach::inventory::{self, Attachment};
use crate::error::{Attempt as _, Failure};
use crate::mechanisms::endpoints;
use crate::mechanisms::quick_start;
use crate::mechanisms::routers;
use crate::objects::bpf;
use crate::objects::device::Device;
use crate::objects::hooks::{self, Hook};
use crate::objects::load;
use crate::system::netns::{self, Netns};
use crate::system::rundir::{self, Lock};

/// The congestion control that becomes a namespace's default if the recorded one cannot be
/// restored. Every kernel has Reno.
const BUILT_IN: &str = "reno";

/// A namespace whose default congestion control was restored. In a dry run, it would be restored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Restored {
    /// The namespace.
    pub namespace: String,
    /// The restored control.
    pub control: String,
}

/// The congestion controls that were detached and the defaults that were restored. In a dry run,
/// those that would be.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Outcome {
    /// The kernel's names of the detached congestion controls.
    pub detached: Vec<String>,
    /// The namespaces whose default congestion control is restored.
    pub restored: Vec<Restored>,
}

/// What to detach.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target<'a> {
    /// A congestion control, by its name in the kernel.
    Control(&'a str),
    /// All eBPF programs of Headway at a device, which is given as `namespace:device`.
    Device(&'a str),
    /// Everything of Headway.
    All,
}

/// The plan of a `detach` command: what to detach, and which default congestion controls to
/// restore.
struct Plan {
    attachments: Vec<Attachment>,
    /// The eBPF programs at cgroups and devices to detach. If the target is a congestion control,
    /// these are the programs that belong to it.
    hooks: Vec<Hook>,
    defaults: Vec<(Netns, String)>,
}

/// Returns what [`detach`] would detach and restore now, and changes nothing.
///
/// # Errors
/// As `detach`.
pub fn plan(target: Target<'_>) -> Result<Outcome, Failure> {
    check()?;
    Ok(outcome(&make_plan(target)?))
}

fn check() -> Result<(), Failure> {
    load::required("detach")?;
    rundir::enter()
}

fn outcome(plan: &Plan) -> Outcome {
    let mut detached: Vec<String> = plan.attachments.iter().map(|a| a.name.clone()).collect();
    detached.dedup();
    detached.extend(plan.hooks.iter().map(Hook::title));
    Outcome {
        detached,
        restored: plan
            .defaults
            .iter()
            .map(|(netns, control)| Restored {
                namespace: netns.label.clone(),
                control: control.clone(),
            })
            .collect(),
    }
}

fn make_plan(target: Target<'_>) -> Result<Plan, Failure> {
    let name = match target {
        Target::Control(name) => Some(name),
        Target::Device(place) => return plan_of_device(place),
        Target::All => None,
    };
    let found = inventory::find()?;
    // The list also has congestion controls that are detached but still in use, because a namespace
    // may have such a control as its default.
    let wanted: Vec<Attachment> = found
        .iter()
        .filter(|a| name.is_none_or(|name| a.name == name))
        .cloned()
        .collect();
    let records = rundir::default_records();
    let stays = |control: &str| {
        name.is_some_and(|name| {
            control != name && found.iter().any(|a| a.attached && a.name == control)
        })
    };
    // A namespace without a record gets the default of the first network namespace, because a new
    // namespace inherits that default.
    let first = Netns::find("/proc/1/ns/net")
        .or_else(|_| Netns::find("/proc/self/ns/net"))
        .and_then(|n| {
            n.default_control()
                .attempt("read the first namespace's default congestion control")
        });
    let first = first.ok();
    let mut defaults = Vec::new();
    for netns in netns::all() {
        // The namespace may have been removed since it was listed, so an error is ignored.
        let Ok(now) = netns.default_control() else {
            continue;
        };
        if !wanted.iter().any(|a| a.name == now) {
            continue;
        }
        let recorded = records.iter().find(|r| r.identity == netns.identity);
        let goes = |control: &&str| !found.iter().any(|a| a.name == **control) || stays(control);
        let candidates = [recorded.map(|r| r.previous.as_str()), first.as_deref()];
        let previous = candidates.into_iter().flatten().find(goes);
        let previous = previous.unwrap_or(BUILT_IN).to_owned();
        defaults.push((netns, previous));
    }
    let hooks = match name {
        Some(name) => endpoints::programs_of(name)?,
        None => hooks::find()?,
    };
    if let Some(name) = name {
        let is_pinned = rundir::pins().contains(&rundir::pin_path(name));
        let is_there = wanted.iter().any(|a| a.attached) || is_pinned;
        if !is_there && defaults.is_empty() && hooks.is_empty() {
            let attached: Vec<&str> = found
                .iter()
                .filter(|a| a.attached)
                .map(|a| a.name.as_str())
                .collect();
            return Err(Failure::bad_input(format!(
                "nothing of Headway is attached as \"{name}\"; {}",
                if attached.is_empty() {
                    "nothing is attached".to_owned()
                } else {
                    format!("attached: {}", attached.join(", "))
                }
            )));
        }
    }
    Ok(Plan {
        attachments: wanted.into_iter().filter(|a| a.attached).collect(),
        hooks,
        defaults,
    })
}

/// Returns `namespace:device` for a device name. Searches the given namespace, or all namespaces.
/// Also finds devices that were renamed or removed after a program had been attached to them.
///
/// # Errors
/// No such device exists, and nothing was attached to one.
pub fn place(netns: Option<&str>, device: &str) -> Result<String, Failure> {
    check()?;
    let found = Device::find(netns, device).map(|device| device.place());
    let hooks = hooks::find()?;
    if let Ok(place) = &found {
        if hooks.iter().any(|hook| hook.place == *place) {
            return found;
        }
    }
    let label = match netns {
        Some(name) => Netns::find(name).map_or_else(|_| name.to_owned(), |n| n.place_label()),
        None => Netns::own()?.place_label(),
    };
    let noted = format!("{label}:{device}");
    match hooks.into_iter().find(|hook| hook.noted_place == noted) {
        Some(hook) => Ok(hook.place),
        None => found,
    }
}

/// Returns the plan that detaches all eBPF programs at a device.
fn plan_of_device(place: &str) -> Result<Plan, Failure> {
    let mut hooks = hooks::find()?;
    let here: Vec<Vec<u32>> = hooks
        .iter()
        .filter(|hook| hook.place == place)
        .map(|hook| hook.map_ids.clone())
        .collect();
    // A monitor has two programs, and both are detached together. The second one, which sees
    // packets leave, is found by the maps that it shares with the first, because its recorded
    // device name may be old.
    hooks.retain(|hook| {
        hook.place == place || routers::watches_departures(hook) && here.contains(&hook.map_ids)
    });
    if hooks.is_empty() {
        return Err(Failure::bad_input(format!(
            "nothing of Headway is at {place}; `headwayctl status` lists what is attached"
        )));
    }
    Ok(Plan {
        attachments: Vec::new(),
        hooks,
        defaults: Vec::new(),
    })
}

/// Detaches a congestion control, the eBPF programs at a device, or everything of Headway. Open
/// sockets keep a detached congestion control until they close. New sockets cannot choose it.
///
/// # Errors
/// Nothing is attached under that name or at that device; the kernel refuses.
pub fn detach(target: Target<'_>) -> Result<Outcome, Failure> {
    check()?;
    let lock = rundir::lock()?;
    let plan = make_plan(target)?;
    carry_out(&plan, &lock)?;
    match target {
        Target::Control(name) => forget(name, &lock)?,
        Target::Device(_) => drop(lock),
        Target::All => rundir::remove(lock)?,
    }
    Ok(outcome(&plan))
}

/// Detaches one congestion control like [`detach`], but does not take Headway's lock, which the
/// caller already holds.
pub(crate) fn take_away(name: &str, lock: &Lock) -> Result<(), Failure> {
    carry_out(&make_plan(Target::Control(name))?, lock)?;
    forget(name, lock)
}

fn carry_out(plan: &Plan, lock: &Lock) -> Result<(), Failure> {
    for (netns, control) in &plan.defaults {
        restore(netns, control)?;
    }
    for attachment in &plan.attachments {
        unregister(attachment)?;
    }
    for hook in &plan.hooks {
        hook.detach(lock)?;
    }
    routers::forget_gone(lock)
}

/// Removes the pin of a congestion control and the records that belong to it.
fn forget(name: &str, lock: &Lock) -> Result<(), Failure> {
    let pin = rundir::pin_path(name);
    if rundir::pins().contains(&pin) {
        fs::remove_file(&pin).attempt(format!("remove the pin of {name}"))?;
    }
    forget_defaults(lock)?;
    quick_start::forget_asker(name, lock);
    Ok(())
}

/// Detaches the eBPF programs at the devices of namespaces that are about to be removed. Otherwise
/// the programs' pins would remain.
///
/// # Errors
/// The kernel refuses.
pub fn detach_in(namespaces: &[(Identity, &str)]) -> Result<(), Failure> {
    if load::missing().is_some() {
        return Ok(()); // a user who may not load eBPF programs cannot have attached any
    }
    let mut hooks = hooks::find()?;
    hooks.retain(|hook| match hook.netns {
        Some(at) => namespaces.iter().any(|(identity, _)| *identity == at),
        // the device no longer exists, so only the recorded `namespace:device` names the namespace
        None => hook.noted_place.rsplit_once(':').is_some_and(|(label, _)| {
            (hook.gone || routers::watches_departures(hook))
                && namespaces.iter().any(|(_, name)| *name == label)
        }),
    });
    if hooks.is_empty() {
        return Ok(());
    }
    let lock = rundir::lock()?;
    for hook in &hooks {
        hook.detach(&lock)?;
    }
    routers::forget_gone(&lock)
}

/// Removes the records of namespaces whose default congestion control is no longer one of
/// Headway's, because it was restored or because another process set a different one.
pub(crate) fn forget_defaults(lock: &Lock) -> Result<(), Failure> {
    let attached = inventory::find()?;
    let namespaces = netns::all();
    for record in rundir::default_records() {
        let now = namespaces
            .iter()
            .find(|netns| netns.identity == record.identity)
            .and_then(|netns| netns.default_control().ok());
        if !now.is_some_and(|now| attached.iter().any(|a| a.attached && a.name == now)) {
            rundir::forget_default(lock, record.identity);
        }
    }
    Ok(())
}

fn restore(netns: &Netns, control: &str) -> Result<(), Failure> {
    let result = netns.set_default_control(control).or_else(|error| {
        if control == BUILT_IN {
            return Err(error);
        }
        netns.set_default_control(BUILT_IN)
    });
    match result {
        // ignore the error if the namespace was removed meanwhile
        Err(_) if netns.default_control().is_err() => Ok(()),
        other => other.attempt(format!(
            "restore {control} as the default of namespace {}",
            netns.label
        )),
    }
}

fn unregister(attachment: &Attachment) -> Result<(), Failure> {
    let what = format!("detach {}", attachment.name);
    let Some(link_id) = attachment.link_id else {
        let map = bpf::map_by_id(attachment.map_id).attempt(&what)?;
        return bpf::delete_first_element(map.as_fd()).attempt(&what);
    };
    let Ok(link) = bpf::link_by_id(link_id) else {
        return Ok(()); // the BPF link no longer exists, so its program is detached
    };
    match bpf::link_detach(link.as_fd()) {
        Ok(()) => Ok(()),
        // This kernel detaches a BPF link only when the last reference to it is released. Usually
        // the pin is the last reference.
        Err(e) if e.raw_os_error() == Some(libc::EOPNOTSUPP) => {
            drop(link);
            let pin = rundir::pin_path(&attachment.name);
            if rundir::pins().contains(&pin) {
                fs::remove_file(&pin).attempt(&what)?;
            }
            if bpf::link_by_id(link_id).is_ok() {
                return Err(Failure::kernel_cannot(format!(
                    "cannot {what}: another process has its BPF link open, and this kernel \
                     detaches it only when that process ends"
                )));
            }
            Ok(())
        }
        Err(e) => Err(e).attempt(&what),
    }
}
