//! DualPI2: the coupling of its signals, the shares of its queues, the step.

use super::{Lane, ECT_0, ECT_1, FULL, MS, NOT_ECT, SECOND, US};
use headway_algorithms::Verdict;

const UPDATE_NS: u64 = 16 * MS;

/// The values of `draws`.
const RANDOM: u32 = 0;
const EVEN: u32 = 1;

/// A queue whose p has this value, with packets of one class that have the wire to themselves, and
/// the time.
fn at_probability(p: f64, ecn: u8, draws: u32) -> (Lane, u64) {
    let is_l4s = ecn == ECT_1;
    let tunables = [
        // p is the delay at the last update, in seconds
        ("alpha_256ths", 0),
        ("beta_256ths", 256),
        ("step_us", 0),
        ("draws", draws),
        ("c_protection", if is_l4s { 0 } else { 100 }),
    ];
    let mut lane = Lane::new("dualpi2", &tunables);
    lane.join(0, 0, FULL, ecn);
    lane.leave(0);
    let update_ns = 625 * UPDATE_NS;
    lane.join(update_ns - (p * 1e9) as u64, 0, FULL, ecn);
    let measured = lane.counter(update_ns, "p_ppb") as f64 / 1e9;
    assert!((measured - p).abs() < 1e-6, "{measured} {p}");
    (lane, update_ns)
}

/// The shares of packets of this class that are marked and dropped at this p, and how many packets
/// there were.
fn signals(p: f64, ecn: u8, draws: u32) -> (f64, f64, u32) {
    let (mut lane, now_ns) = at_probability(p, ecn, draws);
    let (mut marks, mut drops, mut all) = (0, 0, 0);
    while all < 40_000 {
        while lane.queue.pkts() < 500 {
            lane.join(now_ns, 0, FULL, ecn);
        }
        for _ in 0..100 {
            let sent = lane.leave(now_ns).expect("packets wait");
            let lost = lane.drops().len() as u32;
            marks += u32::from(sent.verdict == Verdict::Mark);
            drops += lost;
            all += 1 + lost;
        }
    }
    let share = |n: u32| f64::from(n) / f64::from(all);
    (share(marks), share(drops), all)
}

fn within_three_sigma(found: f64, n: u32, expected: f64) -> bool {
    let sigma = (expected * (1.0 - expected) / f64::from(n)).sqrt();
    (found - expected).abs() <= 3.0 * sigma
}

#[test]
fn l4_classic_packets_get_the_square_of_p_and_l4s_packets_twice_p() {
    for p in [0.01, 0.05, 0.2, 0.4, 0.49] {
        let (marks, drops, n) = signals(p, ECT_1, RANDOM);
        assert!(within_three_sigma(marks, n, 2.0 * p), "{p}: {marks}");
        assert_eq!(drops, 0.0);
        let (marks, drops, n) = signals(p, NOT_ECT, RANDOM);
        assert!(within_three_sigma(drops, n, p * p), "{p}: {drops}");
        assert_eq!(marks, 0.0);
        let (marks, drops, n) = signals(p, ECT_0, RANDOM);
        assert!(within_three_sigma(marks, n, p * p), "{p}: {marks}");
        assert_eq!(drops, 0.0);
    }
    // in overload, classic packets are dropped whatever their class; so are L4S packets, and those
    // that are not dropped are marked
    for ecn in [NOT_ECT, ECT_0, ECT_1] {
        let (marks, drops, n) = signals(0.7, ecn, RANDOM);
        assert!(within_three_sigma(drops, n, 0.49), "{ecn}: {drops}");
        let expected = if ecn == ECT_1 { 1.0 - drops } else { 0.0 };
        assert!((marks - expected).abs() < 1e-9, "{ecn}: {marks}");
    }
}

