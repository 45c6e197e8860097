//! Links and queues: rates are exact, limits hold, packets follow their routes.

use crate::common::{bulk, dumbbell, run, MS, SECOND};
use serde_json::{json, Value};

fn queue_lengths(outcome: &headway_sim::Outcome, link: u32) -> Vec<(u64, u32, u32)> {
    let q = &outcome.tables.queue;
    (0..q.link.len())
        .filter(|&row| q.link[row] == link)
        .map(|row| (q.time_ns[row] as u64, q.queue_bytes[row], q.queue_pkts[row]))
        .collect()
}

fn limited(limits: Value) -> headway_sim::Outcome {
    let mut link = json!({"rate_bps": 1_000_000, "delay_ns": 25 * MS});
    let more = limits.as_object().expect("an object").clone();
    link.as_object_mut().expect("an object").extend(more);
    let flows = json!([bulk("cubic", None), bulk("reno", None)]);
    run(&dumbbell("linux-2.6", 30 * SECOND, &link, flows))
}

#[test]
fn a_queue_never_holds_more_than_its_limit() {
    let longest = |outcome, of: fn(&(u64, u32, u32)) -> u32| {
        queue_lengths(&outcome, 0)
            .iter()
            .map(of)
            .max()
            .expect("rows")
    };
    // All data packets have 1500 bytes, so at least 18,501 of the 20,000 bytes are used.
    let bytes = longest(limited(json!({"limit_bytes": 20_000})), |r| r.1);
    assert!((18_501..=20_000).contains(&bytes), "{bytes}");
    let packets = longest(limited(json!({"limit_pkts": 13})), |r| r.2);
    assert_eq!(packets, 13);
}

#[test]
fn with_overshoot_a_queue_exceeds_its_limit_by_less_than_one_packet() {
    // Like FreeBSD's dummynet, the queue compares its length with the limit before it adds the
    // packet.
    let aqm = json!({"name": "drop-tail", "tunables": {"overshoot": 1}});
    let outcome = limited(json!({"limit_bytes": 20_000, "aqm": aqm}));
    let longest = queue_lengths(&outcome, 0)
        .iter()
        .map(|r| r.1)
        .max()
        .expect("rows");
    assert!((20_001..21_500).contains(&longest), "{longest}");
}

#[test]
fn a_busy_link_sends_at_exactly_its_rate() {
    let outcome = limited(json!({"limit_bytes": 20_000}));
    let rows = queue_lengths(&outcome, 0);
    let mut before = (0, 0);
    let mut departed_ns = None;
    let mut gaps = 0;
    for &(time_ns, bytes, pkts) in &rows {
        if pkts < before.1 {
            let sent_bytes = u64::from(before.0 - bytes);
            if let Some(previous_ns) = departed_ns {
                // A byte takes 8 us at 1 Mbit/s.
                assert_eq!(time_ns - previous_ns, sent_bytes * 8000);
                gaps += 1;
            }
            // If the queue is empty now, the link becomes idle, and the next gap does not count.
            departed_ns = (pkts > 0).then_some(time_ns);
        }
        before = (bytes, pkts);
    }
    assert!(gaps > 2000, "{gaps}");
    let counters = &outcome.tables.link_counters;
    assert!(counters.sent_bytes[0] <= 30 * 125_000);
    assert!(counters.sent_bytes[0] > 29 * 125_000);
}

#[test]
fn a_packet_takes_the_transmission_time_and_delay_of_every_link_on_its_path() {
    let scenario = json!({
        "duration_ns": SECOND,
        "topology": {"kind": "dumbbell", "access_rate_bps": 10_000_000, "access_delay_ns": 3 * MS,
            "forward": {"rate_bps": 1_000_000, "delay_ns": 20 * MS},
            "reverse": {"rate_bps": 1_000_000, "delay_ns": 20 * MS}},
        "flows": [{"name": "voice", "extra_delay_ns": 7 * MS,
            "app": {"kind": "cbr", "ip_bytes": 186, "interval_ns": 20 * MS}}]
    });
    let outcome = run(&scenario);
    let wire_ns = 186 * 8 * (100 + 1000 + 100);
    let expected = 3 * MS + 7 * MS + 20 * MS + 3 * MS + wire_ns;
    assert_eq!(outcome.summary.flows[0].datagrams, 51);
    assert!(outcome.tables.udp.owd_ns.len() >= 48);
    assert!(outcome
        .tables
        .udp
        .owd_ns
        .iter()
        .all(|&d| d as u64 == expected));
}

