//! A Quick-Start router in the live kernel: at the device of the link whose capacity
//! it gives out.

use std::collections::BTreeMap;
use std::io;
use std::os::fd::{AsFd as _, OwnedFd};

use headway_algorithms::{RouterInfo, TunableInfo};
use libbpf_rs::{MapCore as _, Object, ObjectBuilder, OpenObject};
use serde::Serialize;

use crate::error::{Attempt as _, Failure};
use crate::mechanisms::recent::{self, Recent};
use crate::mirror;
use crate::objects::bpf::{self, Point};
use crate::objects::device::Device;
use crate::objects::hooks::{self, Hook};
use crate::objects::load;
use crate::objects::quick_start_router_object;
use crate::system::rundir;

/// The program of algorithms/kernel/qs_router.bpf.c.
const PROGRAM: &str = "hw_qs_router";
/// The algorithm in it.
const ALGORITHM: &str = "quick-start";
/// What of `struct hw_qs_status` is shown by a name of its own, or not at all.
const NO_TOTALS: [&str; 5] = [
    "usage_Bps",
    "outstanding_Bps",
    "interval_ns",
    "granted_Bps",
    "slot_end_ns",
];

/// A router at its device.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Router {
    /// Namespace and device.
    pub place: String,
    /// Whether the device has gone.
    pub gone: bool,
    /// Its tunables, by name.
    pub tunables: BTreeMap<String, u32>,
    /// The names of those values that have one: of the algorithm and the estimator.
    pub named: BTreeMap<String, String>,
    /// All tunables as people write them.
    #[serde(skip)]
    pub shown: BTreeMap<String, String>,
    /// Load of the link as the router estimates it, bit/s.
    pub usage_bps: u64,
    /// The same as a part of the capacity, 1/1000.
    pub utilization_permille: u64,
    /// Granted, and not yet to be seen in the load, bit/s.
    pub outstanding_bps: u64,
    /// Sum of all rates granted, bit/s.
    pub granted_bps: u64,
    /// Length of a slot of metering; null before the first packet.
    pub interval_ns: Option<u64>,
    /// Requests, grants, denials and the like; packets, bytes.
    pub counters: BTreeMap<String, u64>,
    /// Packets, and nanoseconds for each, while statistics were on.
    pub cost_per_packet: Option<Cost>,
    /// Its last answers, the latest first.
    pub recent: Vec<Recent>,
}

/// What the router costs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Cost {
    /// Runs of the program: buffers of one or more packets.
    pub runs: u64,
    /// Mean time of one.
    pub ns: u64,
}

/// A router to be.
#[derive(Debug)]
pub struct Request {
    device: Device,
    tunables: Vec<u32>,
}

/// Writes the constants of the router's object: tunables in declared order, and what
/// metering has to know of the machine.
pub(crate) fn set_constants(open: &mut OpenObject, tunables: &[u32]) -> Result<(), Failure> {
    let raw: Vec<u8> = tunables.iter().flat_map(|t| t.to_ne_bytes()).collect();
    hooks::set_constants(
        open,
        &[
            ("hw_router_tun", &raw),
            ("hw_tick_ns", &tick_ns()?.to_ne_bytes()),
            ("hw_cpus", &(bpf::possible_cpus() as u32).to_ne_bytes()),
        ],
    )
}

/// Time between two ticks of the kernel's clock.
fn tick_ns() -> Result<u64, Failure> {
    let mut tick = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: a valid place for the result.
    if unsafe { libc::clock_getres(libc::CLOCK_MONOTONIC_COARSE, &mut tick) } != 0 {
        return Err(io::Error::last_os_error()).attempt("ask for the kernel's tick");
    }
    Ok((tick.tv_sec * 1_000_000_000 + tick.tv_nsec) as u64)
}

fn info() -> Result<&'static RouterInfo, Failure> {
    headway_algorithms::router(ALGORITHM).map_err(|e| Failure::failed(e.to_string()))
}

