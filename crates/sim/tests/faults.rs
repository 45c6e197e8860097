//! Faults of links: thinned ACKs, corruption, an MTU below that of the hosts.

use crate::common::{bulk, dumbbell, run, segments, wide_link, world, CapturedSegment, MS, SECOND};
use headway_sim::Outcome;
use headway_wire::TcpFlags;
use serde_json::{json, Value};

/// Reasons in the table of drops.
const THINNED: u8 = 6;
const TOO_BIG: u8 = 7;
const CORRUPT: u8 = 8;

fn with(mut link: Value, name: &str, effect: Value) -> Value {
    link[name] = effect;
    link
}

fn drops(outcome: &Outcome, reason: u8) -> usize {
    let reasons = outcome.tables.drops.reason.iter();
    reasons.filter(|&&r| r == reason).count()
}

/// Times of the drops for this reason.
fn drop_times(outcome: &Outcome, reason: u8) -> Vec<u64> {
    let drops = &outcome.tables.drops;
    let rows = drops.reason.iter().zip(&drops.time_ns);
    rows.filter(|(&r, _)| r == reason)
        .map(|(_, &ns)| ns as u64)
        .collect()
}

/// Goodput of flow 0 over the last 10 of 15 seconds.
fn goodput_bps(mut scenario: Value) -> f64 {
    scenario["duration_ns"] = json!(15 * SECOND);
    scenario["checkpoints_ns"] = json!([5 * SECOND]);
    scenario["capture"] = Value::Null;
    let counters = run(&scenario).tables.flow_counters;
    let rows = counters.flow.iter().zip(&counters.delivered_bytes);
    let of_first: Vec<u64> = rows.filter(|(&f, _)| f == 0).map(|(_, &b)| b).collect();
    (of_first[1] - of_first[0]) as f64 * 8.0 / 10.0
}

/// A download of 25 Mbit/s whose ACKs, one for each packet, return over 0.5 Mbit/s.
fn asymmetric(thinning: Option<Value>) -> Value {
    let down = json!({"rate_bps": 25_000_000, "delay_ns": 20 * MS, "limit_bytes": 125_000});
    let mut up = json!({"rate_bps": 500_000, "delay_ns": 20 * MS, "limit_bytes": 60_000});
    if let Some(thinning) = thinning {
        up["ack_thinning"] = thinning;
    }
    let mut download = bulk("cubic", None);
    download["delayed_ack"] = json!(false);
    let mut scenario = dumbbell("linux-6", SECOND, &down, json!([download]));
    scenario["topology"]["reverse"] = up;
    scenario
}

#[test]
fn thinned_acks_give_an_asymmetric_link_its_download_rate_back() {
    let rate_bps = 25e6 * 1448.0 / 1500.0;
    let of = |thinning| goodput_bps(asymmetric(thinning)) / rate_bps;
    let all_acks = of(None);
    assert!(all_acks < 0.9, "{all_acks}");
    for thinning in [
        json!({"filter": true}),
        json!({"keep_one_of": 4}),
        json!({"keep_one_of": 8, "interval_ns": 2 * MS}),
    ] {
        let share = of(Some(thinning.clone()));
        assert!(share >= 0.95, "{thinning}: {share}");
    }
}

#[test]
fn one_of_four_acks_crosses_a_link_that_keeps_so_many() {
    let counted = |thinning: Option<Value>| {
        let mut scenario = asymmetric(thinning);
        scenario["topology"]["forward"]["limit_bytes"] = json!(5_000_000);
        scenario["topology"]["reverse"]["rate_bps"] = json!(50_000_000);
        scenario["duration_ns"] = json!(3 * SECOND);
        scenario["capture"] = Value::Null;
        let outcome = run(&scenario);
        let counters = &outcome.tables.link_counters;
        let back = counters.link.iter().position(|&link| link == 1).unwrap();
        (
            counters.arrived_pkts[back],
            counters.sent_pkts[back],
            drops(&outcome, THINNED) as u64,
        )
    };
    // the last packet may be in transmission, and an ACK may be held
    let (arrived, sent, none) = counted(None);
    assert!(arrived - sent <= 1 && none == 0, "{none}");
    let (arrived, sent, thinned) = counted(Some(json!({"keep_one_of": 4})));
    assert!(arrived - sent - thinned <= 2, "{arrived} {sent} {thinned}");
    let share = arrived as f64 / sent as f64;
    assert!((3.9..=4.0).contains(&share), "{share}");
    // an idle link has no ACK that waits, so the filter has nothing to do
    let (arrived, sent, thinned) = counted(Some(json!({"filter": true})));
    assert!(
        arrived - sent == thinned && thinned < arrived / 100,
        "{thinned}"
    );
}

