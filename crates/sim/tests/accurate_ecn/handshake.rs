//! The handshake: its table of codes, and connections of ends with all settings.

use super::{at_hosts, flow, sent, Seen, CE, ECT_0, NOT_ECT};
use crate::common::{bulk, dumbbell, wide_link, MS, SECOND};
use headway_sim::host::tcp::accurate_ecn::codes::{
    asks, can_become, echo_of, echoed, is_cleared, mode_of_syn_ack, Echo, Mode,
};
use serde_json::{json, Value};

const ECT_1: u8 = 1;
const MODES: [&str; 4] = ["off", "on", "passive", "accurate"];

#[test]
fn every_code_of_a_syn_and_of_a_syn_ack_has_its_mode() {
    for syn in 0..8 {
        // 000 asks for nothing and 011 for RFC 3168; all others count as a request
        assert_eq!(asks(syn), !matches!(syn, 0b000 | 0b011), "{syn:03b}");
    }
    let modes = [
        Mode::Off,      // 000: no ECN
        Mode::Classic,  // 001: RFC 3168
        Mode::Accurate, // 010: the SYN arrived without ECT
        Mode::Accurate, // 011: with ECT(1)
        Mode::Accurate, // 100: with ECT(0)
        Mode::Accurate, // 101: reserved
        Mode::Accurate, // 110: with CE
        Mode::Off,      // 111: the other end returns the SYN's flags
    ];
    for (code, mode) in (0..).zip(modes) {
        assert_eq!(mode_of_syn_ack(code), mode, "{code:03b}");
    }
    let echoes = [
        (NOT_ECT, 0b010),
        (ECT_1, 0b011),
        (ECT_0, 0b100),
        (CE, 0b110),
    ];
    for (field, code) in echoes {
        assert_eq!((echo_of(field), echoed(code)), (code, Some(field)));
    }
    for code in [0b000, 0b001, 0b101, 0b111] {
        assert_eq!(echoed(code), None);
    }
}

#[test]
fn a_path_may_mark_packets_but_not_change_whether_they_can_be_marked() {
    for sent in 0..4 {
        for arrived in 0..4 {
            let valid = sent == arrived || sent != NOT_ECT && sent != CE && arrived != NOT_ECT;
            assert_eq!(can_become(sent, arrived), valid, "{sent} {arrived}");
        }
    }
}

#[test]
fn every_code_of_the_third_ack_tells_what_the_table_says() {
    for sent in [NOT_ECT, ECT_0, ECT_1, CE] {
        for code in 0..8 {
            let what = format!("{code:03b} for {sent}");
            // 000: the path has cleared the field, so no feedback can arrive
            assert_eq!(is_cleared(code), code == 0, "{what}");
            let arrived = match code {
                0b010 => NOT_ECT,
                0b011 => ECT_1,
                0b100 => ECT_0,
                0b110 => CE,
                // legal, but unused: they tell nothing
                _ => {
                    assert_eq!(Echo::of(code, sent), Echo::default(), "{what}");
                    continue;
                }
            };
            let is_bleached = match (sent, arrived) {
                (NOT_ECT, arrived) => arrived != NOT_ECT,
                (_, NOT_ECT) => true,
                (CE, arrived) => arrived != CE,
                _ => false,
            };
            let marked_pkts = u32::from(arrived == CE && !is_bleached);
            let expected = Echo {
                is_bleached,
                marked_pkts,
            };
            assert_eq!(Echo::of(code, sent), expected, "{what}");
        }
    }
}

/// A router that marks every ECN-capable packet.
fn marks_all() -> Value {
    json!([{"name": "periodic-loss", "tunables": {"every_pkts": 1, "mark": 1}}])
}

#[test]
fn both_ends_return_the_field_with_which_syn_and_syn_ack_arrive() {
    // DCTCP's packets carry ECT(0) from the SYN on, and Prague's ECT(1)
    for (control, marked, field, code) in [
        ("reno", false, NOT_ECT, 0b010),
        ("prague", false, ECT_1, 0b011),
        ("dctcp", false, ECT_0, 0b100),
        ("dctcp", true, ECT_0, 0b110),
        ("prague", true, ECT_1, 0b110),
    ] {
        for way in ["forward", "reverse"] {
            let what = format!("{control}, marks {marked} {way}");
            let mut scenario = short(json!([flow(control, "accurate", "accurate", Some(50_000))]));
            if marked {
                scenario["topology"][way]["routers"] = marks_all();
            }
            let (outcome, seen) = at_hosts(&scenario);
            let (there, back) = (sent(&seen, true), sent(&seen, false));
            let is_marked = |at: &str| marked && way == at;
            let plain = echo_of(field);
            assert_eq!((there[0].ace, there[0].ecn), (0b111, field), "{what}");
            assert_eq!(back[0].ecn, field, "{what}");
            let of_syn = if is_marked("forward") { code } else { plain };
            assert_eq!(back[0].ace, of_syn, "{what}");
            let of_syn_ack = if is_marked("reverse") { code } else { plain };
            assert_eq!(there[1].ace, of_syn_ack, "{what}");
            // a mark on the SYN-ACK or SYN counts as one
            let counter = |count: u32| (5 + count) as u8 % 8;
            let data = only(&there, |s| s.payload_bytes > 0);
            assert_eq!(data.ace, counter(is_marked("reverse").into()), "{what}");
            let summary = &outcome.summary.flows[0];
            assert_eq!((summary.ecn, summary.accurate_ecn), (Some(true), true));
        }
    }
}

