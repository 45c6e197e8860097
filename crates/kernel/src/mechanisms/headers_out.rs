//! What of controls' headers sockets cannot send by themselves, at the devices that packets
//! leave a host by (`algorithms/kernel/headers_out.bpf.c`): codepoints in the two ECN bits, and
//! answers in ACKs that are full of SACK blocks.

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

/// A device where that is done.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct HeadersOut {
    /// Namespace and device.
    pub place: String,
    /// Whether the device has gone.
    pub gone: bool,
    /// What happened, by name.
    pub counters: BTreeMap<String, u64>,
}

fn is_ours(hook: &Hook) -> bool {
    hook.program == PROGRAM
}

/// Begins it. `dry_run`: only checks that it could.
///
/// # Errors
/// The kernel refuses: devices have links for programs since Linux 6.6.
pub fn attach(device: &Device, dry_run: bool) -> Result<(), Failure> {
    load::required("let headers out")?;
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
    // a router at the same device is to see what is written
    device.attach(&object, PROGRAM, Point::EgressFirst, &lock)
}

/// Where it is done.
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