#[test]
fn recovery_with_thinned_acks_repairs_each_loss_once_and_without_timeouts() {
    for thinning in [json!({"filter": true}), json!({"keep_one_of": 4})] {
        for sack in [true, false] {
            let mut scenario = asymmetric(Some(thinning.clone()));
            scenario["topology"]["forward"]["loss"] = json!(0.0005);
            scenario["topology"]["forward"]["limit_bytes"] = json!(5_000_000);
            scenario["flows"][0]["app"]["bytes"] = json!(20_000_000);
            scenario["flows"][0]["sack"] = json!(sack);
            scenario["duration_ns"] = json!(30 * SECOND);
            scenario["capture"] = Value::Null;
            let outcome = run(&scenario);
            let counters = &outcome.tables.flow_counters;
            assert!(outcome.summary.flows[0].done_ns.is_some(), "{thinning}");
            assert!(drops(&outcome, THINNED) > 1000);
            let lost = drops(&outcome, 1) as u64;
            assert!(lost > 3, "{lost}");
            assert_eq!(counters.rtos[0], 0, "{thinning} {sack}");
            assert_eq!(counters.retransmits_pkts[0], lost, "{thinning} {sack}");
        }
    }
}

#[test]
fn every_packet_is_accounted_for_while_acks_are_thinned() {
    for aqm in ["drop-tail", "codel", "drr", "dualpi2", "fq_codel", "fq_pie"] {
        for thinning in [
            json!({"filter": true}),
            json!({"keep_one_of": 3, "interval_ns": MS}),
        ] {
            let mut scenario = asymmetric(Some(thinning));
            scenario["topology"]["reverse"]["aqm"] = json!({"name": aqm});
            scenario["topology"]["reverse"]["limit_bytes"] = json!(3000);
            scenario["duration_ns"] = json!(SECOND);
            let mut world = world(&scenario);
            let mut steps = 0;
            while world.step() {
                steps += 1;
                if steps % 100 == 0 {
                    world.check_invariants().unwrap();
                }
            }
            world.check_invariants().unwrap();
        }
    }
}

#[test]
fn damaged_packets_use_the_link_and_their_receiver_drops_them() {
    let link = with(
        json!({"rate_bps": 20_000_000, "delay_ns": 10 * MS, "limit_pkts": 1000}),
        "corruption",
        json!({"packet": 0.01}),
    );
    let mut scenario = dumbbell(
        "linux-6",
        20 * SECOND,
        &link,
        json!([bulk("reno", Some(5_000_000))]),
    );
    scenario["topology"]["reverse"]["corruption"] = Value::Null;
    let outcome = run(&scenario);
    assert!(outcome.summary.flows[0].done_ns.is_some());
    let damaged = drops(&outcome, CORRUPT);
    assert!(damaged > 20, "{damaged}");
    assert_eq!(outcome.tables.drops.reason.len(), damaged);
    let counters = &outcome.tables.link_counters;
    assert_eq!(counters.dropped_pkts[0], 0);
    assert_eq!(counters.arrived_pkts[0], counters.sent_pkts[0]);
    let again = outcome.tables.flow_counters.retransmits_pkts[0];
    assert!(again >= damaged as u64, "{again}");
    let all = 5_000_000 / 1448 + again;
    assert!(counters.sent_pkts[0] > all, "{all}");
}

#[test]
fn bit_errors_damage_large_packets_more_often() {
    let lost = |ip_bytes: u64| {
        let link = with(
            wide_link(100_000_000, MS),
            "corruption",
            json!({"bit": 1e-5}),
        );
        let flow = json!({"name": "cbr",
            "app": {"kind": "cbr", "ip_bytes": ip_bytes, "interval_ns": MS}});
        let outcome = run(&dumbbell("linux-6", 40 * SECOND, &link, json!([flow])));
        let lost = outcome
            .tables
            .udp
            .owd_ns
            .iter()
            .filter(|&&ns| ns < 0)
            .count();
        // the last datagram may be under way
        assert!(lost.abs_diff(drops(&outcome, CORRUPT)) <= 1);
        lost as f64 / outcome.tables.udp.owd_ns.len() as f64
    };
    for (ip_bytes, share) in [(1500, 0.113), (150, 0.0119)] {
        let found = lost(ip_bytes);
        // four standard deviations of 40,000 datagrams
        let tolerance = 4.0 * (share * (1.0 - share) / 40_000.0_f64).sqrt();
        assert!((found - share).abs() < tolerance, "{ip_bytes}: {found}");
    }
}

