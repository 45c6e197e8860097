//! Feedback over paths that mark packets, lose them, or change their headers.

use super::{at_hosts, flow, sent, Seen, CE, ECT_0, NOT_ECT};
use crate::common::{dumbbell, run, wide_link, MS, SECOND};
use serde_json::{json, Value};

const CWR_KIND: u8 = 2;

/// A queue that marks every packet that finds `k` packets or more.
fn marking(k_pkts: u32) -> Value {
    json!({"rate_bps": 20_000_000, "delay_ns": 10 * MS, "limit_pkts": 1000,
        "aqm": {"name": "red", "tunables": {"ecn": 1, "min_th_pkts": k_pkts, "gentle": 0,
            "max_th_pkts": k_pkts + 1, "max_p_permille": 1000, "weight_shift": 1}}})
}

fn accurate(control: &str, link: &Value, seconds: u64) -> Value {
    let flows = json!([flow(control, "accurate", "accurate", None)]);
    let mut scenario = dumbbell("linux-6", seconds * SECOND, link, flows);
    scenario["topology"]["reverse"] = wide_link(20_000_000, 10 * MS);
    scenario
}

/// Checks every packet of the responder against the packets that have arrived there. Returns how
/// many arrived with a mark, and how many packets of the responder had the option.
fn check_feedback(seen: &[Seen]) -> (u32, usize) {
    let (mut marked, mut ce_bytes, mut e0_bytes, mut options) = (0_u32, 0_u32, 1_u32, 0);
    let mut since_report = 0;
    for packet in seen.iter().filter(|s| s.host == 1 && !s.is_syn) {
        if packet.outbound {
            marked += u32::from(packet.ecn == CE);
            since_report += u32::from(packet.ecn == CE);
            match packet.ecn {
                CE => ce_bytes += packet.payload_bytes,
                ECT_0 => e0_bytes += packet.payload_bytes,
                _ => {}
            }
            continue;
        }
        assert_eq!(u32::from(packet.ace), (5 + marked) % 8);
        // the sender can tell the number of marks from the field alone
        assert!(since_report <= 7);
        since_report = 0;
        if let Some(option) = packet.option {
            options += 1;
            assert_eq!(option.e1b.unwrap_or(1), 1);
            assert_eq!(option.ceb.unwrap_or(ce_bytes), ce_bytes & 0xff_ffff);
            assert_eq!(option.e0b.unwrap_or(e0_bytes), e0_bytes & 0xff_ffff);
        }
    }
    (marked, options)
}

#[test]
fn every_ack_counts_all_marks_that_have_arrived() {
    for (control, option, loss) in [
        ("reno", 2, 0.0),
        ("cubic", 2, 0.0005),
        ("dctcp", 2, 0.0),
        ("dctcp", 1, 0.001),
        ("dctcp", 0, 0.0),
    ] {
        let mut link = marking(15);
        link["loss"] = json!(loss);
        let mut scenario = accurate(control, &link, 5);
        scenario["sysctls"] = json!({"tcp_ecn_option": [option]});
        let (outcome, seen) = at_hosts(&scenario);
        let (marked, options) = check_feedback(&seen);
        assert!(marked > 3, "{control}: {marked}");
        assert_eq!(options > 0, option > 0, "{control} {option}");
        let summary = &outcome.summary.flows[0];
        assert!(summary.ce_marks <= u64::from(marked));
        assert!(summary.ece_acks > 0 && summary.accurate_ecn, "{control}");
        // the opener's packets also carry the field, and never CWR or ECE of RFC 3168
        let there = sent(&seen, true);
        assert!(there[2..].iter().all(|s| s.ace == 5 && s.ecn == ECT_0));
    }
}

#[test]
fn the_sender_reads_every_new_count_once() {
    let (outcome, seen) = at_hosts(&accurate("dctcp", &marking(15), 5));
    let mut count = 5;
    let mut news = 0;
    for ack in seen
        .iter()
        .filter(|s| s.host == 0 && !s.outbound && !s.is_syn)
    {
        news += u64::from(ack.ace != count);
        count = ack.ace;
    }
    let summary = &outcome.summary.flows[0];
    assert_eq!(summary.ece_acks, news);
    // unlike RFC 3168, one ACK after the change is enough
    assert!(news <= summary.ce_marks);
}

#[test]
fn senders_respond_once_per_window_as_to_an_echo() {
    for control in ["reno", "cubic"] {
        let link = marking(15);
        let kinds = |scenario: &Value| run(scenario).tables.backoffs.kind;
        let new = kinds(&accurate(control, &link, 20));
        let mut scenario = accurate(control, &link, 20);
        scenario["flows"] = json!([flow(control, "on", "on", None)]);
        let old = kinds(&scenario);
        assert!(new.iter().chain(&old).all(|&kind| kind == CWR_KIND));
        assert!(
            new.len().abs_diff(old.len()) <= 1,
            "{control}: {} {}",
            new.len(),
            old.len()
        );
    }
}

