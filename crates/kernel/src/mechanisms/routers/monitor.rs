//! Monitors: router algorithms that publish the state of one device to the congestion controls of
//! this machine (`algorithms/port/bpf/monitors.h`). The device is identified by its namespace and
//! number.

use std::os::fd::AsFd as _;

use headway_algorithms::RouterInfo;
use libbpf_rs::{MapCore as _, MapFlags, Object, OpenObject};

use super::binding::Queue;
use super::found::attached;
use crate::error::Failure;
use crate::objects::bpf::{self, Point};
use crate::objects::device::Device;
use crate::objects::hooks::{self, Hook};
use crate::objects::shared;
use crate::system::rundir::Lock;

/// Name of the eBPF program that sees packets leave the device's queue.
const DEPARTURES: &str = "hw_router_sent";
const MONITORS: &str = "hw_monitors";
const NETNS: &str = "hw_monitor_netns";
const NUMBER: &str = "hw_monitor_device";

/// Checks that the settings of a link suit a monitor.
pub(super) fn check(
    info: &RouterInfo,
    devices: &[Device],
    tunables: &[u32],
    queue: Queue,
) -> Result<(), Failure> {
    if devices.len() > 1 {
        return Err(Failure::bad_input(format!(
            "--netns: {} works at one device only, through which this machine's connections leave",
            info.name
        )));
    }
    let measures = |(t, value): (&headway_algorithms::TunableInfo, &u32)| {
        t.name == "capacity" && t.shown(*value) == "measured"
    };
    if queue == Queue::Virtual && info.tunables.iter().zip(tunables).any(measures) {
        return Err(Failure::bad_input(format!(
            "capacity=measured: {} can see packets leave only with --backlog, at a device whose \
             own queue is the link's; otherwise give --capacity and capacity=told",
            info.name
        )));
    }
    Ok(())
}

/// Writes the device's namespace and number into an eBPF object's constants. They select the entry
/// of the map of monitors that the program writes.
pub(super) fn describe(open: &mut OpenObject, device: &Device) -> Result<(), Failure> {
    let [netns, number] = device.key()?;
    hooks::set_constants(
        open,
        &[
            (NETNS, &netns.to_ne_bytes()),
            (NUMBER, &number.to_ne_bytes()),
        ],
    )
}

/// Adds an empty entry for the device to the map of monitors.
pub(super) fn enter(device: &Device) -> Result<(), Failure> {
    let Some(map) = shared::map(MONITORS) else {
        return Err(Failure::failed(
            "the map of monitors was removed meanwhile; try again",
        ));
    };
    let nothing = vec![0; map.value_size() as usize];
    map.update(&bytes(device.key()?), &nothing, MapFlags::ANY)
        .map_err(|e| Failure::failed(format!("cannot publish of {}: {e}", device.place())))
}

fn bytes(key: [u32; 2]) -> Vec<u8> {
    key.iter().flat_map(|word| word.to_ne_bytes()).collect()
}

/// Attaches the second eBPF program of a loaded monitor, which sees packets leave the device.
pub(super) fn watch_departures(
    object: &Object,
    device: &Device,
    lock: &Lock,
) -> Result<(), Failure> {
    let program = hooks::program(object, DEPARTURES)?;
    let link = bpf::attach(program.as_fd(), 0, Point::Tracepoint);
    let [netns, number] = device.key()?;
    let pin = format!("{DEPARTURES}_{netns}_{number}");
    hooks::pin_new(link, &device.place(), &pin, lock)
}

/// The attached programs that see packets leave a device. If a command was killed, such a program
/// may be left without its router.
pub(super) fn departures() -> Result<Vec<Hook>, Failure> {
    let mut hooks = hooks::find()?;
    hooks.retain(watches_departures);
    Ok(hooks)
}

/// Whether an attached program is one that sees packets leave a device. Such a program is attached
/// to a tracepoint, not to the device.
#[must_use]
pub fn watches_departures(hook: &Hook) -> bool {
    hook.program == DEPARTURES
}

/// Removes the entries of devices whose monitor was detached. Congestion controls then see that the
/// device has no monitor.
///
/// # Errors
/// Lack of privilege.
pub fn forget_gone(_lock: &Lock) -> Result<(), Failure> {
    let Some(map) = shared::map(MONITORS) else {
        return Ok(());
    };
    let is_of = |hook: Hook| Some([hook.constant(NETNS)?, hook.constant(NUMBER)?].concat());
    let there: Vec<Vec<u8>> = attached()?.into_iter().filter_map(is_of).collect();
    for key in map.keys().filter(|key| !there.contains(key)) {
        let _ = map.delete(&key); // fails if another command removed the entry
    }
    Ok(())
}