#[test]
fn corruption_draws_from_a_stream_of_its_own() {
    let of = |effects: Value| {
        let mut link = json!({"rate_bps": 10_000_000, "delay_ns": MS, "limit_pkts": 100});
        let more = effects.as_object().expect("an object").clone();
        link.as_object_mut().expect("an object").extend(more);
        let flow = json!({"name": "cbr",
            "app": {"kind": "cbr", "ip_bytes": 500, "interval_ns": MS}});
        run(&dumbbell("linux-6", 10 * SECOND, &link, json!([flow])))
    };
    let alone = of(json!({"corruption": {"packet": 0.05}}));
    let jitter = json!({"spread_ns": MS});
    assert!(drops(&alone, CORRUPT) > 100);
    let jittered = of(json!({"corruption": {"packet": 0.05}, "jitter": jitter}));
    assert_eq!(drop_times(&alone, CORRUPT), drop_times(&jittered, CORRUPT));
}

/// The data packets of flow 0 in a capture of the sender's side of the bottleneck.
fn data(outcome: &Outcome) -> Vec<CapturedSegment> {
    let all = segments(outcome.capture.as_deref().expect("a capture"));
    all.into_iter()
        .filter(|s| s.outbound && s.len > 0)
        .collect()
}

fn mtu(bytes: u32) -> Value {
    json!({"size_bytes": bytes})
}

#[test]
fn the_goodput_of_a_link_with_an_mtu_has_its_closed_form() {
    for (bytes, stack, timestamps) in [
        (1500, "linux-6", true),
        (1400, "linux-6", true),
        (1400, "linux-2.6", true),
        (576, "linux-6", true),
        (1000, "linux-6", false),
    ] {
        let link = json!({"rate_bps": 10_000_000, "delay_ns": 5 * MS, "limit_bytes": 100_000});
        let link = with(link, "mtu", mtu(bytes));
        let mut flow = bulk("reno", None);
        flow["timestamps"] = json!(timestamps);
        let header = if timestamps { 52 } else { 40 };
        let payload = f64::from(bytes - header) / f64::from(bytes);
        let found = goodput_bps(dumbbell(stack, SECOND, &link, json!([flow])));
        assert!(
            (found / (10e6 * payload) - 1.0).abs() < 0.001,
            "{bytes} {stack}: {found}"
        );
    }
}

#[test]
fn a_sender_learns_the_mtu_and_sends_the_first_window_again_without_a_timeout() {
    for (stack, window) in [("linux-6", 10), ("linux-2.6", 2)] {
        // the second hop has the MTU, 10 ms from the sender
        let hop =
            |link: Value| json!({"forward": link, "reverse": wide_link(100_000_000, 10 * MS)});
        let narrow = with(wide_link(100_000_000, 10 * MS), "mtu", mtu(1400));
        let mut scenario = dumbbell(
            stack,
            5 * SECOND,
            &narrow,
            json!([bulk("reno", Some(200_000))]),
        );
        scenario["topology"] = json!({"kind": "chain",
            "hops": [hop(wide_link(100_000_000, 10 * MS)), hop(narrow)]});
        let outcome = run(&scenario);
        let counters = &outcome.tables.flow_counters;
        assert_eq!(counters.rtos[0], 0);
        let too_big = drops(&outcome, TOO_BIG);
        let data = data(&outcome);
        let (large, small): (Vec<_>, Vec<_>) = data.iter().partition(|s| s.ip_bytes > 1400);
        assert_eq!((large.len(), too_big), (window, window), "{stack}");
        let first = small[0];
        assert_eq!((first.seq, first.ip_bytes), (1, 1400));
        // to the second router and back: propagation, and 1500 bytes there and 576 back on links
        let took_ns = first.time_ns - large[0].time_ns;
        let wire_ns = (1500 + 576) * 80 + 576 * 8 + 1400 * 8;
        assert!(took_ns.abs_diff(20 * MS + wire_ns) < 2000, "{took_ns}");
        // exactly the first window is sent again; cwnd is not reduced
        let (window, again) = (window as u64, counters.retransmits_pkts[0]);
        let least = (window * 1448).div_ceil(1348);
        assert!((least..=2 * window).contains(&again), "{again}");
        assert!(outcome.tables.backoffs.flow.is_empty(), "{stack}");
        let done_ns = outcome.summary.flows[0].done_ns.expect("it is complete");
        assert!(done_ns < 600 * MS, "{done_ns}");
        assert_eq!(outcome.summary.flows[0].mss_bytes, Some(1348));
    }
}

