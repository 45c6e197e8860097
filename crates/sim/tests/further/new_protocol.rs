//! A protocol of three new files (tests/protocol: header, router, control) runs in the simulator
//! when its folder is named at build time.

use crate::common::{dumbbell, run, segments, MS, SECOND};
use headway_wire::pcapng::{Block, Reader};
use headway_wire::{Ipv4View, TcpView};
use serde_json::{json, Value};

const HEADER: &str = "explicit-rate";

fn scenario(rate_kbps: u32, tunables: &Value) -> Value {
    let mut link = json!({"rate_bps": 20_000_000, "delay_ns": 25 * MS, "limit_bytes": 200_000});
    link["routers"] = json!([{"name": HEADER, "tunables": tunables}]);
    link["routers"][0]["tunables"]["rate_kbps"] = json!(rate_kbps);
    let flow = json!({"name": "f", "app": {"kind": "bulk"}, "control": {"name": "explicit"}});
    let mut scenario = dumbbell("linux-6", 20 * SECOND, &link, json!([flow]));
    let every: Vec<u64> = (1..20).map(|s| s * SECOND).collect();
    scenario["checkpoints_ns"] = json!(every);
    scenario
}

/// IP bits per second that pass the link between two checkpoints.
fn rate_bps(outcome: &headway_sim::Outcome, from_s: i64, to_s: i64) -> f64 {
    let c = &outcome.tables.link_counters;
    let at = |s: i64| {
        let row =
            (0..c.time_ns.len()).find(|&i| c.link[i] == 0 && c.time_ns[i] == s * 1_000_000_000);
        c.sent_bytes[row.expect("a checkpoint")] as f64
    };
    (at(to_s) - at(from_s)) * 8.0 / (to_s - from_s) as f64
}

#[test]
#[ignore = "runs in the binary that main.rs builds"]
fn the_sender_follows_the_rate_that_the_router_writes() {
    for rate_kbps in [500, 3000, 12_000] {
        let outcome = run(&scenario(rate_kbps, &json!({})));
        let got = rate_bps(&outcome, 2, 20);
        let written = f64::from(rate_kbps) * 1000.0;
        assert!((got / written - 1.0).abs() < 0.01, "{got} of {written}");
        assert_eq!(outcome.tables.drops.time_ns.len(), 0);
    }
}

#[test]
#[ignore = "runs in the binary that main.rs builds"]
fn the_sender_follows_a_changing_rate_and_the_router_reports_it() {
    let later = json!({"later_rate_kbps": 2000, "later_ms": 10_000});
    let outcome = run(&scenario(8000, &later));
    assert!((rate_bps(&outcome, 2, 10) / 8e6 - 1.0).abs() < 0.01);
    assert!((rate_bps(&outcome, 11, 20) / 2e6 - 1.0).abs() < 0.01);
    let told = &outcome.tables.router_events;
    assert_eq!(told.link, [0, 1]);
    assert_eq!(told.value, [2_000_000; 2]);
    assert_eq!(told.time_ns, [10 * SECOND as i64; 2]);
    assert_eq!(told.flow, [u32::MAX; 2], "events without a packet");
    let info = &outcome.summary.routers[usize::from(told.algorithm[0])];
    assert_eq!(info.name, HEADER);
    assert_eq!(info.events[usize::from(told.name[0])].name, "allowed_bps");
    let counted = &outcome.tables.router_counters;
    let last = |name: &str| {
        let at = info.counters.iter().position(|c| c.name == name).unwrap();
        let is_it = |&i: &usize| counted.link[i] == 0 && usize::from(counted.name[i]) == at;
        let row = (0..counted.name.len()).rfind(is_it);
        counted.value[row.expect("a counter")]
    };
    assert_eq!(last("allowed_bps"), 2_000_000);
    assert!(last("headers") > 5000 && last("lowered") == last("headers"));
}

