//! Attaches the eBPF program that sends those parts of congestion controls' headers that sockets
//! cannot send (`algorithms/kernel/headers_out.bpf.c`). The program runs at the devices through
//! which packets leave a host. It writes codepoints into the two ECN bits, and answers into ACKs
//! whose SACK blocks leave no room.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::error::Failure;
use crate::objects::bpf::Point;
use crate::objects::device::Device;
use crate::objects::headers_out_object;
use crate::objects::hooks::{self, Hook};
use crate::objects::load;
use crate::objects::shared;
use crate::system::rundir;

const PROGRAM: &str = "hw_headers_out";
const COUNTERS: &str = "hw_headers_cnt";

/// A network device at which the program writes headers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct HeadersOut {
    /// Namespace and device.
    pub place: String,
    /// True: the device no longer exists.
    pub gone: bool,
    /// The program's counters, by name.
    pub counters: BTreeMap<String, u64>,
}

fn is_ours(hook: &Hook) -> bool {
    hook.program == PROGRAM
}

/// Attaches the program that writes headers to a device. `dry_run`: only checks whether that is
/// possible.
///
/// # Errors
/// The kernel refuses; programs at devices need Linux 6.6.
pub fn attach(device: &Device, dry_run: bool) -> Result<(), Failure> {
    load::required("write headers at a device")?;
    rundir::enter()?;
    if dry_run {
        return Ok(());
    }
    let lock = rundir::lock()?;
    rundir::mount_bpffs(&lock)?;
    let place = device.place();
    for hook in hooks::find()? {
        if is_ours(&hook) && hook.place == place {
            hook.detach(&lock)?;
        }
    }
    let mut open = load::open(headers_out_object(), PROGRAM, "headers")?;
    shared::share_maps(&mut open, &lock)?;
    device.describe_to(&mut open)?;
    let object = load::load(open, "the program of headers")?;
    // this program has to run before a router at the same device, so that the router sees the
    // headers
    device.attach(&object, PROGRAM, Point::EgressFirst, &lock)
}

/// The devices at which the program writes headers.
///
/// # Errors
/// Lack of privilege.
pub fn devices() -> Result<Vec<HeadersOut>, Failure> {
    let ours = hooks::find()?.into_iter().filter(is_ours);
    Ok(ours
        .map(|hook| HeadersOut {
            gone: hook.gone,
            counters: hook.named_counters(COUNTERS),
            place: hook.place,
        })
        .collect())
}
