//! A router's algorithm at the device of a link: any of algorithms/router, by the one
//! binding (algorithms/port/bpf/router.h). What it counts and tells has the names that
//! the algorithm declares.

mod watch;

use std::collections::BTreeMap;
use std::io;
use std::net::{Ipv4Addr, SocketAddrV4};
use std::os::fd::{AsFd as _, OwnedFd};

use headway_algorithms::sharing::may_share;
use headway_algorithms::{HeaderInfo, RouterInfo, TunableInfo};
use libbpf_rs::{MapCore as _, Object, ObjectBuilder, OpenObject};
use serde::Serialize;

use crate::error::{Attempt as _, Failure};
use crate::mechanisms::approval;
use crate::objects::bpf::{self, Point};
use crate::objects::brought::{self, Declared, SAID};
use crate::objects::btf::{Btf, Member};
use crate::objects::device::Device;
use crate::objects::hooks::{self, Hook};
use crate::objects::{load, routers, RouterObject};
use crate::system::clock::{self, now_ns};
use crate::system::rundir;

pub use watch::{watched, Reading};

/// The program of the binding.
const PROGRAM: &str = "hw_router";
const LINKS: &str = "hw_router_links";
const TRAFFIC: &str = "hw_router_seen";
/// Of what it counts, what only the binding needs.
const BEHIND_THE_SCENES: [&str; 2] = ["gathered_bytes", "gather_until_ticks"];

/// A router's algorithm at its device.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Router {
    /// The algorithm.
    pub name: String,
    /// Namespace and device.
    pub place: String,
    /// Further devices that send into the same link.
    pub also_at: Vec<String>,
    /// Whether the device has gone.
    pub gone: bool,
    /// The link's rate as it was told, bit/s.
    pub rate_bps: u64,
    /// What it takes for the link's queue.
    pub queue: Queue,
    /// Room of that queue as it was told; null: no limit.
    pub limit_bytes: Option<u64>,
    /// Its tunables as people write them.
    pub tunables: BTreeMap<String, String>,
    /// What the algorithm counts and knows, by the names that it declares.
    pub counters: BTreeMap<String, u64>,
    /// What passed: packets, bytes, headers, drops, marks.
    pub traffic: BTreeMap<String, u64>,
    /// What the algorithm told last, the latest first.
    pub events: Vec<Event>,
    /// Runs of the program while statistics were on, and the mean time of one.
    pub runs: u64,
    /// Null: statistics were off.
    pub ns_per_run: Option<u64>,
}

/// What a router takes for its link's queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Queue {
    /// What has come, and what the link's rate has sent since.
    #[default]
    Virtual,
    /// What waits in the device's own queueing discipline.
    Backlog,
}

/// A link that a router is to be at.
#[derive(Clone, Copy, Debug, Default)]
pub struct Link {
    /// What it can carry, bit/s.
    pub rate_bps: u64,
    /// Room of its queue; none: no limit.
    pub limit_bytes: Option<u64>,
    /// Which queue that is.
    pub queue: Queue,
}

/// What one call of an algorithm told.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Event {
    /// How long ago, ms.
    pub age_ms: u64,
    /// Connection, as routers tell them apart.
    pub flow: u64,
    /// Who sent the packet; null: it was not IPv4.
    pub sender: Option<String>,
    /// To whom.
    pub peer: Option<String>,
    /// Why a request got less than it asked for, where the algorithm has requests; null: it
    /// did not, or that was another router's doing.
    pub reason: Option<String>,
    /// Values by the names that the algorithm declares.
    pub values: BTreeMap<String, u64>,
}

/// A router to be.
#[derive(Debug)]
pub struct Request {
    devices: Vec<Device>,
    info: &'static RouterInfo,
    object: &'static RouterObject,
    tunables: Vec<u32>,
    link: Link,
}

