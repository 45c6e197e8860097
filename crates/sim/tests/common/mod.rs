//! Shared parts of the simulator's tests: scenarios, and captures that are read with the readers of
//! `headway-wire`, which do not depend on the simulator.
#![allow(dead_code)] // not every test program that includes this module uses all of it

use headway_sim::trace::record::{FlowSummary, Tables};
use headway_sim::{Outcome, Scenario, World};
use headway_wire::pcapng::{Block, Reader};
use headway_wire::tcp_options::{Sack, SackBlock, WindowScale};
use headway_wire::{Ipv4View, TcpFlags, TcpView};
use serde_json::{json, Map, Value};
use std::collections::{BTreeMap, HashMap};

pub const MS: u64 = 1_000_000;
pub const SECOND: u64 = 1_000_000_000;
/// Port of the responder in captures.
const SERVER_PORT: u16 = 5001;

/// A TCP segment of a capture. Sequence numbers are offsets in the stream (the SYN is byte 0).
/// Acknowledgement numbers are offsets only if the capture has the peer's SYN.
#[derive(Clone, Debug)]
pub struct CapturedSegment {
    pub time_ns: u64,
    pub flow: u32,
    /// Whether the packet goes from the flow's opener to the other end.
    pub outbound: bool,
    pub seq: u64,
    pub ack: u64,
    pub len: u32,
    pub ip_bytes: u32,
    pub window: u16,
    /// The window scale of a SYN; None if it has none.
    pub scale: Option<u8>,
    pub flags: TcpFlags,
    /// The two ECN bits of IPv4.
    pub ecn: u8,
    pub sack: Vec<(u64, u64)>,
}

impl CapturedSegment {
    pub fn has(&self, flag: TcpFlags) -> bool {
        self.flags.contains(flag)
    }

    /// Start and end of the payload in its stream, counted from 0.
    pub fn payload_range(&self) -> (u64, u64) {
        (self.seq - 1, self.seq - 1 + u64::from(self.len))
    }
}

/// The routers of a link: one router that approves Quick-Start requests, with these tunables; no
/// router if `tunables` is null.
pub fn answering(tunables: &Value) -> Value {
    if tunables.is_null() {
        json!([])
    } else {
        json!([{"name": "quick-start", "tunables": tunables}])
    }
}

/// A Quick-Start counter of a flow's sender.
pub fn asked(flow: &FlowSummary, name: &str) -> u64 {
    let protocol = flow.protocols.get("quick-start");
    protocol.map_or(0, |p| p.counts.get(name).copied().unwrap_or(0))
}

/// The events of the only router algorithm in a trace. Each row has link, time, flow and the values
/// of all events that the algorithm declares.
pub fn router_events(tables: &Tables) -> Vec<(u32, i64, u32, Vec<u64>)> {
    let e = &tables.router_events;
    let mut rows: Vec<(u32, i64, u32, Vec<u64>)> = Vec::new();
    for i in 0..e.time_ns.len() {
        if e.name[i] == 0 {
            rows.push((e.link[i], e.time_ns[i], e.flow[i], vec![]));
        }
        rows.last_mut().expect("a row").3.push(e.value[i]);
    }
    rows
}

/// The values of a counter of the only router in a trace.
pub fn router_counter(tables: &Tables, name: &str) -> Vec<u64> {
    let declared = &headway_algorithms::router("quick-start").unwrap().counters;
    let at = declared.iter().position(|c| c.name == name).unwrap() as u8;
    let c = &tables.router_counters;
    let rows = (0..c.time_ns.len()).filter(|&i| c.name[i] == at);
    rows.map(|i| c.value[i]).collect()
}

