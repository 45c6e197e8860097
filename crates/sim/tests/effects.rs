//! Effects of links: delay variation, bursty loss, policer, shaper.

use crate::common::{bulk, dumbbell, run, wide_link, MS, SECOND};
use headway_sim::Outcome;
use serde_json::{json, Value};

fn with(mut link: Value, effects: Value) -> Value {
    let more = effects.as_object().expect("an object").clone();
    link.as_object_mut().expect("an object").extend(more);
    link
}

/// A flow of constant bit rate, one packet per interval, over a link with these effects.
fn constant(rate_bps: u64, ip_bytes: u64, interval_ns: u64, effects: Value) -> Outcome {
    let link = with(wide_link(rate_bps, 20 * MS), effects);
    let flow = json!({"name": "cbr",
        "app": {"kind": "cbr", "ip_bytes": ip_bytes, "interval_ns": interval_ns}});
    run(&dumbbell("linux-6", 20 * SECOND, &link, json!([flow])))
}

fn arrived(outcome: &Outcome) -> Vec<i64> {
    let owd_ns = outcome.tables.udp.owd_ns.iter();
    owd_ns.copied().filter(|&ns| ns >= 0).collect()
}

fn drops(outcome: &Outcome, reason: u8) -> usize {
    let reasons = outcome.tables.drops.reason.iter();
    reasons.filter(|&&r| r == reason).count()
}

/// Whether a datagram overtook one that was sent before it. Rows are in the order of arrival.
fn overtakes(outcome: &Outcome) -> bool {
    outcome.tables.udp.sent_ns.windows(2).any(|w| w[1] < w[0])
}

#[test]
fn jitter_spreads_delays_around_the_links_delay_and_reorders_only_if_allowed() {
    let jitter = |reorder: bool| {
        let spread = json!({"spread_ns": 10 * MS, "reorder": reorder});
        constant(100_000_000, 100, MS, json!({"jitter": spread}))
    };
    let free = jitter(true);
    let delays_ns = arrived(&free);
    let wire_ns = 100 * 8 * 10 + 2 * 800; // 100 Mbit/s, and two access links of 1 Gbit/s
    let base_ns = 20 * MS as i64 + wire_ns;
    let mean_ns = delays_ns.iter().sum::<i64>() / delays_ns.len() as i64;
    // the mean of 20,000 uniform numbers; five standard deviations
    let tolerance_ns = 5 * 10_000_000 / 245;
    assert!((mean_ns - base_ns).abs() < tolerance_ns, "{mean_ns}");
    let inside = |&ns: &i64| (ns - base_ns).abs() <= 10 * MS as i64;
    assert!(delays_ns.iter().all(inside));
    assert!(overtakes(&free));
    let ordered = jitter(false);
    assert!(!overtakes(&ordered));
    // a packet that waits for an earlier one arrives with it, so no delay exceeds the largest
    assert!(arrived(&ordered).iter().all(inside));
}

#[test]
fn tcp_with_jitter_in_order_sends_nothing_again() {
    let link = |reorder: bool| {
        with(
            json!({"rate_bps": 10_000_000, "delay_ns": 50 * MS, "limit_bytes": 125_000}),
            json!({"jitter": {"spread_ns": 10 * MS, "distribution": "pareto",
                "correlation": 0.25, "reorder": reorder}}),
        )
    };
    let transfer = |reorder: bool| {
        let flows = json!([bulk("cubic", Some(400_000))]);
        let outcome = run(&dumbbell("linux-6", 30 * SECOND, &link(reorder), flows));
        let done_ns = outcome.summary.flows[0].done_ns.expect("it is complete");
        (outcome.tables.flow_counters.retransmits_pkts[0], done_ns)
    };
    let (again, in_order_ns) = transfer(false);
    assert_eq!(again, 0);
    let (again, _) = transfer(true);
    assert!(again > 0, "reordering looks like loss to TCP at first");
    assert!(in_order_ns < 3 * SECOND, "{in_order_ns}");
}

