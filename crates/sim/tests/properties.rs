//! Properties of every scenario: the delivered bytes are the sent bytes, in order; packets are
//! conserved; cwnd is at least 1; nothing stalls.
//!
//! `PROPTEST_CASES` sets the number of cases; the default keeps a debug build
//! under 20 seconds.

use crate::cases::cases;
use crate::common::{segments, text, Reassembly, MS, SECOND};
use headway_algorithms::{choices, controls, queues, startups};
use headway_sim::net::link::Drop;
use headway_sim::{Scenario, World};
use headway_wire::TcpFlags;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{json, Value};
use std::collections::HashMap;

/// Longest duration of a run. Any transfer of these tests completes within it. At 30 % loss in each
/// direction, the probability that a segment needs two dozen timeouts, of at most two minutes each,
/// is one in a billion.
const DURATION_NS: u64 = 2_000_000 * SECOND;
/// If a run has more events than this, it counts as endless.
const MAX_STEPS: u64 = 3_000_000;

fn chance(most: f64) -> impl Strategy<Value = f64> {
    prop_oneof![2 => Just(0.0), 1 => 0.0..=most]
}

/// A link whose queue has room for at least one full packet, so that every transfer can complete.
fn queue() -> impl Strategy<Value = Value> {
    let names: Vec<_> = queues().iter().map(|queue| queue.name).collect();
    prop_oneof![
        3 => (1500u32..100_000, any::<bool>()).prop_map(|(bytes, overshoot)| json!({
            "limit_bytes": bytes,
            "aqm": {"name": "drop-tail", "tunables": {"overshoot": u32::from(overshoot)}}
        })),
        3 => (1u32..200).prop_map(|pkts| json!({"limit_pkts": pkts})),
        2 => (2u32..20, 2u32..40, 1u32..=1000, any::<bool>()).prop_map(|(low, more, max_p, ecn)| json!({
            "limit_pkts": 2 * (low + more),
            "aqm": {"name": "red", "tunables": {"min_th_pkts": low, "max_th_pkts": low + more,
                "max_p_permille": max_p, "weight_shift": 4, "ecn": u32::from(ecn)}}
        })),
        4 => (1u32..200, select(names)).prop_map(|(pkts, name)| {
            let tunables = match name {
                "step" => json!({"threshold_pkts": pkts / 2, "others": 1}),
                _ => json!({}),
            };
            json!({"limit_pkts": pkts, "aqm": {"name": name, "tunables": tunables}})
        }),
    ]
}

fn link() -> impl Strategy<Value = Value> {
    (
        select(vec![64_000u64, 1_000_000, 3_333_333, 100_000_000]),
        0..100 * MS,
        queue(),
        chance(0.3),
        chance(0.3),
        (chance(0.5), 0..150 * MS, faults()),
        (
            router(),
            prop::bool::weighted(0.1),
            effects(),
            proptest::option::weighted(0.1, (1..3 * SECOND, effects())),
        ),
    )
        .prop_map(
            |(
                rate,
                delay,
                mut queue,
                loss,
                duplicate,
                (reorder, late, faults),
                (router, strict, effects, changed),
            )| {
                let link = queue.as_object_mut().expect("an object");
                link.extend(faults.as_object().expect("an object").clone());
                link.extend(effects.as_object().expect("an object").clone());
                link.insert("rate_bps".into(), json!(rate));
                link.insert("delay_ns".into(), json!(delay));
                link.insert("loss".into(), json!(loss));
                link.insert("duplicate".into(), json!(duplicate));
                link.insert("reorder".into(), json!(reorder));
                link.insert("reorder_delay_ns".into(), json!(late));
                link.insert("routers".into(), crate::common::answering(&router));
                link.insert("drop_ip_options".into(), json!(strict));
                if let Some((start_ns, other)) = changed {
                    let steps = changes(rate, delay, start_ns, &effects, &other);
                    link.insert("vary".into(), json!({"kind": "schedule", "steps": steps}));
                }
                queue
            },
        )
}