#[test]
fn red_drops_early_and_keeps_the_queue_shorter_than_drop_tail() {
    let aqm = json!({"name": "red", "tunables":
        {"min_th_pkts": 5, "max_th_pkts": 15, "max_p_permille": 100, "weight_shift": 6}});
    let red = limited(json!({"limit_pkts": 60, "aqm": aqm}));
    let tail = limited(json!({"limit_pkts": 60}));
    let reasons = |o: &headway_sim::Outcome, reason: u8| {
        o.tables
            .drops
            .reason
            .iter()
            .filter(|&&r| r == reason)
            .count()
    };
    assert!(reasons(&red, 2) > 10);
    assert_eq!(reasons(&tail, 2), 0);
    assert!(reasons(&tail, 0) > 10);
    let mean = |o: &headway_sim::Outcome| o.tables.link_counters.queue_byte_us[0] / 30_000_000;
    assert!(
        mean(&red) * 2 < mean(&tail),
        "{} and {}",
        mean(&red),
        mean(&tail)
    );
    // The mean queue is near RED's thresholds, in packets of 1500 bytes.
    assert!(
        (5 * 1500..25 * 1500).contains(&mean(&red)),
        "{}",
        mean(&red)
    );
}

#[test]
fn flows_of_a_parking_lot_cross_only_the_links_between_their_routers() {
    let link = json!({"rate_bps": 2_000_000, "delay_ns": 5 * MS, "limit_pkts": 30});
    let hop = json!({"forward": link, "reverse": link});
    let lot = |flows: Value| {
        run(&json!({"duration_ns": 20 * SECOND, "flows": flows,
            "topology": {"kind": "chain", "hops": [hop, hop, hop]}}))
    };
    let between = |from: u32, to: u32| {
        let mut flow = bulk("reno", None);
        flow["from_hop"] = json!(from);
        flow["to_hop"] = json!(to);
        flow
    };
    let one = lot(json!([between(1, 2)]));
    let arrived = &one.tables.link_counters.arrived_pkts;
    let used: Vec<_> = arrived.iter().map(|&n| n > 0).collect();
    assert_eq!(
        one.summary.links,
        ["forward0", "reverse0", "forward1", "reverse1", "forward2", "reverse2"]
    );
    assert_eq!(used, [false, false, true, true, false, false]);

    let flows = json!([between(0, 3), between(0, 1), between(1, 2), between(2, 3)]);
    let all = lot(flows);
    let bytes = &all.tables.flow_counters.delivered_bytes;
    for (hop, local) in bytes[1..].iter().enumerate() {
        let sent = all.tables.link_counters.sent_bytes[2 * hop];
        assert!(sent > 19 * 250_000, "forward{hop} was full: {sent}");
        // Two flows share each hop: the flow over all hops and the hop's local flow.
        let share = (bytes[0] + local) as f64 / (sent as f64 * 1448.0 / 1500.0);
        assert!((0.9..1.001).contains(&share), "forward{hop}: {share}");
        assert!(bytes[0] < *local, "the long path gets less");
    }
}

#[test]
fn loss_duplication_and_reordering_have_their_probabilities() {
    let mut link = json!({"rate_bps": 100_000_000, "delay_ns": 10 * MS, "loss": 0.1,
        "duplicate": 0.2, "reorder": 0.3, "reorder_delay_ns": 15 * MS});
    let flow = json!({"name": "voice",
        "app": {"kind": "cbr", "ip_bytes": 100, "interval_ns": MS}});
    let clean = json!({"rate_bps": 100_000_000});
    link["limit_pkts"] = json!(1000);
    let outcome = run(&json!({"duration_ns": 20 * SECOND, "flows": [flow],
        "topology": {"kind": "dumbbell", "forward": link, "reverse": clean}}));
    let owd = &outcome.tables.udp.owd_ns;
    let share = |n: usize, of: usize| n as f64 / of as f64;
    let sent = outcome.summary.flows[0].datagrams as usize;
    let lost = owd.iter().filter(|&&d| d < 0).count();
    let late = owd.iter().filter(|&&d| d > 20_000_000).count();
    let arrived = owd.len() - lost;
    assert!(
        (share(lost, sent) - 0.1).abs() < 0.01,
        "{}",
        share(lost, sent)
    );
    let doubled = share(arrived, sent - lost) - 1.0;
    assert!((doubled - 0.2).abs() < 0.01, "{doubled}");
    // Each copy of a duplicated packet may be reordered independently.
    let late_share = share(late, arrived);
    assert!((late_share - 0.3).abs() < 0.01, "{late_share}");
}

#[test]
fn a_router_at_the_dequeue_side_does_not_change_random_losses() {
    // maxnet writes headers as packets leave. Reno's packets have none, so this router changes
    // nothing.
    let disturbed = |routers: Value| {
        let mut link = json!({"rate_bps": 5_000_000, "delay_ns": 20 * MS, "limit_pkts": 30,
            "loss": 0.02, "duplicate": 0.02, "reorder": 0.02, "reorder_delay_ns": 5 * MS});
        link["routers"] = routers;
        let flows = json!([bulk("reno", Some(1_000_000))]);
        run(&dumbbell("linux-6", 30 * SECOND, &link, flows))
    };
    let alone = disturbed(json!([]));
    let beside = disturbed(json!([{"name": "maxnet"}]));
    let drops = |o: &headway_sim::Outcome| o.tables.drops.time_ns.clone();
    assert!(drops(&alone).len() > 10);
    assert_eq!(drops(&beside), drops(&alone));
    let done = |o: &headway_sim::Outcome| o.summary.flows[0].done_ns;
    assert_eq!(done(&beside), done(&alone));
}
