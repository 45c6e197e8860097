//! ECN (RFC 3168) in both stack profiles: negotiation, which packets are ECN-capable, the echo, and
//! the response to a mark.

use crate::common::{bulk, dumbbell, find, run, wide_link, CapturedSegment, Trace, MS, SECOND};
use headway_wire::TcpFlags;
use serde_json::{json, Value};

const STACKS: [&str; 2] = ["linux-2.6", "linux-6"];
const MODES: [&str; 3] = ["off", "on", "passive"];
const CWR_KIND: u8 = 2;
const NOT_ECT: u8 = 0;
const ECT_0: u8 = 2;
const CE: u8 = 3;

fn flow(opener: &str, responder: &str, bytes: Option<u64>) -> Value {
    let mut flow = bulk("reno", bytes);
    flow["ecn"] = json!([opener, responder]);
    flow
}

fn asks() -> TcpFlags {
    TcpFlags::ECE | TcpFlags::CWR
}

/// SYNs and SYN-ACKs that pass the bottleneck.
fn handshake(trace: &Trace) -> (Vec<&CapturedSegment>, Vec<&CapturedSegment>) {
    let syns = trace.segments.iter().filter(|s| s.has(TcpFlags::SYN));
    syns.partition(|s| s.outbound)
}

/// A queue with RED that marks with probability 10 % from 30 packets on.
fn marking(rate_bps: u64, delay_ns: u64) -> Value {
    json!({"rate_bps": rate_bps, "delay_ns": delay_ns, "limit_pkts": 1000,
        "aqm": {"name": "red", "tunables": {"ecn": 1, "min_th_pkts": 10, "max_th_pkts": 30,
            "weight_shift": 6}}})
}

#[test]
fn ecn_is_negotiated_if_the_opener_requests_it_and_the_responder_is_not_off() {
    for stack in STACKS {
        for opener in MODES {
            for responder in MODES {
                let what = format!("{stack}: {opener} to {responder}");
                let link = wide_link(10_000_000, 10 * MS);
                let flows = json!([flow(opener, responder, Some(50_000))]);
                let trace = Trace::of(&dumbbell(stack, 3 * SECOND, &link, flows));
                let asked = opener == "on";
                let agreed = asked && responder != "off";
                let (syns, answers) = handshake(&trace);
                assert_eq!((syns.len(), answers.len()), (1, 1), "{what}");
                assert_eq!(syns[0].has(asks()), asked, "{what}");
                assert_eq!(answers[0].has(TcpFlags::ECE), agreed, "{what}");
                assert!(!answers[0].has(TcpFlags::CWR), "{what}");
                assert_eq!((syns[0].ecn, answers[0].ecn), (NOT_ECT, NOT_ECT), "{what}");
                let expected = if agreed { ECT_0 } else { NOT_ECT };
                assert!(trace.data().iter().all(|s| s.ecn == expected), "{what}");
                let acks = trace.acks();
                assert!(acks.iter().all(|s| s.ecn == NOT_ECT), "{what}");
                assert!(!acks.iter().any(|s| s.has(TcpFlags::ECE)), "{what}");
                let summary = &trace.outcome.summary.flows[0];
                assert_eq!(summary.ecn, asked.then_some(agreed), "{what}");
                assert!(summary.done_ns.is_some(), "{what}");
            }
        }
    }
}

#[test]
fn no_end_requests_ecn_by_default() {
    for stack in STACKS {
        let link = marking(10_000_000, 10 * MS);
        let trace = Trace::of(&dumbbell(
            stack,
            5 * SECOND,
            &link,
            json!([bulk("reno", None)]),
        ));
        assert!(trace.segments.iter().all(|s| s.ecn == NOT_ECT));
        assert!(!trace.segments.iter().any(|s| s.has(TcpFlags::ECE)));
        assert_eq!(trace.outcome.summary.flows[0].ecn, None);
        // RED drops packets early if they are not ECN-capable
        assert!(trace.outcome.tables.drops.reason.contains(&2), "{stack}");
    }
}

