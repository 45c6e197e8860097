//! The send buffer as Linux's: how much a writer may hand over, and when it is woken.

use crate::common::{dumbbell, run, wide_link, MS, SECOND};
use serde_json::{json, Value};

fn bulk(fields: &Value) -> Value {
    let mut flow = json!({"name": "bulk", "app": {"kind": "bulk"}, "control": {"name": "cubic"}});
    for (name, value) in fields.as_object().expect("fields") {
        flow[name] = value.clone();
    }
    flow
}

/// Packets in flight from `from_ns` on: least and most.
fn in_flight(scenario: &Value, from_ns: u64) -> (u32, u32) {
    let state = run(scenario).tables.flow_state;
    let late = state
        .time_ns
        .iter()
        .zip(&state.inflight_pkts)
        .filter(|(&t, _)| t as u64 >= from_ns)
        .map(|(_, &pkts)| pkts);
    (late.clone().min().unwrap(), late.max().unwrap())
}

#[test]
fn a_full_buffer_is_filled_again_when_a_third_of_it_is_free() {
    // Large segments of ten packets and more: 4 MiB hold some 2700 of 1448 bytes, and a
    // writer sleeps until two thirds are left. On Linux 6.18: 1807 to 2716.
    let link = json!({"rate_bps": 100_000_000, "delay_ns": 50 * MS, "limit_bytes": 5_000_000});
    let mut scenario = dumbbell("linux-6", 9 * SECOND, &link, json!([bulk(&json!({}))]));
    scenario["record"]["flows"] = json!(true);
    let (least, most) = in_flight(&scenario, 6 * SECOND);
    assert!((1780..1900).contains(&least), "{least}");
    assert!((2690..2750).contains(&most), "{most}");
}

#[test]
fn an_explicit_buffer_bounds_what_is_in_flight_in_either_stack() {
    let link = wide_link(100_000_000, 50 * MS);
    for (stack, per_segment, overhead) in [("linux-6", 22, 832), ("linux-2.6", 1, 400)] {
        for buffer in [4608_u64, 50_000, 200_000] {
            let flow = bulk(&json!({"send_buffer_bytes": buffer}));
            let mut scenario = dumbbell(stack, 8 * SECOND, &link, json!([flow]));
            scenario["record"]["flows"] = json!(true);
            let (_, most) = in_flight(&scenario, SECOND);
            // the writer overshoots by less than one segment, of half the first window at
            // the start and of 64 KiB later
            let largest = if stack == "linux-6" { 45 } else { per_segment } * 1448 + overhead;
            let bound = (buffer + largest) / 1448;
            assert!(u64::from(most) <= bound, "{stack} {buffer}: {most}");
            let least = (buffer * 2 / 3) / (1448 + overhead);
            assert!(u64::from(most) >= least, "{stack} {buffer}: {most}");
        }
    }
}

#[test]
fn the_first_flight_of_a_host_with_default_buffers_is_44_packets() {
    // tcp_init_buffer_space leaves 46,080 bytes; two segments of 22 packets (half of the
    // first window of 65,160 bytes) with 832 bytes each are more. ss on 6.18 shows the same.
    let link = wide_link(100_000_000, 50 * MS);
    let flow = |buffer: Value| {
        json!({"name": "fast", "app": {"kind": "bulk", "bytes": 1_000_000},
            "control": {"name": "cubic", "startup": "jump-start"}, "send_buffer_bytes": buffer})
    };
    let first = |buffer: Value| {
        let mut scenario = dumbbell("linux-6", 2 * SECOND, &link, json!([flow(buffer)]));
        // the handshake, and a round trip but its last 2 ms
        scenario["checkpoints_ns"] = json!([198 * MS]);
        run(&scenario).tables.flow_counters.sent_pkts[0]
    };
    assert_eq!(first(Value::Null), 44);
    // then the startup's own bound, 65,535 bytes
    assert_eq!(first(json!(1 << 20)), 45);
}

#[test]
fn what_is_in_the_buffer_of_a_stopped_sender_still_arrives_and_no_more() {
    let link = wide_link(10_000_000, 50 * MS);
    for (buffer, most) in [(100_000, 100_000 + 66_000), (1_000_000, 1_066_000)] {
        let flow = bulk(&json!({"send_buffer_bytes": buffer, "stop_ns": 3 * SECOND}));
        let mut scenario = dumbbell("linux-6", 10 * SECOND, &link, json!([flow]));
        scenario["checkpoints_ns"] = json!([3 * SECOND]);
        let outcome = run(&scenario);
        let counters = &outcome.tables.flow_counters;
        let (then, end) = (counters.acked_bytes[0], counters.delivered_bytes[1]);
        assert_eq!(end, outcome.summary.flows[0].unique_bytes);
        let left = end - then;
        assert!(left >= buffer / 2 && left <= most, "{buffer}: {left}");
    }
}

#[test]
fn a_transfer_larger_than_its_buffer_is_complete() {
    let link = wide_link(10_000_000, 20 * MS);
    for stack in ["linux-6", "linux-2.6"] {
        let flow = json!({"name": "t", "app": {"kind": "bulk", "bytes": 3_000_001},
            "control": {"name": "reno"}, "send_buffer_bytes": 4608});
        let outcome = run(&dumbbell(stack, 300 * SECOND, &link, json!([flow])));
        assert_eq!(outcome.summary.flows[0].unique_bytes, 3_000_001, "{stack}");
        assert!(outcome.summary.flows[0].done_ns.is_some(), "{stack}");
    }
}