/// Effects of a link; most links have none. Buckets have room for full packets, and half of the
/// packets at least get through, so that every transfer can complete.
fn effects() -> impl Strategy<Value = Value> {
    let jitter =
        (1..100 * MS, 0.0..0.9, any::<bool>()).prop_map(|(spread, correlation, reorder)| {
            json!({"jitter": {"spread_ns": spread, "distribution": "normal",
            "correlation": correlation, "reorder": reorder}})
        });
    let burst = (0.001..0.1, 0.3..=1.0).prop_map(
        |(to_bad, to_good)| json!({"burst_loss": {"to_bad": to_bad, "to_good": to_good}}),
    );
    let bucket = (
        select(vec!["policer", "shaper"]),
        20_000u64..64_000,
        4500u32..20_000,
    )
        .prop_map(|(name, rate, burst)| json!({name: {"rate_bps": rate, "burst_bytes": burst}}));
    let frames = (MS..50 * MS, 1u32..20).prop_map(
        |(interval, packets)| json!({"aggregation": {"interval_ns": interval, "packets": packets}}),
    );
    prop_oneof![6 => Just(json!({})), 1 => jitter, 1 => burst, 1 => bucket, 1 => frames]
}

/// Faults of a link, which do not change during a run; most links have none.
fn faults() -> impl Strategy<Value = Value> {
    let thinning = prop_oneof![
        Just(json!({"filter": true})),
        (2u32..9, 1..20 * MS).prop_map(|(acks, interval)| json!({"keep_one_of": acks,
            "interval_ns": interval})),
    ];
    let thinning = thinning.prop_map(|thinning| json!({"ack_thinning": thinning}));
    let corruption = (1e-7..1e-5).prop_map(|bit| json!({"corruption": {"bit": bit}}));
    let mtu = (576u32..1500).prop_map(|bytes| json!({"mtu": {"size_bytes": bytes}}));
    prop_oneof![6 => Just(json!({})), 2 => thinning, 1 => corruption, 1 => mtu]
}

/// Steps at which a link that has `effects` has others instead, and later its own again.
fn changes(rate: u64, delay: u64, start_ns: u64, effects: &Value, other: &Value) -> Value {
    let mut there = other.as_object().expect("an object").clone();
    let mut back = effects.as_object().expect("an object").clone();
    for name in effects.as_object().into_iter().flat_map(|e| e.keys()) {
        there.entry(name.clone()).or_insert(json!("off"));
    }
    for name in other.as_object().into_iter().flat_map(|e| e.keys()) {
        back.entry(name.clone()).or_insert(json!("off"));
    }
    json!([
        [0, rate, delay],
        [start_ns, rate, delay, there],
        [2 * start_ns, rate, delay, back]
    ])
}

/// Routers of a link: none, or one that answers Quick-Start requests, with any tunables.
fn router() -> impl Strategy<Value = Value> {
    let tunables = (0..5u32, 0..3u32, 0..500u32, 0..=16u32, 0..=1000u32, 0..2u32);
    prop_oneof![
        1 => Just(Value::Null),
        2 => tunables.prop_map(|(algorithm, estimator, interval, slots, threshold, track)| {
            json!({"algorithm": algorithm, "estimator": estimator, "interval_ms": interval,
                "slots": slots, "threshold_permille": threshold, "track": track})
        }),
    ]
}

fn hop() -> impl Strategy<Value = Value> {
    (link(), link()).prop_map(|(forward, reverse)| json!({"forward": forward, "reverse": reverse}))
}

fn topology() -> impl Strategy<Value = (Value, u32)> {
    let access = (select(vec![10_000_000u64, 1_000_000_000]), 0..20 * MS);
    prop_oneof![
        2 => (hop(), access.clone()).prop_map(|(mut hop, (rate, delay))| {
            let dumbbell = hop.as_object_mut().expect("an object");
            dumbbell.insert("kind".into(), json!("dumbbell"));
            dumbbell.insert("access_rate_bps".into(), json!(rate));
            dumbbell.insert("access_delay_ns".into(), json!(delay));
            (hop, 1)
        }),
        1 => (vec(hop(), 1..=3), access).prop_map(|(hops, (rate, delay))| {
            let n = hops.len() as u32;
            (json!({"kind": "chain", "hops": hops, "access_rate_bps": rate,
                "access_delay_ns": delay}), n)
        }),
    ]
}

