//! Effects of links that begin, change and end during a run.

use crate::common::{bulk, dumbbell, run, wide_link, MS, SECOND};
use headway_sim::Outcome;
use serde_json::{json, Value};

const RATE_BPS: u64 = 100_000_000;
const DELAY_NS: u64 = 20 * MS;

/// A link of this rate whose effects change at these times.
fn link(rate_bps: u64, steps: &[(u64, Value)]) -> Value {
    let mut link = wide_link(rate_bps, DELAY_NS);
    let steps: Vec<Value> = steps
        .iter()
        .map(|(start_ns, effects)| json!([start_ns, rate_bps, DELAY_NS, effects]))
        .collect();
    link["vary"] = json!({"kind": "schedule", "steps": steps});
    link
}

/// A flow of datagrams of 1500 bytes, one every `interval_ns`, for 6 s.
fn datagrams(link: &Value, interval_ns: u64) -> Outcome {
    let flow = json!({"name": "cbr",
        "app": {"kind": "cbr", "ip_bytes": 1500, "interval_ns": interval_ns}});
    run(&dumbbell("linux-6", 6 * SECOND, link, json!([flow])))
}

/// When each datagram was sent, and its delay if it arrived, in the order of sending.
fn delays(outcome: &Outcome) -> Vec<(u64, Option<u64>)> {
    let udp = &outcome.tables.udp;
    let rows = udp.sent_ns.iter().zip(&udp.owd_ns);
    let mut all: Vec<_> = rows
        .map(|(sent_ns, owd_ns)| (*sent_ns as u64, u64::try_from(*owd_ns).ok()))
        .collect();
    all.sort_unstable();
    all
}

/// The delays of the datagrams that were sent in `[from_ns, to_ns)`; None for a lost one.
fn within(all: &[(u64, Option<u64>)], from_ns: u64, to_ns: u64) -> Vec<Option<u64>> {
    let inside = all.iter().filter(|(ns, _)| (from_ns..to_ns).contains(ns));
    inside.map(|(_, owd_ns)| *owd_ns).collect()
}

fn all_the_same(delays: &[Option<u64>]) -> bool {
    !delays.is_empty() && delays.iter().all(|ns| ns.is_some() && *ns == delays[0])
}

fn arrived(delays: &[Option<u64>]) -> usize {
    delays.iter().flatten().count()
}

#[test]
fn jitter_begins_and_ends_and_no_datagram_overtakes_another() {
    let steps = [
        (0, json!({})),
        (2 * SECOND, json!({"jitter": {"spread_ns": 15 * MS}})),
        (4 * SECOND, json!({"jitter": "off"})),
    ];
    let outcome = datagrams(&link(RATE_BPS, &steps), MS);
    let sent_ns = &outcome.tables.udp.sent_ns;
    assert!(sent_ns.windows(2).all(|w| w[0] < w[1]), "rows by arrival");
    let all = delays(&outcome);
    // a datagram needs 12 us on the access link and 120 us on this link until it has left
    let change_ns = |at_ns: u64| at_ns - 132_000;
    let before = within(&all, 0, change_ns(2 * SECOND));
    assert!(all_the_same(&before));
    let during = within(&all, change_ns(2 * SECOND), change_ns(4 * SECOND));
    assert!(!all_the_same(&during[..10]));
    let later = |ns: &Option<u64>| ns.unwrap() > before[0].unwrap() + 10 * MS;
    assert!(during.iter().filter(|ns| later(ns)).count() > 100);
    // the last datagrams of the jitter hold up those behind them for a spread at most
    let after = within(&all, change_ns(4 * SECOND) + 31 * MS, 6 * SECOND);
    assert!(all_the_same(&after) && after[0] == before[0]);
}

