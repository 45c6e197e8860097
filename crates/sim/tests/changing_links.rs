//! Links whose rate and delay change during a run, or that are down temporarily.

use crate::common::{bulk, dumbbell, run, text, MS, SECOND};
use headway_sim::Outcome;
use serde_json::{json, Value};

/// A dumbbell with these fields for its forward link. On the link a flow sends datagrams of 1500
/// bytes, one every `interval_ns`.
fn datagrams(forward: Value, interval_ns: u64, duration_ns: u64) -> Outcome {
    run(&json!({
        "duration_ns": duration_ns,
        "topology": {
            "kind": "dumbbell",
            "forward": forward,
            "reverse": {"rate_bps": 1_000_000_000},
            "access_rate_bps": 1_000_000_000_000_u64
        },
        "flows": [{
            "name": "cbr",
            "app": {"kind": "cbr", "ip_bytes": 1500, "interval_ns": interval_ns}
        }],
    }))
}

/// Number of packets that left the first link in each whole second.
fn sent_in_seconds(outcome: &Outcome, seconds: usize) -> Vec<u32> {
    let q = &outcome.tables.queue;
    let mut sent = vec![0; seconds];
    let mut before = 0;
    for row in (0..q.link.len()).filter(|&row| q.link[row] == 0) {
        // a packet that departs at the very end of a second counts for that second
        let second = (q.time_ns[row] as u64).saturating_sub(1) / SECOND;
        if q.queue_pkts[row] < before && (second as usize) < seconds {
            sent[second as usize] += 1;
        }
        before = q.queue_pkts[row];
    }
    sent
}

#[test]
fn a_link_follows_steps_of_its_rate_to_the_packet() {
    // 1000 packets a second are offered; 12 Mbit/s carry all, 6 Mbit/s half, 0 none
    let steps = json!([
        [0, 12_000_000, 0],
        [SECOND, 6_000_000, 0],
        [2 * SECOND, 0, 0],
        [3 * SECOND, 18_000_000, 0],
        [4 * SECOND, 12_000_000, 0]
    ]);
    let vary = json!({"kind": "schedule", "steps": steps});
    let outcome = datagrams(json!({"rate_bps": 1, "vary": vary}), MS, 5 * SECOND);
    let sent = sent_in_seconds(&outcome, 5);
    // 999 packets in the first second: the first packet needs 12 ns on the access link and 1 ms on
    // this link
    assert_eq!(sent, [999, 500, 0, 1500, 1000]);
}

#[test]
fn the_delay_follows_the_steps_and_no_packet_overtakes_another() {
    let steps = json!([
        [0, 1_200_000_000, 30 * MS],
        [50 * MS, 1_200_000_000, 10 * MS]
    ]);
    let vary = json!({"kind": "schedule", "steps": steps});
    let outcome = datagrams(json!({"rate_bps": 1, "vary": vary}), 7 * MS, 100 * MS);
    let udp = &outcome.tables.udp;
    let arrivals: Vec<i64> = (0..udp.owd_ns.len())
        .map(|row| udp.sent_ns[row] + udp.owd_ns[row])
        .collect();
    assert!(arrivals.windows(2).all(|w| w[0] <= w[1]), "{arrivals:?}");
    let owd_ms = |row: usize| udp.owd_ns[row] / MS as i64;
    assert_eq!(owd_ms(0), 30);
    // a packet sent at 49 ms has 30 ms of delay; the one sent at 56 ms has 10 ms, but does not
    // overtake it
    assert_eq!((udp.sent_ns[8], owd_ms(8)), (56 * MS as i64, 23));
    assert_eq!((udp.sent_ns[11], owd_ms(11)), (77 * MS as i64, 10));
}

#[test]
fn a_schedule_of_one_step_equals_a_constant_link() {
    let link = |vary: Value| {
        let mut link = json!({"rate_bps": 9_999_991, "delay_ns": 17 * MS, "limit_bytes": 60_000});
        if !vary.is_null() {
            link["vary"] = vary;
        }
        dumbbell("linux-6", 5 * SECOND, &link, json!([bulk("cubic", None)]))
    };
    let constant = run(&link(Value::Null));
    let steps = json!({"kind": "schedule", "steps": [[0, 9_999_991, 17 * MS]]});
    let stepped = run(&link(steps));
    assert!(constant.capture.is_some() && constant.capture == stepped.capture);
    assert!(constant.tables.queue.time_ns.len() > 1000);
    assert_eq!(constant.tables.queue.time_ns, stepped.tables.queue.time_ns);
}

#[test]
fn a_saturating_sender_uses_every_opportunity_of_a_mahimahi_trace() {
    // two delivery opportunities every third millisecond: 8 Mbit/s
    let opportunities: Vec<u64> = (1..=300_u64).map(|i| i.div_ceil(2) * 3).collect();
    let vary = json!({"kind": "mahimahi", "opportunities_ms": opportunities});
    let link = json!({"rate_bps": 1, "vary": vary, "limit_pkts": 50});
    let outcome = datagrams(link, MS, 3 * SECOND);
    // 666 packets leave in the first second, at 3, 6, ... 999 ms; the trace has no opportunity at
    // 1000 ms
    assert_eq!(sent_in_seconds(&outcome, 3), [666, 666, 668]);
}

#[test]
fn tcp_recovers_from_an_outage() {
    let steps = json!([
        [0, 10_000_000, 20 * MS],
        [5 * SECOND, 0, 20 * MS],
        [8 * SECOND, 10_000_000, 20 * MS]
    ]);
    let vary = json!({"kind": "schedule", "steps": steps});
    for stack in ["linux-2.6", "linux-6"] {
        let link = json!({"rate_bps": 10_000_000, "limit_bytes": 50_000, "vary": vary});
        let flows = json!([bulk("cubic", None)]);
        let outcome = run(&dumbbell(stack, 20 * SECOND, &link, flows));
        let sent = sent_in_seconds(&outcome, 20);
        // the link carries 833 packets in a full second
        assert!(sent[2..5].iter().all(|&n| n > 800), "{sent:?}");
        assert_eq!(sent[5..8], [0, 0, 0]);
        assert!(sent[12..].iter().all(|&n| n > 700), "{stack}: {sent:?}");
    }
}

#[test]
fn invalid_schedules_are_rejected_with_one_line() {
    let refused = |vary: Value| {
        let link = json!({"rate_bps": 1_000_000, "vary": vary});
        let scenario = dumbbell("linux-6", SECOND, &link, json!([bulk("cubic", None)]));
        let error = headway_sim::run(&text(&scenario)).err();
        let line = error.expect("it is rejected").to_string();
        assert!(!line.contains('\n'), "{line}");
        line
    };
    let steps = json!({"kind": "schedule", "steps": [[0, 5, 0], [0, 6, 0]]});
    let line = refused(steps);
    assert!(line.contains("topology.links[0].vary.steps[1]"), "{line}");
    let trace = json!({"kind": "mahimahi", "opportunities_ms": [5, 4]});
    let line = refused(trace);
    assert!(line.contains("vary.opportunities_ms[1]"), "{line}");
    let line = refused(json!({"kind": "schedule", "steps": []}));
    assert!(line.contains("at least one step"), "{line}");
}