#[test]
fn even_draws_have_the_same_shares_to_the_packet() {
    for p in [0.01, 0.05, 0.2, 0.4, 0.49] {
        for (ecn, expected) in [(ECT_1, 2.0 * p), (ECT_0, p * p), (NOT_ECT, p * p)] {
            let (marks, drops, n) = signals(p, ecn, EVEN);
            let signals = marks + drops;
            // p itself is within 10^-6
            let allowed = 2.0 / f64::from(n) + 2e-6;
            assert!((signals - expected).abs() < allowed, "{p} {ecn}: {signals}");
        }
    }
}

#[test]
fn even_draws_signal_at_equal_distances() {
    let (mut lane, now_ns) = at_probability(0.05, ECT_1, EVEN);
    for _ in 0..1000 {
        lane.join(now_ns, 0, FULL, ECT_1);
    }
    let mut is_marked = || lane.leave(now_ns).expect("packets wait").verdict == Verdict::Mark;
    let marked: Vec<i32> = (0..900).filter(|_| is_marked()).collect();
    let gaps: Vec<_> = marked.windows(2).map(|pair| pair[1] - pair[0]).collect();
    assert!(
        gaps.len() > 80 && gaps.iter().all(|gap| (9..=11).contains(gap)),
        "{gaps:?}"
    );
}

/// Sends for 20 s over a link of 10 Mbit/s, of which the first 5 s do not count. L4S and classic
/// packets that do not react arrive at these percentages of the link's rate. Returns the classic
/// share of the sent bytes; and of classic and of L4S packets, the share that was dropped.
fn unresponsive(l4s: u64, classic: u64, tunables: &[(&str, u32)]) -> (f64, [f64; 2]) {
    let mut lane = Lane::new("dualpi2", tunables);
    let offered = [(classic, NOT_ECT), (l4s, ECT_1)];
    let (mut due, mut sent, mut dropped) = ([0; 2], [0_u32; 2], [0_u32; 2]);
    for turn in 0..16_667_u64 {
        let now_ns = turn * 1200 * US;
        let counts = turn > 4167;
        for (flow, (percent, ecn)) in offered.into_iter().enumerate() {
            due[flow] += percent;
            while due[flow] >= 100 {
                due[flow] -= 100;
                let verdict = lane.join(now_ns, flow as u32, FULL, ecn);
                dropped[flow] += u32::from(counts && verdict == Verdict::DropFull);
            }
        }
        let left = lane.leave(now_ns);
        let lost = lane.drops();
        if counts {
            let flow_of = |packet: u64| (packet >> 32) as usize - 1;
            if let Some(packet) = left {
                sent[flow_of(packet.packet.flow)] += 1;
            }
            for packet in lost {
                dropped[flow_of(packet.packet.flow)] += 1;
            }
        }
    }
    let lost = |flow: usize| f64::from(dropped[flow]) / f64::from(dropped[flow] + sent[flow]);
    let share = f64::from(sent[0]) / f64::from(sent[0] + sent[1]);
    (share, [lost(0), lost(1)])
}

#[test]
fn l9_the_classic_queue_keeps_its_share_of_a_full_link() {
    // without p both queues are always full
    let off = [
        ("alpha_256ths", 0),
        ("beta_256ths", 0),
        ("limit_pkts", 10_000_000),
        ("memory_bytes", 2_147_483_648),
    ];
    for (percent, expected) in [(10, 0.1), (25, 0.25), (50, 0.5), (0, 0.0)] {
        let tunables = [&off[..], &[("c_protection", percent)]].concat();
        let (classic, _) = unresponsive(150, 150, &tunables);
        assert!((classic - expected).abs() < 0.001, "{percent}: {classic}");
    }
}

#[test]
fn l9_overload_by_l4s_traffic_drops_both_alike_and_starves_nobody() {
    for l4s in [50, 80, 100, 150, 200] {
        let (classic, [of_classic, of_l4s]) = unresponsive(l4s, 50, &[]);
        println!(
            "L4S {l4s} %: classic share {classic:.3}, lost {of_classic:.3}, {of_l4s:.3} of L4S"
        );
        assert!(classic >= 0.1, "{l4s}: {classic}");
        // what is too much is dropped
        let surplus = 1.0 - 100.0 / (l4s + 50) as f64;
        assert!((of_l4s - surplus).abs() < 0.05, "{l4s}: {of_l4s}");
        assert!((of_classic - surplus).abs() < 0.05, "{l4s}: {of_classic}");
    }
}