#[test]
fn a_policer_keeps_its_tokens_when_its_parameters_change() {
    // 12 Mbit/s are offered
    let policer = |rate_bps: u64, burst_bytes: u64| json!({"policer": {"rate_bps": rate_bps, "burst_bytes": burst_bytes}});
    let steps = [
        (0, policer(6_000_000, 15_000)),
        (2 * SECOND, policer(3_000_000, 60_000)),
        (4 * SECOND, json!({"policer": "off"})),
        (5 * SECOND, policer(6_000_000, 60_000)),
    ];
    let all = delays(&datagrams(&link(RATE_BPS, &steps), MS));
    let passed = |from_ms: u64, to_ms: u64| arrived(&within(&all, from_ms * MS, to_ms * MS));
    let near = |found: usize, expected: usize| found.abs_diff(expected) <= 1;
    // half of the packets, and the ten of the first burst
    assert!(near(passed(0, 2000), 1010), "{}", passed(0, 2000));
    // the larger burst does not fill the bucket
    assert!(near(passed(2000, 4000), 500), "{}", passed(2000, 4000));
    assert_eq!(passed(4000, 5000), 1000);
    // a policer that begins is full: forty packets
    assert!(near(passed(5000, 5900), 490), "{}", passed(5000, 5900));
}

#[test]
fn packets_that_wait_for_a_shaper_go_when_it_ends() {
    // 12 Mbit/s are offered, the shaper lets 6 Mbit/s pass, and the link sends 24 Mbit/s
    let steps = [
        (0, json!({})),
        (
            SECOND,
            json!({"shaper": {"rate_bps": 6_000_000, "burst_bytes": 3000}}),
        ),
        (3 * SECOND, json!({"shaper": "off"})),
    ];
    let all = delays(&datagrams(&link(24_000_000, &steps), MS));
    let plain_ns = all[0].1.unwrap();
    assert!(all_the_same(&within(&all, 0, SECOND)));
    let owd_ns = |sent_ns: u64| within(&all, sent_ns, sent_ns + MS)[0].unwrap();
    // at 2 s, 500 packets wait, and leave every 2 ms
    let waited_ns = owd_ns(2 * SECOND) - plain_ns;
    assert!(waited_ns.abs_diff(SECOND) < 10 * MS, "{waited_ns}");
    // at 3 s, 1000 packets wait, and leave every half millisecond
    let waited_ns = owd_ns(3 * SECOND) - plain_ns;
    assert!(waited_ns.abs_diff(SECOND / 2) < 10 * MS, "{waited_ns}");
    assert!(all_the_same(&within(&all, 4 * SECOND + 2 * MS, 6 * SECOND)));
    assert_eq!(owd_ns(5 * SECOND), plain_ns);
}

#[test]
fn bursts_of_losses_come_only_while_they_are_on() {
    let burst = json!({"burst_loss": {"to_bad": 0.05, "to_good": 0.25}});
    let steps = [
        (0, json!({})),
        (2 * SECOND, burst.clone()),
        (4 * SECOND, json!({"burst_loss": "off"})),
    ];
    let all = delays(&datagrams(&link(RATE_BPS, &steps), MS));
    let lost = |from_ns, to_ns| {
        let all = within(&all, from_ns, to_ns);
        all.len() - arrived(&all)
    };
    assert_eq!(lost(0, 2 * SECOND), 0);
    assert!(lost(2 * SECOND, 4 * SECOND) > 100);
    assert_eq!(lost(4 * SECOND, 6 * SECOND), 0);
    // the random stream is that of a link which always has the effect
    let always = delays(&datagrams(&link(RATE_BPS, &[(0, burst)]), MS));
    assert_eq!(
        within(&all, 2 * SECOND, 4 * SECOND),
        within(&always, 0, 2 * SECOND)
    );
}

#[test]
fn frames_begin_and_end() {
    let steps = [
        (0, json!({})),
        (2 * SECOND, json!({"aggregation": {"interval_ns": 10 * MS}})),
        (4 * SECOND, json!({"aggregation": "off"})),
    ];
    let all = delays(&datagrams(&link(RATE_BPS, &steps), MS));
    assert!(all_the_same(&within(&all, 0, 2 * SECOND - MS)));
    for (sent_ns, owd_ns) in &all {
        if (2 * SECOND..4 * SECOND - 11 * MS).contains(sent_ns) {
            // packets of a frame cross the receiver's access link in 12 us each
            let left_ns = sent_ns + owd_ns.unwrap() - DELAY_NS;
            assert!(left_ns % (10 * MS) <= 11 * 12_000, "{left_ns}");
        }
    }
    // the packets that waited for the frame at 4 s are sent one after the other from then on
    assert!(all_the_same(&within(&all, 4 * SECOND + 3 * MS, 6 * SECOND)));
}

