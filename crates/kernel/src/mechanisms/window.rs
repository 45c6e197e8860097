//! Attaches, at a host's device, the eBPF programs that enlarge the receive window during a
//! connection's first round trip (`algorithms/kernel/window.bpf.c`).

use std::collections::BTreeMap;
use std::io;
use std::os::fd::{AsFd as _, OwnedFd};

use libbpf_rs::{MapCore as _, Object};
use serde::Serialize;

use crate::error::{Attempt as _, Failure};
use crate::objects::bpf::{self, Point};
use crate::objects::device::{self, Device};
use crate::objects::hooks::{self, Hook};
use crate::objects::load;
use crate::objects::window_object;
use crate::system::rundir;

const PROGRAMS: [(&str, Point); 2] = [
    ("hw_window_in", Point::Ingress),
    ("hw_window_out", Point::Egress),
];
const COUNTERS_MAP: &str = "hw_window_cnt";

/// A device at which the programs enlarge the first receive windows of connections.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FirstWindow {
    /// Namespace and device.
    pub place: String,
    /// False: only one of the two programs is attached, or the device no longer exists.
    pub complete: bool,
    /// Receive window in the extra ACK after a SYN-ACK; null: no extra ACK is sent.
    pub own_bytes: Option<u32>,
    /// Lower bound for the receive window of peers; null: windows are used as peers announce them.
    pub peer_bytes: Option<u32>,
    /// The programs' counters, by name.
    pub counters: BTreeMap<String, u64>,
}

/// Attaches the programs to a device. They send extra ACKs with a receive window of `own_bytes`,
/// and raise the first receive windows of peers to `peer_bytes`. The value 0 switches one of the
/// two off. `dry_run`: only checks whether that is possible.
///
/// # Errors
/// The kernel refuses, or the programs of Quick-Start are already attached to the device. They must
/// be attached after these programs.
pub fn attach(
    device: &Device,
    own_bytes: u32,
    peer_bytes: u32,
    dry_run: bool,
) -> Result<(), Failure> {
    load::required("change first windows")?;
    rundir::enter()?;
    let place = device.place();
    let there = hooks::find()?;
    let mut own = there.iter().filter(|h| h.place == place);
    if own.any(|hook| hook.program.starts_with("hw_qs_")) {
        return Err(Failure::bad_input(format!(
            "device {place}: Quick-Start is attached already and must be attached after this; \
             run `headwayctl detach --dev` first and attach it again afterwards"
        )));
    }
    if dry_run {
        return Ok(());
    }
    let lock = rundir::lock()?;
    rundir::mount_bpffs(&lock)?;
    for hook in there.iter().filter(|h| h.place == place && is_ours(h)) {
        hook.detach(&lock)?;
    }
    let object = load(device, own_bytes, peer_bytes)?;
    for (program, point) in PROGRAMS {
        device.attach(&object, program, point, &lock)?;
    }
    Ok(())
}

fn load(device: &Device, own_bytes: u32, peer_bytes: u32) -> Result<Object, Failure> {
    let mut open = load::open(window_object(), "hw_window", "windows")?;
    device.describe_to(&mut open)?;
    hooks::set_constants(
        &mut open,
        &[
            ("hw_netns", &device::inode(&device.netns)?.to_ne_bytes()),
            ("hw_own_window_bytes", &own_bytes.to_ne_bytes()),
            ("hw_peer_window_bytes", &peer_bytes.to_ne_bytes()),
        ],
    )?;
    load::load(open, "the programs of first windows")
}

/// Like [`attach`], but the programs stay attached only until the returned value is dropped.
///
/// # Errors
/// The kernel refuses.
pub(crate) fn hold(device: &Device, own_bytes: u32, peer_bytes: u32) -> Result<Held, Failure> {
    let object = load(device, own_bytes, peer_bytes)?;
    let links = PROGRAMS
        .iter()
        .map(|&(program, point)| device.hold(&object, program, point))
        .collect::<io::Result<Vec<OwnedFd>>>()
        .attempt(format!("attach a program to {}", device.place()))?;
    Ok(Held { object, links })
}

/// Keeps the programs attached that enlarge first receive windows, until this value is dropped.
#[derive(Debug)]
pub(crate) struct Held {
    object: Object,
    #[allow(dead_code)] // kept only because dropping a link detaches its program
    links: Vec<OwnedFd>,
}

impl Held {
    /// The programs' counters, by name.
    pub(crate) fn counters(&self) -> io::Result<BTreeMap<String, u64>> {
        let map = self
            .object
            .maps()
            .find(|map| map.name() == COUNTERS_MAP)
            .ok_or_else(|| io::Error::other("no counters"))?;
        let info = bpf::map_info(map.as_fd())?;
        Ok(hooks::named_counters(map.as_fd(), &info))
    }
}

fn is_ours(hook: &Hook) -> bool {
    PROGRAMS.iter().any(|(name, _)| *name == hook.program)
}

/// The devices at which the programs enlarge first receive windows.
///
/// # Errors
/// Lack of privilege.
pub fn devices() -> Result<Vec<FirstWindow>, Failure> {
    let mut places: BTreeMap<String, Vec<Hook>> = BTreeMap::new();
    for hook in hooks::find()?.into_iter().filter(is_ours) {
        places.entry(hook.place.clone()).or_default().push(hook);
    }
    let bytes_of = |hook: &Hook, name: &str| {
        let raw = hook.constant(name)?.try_into().ok()?;
        Some(u32::from_ne_bytes(raw)).filter(|&bytes| bytes > 0)
    };
    Ok(places
        .into_iter()
        .map(|(place, hooks)| FirstWindow {
            place,
            complete: hooks.len() == PROGRAMS.len() && hooks.iter().all(|h| !h.gone),
            own_bytes: bytes_of(&hooks[0], "hw_own_window_bytes"),
            peer_bytes: bytes_of(&hooks[0], "hw_peer_window_bytes"),
            counters: hooks[0].named_counters(COUNTERS_MAP),
        })
        .collect())
}