fn app() -> impl Strategy<Value = Value> {
    // A request or a response may be empty. Without a request the server sends at once; without a
    // response it sends nothing.
    let size = || prop_oneof![1 => Just(0u64), 3 => 1u64..3000, 3 => 1u64..60_000];
    prop_oneof![
        3 => prop_oneof![1u64..3000, 1u64..200_000]
            .prop_map(|bytes| json!({"kind": "bulk", "bytes": bytes})),
        2 => vec((size(), size(), 0..2 * SECOND), 1..6)
            .prop_map(|epochs| json!({"kind": "vectors", "epochs": epochs})),
        1 => (1u64..5000, 10 * MS..SECOND).prop_map(|(bytes, gap)| json!({
            "kind": "pingpong", "request_bytes": bytes, "mean_interval_ns": gap})),
    ]
}

fn paces(control: &Value) -> bool {
    let mut all = startups().iter();
    all.any(|s| s.paces && control["startup"] == s.name)
}

fn control() -> impl Strategy<Value = Value> {
    let pairs = choices().map(|(c, s)| (c.name, s.map(|s| s.name)));
    let alone = controls().iter().map(|c| (c.name, None));
    select(pairs.chain(alone).collect::<Vec<_>>())
        .prop_map(|(name, startup)| json!({"name": name, "startup": startup}))
}

/// What applications announce to startups, and how receivers answer Quick-Start requests.
fn hints() -> impl Strategy<Value = Value> {
    let some = proptest::option::of::<std::ops::Range<u64>>;
    (
        (some(80_000..50_000_000), some(1..1_000_000)),
        (some(2_920..8_000_000), some(0..100_000_000)),
        (any::<[bool; 5]>(), select(vec![0u8, 0, 1, 15])),
    )
        .prop_map(
            |(
                (rate, volume),
                (window, willing),
                ([extra_ack, announces, first, ignore, stabilize], lie),
            )| {
                json!({"initial_rate_bps": rate, "data_volume_bytes": volume,
                "initial_rwnd_bytes": window, "willing_rate_bps": willing,
                "extra_ack": extra_ack, "announces": announces, "announces_first": first,
                "inflates_codes": lie, "forges_nonce": lie == 15,
                "ignore_peer_window": ignore, "stabilize": stabilize})
            },
        )
}

fn flow(hops: u32) -> impl Strategy<Value = Value> {
    (
        app(),
        control(),
        any::<[bool; 4]>(),
        0..3 * SECOND,
        0..50 * MS,
        (0..hops).prop_flat_map(move |from| (Just(from), from + 1..=hops)),
        hints(),
    )
        .prop_map(
            |(
                app,
                control,
                [sack, timestamps, delayed_ack, nodelay],
                start_ns,
                extra,
                (from, to),
                mut hints,
            )| {
                // Messages that are sent without end must be stopped at some time.
                let stop_ns = (app["kind"] == "pingpong").then_some(start_ns + 5 * SECOND);
                let hinted = hints.as_object_mut().expect("an object");
                let ignores = hinted.remove("ignore_peer_window") == Some(json!(true));
                let mut control = control;
                if ignores && paces(&control) && control["startup"] != "careful-resume" {
                    control["tunables"] = json!({"ignore_peer_window": 1});
                }
                let mut flow = json!({"name": "tcp", "app": app, "control": control, "sack": sack,
                "timestamps": timestamps, "delayed_ack": delayed_ack, "nodelay": nodelay,
                "start_ns": start_ns, "stop_ns": stop_ns, "extra_delay_ns": extra,
                "from_hop": from, "to_hop": to});
                flow.as_object_mut().expect("an object").append(hinted);
                flow
            },
        )
}