/// All effects, and a schedule that repeats them, or their absence, at several times.
fn repeated(rate_bps: u64, effects: &Value, repeats: bool) -> Value {
    let mut plain = wide_link(rate_bps, DELAY_NS);
    plain["limit_pkts"] = json!(60);
    let mut steps = vec![json!([0, rate_bps, DELAY_NS])];
    for (name, effect) in effects.as_object().expect("an object") {
        plain[name] = effect.clone();
    }
    if repeats {
        for at_ms in [700, 1300, 1301] {
            steps.push(json!([at_ms * MS, rate_bps, DELAY_NS, effects]));
        }
    }
    plain["vary"] = json!({"kind": "schedule", "steps": steps});
    plain
}

#[test]
fn a_step_that_repeats_what_the_link_has_changes_nothing() {
    let effects = json!({
        "jitter": {"spread_ns": 5 * MS, "distribution": "pareto", "correlation": 0.3},
        "burst_loss": {"to_bad": 0.005, "to_good": 0.4},
        "policer": {"rate_bps": 16_000_000, "burst_bytes": 20_000, "mark": true},
        "shaper": {"rate_bps": 15_000_000, "burst_bytes": 6000},
        "aggregation": {"interval_ns": 4 * MS, "packets": 6},
    });
    let captured = |repeats: bool| {
        let link = repeated(20_000_000, &effects, repeats);
        let flows = json!([bulk("cubic", None)]);
        run(&dumbbell("linux-6", 2 * SECOND, &link, flows)).capture
    };
    let once = captured(false);
    assert!(once.as_ref().is_some_and(|bytes| bytes.len() > 10_000));
    assert!(once == captured(true));
}

#[test]
fn a_trace_keeps_its_opportunities_while_effects_change() {
    let mut link = wide_link(1, DELAY_NS);
    let policer = json!({"policer": {"rate_bps": 6_000_000, "burst_bytes": 1500}});
    let steps = json!([[2 * SECOND, policer], [4 * SECOND, {"policer": "off"}]]);
    link["vary"] = json!({"kind": "mahimahi", "opportunities_ms": [1], "steps": steps});
    let all = delays(&datagrams(&link, MS));
    assert_eq!(arrived(&within(&all, 0, 2 * SECOND - MS)), 1999);
    let policed = arrived(&within(&all, 2 * SECOND, 4 * SECOND - MS));
    assert!(policed.abs_diff(1000) <= 2, "{policed}");
    assert_eq!(arrived(&within(&all, 4 * SECOND, 5 * SECOND)), 1000);
}

#[test]
fn held_packets_see_the_same_changes() {
    // CoDel (here without drops) and DRR decide at the head of the queue; drop-tail knows departures
    // in advance
    let lenient = json!({"target_us": 1_000_000, "interval_us": 1_000_000});
    let shaper = |rate_bps: u64| json!({"shaper": {"rate_bps": rate_bps, "burst_bytes": 6000}});
    for steps in [
        [
            (0, shaper(5_000_000)),
            (SECOND, shaper(9_000_000)),
            (2 * SECOND, shaper(3_000_000)),
            (3 * SECOND, json!({"shaper": "off"})),
        ],
        [
            (0, json!({})),
            (SECOND, json!({"aggregation": {"interval_ns": 3 * MS}})),
            (2 * SECOND, json!({"aggregation": {"interval_ns": 7 * MS}})),
            (3 * SECOND, json!({"aggregation": "off"})),
        ],
    ] {
        let aqms = [
            json!({"name": "drop-tail"}),
            json!({"name": "codel", "tunables": lenient}),
            json!({"name": "drr"}),
        ];
        let all = aqms.map(|aqm| {
            let mut link = link(50_000_000, &steps);
            link["aqm"] = aqm;
            delays(&datagrams(&link, 2 * MS))
        });
        assert!(all[0].iter().any(|(_, owd_ns)| *owd_ns != all[0][0].1));
        assert_eq!(all[0], all[1]);
        assert_eq!(all[0], all[2]);
    }
}
