//! Attaches a router algorithm to the network device that sends into a link. All algorithms in
//! algorithms/router are connected to the kernel by the same code, the binding
//! (algorithms/port/bpf/router.h). Counters and events have the names that the algorithm declares.

mod binding;
mod found;
mod monitor;
mod watch;

use std::io;
use std::os::fd::{AsFd as _, OwnedFd};

use headway_algorithms::sharing::may_share;
use headway_algorithms::{HeaderInfo, RouterInfo, TunableInfo};
use libbpf_rs::{MapCore as _, Object, ObjectBuilder, OpenObject};

use crate::error::{Attempt as _, Failure};
use crate::objects::bpf::{self, Point};
use crate::objects::btf::Btf;
use crate::objects::device::Device;
use crate::objects::hooks::{self, Hook};
use crate::objects::user_file;
use crate::objects::{built, load, routers, shared, RouterObject};
use crate::system::clock;
use crate::system::rundir::{self, Lock};

use binding::{LINKS, PROGRAM};
use found::{attached, name_of};

pub use binding::Queue;
pub use found::{attached_routers, Event, Router};
pub use monitor::{forget_gone, watches_departures};
pub use watch::{watched, Reading};

/// The link that a router manages.
#[derive(Clone, Copy, Debug, Default)]
pub struct Link {
    /// The link's capacity, bit/s.
    pub rate_bps: u64,
    /// Limit of the link's queue, in bytes; None: no limit.
    pub limit_bytes: Option<u64>,
    /// Which queue the router takes as the link's queue.
    pub queue: Queue,
}

/// A router that is ready to be attached: its algorithm, settings and devices.
#[derive(Debug)]
pub struct Request {
    devices: Vec<Device>,
    info: &'static RouterInfo,
    object: &'static RouterObject,
    tunables: Vec<u32>,
    link: Link,
}

impl Request {
    /// Checks an algorithm's name, the devices that send to a link, and settings such as
    /// `("threshold", "10")`.
    ///
    /// # Errors
    /// An unknown name or a wrong setting (the error lists the known names), or devices of
    /// different kinds.
    ///
    /// # Panics
    /// Without a device.
    pub fn new(
        name: &str,
        devices: Vec<Device>,
        link: Link,
        settings: &[(String, String)],
    ) -> Result<Self, Failure> {
        let (info, object) = find(name)?;
        let tunables = tunables(&info.tunables, settings)?;
        let first = &devices[0];
        if let Some(other) = devices.iter().find(|device| !device.is_like(first)) {
            return Err(Failure::bad_input(format!(
                "devices {} and {}: one carries Ethernet and the other IP; all devices must carry \
                 the same",
                first.place(),
                other.place()
            )));
        }
        if info.publishes {
            monitor::check(info, &devices, &tunables, link.queue)?;
        }
        Ok(Self {
            devices,
            info,
            object,
            tunables,
            link,
        })
    }

    /// The first device at which the router will be attached, as `namespace:device`.
    fn place(&self) -> String {
        let places: Vec<String> = self.devices.iter().map(Device::place).collect();
        places.join(", ")
    }

    /// Attaches the router. If a router with the same algorithm is already attached to the device,
    /// that router is detached and its state is lost. `dry_run`: only checks whether attaching is
    /// possible.
    ///
    /// # Errors
    /// The kernel refuses; programs at devices need Linux 6.6.
    pub fn run(&self, dry_run: bool) -> Result<String, Failure> {
        let place = self.place();
        load::required(&format!("attach {} to {place}", self.info.name))?;
        rundir::enter()?;
        self.check_sharing()?;
        if dry_run {
            return Ok(place);
        }
        let lock = rundir::lock()?;
        rundir::mount_bpffs(&lock)?;
        let mut open = self.open()?;
        shared::share_maps(&mut open, &lock)?;
        let object = load::load(open, &format!("the router {}", self.info.name))?;
        for hook in self.attached_here()? {
            if name_of(&hook) == self.info.name {
                hook.detach(&lock)?;
            }
        }
        if self.info.publishes {
            self.begin_to_publish(&object, &lock)?;
        }
        for device in &self.devices {
            device.attach(&object, PROGRAM, Point::Egress, &lock)?;
        }
        Ok(place)
    }