impl Request {
    /// Checks a name, the devices that send into a link, and settings such as
    /// `("threshold", "10")`.
    ///
    /// # Errors
    /// What is wrong with them, with the names there are; devices of several kinds.
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
                "devices {} and {}: one carries Ethernet and one IP; a link's must be alike",
                first.place(),
                other.place()
            )));
        }
        Ok(Self {
            devices,
            info,
            object,
            tunables,
            link,
        })
    }

    /// Where it will be.
    fn place(&self) -> String {
        let places: Vec<String> = self.devices.iter().map(Device::place).collect();
        places.join(", ")
    }

    /// Attaches it; the same algorithm that was there before is no more, with what it
    /// knew. `dry_run`: only checks that it could.
    ///
    /// # Errors
    /// The kernel refuses: devices have links for programs since Linux 6.6.
    pub fn run(&self, dry_run: bool) -> Result<String, Failure> {
        let place = self.place();
        load::required(&format!("attach {} to {place}", self.info.name))?;
        rundir::enter()?;
        self.may_join()?;
        if dry_run {
            return Ok(place);
        }
        let lock = rundir::lock()?;
        rundir::mount_bpffs(&lock)?;
        let object = self.load()?;
        for hook in self.here()? {
            if name_of(&hook) == self.info.name {
                hook.detach(&lock)?;
            }
        }
        for device in &self.devices {
            device.attach(&object, PROGRAM, Point::Egress, &lock)?;
        }
        Ok(place)
    }

    /// Routers that are at its devices.
    fn here(&self) -> Result<Vec<Hook>, Failure> {
        let is_here = |hook: &Hook| self.devices.iter().any(|d| d.place() == hook.place);
        let mut hooks = attached()?;
        hooks.retain(is_here);
        Ok(hooks)
    }

    /// Whether it may stand beside those that are there. Of one from a file that this process has
    /// not read only the name is known.
    fn may_join(&self) -> Result<(), Failure> {
        for hook in self.here()? {
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

    fn load(&self) -> Result<Object, Failure> {
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
        load::load(open, &what)
    }

    /// Loads it, to be attached now and then by this process.
    pub(crate) fn loaded(&self) -> Result<Loaded, Failure> {
        Ok(Loaded {
            object: self.load()?,
            device: self.devices[0].clone(),
            info: self.info,
        })
    }
}

/// An algorithm and its program.
pub(crate) fn find(name: &str) -> Result<(&'static RouterInfo, &'static RouterObject), Failure> {
    let bad_input = |e: headway_algorithms::AlgorithmError| Failure::bad_input(e.to_string());
    let info = headway_algorithms::router(name).map_err(bad_input)?;
    if info.publishes {
        return Err(Failure::failed(format!(
            "{name} publishes to controls of its machine: simulator only so far"
        )));
    }
    if info.file.is_some() {
        return Ok((info, brought::router(info)?));
    }
    let object = load::of_build(routers())?
        .iter()
        .find(|object| object.name == info.name)
        .ok_or_else(|| Failure::failed(format!("this build has no program of {name}")))?;
    Ok((info, object))
}

/// Writes the constants of a router's object: tunables in declared order, the link's rate,
/// and what gathering has to know of the machine.
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

/// A router whose program is in the kernel, and goes with the value.
pub(crate) struct Loaded {
    object: Object,
    device: Device,
    info: &'static RouterInfo,
}

impl Loaded {
    /// Attaches it for as long as the result is held.
    pub(crate) fn hold(&self) -> Result<OwnedFd, Failure> {
        self.device
            .hold(&self.object, PROGRAM, Point::Egress)
            .attempt(format!("attach a program to {}", self.device.place()))
    }

    /// What the algorithm reads of packets.
    pub(crate) fn header(&self) -> Option<&'static HeaderInfo> {
        headway_algorithms::header::header(self.info.header?).ok()
    }

    /// One of the algorithm's counters so far; 0 if it has none of that name.
    pub(crate) fn counter(&self, name: &str) -> io::Result<u64> {
        let at = self.info.counters.iter().position(|c| c.name == name);
        let state = state_of(&self.object)?;
        Ok(at.and_then(|at| state.get(at).copied()).unwrap_or(0))
    }

    /// Runs of the program, and ns spent in them, while the kernel counted them.
    pub(crate) fn runs(&self) -> io::Result<(u64, u64)> {
        let program = hooks::program(&self.object, PROGRAM).map_err(io::Error::other)?;
        let info = bpf::program_info(program.as_fd())?;
        Ok((info.runs, info.run_time_ns))
    }
}

/// The state of a loaded object's algorithm, in words: its counters are the first.
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

