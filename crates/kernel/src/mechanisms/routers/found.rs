//! Finds the attached routers in the kernel, and reads their counters and events.

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddrV4};
use std::os::fd::AsFd as _;

use headway_algorithms::TunableInfo;
use serde::Serialize;

use super::binding::{Queue, LINKS, PROGRAM, TRAFFIC};
use crate::error::Failure;
use crate::mechanisms::approval;
use crate::objects::bpf;
use crate::objects::btf::{Btf, Member};
use crate::objects::hooks::{self, Hook};
use crate::objects::user_file::{Declared, DECLARED};
use crate::system::clock::now_ns;

/// Counters that are not shown to users, because only the code between algorithm and kernel (the
/// binding) needs them.
const BEHIND_THE_SCENES: [&str; 2] = ["gathered_bytes", "gather_until_ticks"];

/// A router algorithm that is attached to a device.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Router {
    /// The algorithm.
    pub name: String,
    /// The device of the router, as `namespace:device`.
    pub place: String,
    /// Further devices that send to the same link.
    pub also_at: Vec<String>,
    /// True: the device no longer exists.
    pub gone: bool,
    /// The link's rate as configured, bit/s.
    pub rate_bps: u64,
    /// Which queue the algorithm takes as the link's queue.
    pub queue: Queue,
    /// Configured limit of the link's queue, in bytes; null: no limit.
    pub limit_bytes: Option<u64>,
    /// The algorithm's tunables, as users write them on the command line.
    pub tunables: BTreeMap<String, String>,
    /// The algorithm's counters and state, by the names that the algorithm declares.
    pub counters: BTreeMap<String, u64>,
    /// Counters of the traffic: packets, bytes, headers, drops, marks.
    pub traffic: BTreeMap<String, u64>,
    /// The last events that the algorithm recorded, latest first.
    pub events: Vec<Event>,
    /// How often the router's eBPF program ran while the kernel's statistics were on.
    pub runs: u64,
    /// Mean time of one run of the program; null: the kernel's statistics were off.
    pub ns_per_run: Option<u64>,
}

/// What a router algorithm recorded about one packet.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Event {
    /// Time since the event, in ms.
    pub age_ms: u64,
    /// The packet's connection, as the number by which routers distinguish connections.
    pub flow: u64,
    /// Source address of the packet; null: the packet was not IPv4.
    pub sender: Option<String>,
    /// Destination address of the packet; null: the packet was not IPv4.
    pub peer: Option<String>,
    /// For an algorithm that handles Quick-Start requests: why less than the requested rate was
    /// granted. Null: the request was granted in full, or another router reduced it.
    pub reason: Option<String>,
    /// The event's values, by the names that the algorithm declares.
    pub values: BTreeMap<String, u64>,
}

pub(super) fn attached() -> Result<Vec<Hook>, Failure> {
    let mut hooks = hooks::find()?;
    hooks.retain(|hook| hook.program == PROGRAM);
    Ok(hooks)
}

pub(super) fn name_of(hook: &Hook) -> String {
    hook.text("hw_router_name")
}

/// All attached routers.
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

/// Groups attached programs by router. Programs at several devices can form one router: `place` is
/// then the first device, and `also_at` has the others.
pub(super) fn by_program(hooks: Vec<Hook>) -> Vec<(Hook, Vec<Hook>)> {
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

/// The declarations of an algorithm's tunables, counters and events: read from the attached eBPF
/// object, or if the object has none, from this build of headwayctl.
pub(super) fn declared(hook: &Hook, name: &str) -> Option<Declared> {
    let said = hook.constant(DECLARED);
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

/// Reads a router's counters and events from the bytes of its map, at the offsets that the eBPF
/// object's type information gives.
fn link_of(hook: &Hook, info: Option<&Declared>) -> Option<(BTreeMap<String, u64>, Vec<Event>)> {
    let (map, map_info) = hook.map(LINKS)?;
    let btf = Btf::by_id(map_info.btf_id)?;
    let fields = btf.members(map_info.value_type);
    let value = bpf::first_element_locked(map.as_fd(), map_info.value_bytes as usize).ok()?;
    let (state, events) = (fields.get("state")?, fields.get("events")?);
    let info = info?;
    let counters = counters_of(&value, state.offset, info);
    let layout = btf.structure("hw_router_event");
    let bytes = btf.size_of("hw_router_event")?;
    let now_ns = u64::try_from(now_ns()).ok()?;
    let mut list: Vec<(u32, Event)> = value[events.offset..]
        .chunks_exact(bytes)
        .filter_map(|raw| event(raw, &layout, info, now_ns))
        .collect();
    list.sort_by_key(|(number, _)| std::cmp::Reverse(*number));
    let events = list.into_iter().map(|(_, event)| event).collect();
    Some((counters, events))
}

/// Reads the counters of an algorithm. Its state begins at byte `state` of its map's value.
pub(super) fn counters_of(value: &[u8], state: usize, info: &Declared) -> BTreeMap<String, u64> {
    let counters = info.counters.iter().enumerate().filter_map(|(i, counter)| {
        let at = u64_at(value, state + 8 * i)?;
        Some((counter.name.to_owned(), counter.shown(at)))
    });
    counters.collect()
}

/// Reads an event and its number; None for an entry that is still empty.
fn event(
    raw: &[u8],
    layout: &BTreeMap<String, Member>,
    info: &Declared,
    now_ns: u64,
) -> Option<(u32, Event)> {
    let at = |name: &str| layout.get(name).map(|member| member.offset);
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