/// The text of a scenario whose topology may be written as a dumbbell or a chain, in the form that
/// experiments have: `forward` and `reverse`, or `hops` with such pairs. Flows then have `from_hop`
/// and `to_hop`, and a relay has `at_hop`.
pub fn text(scenario: &Value) -> String {
    let mut scenario = scenario.clone();
    let Some(topology) = scenario["topology"].as_object_mut() else {
        return scenario.to_string();
    };
    let hops = match topology.remove("kind").as_ref().and_then(Value::as_str) {
        Some("chain") => topology["hops"].as_array().expect("hops").clone(),
        Some("dumbbell") => vec![json!(topology)],
        _ => return scenario.to_string(),
    };
    let mut links = vec![];
    for (number, hop) in hops.iter().enumerate() {
        for way in ["forward", "reverse"] {
            let mut link = hop[way].clone();
            link["name"] = json!(format!("{way}{number}"));
            links.push(link);
        }
    }
    topology.retain(|name, _| name.starts_with("access"));
    topology.insert("links".into(), json!(links));
    for flow in scenario["flows"].as_array_mut().into_iter().flatten() {
        set_routes(flow, hops.len() as u64);
    }
    scenario.to_string()
}

/// Replaces the hops between which a flow crosses a chain, and its relay's hop, by routes.
fn set_routes(flow: &mut Value, hops: u64) {
    let flow = flow.as_object_mut().expect("a flow");
    let mut take = |name: &str| flow.remove(name).and_then(|hop| hop.as_u64());
    let from = take("from_hop").unwrap_or(0);
    let mut to = take("to_hop").unwrap_or(hops);
    let set = |place: &mut Map<String, Value>, from: u64, to: u64| {
        let there: Vec<u64> = (from..to).map(|hop| 2 * hop).collect();
        let back: Vec<u64> = (from..to).rev().map(|hop| 2 * hop + 1).collect();
        place.insert("route".into(), json!(there));
        place.insert("reverse_route".into(), json!(back));
    };
    if let Some(relay) = flow.get_mut("relay").and_then(Value::as_object_mut) {
        if let Some(at) = relay.remove("at_hop").and_then(|hop| hop.as_u64()) {
            set(relay, at, to);
            to = at;
        }
    }
    set(flow, from, to);
}

/// Builds and runs a scenario, as for [`text`].
pub fn run(scenario: &Value) -> Outcome {
    headway_sim::run(&text(scenario)).unwrap_or_else(|e| panic!("{e}\n{scenario:#}"))
}

/// Builds the simulation of a scenario, for tests that run it step by step.
pub fn world(scenario: &Value) -> World {
    let parsed = Scenario::from_json(&text(scenario));
    let world = parsed.and_then(|s| World::new(&s));
    world.unwrap_or_else(|e| panic!("{e}\n{scenario:#}"))
}

/// A link whose queue has room for all packets of a test.
pub fn wide_link(rate_bps: u64, delay_ns: u64) -> Value {
    json!({"rate_bps": rate_bps, "delay_ns": delay_ns, "limit_pkts": 1_000_000})
}

/// A dumbbell with `flows`, captured on the senders' side of the bottleneck.
pub fn dumbbell(stack: &str, duration_ns: u64, link: &Value, flows: Value) -> Value {
    json!({
        "duration_ns": duration_ns,
        "stack": stack,
        "topology": {"kind": "dumbbell", "forward": link, "reverse": link},
        "flows": flows,
        "capture": {"link": "bottleneck"}
    })
}

/// A bulk flow that starts at time 0.
pub fn bulk(control: &str, bytes: Option<u64>) -> Value {
    json!({"name": control, "app": {"kind": "bulk", "bytes": bytes}, "control": {"name": control}})
}

/// Calls `take` for every TCP segment of a capture.
fn each_segment(capture: &[u8], mut take: impl FnMut(u64, &Ipv4View, &TcpView)) {
    for block in Reader::new(capture) {
        let Block::Packet(packet) = block.expect("the file is well formed") else {
            continue;
        };
        let ip = Ipv4View::parse(packet.bytes).expect("an IPv4 packet");
        if ip.protocol() == 6 {
            let tcp = TcpView::parse(ip.payload()).expect("a TCP segment");
            take(packet.time_ns, &ip, &tcp);
        }
    }
}