#[test]
fn a_control_that_needs_accurate_ecn_asks_for_it_whatever_is_set_and_has_no_other() {
    let is = |seen: &[&Seen], ecn: u8| seen.iter().all(|s| s.ecn == ecn);
    for mode in MODES {
        let scenario = short(json!([flow("prague", mode, mode, Some(50_000))]));
        let (outcome, seen) = at_hosts(&scenario);
        let (there, back) = (sent(&seen, true), sent(&seen, false));
        assert_eq!((there[0].ace, back[0].ace), (0b111, 0b011), "{mode}");
        assert!(is(&there, ECT_1) && is(&back, ECT_1), "{mode}");
        assert!(outcome.summary.flows[0].accurate_ecn, "{mode}");
    }
    // without Accurate ECN no packet after the handshake is ECN-capable
    for (ecn, syns) in [("drop-syn", 3), ("clear-flags", 1)] {
        let mut scenario = short(json!([flow("prague", "on", "on", Some(50_000))]));
        scenario["topology"]["forward"]["ecn"] = json!(ecn);
        let (outcome, seen) = at_hosts(&scenario);
        let (there, back) = (sent(&seen, true), sent(&seen, false));
        assert_eq!(there.iter().filter(|s| s.is_syn).count(), syns, "{ecn}");
        let (asking, rest) = there.split_at(if syns == 1 { 1 } else { syns - 1 });
        assert!(
            asking.iter().all(|s| s.ace == 0b111) && is(asking, ECT_1),
            "{ecn}"
        );
        assert!(is(rest, NOT_ECT) && is(&back, NOT_ECT), "{ecn}");
        assert_eq!(outcome.summary.flows[0].ecn, Some(false), "{ecn}");
        assert!(outcome.summary.flows[0].done_ns.is_some(), "{ecn}");
    }
}

/// A short transfer over a clean path.
fn short(flows: Value) -> Value {
    dumbbell(
        "linux-6",
        3 * SECOND,
        &wide_link(10_000_000, 10 * MS),
        flows,
    )
}

fn only<'a>(seen: &[&'a Seen], what: impl Fn(&Seen) -> bool) -> &'a Seen {
    seen.iter().find(|s| what(s)).expect("a packet")
}

#[test]
fn all_pairs_of_settings_agree_on_a_mode() {
    for opener in MODES {
        for responder in MODES {
            let what = format!("{opener} to {responder}");
            let scenario = short(json!([flow("reno", opener, responder, Some(50_000))]));
            let (outcome, seen) = at_hosts(&scenario);
            let (there, back) = (sent(&seen, true), sent(&seen, false));
            let asked = match opener {
                "on" => 0b011,
                "accurate" => 0b111,
                _ => 0,
            };
            // a request for Accurate ECN is also one for RFC 3168
            let answer = match (asked, responder) {
                (0, _) | (_, "off") => 0,
                (0b111, "accurate") => 0b010,
                _ => 0b001,
            };
            let is_accurate = answer == 0b010;
            assert_eq!(there[0].ace, asked, "{what}");
            assert_eq!((back[0].is_syn, back[0].ace), (true, answer), "{what}");
            assert_eq!((there[0].ecn, back[0].ecn), (NOT_ECT, NOT_ECT), "{what}");
            // the first ACK returns the field of the SYN-ACK, then the counter starts at 5
            let data = only(&there, |s| s.payload_bytes > 0);
            let first = if is_accurate { (0b010, 0b101) } else { (0, 0) };
            assert_eq!((there[1].ace, data.ace), first, "{what}");
            assert!(there[1].is_ack());
            let acks: Vec<_> = back.iter().filter(|s| s.is_ack()).collect();
            assert!(acks.iter().all(|s| s.ace == first.1), "{what}");
            let ect = if answer == 0 { NOT_ECT } else { ECT_0 };
            assert_eq!(data.ecn, ect, "{what}");
            let of_acks = if is_accurate { ECT_0 } else { NOT_ECT };
            assert!(acks.iter().all(|s| s.ecn == of_acks), "{what}");
            // the option is in the SYN-ACK and in everything after it
            assert!(back.iter().all(|s| s.option.is_some() == is_accurate));
            assert!(there[1..].iter().all(|s| s.option.is_some() == is_accurate));
            let summary = &outcome.summary.flows[0];
            let agreed = (asked != 0).then_some(answer != 0);
            assert_eq!((summary.ecn, summary.accurate_ecn), (agreed, is_accurate));
            assert!(summary.done_ns.is_some(), "{what}");
        }
    }
}