#[test]
fn dctcp_needs_no_exact_echo_with_it() {
    let rest = |scenario: &Value| {
        let outcome = run(scenario);
        let q = &outcome.tables.queue;
        let late: Vec<f64> = (0..q.link.len())
            .filter(|&i| q.link[i] == 0 && q.time_ns[i] as u64 > 2 * SECOND)
            .map(|i| f64::from(q.queue_pkts[i]))
            .collect();
        late.iter().sum::<f64>() / late.len() as f64
    };
    let new = rest(&accurate("dctcp", &marking(15), 10));
    let mut scenario = accurate("dctcp", &marking(15), 10);
    scenario["flows"] = json!([flow("dctcp", "on", "on", None)]);
    let old = rest(&scenario);
    assert!((new / old - 1.0).abs() < 0.1, "{new} {old}");
}

#[test]
fn sack_blocks_take_the_place_of_the_option() {
    let mut link = marking(15);
    link["loss"] = json!(0.05);
    let (_, seen) = at_hosts(&accurate("cubic", &link, 10));
    check_feedback(&seen);
    let fields = |s: &Seen| {
        s.option
            .map(|o| [o.e1b, o.ceb, o.e0b].iter().flatten().count())
    };
    let mut blocks = [0; 4];
    for ack in sent(&seen, false).iter().filter(|s| s.is_ack()) {
        blocks[ack.n_sack] += 1;
        // data with ECT(0) is reported by the last counter, which fits beside one block only
        let expected = (ack.n_sack < 2).then_some(3);
        assert_eq!(fields(ack), expected, "{ack:?}");
        assert!(ack.ip_bytes <= 80);
    }
    assert!(blocks.iter().all(|&acks| acks > 0), "{blocks:?}");
}

#[test]
fn flags_that_a_path_clears_turn_ecn_off() {
    for way in ["forward", "reverse"] {
        let mut scenario = accurate("reno", &marking(15), 5);
        scenario["topology"][way]["ecn"] = json!("clear-flags");
        let (outcome, seen) = at_hosts(&scenario);
        assert_eq!(outcome.summary.flows[0].ecn, Some(false), "{way}");
        assert!(seen.iter().all(|s| s.ecn == NOT_ECT), "{way}");
        // the responder has accepted, but the first ACK shows that its answer was changed
        let acks = sent(&seen, false);
        let gives = if way == "reverse" { 5 } else { 0 };
        let last = acks.last().expect("an ACK");
        assert_eq!(last.ace, gives, "{way}");
    }
}

#[test]
fn an_option_that_a_path_strips_or_clears_leaves_the_field() {
    for (way, ecn) in [
        ("forward", "strip-option"),
        ("reverse", "strip-option"),
        ("forward", "zero-option"),
        ("reverse", "zero-option"),
    ] {
        let mut scenario = accurate("dctcp", &marking(15), 5);
        scenario["topology"][way]["ecn"] = json!(ecn);
        let (outcome, seen) = at_hosts(&scenario);
        let (marked, options) = check_feedback(&seen);
        assert!(
            marked > 100 && outcome.summary.flows[0].accurate_ecn,
            "{way}"
        );
        // no end sends the option if none arrives
        assert_eq!(options, 0, "{way}");
        let from_opener = sent(&seen, true)
            .iter()
            .filter(|s| s.option.is_some())
            .count();
        assert_eq!(from_opener > 0, way == "forward");
        assert!(outcome.tables.drops.reason.is_empty());
    }
}

#[test]
fn a_path_that_clears_the_bits_of_an_ecn_capable_syn_gets_no_ecn_capable_packets() {
    let mut scenario = accurate("dctcp", &marking(15), 5);
    scenario["topology"]["forward"]["ecn"] = json!("bleach");
    let (outcome, seen) = at_hosts(&scenario);
    let there = sent(&seen, true);
    let back = sent(&seen, false);
    // all packets of this control are ECN-capable from the SYN on, and the SYN-ACK returns what
    // has arrived
    assert_eq!((there[0].ecn, back[0].ace), (ECT_0, 0b010));
    assert!(there[1..].iter().all(|s| s.ecn == NOT_ECT));
    // the feedback to the responder continues
    assert!(there[2..].iter().all(|s| s.ace == 5));
    assert!(outcome.summary.flows[0].accurate_ecn);
}

#[test]
fn acks_that_overtake_each_other_do_not_change_the_count() {
    let mut scenario = accurate("dctcp", &marking(15), 5);
    scenario["topology"]["reverse"]["reorder"] = json!(0.2);
    scenario["topology"]["reverse"]["reorder_delay_ns"] = json!(3 * MS);
    let outcome = run(&scenario);
    let backoffs = &outcome.tables.backoffs;
    assert!(backoffs.kind.iter().all(|&kind| kind == CWR_KIND));
    let mut late = backoffs
        .ssthresh_pkts
        .iter()
        .zip(&backoffs.cwnd_pkts)
        .skip(20);
    // a count that went wrong would look like eight marks and halve the window
    assert!(late.len() > 20);
    assert!(late.all(|(&after, &before)| f64::from(after) > 0.7 * f64::from(before)));
}