/// Every TCP segment of a capture that no link has damaged, in order. For each segment this checks
/// both checksums, and that the payload has the stream's bytes for its offset.
pub fn segments(capture: &[u8]) -> Vec<CapturedSegment> {
    let mut initial = HashMap::new();
    each_segment(capture, |_, ip, tcp| {
        if tcp.flags().contains(TcpFlags::SYN) {
            initial.insert(direction(ip, tcp), tcp.sequence());
        }
    });
    let mut seen = Vec::new();
    each_segment(capture, |time_ns, ip, tcp| {
        ip.verify_checksum().expect("the IPv4 checksum");
        if tcp.verify_checksum(ip.source(), ip.destination()).is_err() {
            return check_damaged(ip);
        }
        let (flow, outbound) = direction(ip, tcp);
        let Some(own) = initial.get(&(flow, outbound)) else {
            return;
        };
        let peer = initial.get(&(flow, !outbound)).copied().unwrap_or(0);
        // No test sends 4 GiB, so the offsets do not wrap.
        let seq = u64::from(tcp.sequence().wrapping_sub(*own));
        let ack = u64::from(tcp.acknowledgement().wrapping_sub(peer));
        if !tcp.payload().is_empty() {
            let stream = u64::from(flow) * 2 + u64::from(!outbound);
            headway_wire::payload::check(stream, seq - 1, tcp.payload()).expect("the bytes sent");
        }
        let sack = tcp.option::<Sack>().expect("a well formed SACK option");
        let blocks = sack.as_ref().map_or(&[][..], |s| s.blocks());
        let offset = |b: &SackBlock| {
            let relative = |n: u32| u64::from(n.wrapping_sub(peer));
            (relative(b.left), relative(b.right))
        };
        seen.push(CapturedSegment {
            time_ns,
            flow,
            outbound,
            seq,
            ack,
            len: tcp.payload().len() as u32,
            ip_bytes: u32::from(ip.total_len_bytes()),
            window: tcp.window(),
            scale: tcp
                .option::<WindowScale>()
                .expect("a well formed window scale")
                .map(|option| option.shift),
            flags: tcp.flags(),
            ecn: ip.ecn() as u8,
            sack: blocks.iter().map(offset).collect(),
        });
    });
    seen
}

/// Checks that nothing but the last bit of a packet is wrong.
fn check_damaged(ip: &Ipv4View) {
    let mut bytes = ip.payload().to_vec();
    *bytes.last_mut().expect("a segment") ^= 1;
    let repaired = TcpView::parse(&bytes).expect("a TCP segment");
    repaired
        .verify_checksum(ip.source(), ip.destination())
        .expect("the TCP checksum, with the last bit flipped");
}

fn direction(ip: &Ipv4View, tcp: &TcpView) -> (u32, bool) {
    let [_, a, b, _] = ip.source().octets();
    (
        u32::from(a) << 8 | u32::from(b),
        tcp.destination_port() == SERVER_PORT,
    )
}

/// The ranges of a stream that have arrived, as a receiver tracks them.
#[derive(Clone, Debug, Default)]
pub struct Reassembly {
    /// Number of bytes that arrived without a gap from offset 0.
    pub in_order: u64,
    /// Ranges of bytes above the first gap, by their start; they are not adjacent.
    beyond: BTreeMap<u64, u64>,
}

impl Reassembly {
    pub fn add(&mut self, (mut from, mut to): (u64, u64)) {
        let touching: Vec<_> = self
            .beyond
            .range(..=to)
            .filter(|r| *r.1 >= from)
            .map(|(&a, &b)| (a, b))
            .collect();
        for (a, b) in touching {
            self.beyond.remove(&a);
            (from, to) = (from.min(a), to.max(b));
        }
        if from <= self.in_order {
            self.in_order = self.in_order.max(to);
        } else {
            self.beyond.insert(from, to);
        }
    }

    /// Whether all bytes of this range have arrived.
    pub fn has(&self, (from, to): (u64, u64)) -> bool {
        let run = self.beyond.range(..=from).next_back();
        to <= self.in_order || run.is_some_and(|r| *r.1 >= to)
    }
}

/// Tries seeds until the forward link loses `n_lost` packets and `wanted` accepts the outcome. With
/// this function a test loses exactly the packets that it needs.
pub fn find(scenario: &Value, n_lost: usize, mut wanted: impl FnMut(&Trace) -> bool) -> Trace {
    let mut scenario = scenario.clone();
    let mut quick = scenario.clone();
    quick["capture"] = Value::Null;
    quick["record"] = json!({"flows": false, "queue": false});
    for seed in 0..100_000 {
        quick["seed"] = json!(seed);
        let links = run(&quick).tables.drops.link;
        if links.iter().filter(|&&link| link == 0).count() != n_lost {
            continue;
        }
        scenario["seed"] = json!(seed);
        let trace = Trace::of(&scenario);
        if wanted(&trace) {
            return trace;
        }
    }
    panic!("no seed loses the packets that the test needs\n{scenario:#}");
}