#[test]
fn tcp_ecn_sets_all_hosts_and_the_values_4_and_5_only_accept() {
    for (tcp_ecn, asked, answer) in [
        (0, 0, 0),
        (1, 0b011, 0b001),
        (2, 0, 0),
        (3, 0b111, 0b010),
        (4, 0b011, 0b001),
        (5, 0, 0),
    ] {
        let mut scenario = short(json!([bulk("reno", Some(50_000))]));
        scenario["sysctls"] = json!({"tcp_ecn": [tcp_ecn]});
        let (_, seen) = at_hosts(&scenario);
        assert_eq!(sent(&seen, true)[0].ace, asked, "{tcp_ecn}");
        assert_eq!(sent(&seen, false)[0].ace, answer, "{tcp_ecn}");
        // an opener that asks for Accurate ECN gets it from 3 to 5
        let mut flow = bulk("reno", Some(50_000));
        flow["ecn"] = json!(["accurate", null]);
        scenario["flows"] = json!([flow]);
        let (_, seen) = at_hosts(&scenario);
        let expected = [0, 0b001, 0b001, 0b010, 0b010, 0b010][tcp_ecn];
        assert_eq!(sent(&seen, false)[0].ace, expected, "{tcp_ecn}");
    }
}

#[test]
fn the_option_follows_its_sysctl() {
    for option in 0..3 {
        let mut scenario = short(json!([flow("reno", "accurate", "accurate", Some(500_000))]));
        scenario["sysctls"] = json!({"tcp_ecn_option": [option]});
        let (outcome, seen) = at_hosts(&scenario);
        let with_option = seen.iter().filter(|s| s.option.is_some()).count();
        let all = seen.iter().filter(|s| s.outbound || !s.is_syn).count();
        match option {
            0 => assert_eq!(with_option, 0),
            1 => assert!(
                with_option > 0 && with_option < all / 2,
                "{with_option} of {all}"
            ),
            _ => assert!(with_option > all * 9 / 10, "{with_option} of {all}"),
        }
        // with every packet, segments leave room for it
        let mss = outcome.summary.flows[0].mss_bytes;
        assert_eq!(mss, Some(if option == 2 { 1436 } else { 1448 }));
        let largest = seen.iter().map(|s| s.ip_bytes).max();
        assert_eq!(largest, Some(1500), "{option}");
        assert!(outcome.summary.flows[0].done_ns.is_some());
    }
}

#[test]
fn the_third_syn_asks_for_nothing_and_repeated_syn_acks_become_plain() {
    let mut link = wide_link(10_000_000, 10 * MS);
    link["ecn"] = json!("drop-syn");
    let accurate = flow("reno", "accurate", "accurate", Some(50_000));
    let scenario = dumbbell("linux-6", 10 * SECOND, &link, json!([accurate]));
    let (outcome, seen) = at_hosts(&scenario);
    let codes = |seen: &[Seen], outbound: bool| -> Vec<(u8, bool)> {
        let syns = sent(seen, outbound).into_iter().filter(|s| s.is_syn);
        syns.map(|s| (s.ace, s.option.is_some())).collect()
    };
    let asked = (0b111, false);
    assert_eq!(codes(&seen, true), [asked, asked, (0, false)]);
    assert_eq!(codes(&seen, false), [(0, false)]);
    assert_eq!(outcome.summary.flows[0].ecn, Some(false));

    // the SYN arrives, but many SYN-ACKs are lost
    let mut scenario = short(json!([accurate.clone()]));
    scenario["duration_ns"] = json!(60 * SECOND);
    scenario["topology"]["reverse"]["loss"] = json!(0.5);
    let (outcome, seen) = (0..200)
        .map(|seed| {
            scenario["seed"] = json!(seed);
            at_hosts(&scenario)
        })
        .find(|(_, seen)| {
            let arrived = seen
                .iter()
                .filter(|s| s.is_syn && !s.outbound && s.host == 0);
            codes(seen, false).len() == 3 && arrived.map(|s| s.ace).eq([0])
        })
        .expect("a seed that loses two SYN-ACKs");
    let expected = [(0b010, true), (0b010, false), (0, false)];
    assert_eq!(codes(&seen, false), expected);
    // the opener then has no ECN, and the responder gets no code and sends nothing ECN-capable
    assert!(sent(&seen, true).iter().all(|s| s.ecn == NOT_ECT));
    assert!(sent(&seen, false).iter().all(|s| s.ecn == NOT_ECT));
    assert_eq!(outcome.summary.flows[0].ecn, Some(false));
}