    /// Adds the two parts that only a monitor needs: an entry for its device in the map of
    /// monitors, and a program that sees packets leave the device.
    fn begin_to_publish(&self, object: &Object, lock: &Lock) -> Result<(), Failure> {
        let device = &self.devices[0];
        forget_gone(lock)?;
        for hook in monitor::departures()? {
            if hook.place == device.place() && name_of(&hook) == self.info.name {
                hook.detach(lock)?;
            }
        }
        monitor::enter(device)?;
        if self.link.queue == Queue::Backlog {
            monitor::watch_departures(object, device, lock)?;
        }
        Ok(())
    }

    /// The routers that are already attached to these devices.
    fn attached_here(&self) -> Result<Vec<Hook>, Failure> {
        let is_here = |hook: &Hook| self.devices.iter().any(|d| d.place() == hook.place);
        let mut hooks = attached()?;
        hooks.retain(is_here);
        Ok(hooks)
    }

    /// Checks that the router may share its devices with the routers that are already attached to
    /// them. Does not check an attached router from a user's file, because this process knows only
    /// that router's name.
    fn check_sharing(&self) -> Result<(), Failure> {
        for hook in self.attached_here()? {
            let Ok(other) = headway_algorithms::router(&name_of(&hook)) else {
                continue;
            };
            if other.name != self.info.name {
                may_share(&[other, self.info]).map_err(|why| {
                    Failure::bad_input(format!("{why}; {} has {}", hook.place, other.name))
                })?;
            }
        }
        Ok(())
    }

    fn open(&self) -> Result<OpenObject, Failure> {
        let what = format!("the router {}", self.info.name);
        let mut open = ObjectBuilder::default()
            .name(PROGRAM)
            .and_then(|builder| builder.open_memory(self.object.bytes))
            .map_err(|e| Failure::failed(format!("cannot open {what}: {e}")))?;
        self.devices[0].describe_to(&mut open)?;
        set_constants(&mut open, &self.tunables, self.link.rate_bps)?;
        let limit_bytes = self.link.limit_bytes.unwrap_or(0).to_ne_bytes();
        let sees_backlog = u32::from(self.link.queue == Queue::Backlog).to_ne_bytes();
        hooks::set_constants(
            &mut open,
            &[
                ("hw_router_name", self.info.name.as_bytes()),
                ("hw_limit_bytes", &limit_bytes),
                ("hw_sees_backlog", &sees_backlog),
            ],
        )?;
        if self.info.publishes {
            monitor::describe(&mut open, &self.devices[0])?;
        }
        Ok(open)
    }

    /// Loads the router's eBPF object without attaching it, so that this process can attach it
    /// several times.
    pub(crate) fn loaded(&self) -> Result<Loaded, Failure> {
        Ok(Loaded {
            object: load::load(self.open()?, &format!("the router {}", self.info.name))?,
            device: self.devices[0].clone(),
            info: self.info,
        })
    }
}

/// Finds a router algorithm and its eBPF program by name.
pub(crate) fn find(name: &str) -> Result<(&'static RouterInfo, &'static RouterObject), Failure> {
    let bad_input = |e: headway_algorithms::AlgorithmError| Failure::bad_input(e.to_string());
    let info = headway_algorithms::router(name).map_err(bad_input)?;
    if info.file.is_some() {
        return Ok((info, user_file::router(info)?));
    }
    let object = built::of_build(routers())?
        .iter()
        .find(|object| object.name == info.name)
        .ok_or_else(|| {
            Failure::failed(format!(
                "this build has no eBPF program for the router algorithm {name}"
            ))
        })?;
    Ok((info, object))
}