/// All tunables in declared order, from settings such as `algorithm=fair`.
///
/// # Errors
/// Unknown names, values out of range.
pub fn tunables(settings: &[(String, String)]) -> Result<Vec<u32>, Failure> {
    let infos = &info()?.tunables;
    let mut tunables: Vec<u32> = infos.iter().map(|t| t.default).collect();
    for (name, value) in settings {
        let at = infos.iter().position(|t| t.name == name).ok_or_else(|| {
            let known: Vec<&str> = infos.iter().map(|t| t.name).collect();
            Failure::bad_input(format!(
                "tunable \"{name}\": there are {}",
                known.join(", ")
            ))
        })?;
        tunables[at] = infos[at]
            .parse(value)
            .map_err(|e| Failure::bad_input(e.to_string()))?;
    }
    Ok(tunables)
}

impl Request {
    /// Checks settings such as `algorithm=fair`.
    ///
    /// # Errors
    /// What is wrong with them, with the names there are.
    pub fn new(device: Device, settings: &[(String, String)]) -> Result<Self, Failure> {
        let tunables = tunables(settings)?;
        Ok(Self { device, tunables })
    }

    /// Attaches it; one that was there before is no more, with what it knew. `dry_run`:
    /// only checks that it could.
    ///
    /// # Errors
    /// The kernel refuses: devices have links for programs since Linux 6.6.
    pub fn run(&self, dry_run: bool) -> Result<String, Failure> {
        let place = self.device.place();
        if let Some(reason) = load::missing() {
            return Err(Failure::kernel_cannot(format!(
                "cannot make {place} a Quick-Start router: {reason}"
            )));
        }
        rundir::enter()?;
        if dry_run {
            return Ok(place);
        }
        let lock = rundir::lock()?;
        rundir::mount_bpffs(&lock)?;
        let object = self.load()?;
        for hook in hooks()?.iter().filter(|hook| hook.place == place) {
            hook.detach(&lock)?;
        }
        self.device.attach(&object, PROGRAM, Point::Egress, &lock)?;
        Ok(place)
    }

    fn load(&self) -> Result<Object, Failure> {
        let bytes = quick_start_router_object().map_err(|reason| {
            Failure::failed(format!("this build has no eBPF objects: {reason}"))
        })?;
        let mut open = ObjectBuilder::default()
            .name("hw_qs_router")
            .and_then(|builder| builder.open_memory(bytes))
            .map_err(|e| Failure::failed(format!("cannot open the router's object: {e}")))?;
        self.device.describe_to(&mut open)?;
        set_constants(&mut open, &self.tunables)?;
        load::load(open, "the Quick-Start router")
    }

    /// Loads it, to be attached now and then by this process.
    pub(crate) fn loaded(&self) -> Result<Loaded, Failure> {
        Ok(Loaded {
            object: self.load()?,
            device: self.device.clone(),
        })
    }
}

/// A router whose program is in the kernel, and goes with the value.
pub(crate) struct Loaded {
    object: Object,
    device: Device,
}

impl Loaded {
    /// Attaches it for as long as the result is held.
    pub(crate) fn hold(&self) -> Result<OwnedFd, Failure> {
        self.device
            .hold(&self.object, PROGRAM, Point::Egress)
            .attempt(format!("attach a program to {}", self.device.place()))
    }

    /// Requests and grants so far.
    pub(crate) fn requests_and_grants(&self) -> io::Result<(u64, u64)> {
        let words = words_of(&self.object)?;
        let word = |name: &str| {
            mirror::fields("hw_qs_status")
                .position(|field| field == name)
                .map(|at| words[at])
        };
        Ok((word("requests").unwrap_or(0), word("grants").unwrap_or(0)))
    }

    /// Runs of the program, and ns spent in them, while the kernel counted them.
    pub(crate) fn runs(&self) -> io::Result<(u64, u64)> {
        let program = hooks::program(&self.object, PROGRAM).map_err(io::Error::other)?;
        let info = bpf::program_info(program.as_fd())?;
        Ok((info.runs, info.run_time_ns))
    }
}