/// The outcome of a run and the segments of its capture.
pub struct Trace {
    pub outcome: Outcome,
    pub segments: Vec<CapturedSegment>,
    /// Segments that the forward link (number 0) dropped.
    pub lost: Vec<CapturedSegment>,
}

impl Trace {
    pub fn of(scenario: &Value) -> Trace {
        let outcome = run(scenario);
        let segments = segments(outcome.capture.as_deref().expect("a capture"));
        let drops = &outcome.tables.drops;
        let times: Vec<_> = (0..drops.link.len())
            .filter(|&row| drops.link[row] == 0)
            .map(|row| drops.time_ns[row] as u64)
            .collect();
        // Packets of different hosts reach the link one after the other, so the time of a drop
        // identifies the packet.
        let is_lost = |s: &&CapturedSegment| s.outbound && times.contains(&s.time_ns);
        let lost = segments.iter().filter(is_lost).cloned().collect();
        Trace {
            outcome,
            segments,
            lost,
        }
    }

    /// Segments with data from the opener, in the order of transmission.
    pub fn data(&self) -> Vec<&CapturedSegment> {
        let data = self.segments.iter().filter(|s| s.outbound && s.len > 0);
        data.collect()
    }

    /// All transmissions of the data at `seq`.
    pub fn copies(&self, seq: u64) -> Vec<&CapturedSegment> {
        let data = self.data().into_iter();
        data.filter(|s| s.seq <= seq && seq < s.seq + u64::from(s.len))
            .collect()
    }

    /// Acknowledgements that were sent to the opener.
    pub fn acks(&self) -> Vec<&CapturedSegment> {
        let back = self.segments.iter().filter(|s| !s.outbound);
        back.filter(|s| !s.has(TcpFlags::SYN)).collect()
    }

    /// The window scale in the SYN-ACK to the opener; None if it has none.
    pub fn window_scale(&self) -> Option<u8> {
        let syn = |s: &&CapturedSegment| !s.outbound && s.has(TcpFlags::SYN);
        self.segments.iter().find(syn).expect("a SYN-ACK").scale
    }

    /// Number of retransmission timeouts and number of retransmissions of flow 0.
    pub fn repairs(&self) -> (u64, u64) {
        let counters = &self.outcome.tables.flow_counters;
        (counters.rtos[0], counters.retransmits_pkts[0])
    }

    /// cwnd of flow 0 at a time.
    pub fn cwnd_at(&self, time_ns: u64) -> u32 {
        let states = &self.outcome.tables.flow_state;
        let after = states.time_ns.partition_point(|&t| t as u64 <= time_ns);
        states.cwnd_pkts[after - 1]
    }

    /// Rows of the table of backoffs: time, kind, cwnd before the backoff, ssthresh after it.
    pub fn backoffs(&self) -> Vec<(u64, u8, u32, u32)> {
        let b = &self.outcome.tables.backoffs;
        (0..b.flow.len())
            .map(|i| {
                (
                    b.time_ns[i] as u64,
                    b.kind[i],
                    b.cwnd_pkts[i],
                    b.ssthresh_pkts[i],
                )
            })
            .collect()
    }
}

/// Whether a timer of linux-6 with this timeout can fire after `took_ns`. Timers fire at ticks of 4
/// ms (HZ 250). A short timer fires at the first tick after its timeout, a longer timer at the
/// first eighth or 64th tick after it (calc_index).
pub fn on_the_wheel(took_ns: u64, timeout_ns: u64) -> bool {
    let grain_ticks = match timeout_ns / MS {
        0..252 => 1,
        252..2_016 => 8,
        _ => 64,
    };
    (timeout_ns..=timeout_ns + 4 * MS * (grain_ticks + 1)).contains(&took_ns)
}