#[test]
#[ignore = "runs in the binary that main.rs builds"]
fn a_router_at_the_dequeue_side_sees_packets_leave() {
    let mut scenario = scenario(12_000, &json!({}));
    let behind = json!({"name": "departures", "tunables": {"rate_kbps": 3000}});
    let routers = scenario["topology"]["forward"]["routers"].as_array_mut();
    routers.expect("a list").push(behind);
    let outcome = run(&scenario);
    let got = rate_bps(&outcome, 2, 20);
    assert!((got / 3e6 - 1.0).abs() < 0.01, "{got}");
    let at = |name| {
        let all = &outcome.summary.routers;
        all.iter().position(|r| r.name == name).unwrap()
    };
    let counted = &outcome.tables.router_counters;
    let last: Vec<u64> = (0..counted.name.len())
        .filter(|&i| usize::from(counted.algorithm[i]) == at("departures"))
        .filter(|&i| counted.time_ns[i] == 20 * SECOND as i64)
        .map(|i| counted.value[i])
        .collect();
    let [arrived, departed, _] = last[..] else {
        panic!("{last:?}");
    };
    assert!(departed > 4000 && arrived - departed <= 1, "{last:?}");
    // datagrams without a request fill the link, so that a queue builds up
    let mut full = scenario.clone();
    full["flows"] = json!([{"name": "u", "app":
        {"kind": "cbr", "ip_bytes": 1000, "interval_ns": 200_000}}]);
    let outcome = run(&full);
    let (counted, links) = (
        &outcome.tables.router_counters,
        &outcome.tables.link_counters,
    );
    let value = |name: u8| {
        let is_it = |&i: &usize| {
            usize::from(counted.algorithm[i]) == at("departures") && counted.name[i] == name
        };
        let row = (0..counted.name.len()).rfind(is_it);
        counted.value[row.expect("a counter")]
    };
    let end = (0..links.time_ns.len())
        .rfind(|&i| links.link[i] == 0)
        .unwrap();
    assert_eq!(value(0), links.arrived_pkts[end]);
    // the router's counter includes the packet in transmission
    assert_eq!(value(1), links.sent_pkts[end] + 1);
    assert_eq!(
        value(2),
        198,
        "200,000 bytes, minus the packet that leaves and the next to arrive"
    );
}

#[test]
#[ignore = "runs in the binary that main.rs builds"]
fn its_option_is_encoded_on_the_wire_by_its_codec() {
    let mut scenario = scenario(3000, &json!({}));
    scenario["duration_ns"] = json!(2 * SECOND);
    scenario["checkpoints_ns"] = json!([]);
    scenario["capture"] = json!({"link": "bottleneck"});
    let outcome = run(&scenario);
    let capture = outcome.capture.as_deref().expect("a capture");
    let info = headway_algorithms::header::header(HEADER).unwrap();
    let (mut asking, mut answering) = (0, 0);
    for block in Reader::new(capture) {
        let Block::Packet(packet) = block.expect("a well formed file") else {
            continue;
        };
        let ip = Ipv4View::parse(packet.bytes).expect("an IPv4 packet");
        let tcp = TcpView::parse(ip.payload()).expect("a TCP segment");
        for option in tcp.options() {
            let option = option.expect("a well formed option");
            if option.kind != info.kind {
                continue;
            }
            let length = option.data.len() as u8 + 2;
            let bytes = [&[option.kind, length], option.data].concat();
            let fields = info.parse(&bytes).expect("the option");
            assert_eq!(info.emit(&fields), bytes);
            let get = |name| info.field(&fields, name).expect("a field");
            if ip.source() == std::net::Ipv4Addr::new(10, 0, 0, 1) {
                // the capture has this packet before the router changed its header
                assert_eq!((get("rate_Bps"), get("returned_Bps")), (u32::MAX.into(), 0));
                asking += 1;
            } else {
                assert_eq!((get("rate_Bps"), get("returned_Bps")), (0, 375_000));
                answering += 1;
            }
        }
    }
    assert!(asking > 300 && answering > 100, "{asking} {answering}");
    assert!(!segments(capture).is_empty());
}
