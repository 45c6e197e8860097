//! Sub-queues: Deficit Round Robin shares a link among the flows that use it.

use crate::common::{bulk, world, MS, SECOND};
use headway_sim::Outcome;
use serde_json::{json, Value};

/// One sender of datagrams at 20 Mbit/s and two downloads, which share a link of 10 Mbit/s for 20
/// s.
fn shared(aqm: &str, limits: Value, datagram_bytes: u32) -> Outcome {
    let mut link = json!({"rate_bps": 10_000_000, "delay_ns": 10 * MS, "aqm": {"name": aqm}});
    link.as_object_mut()
        .expect("an object")
        .extend(limits.as_object().expect("an object").clone());
    let interval_ns = u64::from(datagram_bytes) * 8 * 50;
    let scenario = json!({
        "duration_ns": 20 * SECOND,
        "topology": {"kind": "dumbbell", "forward": link, "reverse": {"rate_bps": 1_000_000_000}},
        "flows": [
            bulk("reno", None),
            bulk("cubic", None),
            {
                "name": "cbr",
                "app": {"kind": "cbr", "ip_bytes": datagram_bytes, "interval_ns": interval_ns}
            }
        ]
    });
    let mut world = world(&scenario);
    while world.step() {
        world.check_invariants().expect("they hold");
    }
    world.finish()
}

/// The fraction of the link's rate that each of the three flows got.
fn parts(outcome: &Outcome, datagram_bytes: u64) -> [f64; 3] {
    let of = |bytes: u64| bytes as f64 * 8.0 / (10e6 * 20.0);
    let udp = &outcome.tables.udp;
    let arrived = udp.owd_ns.iter().filter(|&&owd_ns| owd_ns >= 0).count() as u64;
    let unique = |flow: usize| outcome.summary.flows[flow].unique_bytes;
    [of(unique(0)), of(unique(1)), of(arrived * datagram_bytes)]
}

#[test]
fn three_saturating_flows_get_a_third_each_at_any_packet_size() {
    for limits in [json!({"limit_bytes": 120_000}), json!({"limit_pkts": 80})] {
        for datagram_bytes in [1500, 300] {
            let outcome = shared("drr", limits.clone(), datagram_bytes);
            let parts = parts(&outcome, u64::from(datagram_bytes));
            assert!(
                parts.iter().all(|part| (0.29..0.36).contains(part)),
                "{parts:?}"
            );
        }
    }
}

#[test]
fn without_sub_queues_an_unresponsive_flow_gets_nearly_the_whole_link() {
    let outcome = shared("drop-tail", json!({"limit_bytes": 120_000}), 1500);
    let parts = parts(&outcome, 1500);
    assert!(parts[2] > 0.8 && parts[0] + parts[1] < 0.2, "{parts:?}");
}