#[test]
fn a_retransmitted_syn_requests_no_ecn_except_in_linux_26() {
    let mut link = wide_link(10_000_000, 10 * MS);
    link["ecn"] = json!("drop-syn");
    for (stack, falls_back) in [("linux-6", true), ("linux-2.6", false)] {
        let flows = json!([flow("on", "on", Some(50_000))]);
        let trace = Trace::of(&dumbbell(stack, 30 * SECOND, &link, flows));
        let (syns, answers) = handshake(&trace);
        assert!(syns[0].has(asks()));
        let reasons = &trace.outcome.tables.drops.reason;
        let summary = &trace.outcome.summary.flows[0];
        if falls_back {
            assert_eq!(syns.len(), 2);
            assert!(!syns[1].has(TcpFlags::ECE) && !syns[1].has(TcpFlags::CWR));
            assert!(!answers[0].has(TcpFlags::ECE));
            assert_eq!(reasons, &[4]);
            assert!(summary.done_ns.is_some() && summary.ecn == Some(false));
            assert!(trace.data().iter().all(|s| s.ecn == NOT_ECT));
        } else {
            assert!(syns.len() > 3 && syns.iter().all(|s| s.has(asks())));
            assert!(answers.is_empty() && summary.done_ns.is_none());
        }
    }
}

#[test]
fn ecn_stays_negotiated_if_only_the_syn_ack_was_lost() {
    // the responder accepted ECN when the first SYN arrived, so the second SYN-ACK accepts it again
    let mut scenario = dumbbell(
        "linux-6",
        5 * SECOND,
        &wide_link(10_000_000, 10 * MS),
        json!([flow("on", "on", Some(50_000))]),
    );
    scenario["topology"]["reverse"]["loss"] = json!(0.05);
    let trace = (0..1000)
        .map(|seed| {
            scenario["seed"] = json!(seed);
            Trace::of(&scenario)
        })
        .find(|trace| {
            let (syns, answers) = handshake(trace);
            syns.len() == 2 && answers.len() == 1
        })
        .expect("a seed that loses the SYN-ACK");
    let (syns, answers) = handshake(&trace);
    assert!(syns[0].has(asks()) && !syns[1].has(TcpFlags::ECE));
    assert!(answers[0].has(TcpFlags::ECE));
    assert!(trace.data().iter().all(|s| s.ecn == ECT_0));
    assert_eq!(trace.outcome.summary.flows[0].ecn, Some(true));
}

#[test]
fn packets_with_cleared_ecn_bits_are_dropped_instead_of_marked() {
    for stack in STACKS {
        let mut link = marking(10_000_000, 10 * MS);
        link["ecn"] = json!("bleach");
        let flows = json!([flow("on", "on", None)]);
        let outcome = run(&dumbbell(stack, 5 * SECOND, &link, flows));
        let summary = &outcome.summary.flows[0];
        assert_eq!((summary.ecn, summary.ce_marks), (Some(true), 0), "{stack}");
        assert!(outcome.tables.drops.reason.contains(&2), "{stack}");
        assert!(!outcome.tables.backoffs.kind.contains(&CWR_KIND), "{stack}");
    }
}

#[test]
fn marks_halve_reno_once_per_round_trip_without_loss() {
    for stack in STACKS {
        let flows = json!([flow("on", "passive", None)]);
        let trace = Trace::of(&dumbbell(
            stack,
            30 * SECOND,
            &marking(10_000_000, 20 * MS),
            flows,
        ));
        let summary = &trace.outcome.summary.flows[0];
        assert!(trace.outcome.tables.drops.reason.is_empty(), "{stack}");
        assert_eq!(trace.repairs(), (0, 0), "{stack}");
        let backoffs = trace.backoffs();
        assert!(
            backoffs.len() > 10,
            "{stack}: {} reductions",
            backoffs.len()
        );
        assert!(summary.ce_marks >= backoffs.len() as u64, "{stack}");
        let least_rtt_ns = u64::from(summary.min_rtt_us.unwrap()) * 1000;
        for pair in backoffs.windows(2) {
            assert!(pair[1].0 - pair[0].0 >= least_rtt_ns, "{stack}: {pair:?}");
        }
        for &(_, kind, before, after) in &backoffs {
            assert_eq!((kind, after), (CWR_KIND, (before / 2).max(2)), "{stack}");
        }
        // each reduction of cwnd sets CWR once, on new data
        let told: Vec<_> = trace
            .data()
            .into_iter()
            .filter(|s| s.has(TcpFlags::CWR))
            .collect();
        assert_eq!(told.len(), backoffs.len(), "{stack}");
        assert!(told.iter().all(|s| s.ecn == ECT_0), "{stack}");
    }
}