/// Writes constants into a router's eBPF object: the tunables in declared order, the link's rate,
/// and the machine's number of processors and tick. The last two are for algorithms that count
/// bytes per processor (gathering).
pub(crate) fn set_constants(
    open: &mut OpenObject,
    tunables: &[u32],
    rate_bps: u64,
) -> Result<(), Failure> {
    let tunables: Vec<u8> = tunables.iter().flat_map(|t| t.to_ne_bytes()).collect();
    hooks::set_constants(
        open,
        &[
            ("hw_router_tun", &tunables),
            ("hw_rate_Bps", &(rate_bps / 8).to_ne_bytes()),
            ("hw_tick_ns", &clock::tick_ns()?.to_ne_bytes()),
            ("hw_cpus", &(bpf::possible_cpus() as u32).to_ne_bytes()),
        ],
    )
}

/// A router whose eBPF program stays loaded in the kernel until this value is dropped.
pub(crate) struct Loaded {
    object: Object,
    device: Device,
    info: &'static RouterInfo,
}

impl Loaded {
    /// Attaches the router. The router stays attached until the returned value is dropped.
    pub(crate) fn hold(&self) -> Result<OwnedFd, Failure> {
        self.device
            .hold(&self.object, PROGRAM, Point::Egress)
            .attempt(format!("attach a program to {}", self.device.place()))
    }

    /// The protocol header that the algorithm reads from packets.
    pub(crate) fn header(&self) -> Option<&'static HeaderInfo> {
        headway_algorithms::header::header(self.info.header?).ok()
    }

    /// The value of the algorithm's counter of this name; 0 if the algorithm has no such counter.
    pub(crate) fn counter(&self, name: &str) -> io::Result<u64> {
        let at = self.info.counters.iter().position(|c| c.name == name);
        let state = state_of(&self.object)?;
        Ok(at.and_then(|at| state.get(at).copied()).unwrap_or(0))
    }

    /// Number of runs of the program, and the ns spent in them, while the kernel's statistics were
    /// on.
    pub(crate) fn runs(&self) -> io::Result<(u64, u64)> {
        let program = hooks::program(&self.object, PROGRAM).map_err(io::Error::other)?;
        let info = bpf::program_info(program.as_fd())?;
        Ok((info.runs, info.run_time_ns))
    }
}

/// The algorithm's state in a loaded object, as 64-bit words. The first words are the counters.
pub(crate) fn state_of(object: &Object) -> io::Result<Vec<u64>> {
    let links = object.maps().find(|map| map.name() == LINKS);
    let map = links.ok_or_else(|| io::Error::other("no router"))?;
    let info = bpf::map_info(map.as_fd())?;
    let value = bpf::first_element_locked(map.as_fd(), info.value_bytes as usize)?;
    let fields = Btf::by_id(info.btf_id).map(|btf| btf.members(info.value_type));
    let state = fields.and_then(|fields| fields.get("state").map(|field| field.offset));
    let raw = value[state.unwrap_or(value.len())..].chunks_exact(8);
    Ok(raw
        .map(|raw| u64::from_ne_bytes(raw.try_into().expect("8 bytes")))
        .collect())
}

/// The values of all tunables in declared order, from settings such as `("algorithm", "fair")`.
pub(crate) fn tunables(
    infos: &[TunableInfo],
    settings: &[(String, String)],
) -> Result<Vec<u32>, Failure> {
    let mut tunables: Vec<u32> = infos.iter().map(|t| t.default).collect();
    for (name, value) in settings {
        let at = infos.iter().position(|t| t.name == name).ok_or_else(|| {
            let known: Vec<&str> = infos.iter().map(|t| t.name).collect();
            Failure::bad_input(format!(
                "tunable \"{name}\": unknown; known are {}",
                known.join(", ")
            ))
        })?;
        tunables[at] = infos[at]
            .parse(value)
            .map_err(|e| Failure::bad_input(e.to_string()))?;
    }
    Ok(tunables)
}
