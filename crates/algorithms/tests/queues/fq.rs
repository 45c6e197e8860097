//! fq: pacing of connections, credits of new and idle ones, limits.

use super::{Lane, FULL, MS, NOT_ECT, SECOND, US};
use headway_algorithms::Verdict;

const FRAME_BITS: u64 = 1514 * 8;
/// The slack of Linux's timer.
const SLACK_NS: u64 = 10 * US;

/// When packets leave a queue that the wire empties at once, until `until_ns`: the wire asks when a
/// packet joins, after each packet, and when the discipline wants to be asked.
fn departures(lane: &mut Lane, from_ns: u64, until_ns: u64) -> Vec<u64> {
    let mut times = vec![];
    let mut now_ns = from_ns;
    loop {
        match lane.leave(now_ns) {
            Some(_) => times.push(now_ns),
            None => match lane.queue.wake_ns() {
                Some(wake_ns) if wake_ns < until_ns => {
                    assert!(wake_ns > now_ns);
                    now_ns = wake_ns;
                }
                _ => return times,
            },
        }
    }
}

fn join(lane: &mut Lane, now_ns: u64, flow: u32, pkts: u32) {
    for _ in 0..pkts {
        assert_eq!(lane.join(now_ns, flow, FULL, NOT_ECT), Verdict::Pass);
    }
}

#[test]
fn a16_gaps_are_those_of_the_rate_within_the_slack_of_a_timer() {
    for kbps in [100, 500, 12_000, 1_000_000] {
        // with a quantum of one packet, each packet is paced
        let tunables = [
            ("maxrate_kbps", kbps),
            ("quantum_bytes", 1514),
            ("initial_quantum_bytes", 1514),
        ];
        let mut lane = Lane::new("fq", &tunables);
        join(&mut lane, SECOND, 0, 50);
        let times = departures(&mut lane, SECOND, 100 * SECOND);
        assert_eq!(times.len(), 50);
        let gap_ns = FRAME_BITS * 1_000_000 / u64::from(kbps);
        for gap in times.windows(2).map(|w| w[1] - w[0]) {
            assert!(gap.abs_diff(gap_ns) <= SLACK_NS, "{kbps}: {gap} {gap_ns}");
        }
    }
}

#[test]
fn above_the_low_rate_packets_leave_in_quanta() {
    let mut lane = Lane::new(
        "fq",
        &[("maxrate_kbps", 10_000), ("initial_quantum_bytes", 3028)],
    );
    join(&mut lane, 0, 0, 40);
    let times = departures(&mut lane, 0, SECOND);
    let gap_ns = 2 * FRAME_BITS * 100;
    for (n, pair) in (0..).zip(times.chunks(2)) {
        assert_eq!(pair, [n * gap_ns; 2]);
    }
    // up to low_rate_kbps every packet is paced
    let mut lane = Lane::new("fq", &[("maxrate_kbps", 550)]);
    join(&mut lane, 0, 0, 3);
    let gap_ns = FRAME_BITS * 1_000_000 / 550;
    assert_eq!(departures(&mut lane, 0, SECOND), [0, gap_ns, 2 * gap_ns]);
}

#[test]
fn a16_a_new_connection_sends_ten_packets_at_once_and_an_idle_one_a_quantum() {
    let mut lane = Lane::new("fq", &[("maxrate_kbps", 1000)]);
    let burst = |lane: &mut Lane, now_ns: u64| {
        join(lane, now_ns, 0, 12);
        let times = departures(lane, now_ns, now_ns + SECOND);
        assert_eq!(times.len(), 12);
        let at_once = times.iter().filter(|&&at| at == now_ns).count();
        (at_once, *times.last().unwrap())
    };
    let (at_once, last_ns) = burst(&mut lane, SECOND);
    assert_eq!(at_once, 10);
    // Linux gives a connection that was idle for 40 ms the credit of a round, not the first one
    let (at_once, last_ns) = burst(&mut lane, last_ns + 41 * MS);
    assert_eq!(at_once, 2);
    let (at_once, _) = burst(&mut lane, last_ns + 39 * MS);
    assert!(at_once <= 2, "{at_once}");
}

#[test]
fn a_late_wire_shortens_the_next_gap_by_at_most_half() {
    let tunables = [
        ("maxrate_kbps", 1000),
        ("quantum_bytes", 1514),
        ("initial_quantum_bytes", 1514),
    ];
    let gap_ns = FRAME_BITS * 1000;
    for (late_ns, next_ns) in [(MS, gap_ns - MS), (20 * MS, gap_ns - gap_ns / 2)] {
        let mut lane = Lane::new("fq", &tunables);
        join(&mut lane, 0, 0, 3);
        lane.leave(0).unwrap();
        assert_eq!(lane.leave(0), None);
        assert_eq!(lane.queue.wake_ns(), Some(gap_ns));
        lane.leave(gap_ns + late_ns).unwrap();
        assert_eq!(lane.leave(gap_ns + late_ns), None);
        assert_eq!(lane.queue.wake_ns(), Some(gap_ns + late_ns + next_ns));
    }
}

#[test]
fn a_connection_that_waits_does_not_hold_up_the_others() {
    let mut lane = Lane::new("fq", &[("maxrate_kbps", 1000)]);
    for flow in 0..500 {
        join(&mut lane, 0, flow, 20);
    }
    // each of 500 connections gets its own rate, some of which share a sub-queue
    let times = departures(&mut lane, 0, 20 * SECOND);
    assert_eq!(times.len(), 10_000);
    let in_first_100_ms = times.iter().filter(|&&at| at < 100 * MS).count();
    // 10 packets at once and 8 within 100 ms
    assert!((6500..9500).contains(&in_first_100_ms), "{in_first_100_ms}");
    assert!(lane.counter(20 * SECOND, "throttled") > 1000);
}

#[test]
fn a_connection_keeps_to_its_limit() {
    let mut lane = Lane::new("fq", &[]);
    join(&mut lane, 0, 0, 100);
    assert_eq!(lane.join(0, 0, FULL, NOT_ECT), Verdict::DropFull);
    assert_eq!(lane.join(0, 1, FULL, NOT_ECT), Verdict::Pass);
    assert_eq!(lane.counter(0, "flow_limit_pkts"), 1);
}
