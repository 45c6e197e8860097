//! Response times of 100 kB over 10 Mbit/s and 200 ms if the application states a deadline: figure
//! 7.4 of the thesis. The startup computes its rate from the deadline.

use crate::common::{dumbbell, run, text, wide_link, MS, SECOND};
use headway_sim::Scenario;
use serde_json::{json, Value};

fn flow(startup: &str, deadline_ms: Option<u64>) -> Value {
    let mut flow = json!({"name": startup,
        "app": {"kind": "vectors", "epochs": [[300, 100_000, 0]]},
        "control": {"name": "reno", "startup": startup},
        "initial_rwnd_bytes": 1 << 20, "wmem_bytes": [4096, 4 << 20, 4 << 20]});
    if let Some(ms) = deadline_ms {
        flow["deadline_ns"] = json!(ms * MS);
    }
    flow
}

/// Time in milliseconds from when the request is sent, after the handshake, to the last byte of the
/// response.
fn response_ms(startup: &str, deadline_ms: Option<u64>) -> f64 {
    let link = wide_link(10_000_000, 100 * MS);
    let flows = json!([flow(startup, deadline_ms)]);
    let outcome = run(&dumbbell("linux-6", 5 * SECOND, &link, flows));
    let rows = &outcome.tables.responses;
    assert_eq!(rows.end_ns.len(), 1, "{startup} {deadline_ms:?}");
    let handshake_ns = 200 * MS;
    (rows.end_ns[0] - rows.start_ns[0]) as f64 / MS as f64 - handshake_ns as f64 / MS as f64
}

#[test]
fn mega_start_meets_every_deadline_that_the_path_allows() {
    // on this path 284 ms are needed: a round trip, and 105 kB at 10 Mbit/s
    for deadline_ms in [290, 300, 320, 350, 400, 450, 500, 550, 600, 700, 1000, 2000] {
        let took_ms = response_ms("mega-start", Some(deadline_ms));
        assert!(took_ms <= deadline_ms as f64, "{deadline_ms}: {took_ms}");
    }
    let slow_ms = response_ms("slow-start", None);
    assert!(slow_ms > 600.0, "{slow_ms}");
    // if slow start meets the deadline, Mega-Start uses slow start
    assert_eq!(response_ms("mega-start", Some(2000)), slow_ms);
}

#[test]
fn a_deadline_within_the_round_trip_causes_no_fast_start() {
    let slow_ms = response_ms("slow-start", None);
    for deadline_ms in [100, 150, 199, 200] {
        for startup in ["mega-start", "quick-start"] {
            assert_eq!(
                response_ms(startup, Some(deadline_ms)),
                slow_ms,
                "{startup}"
            );
        }
    }
}

#[test]
fn jump_start_ignores_a_deadline() {
    let none_ms = response_ms("jump-start", None);
    for deadline_ms in [100, 400, 2000] {
        assert_eq!(response_ms("jump-start", Some(deadline_ms)), none_ms);
    }
}

#[test]
fn the_deadline_of_an_upload_counts_from_its_start_and_stabilize_keeps_its_rate() {
    let took_ms = |fields: &Value| {
        let mut flow = json!({"name": "upload", "app": {"kind": "bulk", "bytes": 300_000},
            "control": {"name": "reno", "startup": "mega-start"},
            "initial_rwnd_bytes": 1 << 20, "wmem_bytes": [4096, 4 << 20, 4 << 20], "extra_ack": true});
        for (name, value) in fields.as_object().unwrap() {
            flow[name] = value.clone();
        }
        let link = wide_link(50_000_000, 100 * MS);
        let mut scenario = dumbbell("linux-6", 10 * SECOND, &link, json!([flow]));
        scenario["record"]["flows"] = json!(true);
        let outcome = run(&scenario);
        let done_ns = outcome.summary.flows[0].done_ns.expect("all has arrived");
        let most_pkts = outcome.tables.flow_state.cwnd_pkts.iter().max();
        (done_ns / MS, *most_pkts.unwrap())
    };
    // of the 700 ms, the handshake and half a round trip leave 400 ms for 300 kB
    let (in_time, _) = took_ms(&json!({"deadline_ns": 700 * MS}));
    assert!((580..=700).contains(&in_time), "{in_time}");
    // at 10 Mbit/s, 166 packets are sent per round trip; slow start would exceed that
    let (_, most) = took_ms(&json!({"initial_rate_bps": 10_000_000}));
    let (_, steady) = took_ms(&json!({"initial_rate_bps": 10_000_000, "stabilize": true}));
    assert!(most > 170 && steady <= 168, "{most} {steady}");
}

#[test]
fn a_flow_without_an_end_cannot_have_a_deadline() {
    for (app, deadline_ns) in [
        (json!({"kind": "bulk"}), 1000),
        (json!({"kind": "bulk", "bytes": 1000}), 0),
    ] {
        let mut flow = flow("slow-start", None);
        flow["app"] = app;
        flow["deadline_ns"] = json!(deadline_ns);
        let link = wide_link(10_000_000, 100 * MS);
        let scenario = dumbbell("linux-6", SECOND, &link, json!([flow]));
        let error = Scenario::from_json(&text(&scenario)).unwrap_err();
        assert!(
            error.to_string().contains("flows[0].deadline_ns"),
            "{error}"
        );
    }
}