fn voice() -> impl Strategy<Value = Option<Value>> {
    let cbr = (29u32..1500, 5 * MS..50 * MS).prop_map(|(bytes, gap)| {
        json!({"name": "voice", "app": {"kind": "cbr", "ip_bytes": bytes, "interval_ns": gap},
            "stop_ns": 4 * SECOND})
    });
    proptest::option::weighted(0.3, cbr)
}

/// A scenario that is printed as JSON if a test fails, so that it can be run again.
#[derive(Clone)]
struct Case(Value);

impl std::fmt::Debug for Case {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.0)
    }
}

fn scenario(most_flows: usize) -> impl Strategy<Value = Case> {
    topology().prop_flat_map(move |(topology, hops)| {
        (
            Just(topology),
            vec(flow(hops), 1..=most_flows),
            voice(),
            select(vec!["linux-2.6", "linux-6"]),
            any::<u16>(),
        )
            .prop_map(move |(topology, mut flows, voice, stack, seed)| {
                flows.extend(voice);
                Case(
                    json!({"seed": seed, "duration_ns": DURATION_NS, "stack": stack,
                    "topology": topology, "flows": flows}),
                )
            })
    })
}

fn build(scenario: &Value) -> World {
    let parsed = Scenario::from_json(&text(scenario));
    parsed
        .and_then(|s| World::new(&s))
        .expect("a valid scenario")
}

/// Processes all events of a run, and checks the invariants meanwhile.
fn run_dry(world: &mut World, every: u64) -> Result<(), TestCaseError> {
    while world.step() {
        if world.events() % every == 0 {
            world.check_invariants().map_err(TestCaseError::fail)?;
        }
        prop_assert!(world.events() < MAX_STEPS, "the run does not end");
    }
    world.check_invariants().map_err(TestCaseError::fail)?;
    // Every timer has been handled, and every packet has arrived or was dropped, long before the
    // scenario's end.
    prop_assert_eq!(world.net.packets_inside(), 0);
    prop_assert!(
        world.net.now_ns < DURATION_NS / 2,
        "it took {} ns",
        world.net.now_ns
    );
    Ok(())
}

/// Number of bytes that flow `flow` writes in the recorded direction, and number of its requests;
/// None if they are not known in advance.
fn written(flow: &Value) -> Option<(u64, u64)> {
    let app = &flow["app"];
    match app["kind"].as_str() {
        Some("bulk") => Some((app["bytes"].as_u64()?, 0)),
        Some("vectors") => {
            let epochs = app["epochs"].as_array()?;
            let sum = |i: usize| epochs.iter().filter_map(|e| e[i].as_u64()).sum::<u64>();
            Some((sum(0).max(sum(1)), epochs.len() as u64))
        }
        _ => None,
    }
}

/// The largest window that the control's law allows after `acked_pkts` packets were acknowledged,
/// on a path whose smoothed RTT was at most `longest_us`.
fn window_most_pkts(control: &Value, acked_pkts: u64, longest_us: u64) -> u64 {
    let per_acked = match control["name"].as_str() {
        // VCP and MPCP grow by at most 25 + r packets at a window of one, for an RTT of r times 100
        // ms.
        Some("vcp" | "mpcp") => 25 + longest_us / 100_000,
        // Illinois' alpha is at most 10 packets per window, even at a window of one.
        Some("illinois") => 10,
        // FAST grows by at most gamma alpha = 10 packets per round, which may be a single ACK.
        Some("fast") => 10,
        // Westwood's window is the delivery rate, measured over 50 ms, times the smallest RTT,
        // which Westwood measures anew after a timeout.
        Some("westwood") => 1 + longest_us / 50_000,
        // All other controls grow no faster than slow start.
        _ => 1,
    };
    // Hybla's first window is its RTT divided by 25 ms. It grows by up to 2^16 - 1 per ACK, up to
    // 65,535 packets.
    let hybla = control["name"] == "hybla" || control["startup"] == "hybla";
    10 + acked_pkts * per_acked + if hybla { 65_535 } else { 0 }
}