#[test]
fn an_effect_does_not_change_what_another_effect_draws() {
    let burst = json!({"to_bad": 0.02, "to_good": 0.3});
    let alone = constant(10_000_000, 500, MS, json!({"burst_loss": burst}));
    let jitter = json!({"spread_ns": MS, "distribution": "normal", "correlation": 0.5});
    let both = constant(
        10_000_000,
        500,
        MS,
        json!({"burst_loss": burst, "jitter": jitter, "duplicate": 0.1}),
    );
    assert!(drops(&alone, 1) > 500);
    assert_eq!(alone.tables.drops.time_ns, both.tables.drops.time_ns);
}

#[test]
fn a_policer_passes_its_rate_and_its_burst_and_delays_nothing() {
    // 12 Mbit/s offered, 5 Mbit/s allowed
    let policer = json!({"rate_bps": 5_000_000, "burst_bytes": 30_000});
    let policed = constant(100_000_000, 1500, MS, json!({"policer": policer}));
    let sent_bytes = policed.tables.link_counters.sent_bytes[0];
    let most = 20 * 5_000_000 / 8 + 30_000;
    assert!((most - 3000..=most).contains(&sent_bytes), "{sent_bytes}");
    let delays_ns = arrived(&policed);
    assert!(delays_ns.windows(2).all(|w| w[0] == w[1]));
    assert_eq!(drops(&policed, 5), policed.tables.drops.reason.len());
}

#[test]
fn a_policer_that_marks_drops_only_packets_without_ecn() {
    let policer = json!({"rate_bps": 5_000_000, "burst_bytes": 30_000, "mark": true});
    let link = with(wide_link(100_000_000, 10 * MS), json!({"policer": policer}));
    let transfer = |ecn: &str| {
        let mut flow = bulk("cubic", None);
        flow["ecn"] = json!([ecn, ecn]);
        run(&dumbbell("linux-6", 10 * SECOND, &link, json!([flow])))
    };
    let marked = transfer("on");
    assert_eq!(drops(&marked, 5), 0);
    assert!(marked.tables.backoffs.flow.len() > 5, "marks slow it down");
    assert!(drops(&transfer("off"), 5) > 5);
}

#[test]
fn a_shaper_delays_what_a_policer_drops_and_sends_bursts_at_the_links_rate() {
    let shaper = json!({"rate_bps": 5_000_000, "burst_bytes": 15_000});
    let shaped = constant(100_000_000, 1500, MS, json!({"shaper": shaper}));
    assert_eq!(shaped.tables.drops.reason.len(), 0);
    let sent_bytes = shaped.tables.link_counters.sent_bytes[0];
    let most = 20 * 5_000_000 / 8 + 15_000;
    assert!((most - 3000..=most).contains(&sent_bytes), "{sent_bytes}");
    // 1 packet per ms comes, 0.417 go: of the first 17 packets, 16 find tokens in the bucket
    let delays_ns = arrived(&shaped);
    let prompt = delays_ns.iter().take_while(|&&ns| ns == delays_ns[0]);
    assert_eq!(prompt.count(), 16);
}

#[test]
fn held_packets_wait_for_the_shaper_and_for_frames_too() {
    // drop-tail knows departures in advance; the others decide at the head of the queue
    let flow = json!({"name": "cbr",
        "app": {"kind": "cbr", "ip_bytes": 1500, "interval_ns": 2 * MS}});
    for effect in [
        json!({"shaper": {"rate_bps": 6_500_000, "burst_bytes": 6000}}),
        json!({"aggregation": {"interval_ns": 3 * MS}}),
    ] {
        let all = ["drop-tail", "codel", "drr", "dualpi2", "fq_codel"].map(|aqm| {
            let link = with(
                wide_link(50_000_000, 20 * MS),
                with(effect.clone(), json!({"aqm": {"name": aqm}})),
            );
            arrived(&run(&dumbbell("linux-6", 5 * SECOND, &link, json!([flow]))))
        });
        for held in &all[1..] {
            assert_eq!(&all[0], held, "{effect}");
        }
    }
}

