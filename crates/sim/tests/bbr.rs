//! Published behaviour of BBR (Cardwell et al., ACM Queue 14(5), 2016, and
//! draft-cardwell-iccrg-bbr-congestion-control-00) in traces of one flow.

use crate::common::{bulk, dumbbell, run, wide_link, MS, SECOND};
use headway_sim::Outcome;

const RATE_BPS: u64 = 50_000_000;
const RTT_MS: u64 = 40;
/// Bandwidth-delay product of 50 Mbit/s and 40 ms, in packets of 1500 bytes.
const BDP_PKTS: u32 = 166;
/// Number of packets by which BBR's cwnd exceeds its target: three large segments, two packets for
/// the probing phase, and one for rounding.
const BUDGET_PKTS: u32 = 3 * 12 + 3;

fn flow(duration_ns: u64) -> Outcome {
    let link = wide_link(RATE_BPS, RTT_MS * MS / 2);
    let flows = serde_json::json!([bulk("bbr", None)]);
    run(&dumbbell("linux-6", duration_ns, &link, flows))
}

/// Times, congestion windows and packets in flight of the flow.
fn states(outcome: &Outcome) -> Vec<(u64, u32, u32)> {
    let t = &outcome.tables.flow_state;
    (0..t.time_ns.len())
        .map(|i| (t.time_ns[i] as u64, t.cwnd_pkts[i], t.inflight_pkts[i]))
        .collect()
}

#[test]
fn startup_fills_the_path_in_one_round_per_doubling() {
    let outcome = flow(2 * SECOND);
    let full_ns = states(&outcome)
        .iter()
        .find(|s| s.2 >= BDP_PKTS)
        .expect("the path is filled")
        .0;
    // cwnd began at 10 packets; since the handshake it has doubled four to five times
    let rounds = full_ns / (RTT_MS * MS);
    assert!((4..=6).contains(&rounds), "{rounds}");
}

#[test]
fn after_startup_at_most_two_bdp_plus_the_budget_are_in_flight() {
    let outcome = flow(9 * SECOND);
    let late = states(&outcome).into_iter().filter(|s| s.0 > 2 * SECOND);
    let most = late.clone().map(|s| s.2).max().expect("states");
    assert!(most <= 2 * BDP_PKTS + BUDGET_PKTS, "{most}");
    // the queue has room for a thousand packets, which loss-based controls would fill
    let queue = &outcome.tables.queue;
    let longest = (0..queue.time_ns.len())
        .filter(|&i| queue.link[i] == 0 && queue.time_ns[i] as u64 > 2 * SECOND)
        .map(|i| queue.queue_pkts[i])
        .max()
        .expect("a queue");
    assert!(longest < BDP_PKTS / 2, "{longest}");
}

#[test]
fn every_ten_seconds_bbr_sends_four_packets_per_round_for_200_ms() {
    let outcome = flow(35 * SECOND);
    let states = states(&outcome);
    let mut probes = vec![];
    for pair in states.windows(2) {
        if pair[1].1 == 4 && pair[0].1 > 4 {
            probes.push((pair[1].0, 0));
        } else if pair[1].1 > 4 && pair[0].1 == 4 {
            if let Some(probe) = probes.last_mut() {
                probe.1 = pair[1].0;
            }
        }
    }
    assert_eq!(probes.len(), 3, "{probes:?}");
    for (from, to) in &probes {
        let ms = (to - from) / MS;
        // ProbeRTT waits until only four packets are in flight, then lasts 200 ms more, and until
        // the next ACK
        assert!((200..200 + 3 * RTT_MS).contains(&ms), "{ms}");
    }
    for pair in probes.windows(2) {
        let apart = (pair[1].0 - pair[0].0) / MS;
        assert!((10_000..10_600).contains(&apart), "{apart}");
    }
}

#[test]
fn every_eighth_round_trip_probes_with_a_quarter_more() {
    let outcome = flow(9 * SECOND);
    // in the probing phase BBR adds up to a quarter of a BDP to the queue; in the next phase the
    // queue drains
    let queue = &outcome.tables.queue;
    let mut peaks = 0;
    let mut above = false;
    for i in 0..queue.time_ns.len() {
        if queue.link[i] != 0 || (queue.time_ns[i] as u64) < 2 * SECOND {
            continue;
        }
        let high = queue.queue_pkts[i] > BDP_PKTS * 3 / 20;
        let low = queue.queue_pkts[i] <= BDP_PKTS / 20;
        if high && !above {
            peaks += 1;
        }
        above = high || above && !low;
    }
    // in 7 s BBR runs cycles of eight phases, each of at least a round trip
    let cycles = 7_000 / (8 * RTT_MS);
    assert!(
        (cycles * 7 / 10..=cycles + 1).contains(&peaks),
        "{peaks} of {cycles}"
    );
}