fn check_outcome(scenario: &Value, world: World) -> Result<(), TestCaseError> {
    let flows = scenario["flows"].as_array().expect("flows");
    for (i, flow) in flows.iter().enumerate() {
        if flow["app"]["kind"] != "cbr" {
            let (delivered, sent) = world.delivered(i);
            prop_assert_eq!(delivered, sent, "flow {}", i);
        }
    }
    let outcome = world.finish();
    let tables = &outcome.tables;
    let counters = &tables.flow_counters;
    for row in 0..counters.flow.len() {
        let number = counters.flow[row] as usize;
        let delivered = counters.delivered_bytes[row];
        prop_assert_eq!(delivered, counters.acked_bytes[row], "flow {}", number);
        if let Some((bytes, requests)) = written(&flows[number]) {
            prop_assert_eq!(delivered, bytes, "flow {}", number);
            let answered = tables
                .responses
                .flow
                .iter()
                .filter(|f| **f as usize == number);
            prop_assert_eq!(answered.count() as u64, requests, "flow {}", number);
        }
    }
    let srtts = tables
        .flow_state
        .srtt_us
        .iter()
        .filter(|us| **us != u32::MAX);
    let longest_us = u64::from(srtts.copied().max().unwrap_or(0));
    let links = &tables.link_counters;
    for row in 0..tables.flow_state.flow.len() {
        let flow = tables.flow_state.flow[row];
        let at = counters
            .flow
            .iter()
            .position(|f| *f == flow)
            .expect("counted");
        // A startup that paces may begin with one round trip at the requested rate. Quick-Start's
        // rate codes are powers of two, so this is at most twice the default request of 10 Mbit/s.
        let control = &flows[flow as usize]["control"];
        let asked = flows[flow as usize]["initial_rate_bps"].as_u64();
        let bytes_per_s = 2 * asked.unwrap_or(0).max(10_240_000) / 8;
        let paced = u64::from(paces(control)) * bytes_per_s * longest_us / 1_000_000 / 1500;
        // The FIN is acknowledged, too, and counts as a delivered packet.
        let mut acked_pkts = counters.sent_pkts[at] + 1;
        if flows[flow as usize]["sack"] == json!(false) {
            // Each duplicate ACK counts as a delivery (tcp_add_reno_sack), including those that the
            // network has duplicated.
            acked_pkts += links.sent_pkts.iter().sum::<u64>();
        }
        let most = paced + window_most_pkts(control, acked_pkts, longest_us);
        let cwnd = u64::from(tables.flow_state.cwnd_pkts[row]);
        prop_assert!(
            (1..=most).contains(&cwnd),
            "cwnd {cwnd} of flow {flow}, {most} at most"
        );
    }
    for row in 0..links.link.len() {
        let (sent, dropped) = (links.sent_pkts[row], links.dropped_pkts[row]);
        prop_assert_eq!(links.arrived_pkts[row], sent + dropped);
        let rows = tables.drops.link.iter().zip(&tables.drops.reason);
        // the link carried damaged packets
        let of_link = |(&link, &reason): &(&u32, &u8)| {
            link == links.link[row] && reason != Drop::Corrupt as u8
        };
        prop_assert_eq!(rows.filter(of_link).count() as u64, dropped);
    }
    for (link, _) in outcome.summary.links.iter().enumerate() {
        let queue = &tables.queue;
        let last = queue.link.iter().rposition(|l| *l as usize == link);
        if let Some(row) = last {
            prop_assert_eq!((queue.queue_bytes[row], queue.queue_pkts[row]), (0, 0));
        }
    }
    for flow in 0..flows.len() {
        let rows = tables
            .udp
            .flow
            .iter()
            .filter(|f| **f as usize == flow)
            .count() as u64;
        let sent = outcome.summary.flows[flow].datagrams;
        // A datagram that the network duplicates arrives twice.
        prop_assert!(rows >= sent, "{rows} fates of {sent} datagrams");
    }
    Ok(())
}