/// The fields of `struct hw_qs_status` of a loaded object.
pub(crate) fn words_of(object: &Object) -> io::Result<Vec<u64>> {
    let map = object
        .maps()
        .find(|map| map.name() == "hw_qs_links")
        .ok_or_else(|| io::Error::other("no router"))?;
    let bytes = map.value_size() as usize;
    Ok(status_words(&bpf::first_element_locked(
        map.as_fd(),
        bytes,
    )?))
}

fn hooks() -> Result<Vec<Hook>, Failure> {
    let mut hooks = hooks::find()?;
    hooks.retain(|hook| hook.program == PROGRAM);
    Ok(hooks)
}

/// All routers.
///
/// # Errors
/// Lack of privilege.
pub fn routers() -> Result<Vec<Router>, Failure> {
    let infos = &info()?.tunables;
    let mut routers = Vec::new();
    for hook in hooks()? {
        let status = status(&hook);
        let word = |name: &str| {
            let at = mirror::fields("hw_qs_status").position(|field| field == name);
            at.and_then(|at| status.get(at).copied()).unwrap_or(0)
        };
        let raw = hook.constant("hw_router_tun").unwrap_or_default();
        let tunables: BTreeMap<String, u32> = infos
            .iter()
            .zip(raw.chunks_exact(4))
            .map(|(info, raw)| {
                let value = u32::from_ne_bytes(raw.try_into().expect("4 bytes"));
                (info.name.to_owned(), value)
            })
            .collect();
        let capacity_bps = 1000 * u64::from(tunables.get("capacity_kbps").copied().unwrap_or(0));
        let usage_bps = word("usage_Bps") * 8;
        let totals = mirror::fields("hw_qs_status").filter(|name| !NO_TOTALS.contains(name));
        let mut counters: BTreeMap<String, u64> =
            totals.map(|name| (name.to_owned(), word(name))).collect();
        let traffic = mirror::fields("hw_qs_traffic").zip(hook.counters("hw_qs_traffic"));
        for (name, sum) in traffic.filter(|(name, _)| *name != "slot_end_ticks") {
            counters.insert(name.to_owned(), sum);
        }
        routers.push(Router {
            gone: hook.gone,
            named: named(infos, &tunables),
            shown: infos
                .iter()
                .filter_map(|info| {
                    let value = *tunables.get(info.name)?;
                    Some((info.name.to_owned(), info.shown(value)))
                })
                .collect(),
            recent: recent::of_router(&hook, &tunables),
            usage_bps,
            utilization_permille: (usage_bps * 1000).checked_div(capacity_bps).unwrap_or(0),
            outstanding_bps: word("outstanding_Bps") * 8,
            granted_bps: word("granted_Bps") * 8,
            interval_ns: Some(word("interval_ns")).filter(|&ns| ns > 0),
            tunables,
            counters,
            cost_per_packet: hook.run_time_ns.checked_div(hook.runs).map(|ns| Cost {
                runs: hook.runs,
                ns,
            }),
            place: hook.place,
        });
    }
    Ok(routers)
}

/// The tunables whose values have names, with those.
fn named(infos: &[TunableInfo], tunables: &BTreeMap<String, u32>) -> BTreeMap<String, String> {
    let choices = infos.iter().filter(|info| info.choices().is_some());
    choices
        .filter_map(|info| Some((info.name.to_owned(), info.shown(*tunables.get(info.name)?))))
        .collect()
}

/// `struct hw_qs_status` of a router.
fn status(hook: &Hook) -> Vec<u64> {
    let Some((map, info)) = hook.map("hw_qs_links") else {
        return Vec::new();
    };
    let Ok(value) = bpf::first_element_locked(map.as_fd(), info.value_bytes as usize) else {
        return Vec::new();
    };
    status_words(&value)
}

/// The fields of `struct hw_qs_status` in a `struct hw_qs_link`.
fn status_words(value: &[u8]) -> Vec<u64> {
    let bytes = size_of::<mirror::QsStatus>();
    value[std::mem::offset_of!(mirror::QsLink, state)..]
        .chunks_exact(8)
        .take(bytes / 8)
        .map(|raw| u64::from_ne_bytes(raw.try_into().expect("8 bytes")))
        .collect()
}
