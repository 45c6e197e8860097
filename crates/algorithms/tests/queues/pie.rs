//! PIE's law in open loop: delays are given, probabilities and verdicts are compared with RFC 8033.

use super::{Lane, ECT_0, ECT_1, FULL, MS, NOT_ECT, SECOND, US};
use headway_algorithms::Verdict;

const UPDATE_NS: u64 = 15 * MS;
/// Marks whatever can be marked, so that no packet is missing.
const MARKS_ALL: [(&str, u32); 2] = [("ecn", 3), ("mark_ecn_permille", 1000)];

/// A queue in which every packet waits for `delay_ns`. A packet joins and one leaves each
/// millisecond; `seen` gets the time and PIE's probability right after each update.
fn constant_delay(
    tunables: &[(&str, u32)],
    delay_ns: u64,
    until_ns: u64,
    mut seen: impl FnMut(u64, f64),
) -> Lane {
    let mut lane = Lane::new("pie", tunables);
    for now_ns in (0..until_ns).step_by(MS as usize) {
        if now_ns >= delay_ns {
            lane.leave(now_ns).expect("a packet waits");
        }
        let verdict = lane.join(now_ns, 0, FULL, ECT_0);
        assert!(matches!(verdict, Verdict::Pass | Verdict::Mark));
        if now_ns > 0 && now_ns % UPDATE_NS == 0 {
            seen(now_ns, lane.counter(now_ns, "p_ppb") as f64 / 1e9);
        }
    }
    lane
}

/// RFC 8033, section 5.1: what the gains are divided by.
fn divisor(p: f64) -> f64 {
    let table = [
        (1e-6, 2048.0),
        (1e-5, 512.0),
        (1e-4, 128.0),
        (1e-3, 32.0),
        (1e-2, 8.0),
        (0.1, 2.0),
    ];
    table.iter().find(|row| p < row.0).map_or(1.0, |row| row.1)
}

#[test]
fn a1_at_a_constant_delay_the_probability_grows_by_the_divisors_of_the_rfc() {
    let mut expected = 0.0_f64;
    let mut old_s = 0.0;
    // the first packet leaves right after the update at 30 ms
    let mut reached = vec![];
    let mut bounds = [1e-5, 1e-4, 1e-3, 1e-2, 0.1, 0.5].into_iter().peekable();
    constant_delay(&MARKS_ALL, 30 * MS, 6 * SECOND, |now_ns, p| {
        let delay_s = if now_ns <= 30 * MS { 0.0 } else { 0.03 };
        let change = 0.125 * (delay_s - 0.015) + 1.25 * (delay_s - old_s);
        let capped = if expected >= 0.1 { 0.02 } else { f64::MAX };
        expected = (expected + (change / divisor(expected)).min(capped)).max(0.0);
        old_s = delay_s;
        assert!(
            (p - expected).abs() <= 2e-9 + expected * 1e-6,
            "{now_ns}: {p} {expected}"
        );
        while bounds.next_if(|&bound| p >= bound).is_some() {
            reached.push(now_ns / MS);
        }
    });
    // computed from the RFC's table, in ms
    assert_eq!(reached, [45, 135, 375, 960, 2400, 5610]);
}

#[test]
fn a2_an_idle_queues_probability_halves_in_two_thirds_of_a_second() {
    // without gains p rises by 2 % per update while the delay is above late_us
    for (decay, updates) in [(64, 45), (50, 35)] {
        let tunables = [
            ("alpha_16ths", 0),
            ("beta_16ths", 0),
            ("late_us", 1000),
            ("decay", decay),
        ];
        let tunables = [&tunables[..], &MARKS_ALL].concat();
        let mut lane = constant_delay(&tunables, 30 * MS, 500 * MS, |_, _| {});
        lane.empty(500 * MS);
        let full = lane.counter(510 * MS, "p_ppb");
        assert!(full > 500_000_000, "{full}");
        let halved = (1..200).find(|n| lane.counter(510 * MS + n * UPDATE_NS, "p_ppb") * 2 <= full);
        // log(0.5) / log(1 - 1/64) is 44.01, log(0.5) / log(0.98) is 34.3
        assert_eq!(halved, Some(updates), "{decay}");
        // the law forgets everything in the end
        assert_eq!(lane.counter(100 * SECOND, "p_ppb"), 0);
    }
}

/// Ten times more packets than the link of 10 Mbit/s carries, for `until_ns`. Returns when packets
/// were dropped.
fn overload(tunables: &[(&str, u32)], until_ns: u64) -> Vec<u64> {
    let mut lane = Lane::new("pie", tunables);
    let mut drops = vec![];
    let mut free_ns = 0;
    for now_ns in (0..until_ns).step_by((120 * US) as usize) {
        while free_ns <= now_ns && lane.queue.pkts() > 0 {
            lane.leave(free_ns);
            free_ns += 1200 * US;
        }
        if lane.join(now_ns, 0, FULL, NOT_ECT) == Verdict::DropEarly {
            drops.push(now_ns);
        }
        free_ns = free_ns.max(now_ns);
    }
    drops
}