/// All tunables in declared order, from settings such as `("algorithm", "fair")`.
pub(crate) fn tunables(
    infos: &[TunableInfo],
    settings: &[(String, String)],
) -> Result<Vec<u32>, Failure> {
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

fn attached() -> Result<Vec<Hook>, Failure> {
    let mut hooks = hooks::find()?;
    hooks.retain(|hook| hook.program == PROGRAM);
    Ok(hooks)
}

fn name_of(hook: &Hook) -> String {
    hook.text("hw_router_name")
}

/// All of them.
///
/// # Errors
/// Lack of privilege.
pub fn attached_routers() -> Result<Vec<Router>, Failure> {
    let found = by_program(attached()?);
    let routers = found.into_iter().map(|(first, others)| Router {
        also_at: others.into_iter().map(|hook| hook.place).collect(),
        ..router(first)
    });
    Ok(routers.collect())
}

/// One program at several devices is one router: its first place, and the others.
fn by_program(hooks: Vec<Hook>) -> Vec<(Hook, Vec<Hook>)> {
    let mut found: Vec<(Hook, Vec<Hook>)> = Vec::new();
    for hook in hooks {
        match found
            .iter_mut()
            .find(|(first, _)| first.map_ids == hook.map_ids)
        {
            Some((_, others)) => others.push(hook),
            None => found.push((hook, Vec::new())),
        }
    }
    found
}

/// What the algorithm of that name declares: as its program says, or as this build knows it.
fn declared(hook: &Hook, name: &str) -> Option<Declared> {
    let said = hook.constant(SAID);
    let declared = said.and_then(|bytes| Declared::read(&bytes));
    declared.or_else(|| headway_algorithms::router(name).ok().map(Declared::of))
}

fn router(hook: Hook) -> Router {
    let name = name_of(&hook);
    let info = declared(&hook, &name);
    let info = info.as_ref();
    let word = |name: &str| {
        let raw = hook.constant(name)?.try_into().ok()?;
        Some(u64::from_ne_bytes(raw))
    };
    let rate_bps = word("hw_rate_Bps").unwrap_or(0) * 8;
    let mut traffic = hook.named_counters(TRAFFIC);
    traffic.retain(|name, _| !BEHIND_THE_SCENES.contains(&name.as_str()));
    let raw = hook.constant("hw_router_tun").unwrap_or_default();
    let numbers = raw
        .chunks_exact(4)
        .map(|raw| u32::from_ne_bytes(raw.try_into().expect("4 bytes")));
    let tunables: Vec<(&TunableInfo, u32)> = info
        .map_or(&[][..], |info| &info.tunables)
        .iter()
        .zip(numbers)
        .collect();
    let (counters, mut events) = link_of(&hook, info).unwrap_or_default();
    if name == approval::ALGORITHM {
        for event in &mut events {
            event.reason = approval::reason(&event.values, &tunables, rate_bps);
        }
    }
    let sees_backlog = hook.constant("hw_sees_backlog");
    Router {
        gone: hook.gone,
        also_at: Vec::new(),
        rate_bps,
        queue: match sees_backlog.is_some_and(|raw| raw.iter().any(|&byte| byte != 0)) {
            true => Queue::Backlog,
            false => Queue::Virtual,
        },
        limit_bytes: word("hw_limit_bytes").filter(|&bytes| bytes > 0),
        tunables: tunables
            .iter()
            .map(|(t, value)| (t.name.to_owned(), t.shown(*value)))
            .collect(),
        counters,
        traffic,
        events,
        runs: hook.runs,
        ns_per_run: hook.run_time_ns.checked_div(hook.runs),
        place: hook.place,
        name,
    }
}

/// Counters and events of a link's state, where the object's type information says that
/// they are.
fn link_of(hook: &Hook, info: Option<&Declared>) -> Option<(BTreeMap<String, u64>, Vec<Event>)> {
    let (map, map_info) = hook.map(LINKS)?;
    let btf = Btf::by_id(map_info.btf_id)?;
    let fields = btf.members(map_info.value_type);
    let value = bpf::first_element_locked(map.as_fd(), map_info.value_bytes as usize).ok()?;
    let (state, events) = (fields.get("state")?, fields.get("events")?);
    let info = info?;
    let counters = counters_of(&value, state.offset, info);
    let told = btf.structure("hw_told");
    let bytes = btf.size_of("hw_told")?;
    let now_ns = u64::try_from(now_ns()).ok()?;
    let mut list: Vec<(u32, Event)> = value[events.offset..]
        .chunks_exact(bytes)
        .filter_map(|raw| event(raw, &told, info, now_ns))
        .collect();
    list.sort_by_key(|(number, _)| std::cmp::Reverse(*number));
    let events = list.into_iter().map(|(_, event)| event).collect();
    Some((counters, events))
}

/// The counters of an algorithm whose state begins there in its map's value.
fn counters_of(value: &[u8], state: usize, info: &Declared) -> BTreeMap<String, u64> {
    let counters = info.counters.iter().enumerate().filter_map(|(i, counter)| {
        let at = u64_at(value, state + 8 * i)?;
        Some((counter.name.to_owned(), counter.shown(at)))
    });
    counters.collect()
}

/// An entry of what was told, with its number; none where nothing was yet.
fn event(
    raw: &[u8],
    told: &BTreeMap<String, Member>,
    info: &Declared,
    now_ns: u64,
) -> Option<(u32, Event)> {
    let at = |name: &str| told.get(name).map(|member| member.offset);
    let number = u32_at(raw, at("number")?).filter(|&number| number > 0)?;
    let (noted, notes) = (u32_at(raw, at("noted")?)?, at("notes")?);
    let values = info.events.iter().enumerate().filter_map(|(i, event)| {
        let value = u64_at(raw, notes + 8 * i)?;
        (noted >> i & 1 == 1).then(|| (event.name.to_owned(), event.shown(value)))
    });
    let socket = |address: &str, port: &str| {
        let address = u32_at(raw, at(address)?).filter(|&address| address > 0)?;
        let port = raw.get(at(port)?..)?.first_chunk()?;
        let address = Ipv4Addr::from(address.to_ne_bytes());
        Some(SocketAddrV4::new(address, u16::from_be_bytes(*port)).to_string())
    };
    let event = Event {
        age_ms: now_ns.saturating_sub(u64_at(raw, at("now_ns")?)?) / 1_000_000,
        flow: u64_at(raw, at("flow")?)?,
        sender: socket("sender", "sender_port"),
        peer: socket("peer", "peer_port"),
        reason: None,
        values: values.collect(),
    };
    Some((number, event))
}

fn u64_at(raw: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_ne_bytes(raw.get(at..at + 8)?.try_into().ok()?))
}

fn u32_at(raw: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(raw.get(at..at + 4)?.try_into().ok()?))
}