#[test]
fn l11_packets_that_take_longer_than_the_step_need_a_queue_to_be_marked() {
    // 4 Mbit/s: a packet takes 3 ms, so a packet that waits for another one exceeds the step
    let marked = |tunables: &[(&str, u32)], queued: u32| {
        let tunables = [&[("alpha_256ths", 0), ("beta_256ths", 0)], tunables].concat();
        let mut lane = Lane::new("dualpi2", &tunables);
        let mut marks = 0;
        for turn in 0..1000 {
            let now_ns = turn * 3 * MS;
            while lane.queue.pkts() < queued {
                lane.join(now_ns, 0, FULL, ECT_1);
            }
            let sent = lane.leave(now_ns).unwrap();
            marks += u32::from(sent.verdict == Verdict::Mark);
        }
        marks
    };
    // Linux's default marks almost every packet of a queue of two, which one flow needs to fill
    // the link
    assert_eq!(marked(&[], 1), 0);
    assert!(marked(&[], 2) > 990);
    for at_least in [[("min_step_pkts", 3)], [("step_pkts", 1)]] {
        assert_eq!(marked(&at_least, 2), 0, "{at_least:?}");
    }
    assert!(marked(&[("min_step_pkts", 3)], 3) > 990);
    assert!(marked(&[("step_pkts", 1)], 3) > 990);
}

#[test]
fn the_ramp_of_the_rfc_rises_from_nothing_to_everything() {
    let share = |waited_us: u64| {
        let tunables = [
            ("step_us", 800),
            ("ramp_us", 400),
            ("alpha_256ths", 0),
            ("beta_256ths", 0),
        ];
        let mut lane = Lane::new("dualpi2", &tunables);
        let marks = (0..4000_u64).filter(|n| {
            let now_ns = n * 10 * MS;
            lane.join(now_ns, 0, FULL, ECT_1);
            let sent = lane.leave(now_ns + waited_us * US).unwrap();
            sent.verdict == Verdict::Mark
        });
        marks.count() as f64 / 4000.0
    };
    assert_eq!([share(800), share(1200)], [0.0, 1.0]);
    assert!((share(1000) - 0.5).abs() < 0.03);
}

#[test]
fn the_probability_follows_the_gains_of_the_rfc() {
    // a constant delay of 25 ms from the first update on, with the default gains
    let mut lane = Lane::new("dualpi2", &[("step_us", 0)]);
    let mut expected = 0.0_f64;
    let mut old_s = 0.0;
    for now_ms in 0..2000 {
        let now_ns = now_ms * MS;
        if now_ms >= 25 {
            lane.leave(now_ns);
        }
        lane.join(now_ns, 0, FULL, ECT_0);
        if now_ns > 0 && now_ns % UPDATE_NS == 0 {
            // the head is 16 ms old at the first update, and 25 ms afterwards
            let delay_s = if now_ms == 16 { 0.016 } else { 0.025 };
            let change = 41.0 / 256.0 * (delay_s - 0.015) + 819.0 / 256.0 * (delay_s - old_s);
            expected = (expected + change).clamp(0.0, 1.0);
            old_s = delay_s;
            let p = lane.counter(now_ns, "p_ppb") as f64 / 1e9;
            assert!(
                (p - expected).abs() < 1e-6 + expected * 1e-6,
                "{now_ms}: {p} {expected}"
            );
        }
    }
    assert!(expected > 0.2 && expected < 0.5, "{expected}");
    assert_eq!(lane.counter(2 * SECOND, "classic_drops"), 0);
    assert!(lane.counter(2 * SECOND, "classic_marks") > 10);
}