#[test]
fn a3_a_burst_of_150_ms_from_idle_passes() {
    let limit = ("limit_pkts", 10_000);
    let drops = overload(&[limit], SECOND);
    println!("the first drop is at {} ms", drops[0] as f64 / 1e6);
    assert!((150 * MS..200 * MS).contains(&drops[0]), "{}", drops[0]);
    // without allowance the same burst loses packets
    let drops = overload(&[limit, ("max_burst_us", 0)], 150 * MS);
    assert!(!drops.is_empty());
}

/// Verdicts other than pass, on packets with these ECN bits, while p has this value: a multiple of
/// 2 %.
fn signals(ecn_tunable: u32, ecn: u8, p_percent: u64) -> (usize, usize) {
    let tunables = [
        ("alpha_16ths", 0),
        ("beta_16ths", 0),
        ("late_us", 1000),
        ("ecn", ecn_tunable),
        ("max_burst_us", 0),
        ("limit_pkts", 1_000_000),
    ];
    let mut lane = Lane::new("pie", &tunables);
    // the first packets join before the first update, so p is still 0
    for _ in 0..100 {
        lane.join(0, 0, FULL, NOT_ECT);
    }
    // each update after the first packet has left, late, adds 2 %
    lane.leave(14 * MS);
    let now_ns = p_percent / 2 * UPDATE_NS;
    let p_ppb = lane.counter(now_ns, "p_ppb");
    assert!(
        (p_ppb as f64 - p_percent as f64 * 1e7).abs() < 10.0,
        "{p_ppb}"
    );
    let verdicts: Vec<_> = (0..5000).map(|_| lane.join(now_ns, 0, FULL, ecn)).collect();
    let count = |verdict| verdicts.iter().filter(|v| **v == verdict).count();
    (count(Verdict::Mark), count(Verdict::DropEarly))
}

#[test]
fn a7_marks_up_to_ten_percent_and_drops_above() {
    for percent in [2, 6, 10, 12, 20] {
        let (marks, drops) = signals(3, ECT_0, percent);
        // the sum of p must reach 0.85 before a packet is struck with p, so the distance is 1.85 / p
        // in the mean
        let expected = (50.0 * percent as f64 / 1.85) as usize;
        let all = marks + drops;
        assert!(all.abs_diff(expected) < expected / 4, "{percent}: {all}");
        let marked = if percent <= 10 { all } else { 0 };
        assert_eq!(marks, marked, "{percent} %");
    }
}

#[test]
fn a7_only_the_chosen_classes_are_marked() {
    // off, ECT(1), ECT(0), both
    for (tunable, marked) in [(0, vec![]), (1, vec![1]), (2, vec![2]), (3, vec![1, 2])] {
        for ecn in [NOT_ECT, ECT_1, ECT_0] {
            let (marks, drops) = signals(tunable, ecn, 10);
            assert_eq!(marks > 0, marked.contains(&ecn), "{tunable} {ecn}");
            assert_eq!(drops > 0, !marked.contains(&ecn), "{tunable} {ecn}");
        }
    }
}

#[test]
fn small_packets_are_spared_in_proportion_if_asked() {
    let share = |scale: u32, ip_bytes: u32| {
        let tunables = [
            ("alpha_16ths", 0),
            ("beta_16ths", 0),
            ("late_us", 1000),
            ("max_burst_us", 0),
            ("derandomize", 0),
            ("scale_bytes", scale),
            ("limit_pkts", 1_000_000),
        ];
        let mut lane = Lane::new("pie", &tunables);
        for _ in 0..100 {
            lane.join(0, 0, FULL, NOT_ECT);
        }
        lane.leave(14 * MS);
        let dropped = |lane: &mut Lane| lane.join(150 * MS, 0, ip_bytes, NOT_ECT) != Verdict::Pass;
        let drops = (0..20_000).filter(|_| dropped(&mut lane)).count();
        drops as f64 / 20_000.0
    };
    // p is 20 %; DOCSIS scales with 1024 bytes
    assert!((share(0, 64) - 0.2).abs() < 0.01);
    assert!((share(1024, 512) - 0.1).abs() < 0.01);
    assert!((share(1024, 1024) - 0.2).abs() < 0.01);
    assert!(share(1024, 64) < 0.02);
}

#[test]
fn the_departure_rate_gives_the_delay_without_timestamps() {
    let mut lane = Lane::new("pie", &[("estimator", 1)]);
    // 10 Mbit/s; the queue stays at 50 packets, which is 60 ms
    for n in 0..50 {
        lane.join(n, 0, FULL, NOT_ECT);
    }
    for n in 0..200 {
        let now_ns = n * 1200 * US;
        lane.leave(now_ns);
        lane.join(now_ns, 0, FULL, NOT_ECT);
    }
    let delay_us = lane.counter(240 * MS, "delay_us");
    assert!((58_000..62_000).contains(&delay_us), "{delay_us}");
}
