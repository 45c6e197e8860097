//! Applications that read slowly: the window closes, is probed, and reopens.

use crate::common::{dumbbell, run, text, wide_link, Trace, MS, SECOND};
use headway_sim::Scenario;
use serde_json::{json, Value};

const STACKS: [&str; 2] = ["linux-2.6", "linux-6"];

fn bulk(bytes: u64, fields: &Value) -> Value {
    let mut flow = json!({"name": "slow reader", "app": {"kind": "bulk", "bytes": bytes},
        "control": {"name": "reno"}});
    for (name, value) in fields.as_object().expect("fields") {
        flow[name] = value.clone();
    }
    flow
}

#[test]
fn a_reader_at_a_rate_sets_the_rate_of_its_flow() {
    let link = wide_link(100_000_000, 10 * MS);
    for stack in STACKS {
        for rate_bps in [200_000_u64, 2_000_000, 20_000_000] {
            let bytes = rate_bps; // of eight seconds
            let flow = bulk(bytes, &json!({"read_rate_bps": rate_bps}));
            let mut scenario = dumbbell(stack, 30 * SECOND, &link, json!([flow]));
            scenario["checkpoints_ns"] = json!([4 * SECOND, 6 * SECOND]);
            let outcome = run(&scenario);
            let counters = &outcome.tables.flow_counters.delivered_bytes;
            assert_eq!(counters[2], bytes, "{stack} {rate_bps}");
            if rate_bps < 1_000_000 {
                continue; // skip slow readers: the receive buffer takes much of their data at once
            }
            let between = (counters[1] - counters[0]) as f64 * 8.0 / 2.0;
            let share = between / rate_bps as f64;
            assert!((0.9..1.1).contains(&share), "{stack} {rate_bps}: {share}");
        }
    }
}

#[test]
fn a_closed_window_is_probed_with_doubled_intervals_and_each_probe_is_answered() {
    let link = wide_link(100_000_000, 20 * MS);
    for stack in STACKS {
        let flow = bulk(
            150_000,
            &json!({"read_bytes": 1 << 30, "read_interval_ns": 20 * SECOND}),
        );
        let trace = Trace::of(&dumbbell(stack, 70 * SECOND, &link, json!([flow])));
        let counters = &trace.outcome.tables.flow_counters.delivered_bytes;
        assert_eq!(*counters.last().unwrap(), 150_000, "{stack}");
        // while the window is closed, the sender's probes are empty and begin one byte before the
        // acknowledged data
        let una = trace
            .acks()
            .iter()
            .filter(|a| a.time_ns < 20 * SECOND)
            .map(|a| a.ack)
            .max()
            .unwrap();
        let probes: Vec<u64> = trace
            .segments
            .iter()
            .filter(|p| p.outbound && p.len == 0 && p.seq + 1 == una)
            .map(|p| p.time_ns)
            .filter(|&t| t < 20 * SECOND)
            .collect();
        assert!(probes.len() >= 5, "{stack}: {probes:?}");
        let gaps: Vec<u64> = probes.windows(2).map(|w| w[1] - w[0]).collect();
        for pair in gaps.windows(2) {
            let ratio = pair[1] as f64 / pair[0] as f64;
            assert!((1.7..2.1).contains(&ratio), "{stack}: {gaps:?}");
        }
    }
}

#[test]
fn only_bulk_transfers_can_read_at_a_rate_or_in_portions() {
    let link = wide_link(10_000_000, 10 * MS);
    for (fields, said) in [
        (json!({"read_rate_bps": 0}), "read_rate_bps"),
        (
            json!({"read_bytes": 0, "read_interval_ns": 5}),
            "read_bytes",
        ),
        (
            json!({"read_bytes": 5, "read_interval_ns": 0}),
            "read_interval_ns",
        ),
        (
            json!({"read_bytes": 5}),
            "read_bytes and read_interval_ns only together",
        ),
        (json!({"read_rate_bps": 5, "read_bytes": 5}), "not together"),
        (
            json!({"read_rate_bps": 5, "app": {"kind": "pingpong", "request_bytes": 5,
                "mean_interval_ns": 5}}),
            "only for bulk transfers",
        ),
    ] {
        let scenario = dumbbell("linux-6", SECOND, &link, json!([bulk(1000, &fields)]));
        let error = Scenario::from_json(&text(&scenario)).unwrap_err();
        assert!(error.to_string().contains(said), "{error}");
    }
}
