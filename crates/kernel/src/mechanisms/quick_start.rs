//! Quick-Start (RFC 4782) in the running kernel: the eBPF programs of a host at its device, and the
//! list of congestion controls that request rates.

use std::collections::BTreeMap;

use libbpf_rs::{MapCore as _, MapFlags};
use serde::Serialize;

use crate::error::Failure;
use crate::mechanisms::recent::{self, Recent};
use crate::mirror::{Plain as _, QsAsker, QsAskerName};
use crate::objects::bpf::Point;
use crate::objects::device::{self, Device};
use crate::objects::hooks::{self, Hook};
use crate::objects::load;
use crate::objects::quick_start_host_object;
use crate::objects::shared;
use crate::system::rundir::{self, Lock};

/// The eBPF programs of algorithms/kernel/qs_host.bpf.c, and where each is attached.
const PROGRAMS: [(&str, Point); 2] = [("hw_qs_in", Point::Ingress), ("hw_qs_out", Point::Egress)];
/// Name of the startup that requests rates with Quick-Start.
const STARTUP: &str = "quick-start";

/// A device behind which a host takes part in Quick-Start.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Host {
    /// Namespace and device.
    pub place: String,
    /// False: only one of the two programs is attached, or the device no longer exists.
    pub complete: bool,
    /// The programs' counters, by name.
    pub counters: BTreeMap<String, u64>,
    /// Warnings, one line each: how many Quick-Start requests failed, and why.
    pub remarks: Vec<String>,
    /// The last requests and their outcomes, latest first.
    pub recent: Vec<Recent>,
}

/// Makes the host behind a device take part: its congestion controls with the startup quick-start
/// send requests, and its TCP answers the requests of other hosts, up to the rate of a given rate
/// code. `dry_run`: only checks whether that is possible.
///
/// # Errors
/// The kernel refuses; programs at devices need Linux 6.6.
pub fn attach_host(device: &Device, willing_code: u32, dry_run: bool) -> Result<(), Failure> {
    load::required("take part in Quick-Start")?;
    rundir::enter()?;
    if dry_run {
        return Ok(());
    }
    let lock = rundir::lock()?;
    rundir::mount_bpffs(&lock)?;
    for hook in hooks_at(&device.place())? {
        hook.detach(&lock)?;
    }
    let mut open = load::open(quick_start_host_object(), "hw_qs_host", "Quick-Start")?;
    device.describe_to(&mut open)?;
    hooks::set_constants(
        &mut open,
        &[
            ("hw_netns", &device::inode(&device.netns)?.to_ne_bytes()),
            ("hw_willing_code", &willing_code.to_ne_bytes()),
        ],
    )?;
    shared::share_maps(&mut open, &lock)?;
    let object = load::load(open, "the host's side of Quick-Start")?;
    for (program, point) in PROGRAMS {
        device.attach(&object, program, point, &lock)?;
    }
    Ok(())
}

/// The Quick-Start programs of a host at a device, which is given as `namespace:device`.
fn hooks_at(place: &str) -> Result<Vec<Hook>, Failure> {
    let mut hooks = hooks::find()?;
    hooks.retain(|hook| hook.place == place && PROGRAMS.iter().any(|p| p.0 == hook.program));
    Ok(hooks)
}

/// All devices behind which a host takes part in Quick-Start.
///
/// # Errors
/// Lack of privilege.
pub fn hosts() -> Result<Vec<Host>, Failure> {
    let hooks = hooks::find()?;
    let mut hosts: BTreeMap<String, Vec<Hook>> = BTreeMap::new();
    for hook in hooks {
        if PROGRAMS.iter().any(|p| p.0 == hook.program) {
            hosts.entry(hook.place.clone()).or_default().push(hook);
        }
    }
    Ok(hosts
        .into_iter()
        .map(|(place, hooks)| {
            let counters = hooks[0].named_counters("hw_qs_counts");
            Host {
                place,
                complete: hooks.len() == PROGRAMS.len() && hooks.iter().all(|h| !h.gone),
                remarks: remarks(&counters),
                recent: recent::of_host(&hooks[0]),
                counters,
            }
        })
        .collect())
}

/// Explains in words why requests failed, from the programs' counters.
fn remarks(counters: &BTreeMap<String, u64>) -> Vec<String> {
    let meanings = [
        ("refused", "refused by a router or the receiver"),
        (
            "unanswered",
            "not answered: the receiver or a router does not take part",
        ),
        (
            "lost",
            "lost: sent again without the option, which the path may not let through",
        ),
        (
            "ttl_differs",
            "not seen by a router on the path, which does not take part",
        ),
        ("nonce_forged", "answered with a rate that was not approved"),
        ("inflated", "answered with more than was asked for"),
        ("no_room", "or other options did not fit their packets"),
    ];
    meanings
        .into_iter()
        .filter_map(|(name, meaning)| {
            let n = *counters.get(name)?;
            (n > 0).then(|| match n {
                1 => format!("1 request {meaning}"),
                n => format!("{n} requests {meaning}"),
            })
        })
        .collect()
}

/// Mirrors `struct hw_qs_asker_name`: the name of a congestion control that requests rates.
fn key(name: &str) -> [u8; size_of::<QsAskerName>()] {
    let mut key = [0; size_of::<QsAskerName>()];
    key[..name.len()].copy_from_slice(name.as_bytes());
    key
}

/// Adds a congestion control to the list of those that request rates if its startup is Quick-Start;
/// otherwise removes its name from the list.
///
/// # Errors
/// The map is full.
pub fn note_asker(
    name: &str,
    startup: Option<&str>,
    tunables: &[(&'static str, u32)],
    lock: &Lock,
) -> Result<(), Failure> {
    if startup != Some(STARTUP) {
        forget_asker(name, lock);
        return Ok(());
    }
    if shared::map("hw_qs_askers").is_none() {
        make_maps(lock)?;
    }
    let map = shared::map("hw_qs_askers")
        .ok_or_else(|| Failure::failed("the map of controls has disappeared; try again"))?;
    let mut asker = QsAsker::default();
    for (place, (_, number)) in asker.tun.iter_mut().zip(tunables) {
        *place = *number;
    }
    map.update(&key(name), asker.bytes(), MapFlags::ANY)
        .map_err(|e| Failure::failed(format!("cannot record that {name} requests rates: {e}")))
}

/// Removes a congestion control from the list of those that request rates.
pub fn forget_asker(name: &str, _lock: &Lock) {
    if let Some(map) = shared::map("hw_qs_askers") {
        let _ = map.delete(&key(name)); // fails if the control is not in the list
    }
}

/// Loads the eBPF object only to create its maps. The maps are pinned and so remain. No program is
/// attached.
pub(crate) fn make_maps(lock: &Lock) -> Result<(), Failure> {
    let mut open = load::open(quick_start_host_object(), "hw_qs_host", "Quick-Start")?;
    shared::share_maps(&mut open, lock)?;
    load::load(open, "the maps of Quick-Start").map(drop)
}