#[test]
fn frames_deliver_at_multiples_of_the_interval_and_keep_the_rate() {
    // 1.2 times the link's rate
    let frames =
        |more: Value| constant(10_000_000, 1500, MS, with(more, json!({"limit_pkts": 50})));
    let aggregated = frames(json!({"aggregation": {"interval_ns": 5 * MS}}));
    let udp = &aggregated.tables.udp;
    let access_ns = 1500 * 8; // the receiver's access link of 1 Gbit/s
    let mut of_frames = std::collections::BTreeMap::new();
    for (sent_ns, owd_ns) in udp
        .sent_ns
        .iter()
        .zip(&udp.owd_ns)
        .filter(|(_, &owd)| owd >= 0)
    {
        let left_ns = sent_ns + owd_ns - 20 * MS as i64 - access_ns;
        // packets of a frame cross the access link one after the other
        assert!(left_ns % (5 * MS as i64) < 10 * access_ns, "{left_ns}");
        *of_frames.entry(left_ns / (5 * MS as i64)).or_insert(0) += 1;
    }
    // 6250 bytes per frame
    assert!(of_frames.values().all(|&pkts| pkts <= 5));
    let sent = |outcome: &Outcome| outcome.tables.link_counters.sent_bytes[0];
    assert!(
        (24_980_000..=25_000_000).contains(&sent(&aggregated)),
        "{}",
        sent(&aggregated)
    );
    let few = frames(json!({"aggregation": {"interval_ns": 5 * MS, "packets": 2}}));
    assert_eq!(sent(&few) / 1500, 2 * 20_000 / 5);
}

#[test]
fn bbr_finds_the_rate_behind_a_policer() {
    let link = with(
        json!({"rate_bps": 100_000_000, "delay_ns": 20 * MS, "limit_bytes": 500_000}),
        json!({"policer": {"rate_bps": 10_000_000, "burst_bytes": 50_000}}),
    );
    let goodput_bps = |control: &str| {
        let mut scenario = dumbbell("linux-6", 30 * SECOND, &link, json!([bulk(control, None)]));
        scenario["checkpoints_ns"] = json!([10 * SECOND]);
        let counters = run(&scenario).tables.flow_counters;
        (counters.delivered_bytes[1] - counters.delivered_bytes[0]) * 8 / 20
    };
    let payload = 10_000_000 * 1448 / 1500;
    let bbr = goodput_bps("bbr");
    assert!((payload * 7 / 10..=payload).contains(&bbr), "{bbr}");
    let cubic = goodput_bps("cubic");
    assert!(cubic < payload, "{cubic}");
}

#[test]
fn effects_repeat_bit_for_bit_with_a_seed_and_change_with_it() {
    let effects = json!({
        "jitter": {"spread_ns": 5 * MS, "distribution": "normal", "correlation": 0.3,
            "reorder": true},
        "burst_loss": {"to_bad": 0.01, "to_good": 0.4},
        "policer": {"rate_bps": 9_000_000, "burst_bytes": 20_000},
        "shaper": {"rate_bps": 8_000_000, "burst_bytes": 3000},
    });
    let link = with(
        json!({"rate_bps": 20_000_000, "delay_ns": 20 * MS, "limit_pkts": 50}),
        effects,
    );
    let mut scenario = dumbbell("linux-6", 10 * SECOND, &link, json!([bulk("cubic", None)]));
    let times = |scenario: &Value| run(scenario).tables.drops.time_ns;
    let first = times(&scenario);
    assert!(first.len() > 20);
    assert_eq!(first, times(&scenario));
    scenario["seed"] = json!(2);
    assert_ne!(first, times(&scenario));
}