#[test]
fn a_mark_is_echoed_until_the_sender_sends_cwr() {
    for stack in STACKS {
        let flows = json!([flow("on", "on", None)]);
        let scenario = dumbbell(stack, 20 * SECOND, &marking(10_000_000, 20 * MS), flows);
        let trace = Trace::of(&scenario);
        let data = trace.data();
        let told = data.iter().filter(|s| s.has(TcpFlags::CWR));
        let told: Vec<u64> = told.map(|s| s.seq).collect();
        assert!(!told.is_empty());
        let mut before: Option<&CapturedSegment> = None;
        let mut episodes = 0;
        for ack in trace.acks() {
            let echoed = before.is_some_and(|b| b.has(TcpFlags::ECE));
            episodes += usize::from(ack.has(TcpFlags::ECE) && !echoed);
            if echoed && !ack.has(TcpFlags::ECE) {
                let from = before.map_or(0, |b| b.ack);
                let told = told.iter().any(|&seq| from <= seq && seq < ack.ack);
                assert!(told, "{stack}: the echo ended at {} without CWR", ack.ack);
            }
            before = Some(ack);
        }
        assert!(
            episodes >= told.len() / 2,
            "{stack}: {episodes} of {}",
            told.len()
        );
    }
}

#[test]
fn retransmissions_are_not_ecn_capable() {
    for stack in STACKS {
        let mut link = wide_link(10_000_000, 10 * MS);
        link["loss"] = json!(0.01);
        let flows = json!([flow("on", "on", Some(400_000))]);
        let scenario = dumbbell(stack, 10 * SECOND, &link, flows);
        let trace = find(&scenario, 2, |t| t.lost.iter().all(|s| s.len > 0));
        let mut again = 0;
        let mut newest = 0;
        for sent in trace.data() {
            if sent.seq < newest {
                assert_eq!(sent.ecn, NOT_ECT, "{stack}");
                again += 1;
            } else {
                assert_eq!(sent.ecn, ECT_0, "{stack}");
            }
            newest = newest.max(sent.seq + u64::from(sent.len));
        }
        assert!(again >= 2, "{stack}");
        // a reduction of cwnd after a loss also sets CWR (RFC 3168 section 6.1.2)
        assert!(trace.data().iter().any(|s| s.has(TcpFlags::CWR)), "{stack}");
    }
}

#[test]
fn marks_arrive_as_congestion_experienced() {
    let flows = json!([flow("on", "on", None)]);
    let mut scenario = dumbbell("linux-6", 10 * SECOND, &marking(10_000_000, 20 * MS), flows);
    let second = wide_link(1_000_000_000, 0);
    scenario["topology"] = json!({"kind": "chain", "hops": [
        {"forward": marking(10_000_000, 20 * MS), "reverse": wide_link(10_000_000, 20 * MS)},
        {"forward": second, "reverse": second}]});
    scenario["capture"] = json!({"link": "forward1"});
    let outcome = run(&scenario);
    let segments = crate::common::segments(outcome.capture.as_deref().unwrap());
    let marked = segments.iter().filter(|s| s.ecn == CE).count() as u64;
    let summary = &outcome.summary.flows[0];
    assert!(marked > 0);
    assert!(summary.ce_marks <= marked && marked <= summary.ce_marks + 1);
    assert!(summary.ece_acks >= outcome.tables.backoffs.kind.len() as u64);
}
