//! Timeouts of linux-6 (RFC 5682). F-RTO detects spurious timeouts by new data and undoes them.
//! Real losses that caused a timeout are repaired as without F-RTO. Packets that were sent shortly
//! before a timeout are not marked lost.

use crate::common::{bulk, dumbbell, text, Trace, MS, SECOND};
use serde_json::{json, Value};

/// A path whose delay increases by `more_ms` at 3 s, for a second: packets are late but in order.
fn jumps(more_ms: u64) -> Value {
    let (rate, at) = (10_000_000, 20 * MS);
    json!({"rate_bps": rate, "delay_ns": at, "limit_pkts": 100, "vary": {"kind": "schedule",
        "steps": [[0, rate, at], [3 * SECOND, rate, at + more_ms * MS], [4 * SECOND, rate, at]]}})
}

/// A transfer without TCP timestamps, since these would also tell retransmissions from originals.
fn transfer(control: &str, link: &Value, sack: bool, frto: bool) -> Trace {
    let mut flow = bulk(control, None);
    flow["timestamps"] = json!(false);
    flow["sack"] = json!(sack);
    flow["frto"] = json!(frto);
    let mut scenario = dumbbell("linux-6", 8 * SECOND, link, json!([flow]));
    let still = json!({"rate_bps": 10_000_000, "delay_ns": 20 * MS, "limit_pkts": 1000});
    scenario["topology"]["reverse"] = still;
    Trace::of(&scenario)
}

#[test]
fn a_spurious_timeout_is_undone_without_retransmissions() {
    for sack in [true, false] {
        // the control is Vegas, which does not fill the queue, so no packet is dropped
        let [with, without] = [true, false].map(|frto| transfer("vegas", &jumps(900), sack, frto));
        let step = |t: &Trace| {
            let rows = t.backoffs().into_iter();
            let rows = rows.filter(|b| (3 * SECOND..5 * SECOND).contains(&b.0));
            rows.map(|b| (b.1, b.2)).collect::<Vec<_>>()
        };
        let again = |t: &Trace| {
            let mut newest = 0;
            let late = t.data().into_iter().filter(|s| s.time_ns > 3 * SECOND);
            let copies = late.filter(|s| {
                let copy = s.seq < newest;
                newest = newest.max(s.seq);
                copy && s.time_ns < 6 * SECOND
            });
            copies.count()
        };
        // the backoffs include a timeout (kind 1) and later its undo (kind 3)
        assert!(step(&with).iter().any(|b| b.0 == 1), "{:?}", step(&with));
        assert!(step(&with).iter().any(|b| b.0 == 3), "{:?}", step(&with));
        assert!(
            step(&without).iter().any(|b| b.0 == 1),
            "{:?}",
            step(&without)
        );
        // the only retransmissions are the oldest packet, once per timeout, and the tail loss probe
        assert!(
            again(&with) <= 4,
            "sack {sack}: {} retransmissions",
            again(&with)
        );
        assert!(
            again(&without) >= 20,
            "sack {sack}: {} retransmissions",
            again(&without)
        );
        let before = with.cwnd_at(3 * SECOND);
        let after = with.cwnd_at(4 * SECOND + 500 * MS);
        assert!(after >= before, "sack {sack}: cwnd {before} became {after}");
    }
}

#[test]
fn a_real_timeout_is_repaired_equally_fast_with_and_without_frto() {
    let at = 20 * MS;
    let outage = json!({"rate_bps": 10_000_000, "delay_ns": at, "limit_pkts": 20,
        "vary": {"kind": "schedule", "steps": [[0, 10_000_000, at], [3 * SECOND, 5_000, at],
            [6 * SECOND, 10_000_000, at]]}});
    for sack in [true, false] {
        let [with, without] = [true, false].map(|frto| transfer("reno", &outage, sack, frto));
        let acked = |t: &Trace| *t.outcome.tables.flow_counters.acked_bytes.last().unwrap();
        assert!(with.repairs().0 > 0 || with.backoffs().iter().any(|b| b.1 == 1));
        let (a, b) = (acked(&with) as f64, acked(&without) as f64);
        assert!((a / b - 1.0).abs() < 0.25, "sack {sack}: {a} and {b} bytes");
    }
}

#[test]
fn linux_26_rejects_frto() {
    let mut flow = bulk("vegas", None);
    flow["frto"] = json!(true);
    let scenario = dumbbell("linux-2.6", SECOND, &jumps(100), json!([flow]));
    let refused = headway_sim::run(&text(&scenario)).err().unwrap();
    assert!(refused.to_string().contains("flows[0].frto"), "{refused}");
}