/// Where the capture of a test is taken, and which data passes there.
#[derive(Clone, Copy, Debug)]
enum Ear {
    /// Capture on the senders' side. It has data towards the openers as it leaves the last link,
    /// after all losses, and the acknowledgements of this data as they are sent.
    Bottleneck,
    /// Capture of everything that enters the last link of the forward direction.
    LastForward,
}

fn check_content(scenario: &Value, ear: Ear) -> Result<(), TestCaseError> {
    let hops = scenario["topology"]["hops"].as_array().map_or(1, Vec::len);
    let mut scenario = scenario.clone();
    let link = match ear {
        Ear::Bottleneck => "bottleneck".to_string(),
        Ear::LastForward => format!("forward{}", hops - 1),
    };
    scenario["capture"] = json!({"link": link});
    let mut world = build(&scenario);
    run_dry(&mut world, 1000)?;
    let flows = scenario["flows"].as_array().expect("flows").clone();
    let delivered: Vec<_> = (0..flows.len())
        .map(|i| (flows[i]["app"]["kind"] != "cbr").then(|| world.delivered(i).0))
        .collect();
    let outcome = world.finish();
    let mut streams: HashMap<(u32, bool), Reassembly> = HashMap::new();
    let mut ends = HashMap::new();
    // Reading the capture checks the checksums and every byte of payload.
    for segment in segments(&outcome.capture.expect("a capture")) {
        let own = streams.entry((segment.flow, segment.outbound)).or_default();
        if segment.len > 0 || segment.has(TcpFlags::FIN) {
            let (from, to) = segment.payload_range();
            // A FIN takes one sequence number after the data.
            let fin = u64::from(segment.has(TcpFlags::FIN));
            own.add((from, to + fin));
            if fin > 0 {
                ends.insert((segment.flow, segment.outbound), to);
            }
        }
        let inbound_data = matches!(ear, Ear::Bottleneck) && segment.outbound;
        if inbound_data && segment.has(TcpFlags::ACK) {
            let peer = streams.entry((segment.flow, false)).or_default();
            prop_assert!(
                segment.ack <= peer.in_order + 1,
                "flow {} acknowledges {} of {}",
                segment.flow,
                segment.ack,
                peer.in_order
            );
            for (left, right) in segment.sack {
                let block = (left - 1, right - 1);
                prop_assert!(peer.has(block), "{block:?} never arrived");
            }
        }
    }
    for (number, flow) in flows.iter().enumerate() {
        let at = |outbound: bool| {
            let key = (number as u32, outbound);
            let end = ends.get(&key).copied().unwrap_or(u64::MAX);
            streams.get(&key).map_or(0, |s| s.in_order.min(end))
        };
        let from_first = flow["from_hop"] == 0;
        let to_last = flow["to_hop"] == hops;
        match ear {
            Ear::LastForward if to_last => {
                let delivered = delivered[number].unwrap_or(0);
                prop_assert_eq!(at(true), delivered, "flow {}", number);
            }
            Ear::Bottleneck if from_first && flow["app"]["kind"] == "vectors" => {
                let epochs = flow["app"]["epochs"].as_array().expect("epochs");
                let answers: u64 = epochs.iter().filter_map(|e| e[1].as_u64()).sum();
                prop_assert_eq!(at(false), answers, "flow {}", number);
            }
            _ => {}
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(cases(1500))]

    #[test]
    fn written_bytes_are_delivered_and_packets_are_conserved(Case(scenario) in scenario(3)) {
        let mut world = build(&scenario);
        run_dry(&mut world, 97)?;
        check_outcome(&scenario, world)?;
    }
}

proptest! {
    #![proptest_config(cases(500))]

    #[test]
    fn every_step_preserves_the_invariants(Case(scenario) in scenario(2)) {
        let mut world = build(&scenario);
        run_dry(&mut world, 1)?;
        check_outcome(&scenario, world)?;
    }

    #[test]
    fn the_bytes_of_the_stream_arrive_in_order(
        Case(scenario) in scenario(2),
        ear in select(vec![Ear::Bottleneck, Ear::LastForward]),
    ) {
        check_content(&scenario, ear)?;
    }
}
