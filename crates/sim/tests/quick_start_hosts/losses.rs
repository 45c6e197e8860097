//! What happens after a loss in the flight that an approved request allows.

use super::{flow, link};
use crate::common::{asked, dumbbell, CapturedSegment, Trace, MS, SECOND};
use serde_json::json;

#[test]
fn a_loss_in_the_first_flight_acts_as_if_the_request_had_been_denied() {
    // The router is configured with 100 Mbit/s, but the link has 2 Mbit/s.
    let mut link = link(100, 20, json!({"capacity_kbps": 100_000}));
    link["rate_bps"] = json!(2_000_000);
    let mut one = flow(1, json!({"after_idle": 1}), &json!({}));
    one["app"] = json!({"kind": "vectors", "epochs": [[400_000, 1, 3_000 * MS], [400_000, 1, 0]]});
    one["announces"] = json!(true);
    let scenario = dumbbell("linux-6", 20 * SECOND, &link, json!([one]));
    let trace = Trace::of(&scenario);
    let states = &trace.outcome.tables.flow_state;
    let recovered = (1..states.state.len())
        .find(|&i| states.state[i] < 2 && states.state[i - 1] == 3)
        .expect("fast recovery ends");
    // after recovery: slow start from the initial window (4.6), up to half of the delivered packets
    assert!((10..=43).contains(&states.cwnd_pkts[recovered]));
    assert!((10..=43).contains(&states.ssthresh_pkts[recovered]));
    // after the loss the sender makes no more requests on this connection
    assert_eq!(asked(&trace.outcome.summary.flows[0], "requests"), 1);
}

/// About 1000 packets of a flight of 1365 are lost, because the router assumes 100 Mbit/s and the
/// link has 10.
#[test]
fn a_mass_loss_of_the_first_flight_is_repaired_in_slow_start() {
    for (stack, initial) in [("linux-2.6", 2), ("linux-6", 10)] {
        let mut link = link(200, 150, json!({"capacity_kbps": 100_000}));
        link["rate_bps"] = json!(10_000_000);
        let tunables = json!({"qs_rate_kbps": 81_920, "qs_fit_data": 0});
        let flow = flow(2_500_000, tunables, &json!({"delayed_ack": false}));
        let trace = Trace::of(&dumbbell(stack, 10 * SECOND, &link, json!([flow])));
        let mut sent = 0;
        let copies: Vec<u64> = trace
            .data()
            .iter()
            .filter(|d| {
                let is_copy = d.seq < sent;
                sent = sent.max(d.seq + 1);
                is_copy
            })
            .map(|d| d.time_ns)
            .collect();
        assert!(copies.len() > 900, "{stack}: {} copies", copies.len());
        // in each round trip after the first retransmission, the initial window and its doublings
        // are sent
        let until = |round: u32| {
            let end = copies[0] + u64::from(round) * 200 * MS;
            copies.iter().filter(|&&t| t < end).count()
        };
        let sums: Vec<usize> = (1..=8).map(until).collect();
        for (round, &sum) in (1..).zip(&sums) {
            assert!(sum < initial << round, "{stack}: {sums:?}");
        }
        assert!(sums[7] > 200, "{stack}: {sums:?}");
        // slow start ends at half of the packets that were delivered
        let before = |sent: &[CapturedSegment]| {
            let data = sent.iter().filter(|s| s.outbound && s.len > 0);
            data.filter(|s| s.time_ns < copies[0]).count()
        };
        let arrived = before(&trace.segments) - before(&trace.lost);
        let states = &trace.outcome.tables.flow_state;
        let largest = (0..states.state.len())
            .filter(|&i| states.state[i] == 3 && states.time_ns[i] as u64 > copies[0] + 300 * MS)
            .map(|i| states.cwnd_pkts[i] as usize)
            .max();
        let bound = arrived / 2;
        assert!(
            largest.is_some_and(|pkts| (bound - 10..=bound).contains(&pkts)),
            "{stack}: {largest:?}, half of {arrived}"
        );
        assert_eq!(trace.repairs().0, 0, "{stack}: no timeout is needed");
        let acked = &trace.outcome.tables.flow_counters.acked_bytes;
        assert_eq!(acked.last(), Some(&2_500_000), "{stack}");
    }
}

/// About 300 packets of a flight of 1365 are lost. The RFC limits slow start by the lost flight.
/// Scharf's rules (4.5.1.1: "undo the CWND increase") restore the window before the flight and set
/// no limit.
#[test]
fn with_scharfs_rules_slow_start_continues_after_a_mass_loss() {
    for (stack, initial) in [("linux-2.6", 2), ("linux-6", 10)] {
        let ssthresh_after = |rules: u32| {
            let mut link = link(200, 600, json!({"capacity_kbps": 100_000}));
            link["rate_bps"] = json!(10_000_000);
            let tunables = json!({"qs_rate_kbps": 81_920, "qs_fit_data": 0, "qs_rules": rules});
            let flow = flow(2_500_000, tunables, &json!({"delayed_ack": false}));
            let trace = Trace::of(&dumbbell(stack, 20 * SECOND, &link, json!([flow])));
            let tables = &trace.outcome.tables;
            assert_eq!(tables.flow_counters.acked_bytes.last(), Some(&2_500_000));
            let states = &tables.flow_state;
            let lost = states.state.iter().position(|&s| s == 3).expect("a loss");
            // recovery restores the window from before the flight, and this window then grows
            let least = (lost..states.state.len())
                .take_while(|&i| states.state[i] == 3)
                .map(|i| states.cwnd_pkts[i])
                .min();
            assert!(
                least.is_some_and(|pkts| pkts <= initial),
                "{stack}: {least:?}"
            );
            let over = (lost..states.state.len()).find(|&i| states.state[i] != 3);
            states.ssthresh_pkts[over.expect("an end of Recovery")]
        };
        let by_rfc = ssthresh_after(0);
        assert!((500..600).contains(&by_rfc), "{stack}: {by_rfc}");
        assert_eq!(ssthresh_after(1), u32::MAX, "{stack}: still infinite");
    }
}