#[test]
fn what_was_sent_too_big_is_cut_by_sk_buffs() {
    let link = with(wide_link(100_000_000, 10 * MS), "mtu", mtu(1400));
    let scenario = dumbbell(
        "linux-6",
        5 * SECOND,
        &link,
        json!([bulk("reno", Some(30_000))]),
    );
    let outcome = run(&scenario);
    let data = data(&outcome);
    let again: Vec<_> = data.iter().filter(|s| s.ip_bytes <= 1400).collect();
    // all 30,000 bytes arrive in order, and every byte is sent in a small packet once
    let mut end = 1;
    for segment in &again {
        assert_eq!(segment.seq, end);
        end += u64::from(segment.len);
    }
    assert_eq!(end, 30_001);
    assert!(again.iter().filter(|s| s.len == 1348).count() >= 18);
    assert!(again.last().unwrap().has(TcpFlags::PSH));
}

#[test]
fn without_icmp_full_packets_never_arrive() {
    let silent = json!({"size_bytes": 1400, "icmp": false});
    let link = with(wide_link(10_000_000, 10 * MS), "mtu", silent);
    let outcome = run(&dumbbell(
        "linux-6",
        20 * SECOND,
        &link,
        json!([bulk("cubic", None)]),
    ));
    assert_eq!(outcome.tables.flow_counters.delivered_bytes[0], 0);
    assert!(outcome.tables.flow_counters.rtos[0] > 3);
    assert!(drops(&outcome, TOO_BIG) > 12);
    // small packets pass: both SYNs and the ACK
    assert!(outcome.summary.flows[0].handshake_rtt_us.is_some());
}

#[test]
fn later_connections_know_the_path_s_mtu_in_both_directions() {
    let link = with(wide_link(10_000_000, 10 * MS), "mtu", mtu(1000));
    // two connections, each with a large request and a large response
    let app = json!({"kind": "vectors", "epochs": [[20_000, 20_000, 0], [20_000, 20_000, 0]],
        "connections": [1, 1]});
    let flow = json!({"name": "v", "app": app, "control": {"name": "cubic"}});
    let mut scenario = dumbbell("linux-6", 10 * SECOND, &link, json!([flow]));
    scenario["capture"] = Value::Null;
    let outcome = run(&scenario);
    let responses = &outcome.tables.responses;
    assert_eq!(responses.end_ns.len(), 2);
    let too_big = drop_times(&outcome, TOO_BIG);
    assert!(!too_big.is_empty());
    let first_over_ns = responses.end_ns[0] as u64;
    assert!(
        too_big.iter().all(|&ns| ns < first_over_ns),
        "{too_big:?} {first_over_ns}"
    );
}

#[test]
fn an_mtu_of_1500_changes_nothing() {
    let of = |link: &Value| {
        let outcome = run(&dumbbell(
            "linux-6",
            5 * SECOND,
            link,
            json!([bulk("cubic", None)]),
        ));
        (outcome.capture, outcome.summary.events)
    };
    let link = json!({"rate_bps": 10_000_000, "delay_ns": 10 * MS, "limit_pkts": 30});
    assert!(of(&link) == of(&with(link.clone(), "mtu", mtu(1500))));
}

#[test]
fn a_control_that_takes_samples_survives_the_smaller_packets() {
    let link = json!({"rate_bps": 20_000_000, "delay_ns": 10 * MS, "limit_bytes": 100_000});
    let link = with(link, "mtu", mtu(1400));
    let found = goodput_bps(dumbbell(
        "linux-6",
        SECOND,
        &link,
        json!([bulk("bbr", None)]),
    ));
    let payload_bps = 20e6 * 1348.0 / 1400.0;
    assert!(
        (0.9 * payload_bps..=payload_bps).contains(&found),
        "{found}"
    );
}

#[test]
fn faults_repeat_bit_for_bit() {
    let mut scenario = asymmetric(Some(json!({"keep_one_of": 4})));
    scenario["topology"]["forward"]["corruption"] = json!({"bit": 1e-7});
    scenario["topology"]["forward"]["mtu"] = mtu(1400);
    scenario["duration_ns"] = json!(2 * SECOND);
    let capture = |scenario: &Value| run(scenario).capture;
    let first = capture(&scenario);
    assert!(first == capture(&scenario));
    scenario["seed"] = json!(2);
    assert!(first != capture(&scenario));
}
