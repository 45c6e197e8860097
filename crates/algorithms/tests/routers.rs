//! Queue algorithms: which packets they admit, drop and mark.

use headway_algorithms::{LinkView, PacketView, QueueInstance, Verdict};

fn new(name: &str, tunables: &[(&str, u32)]) -> QueueInstance {
    let tunables: Vec<_> = tunables.iter().map(|&(n, v)| (n.to_owned(), v)).collect();
    QueueInstance::new(name, &tunables, &LinkView::default()).unwrap()
}

const fn packet(ip_bytes: u32) -> PacketView {
    PacketView {
        flow: 1,
        ip_bytes,
        ecn: 0,
        local: 0,
        ip_id: 0,
        pkts: 1,
        opens: 0,
    }
}

#[test]
fn drop_tail_admits_what_fits_to_the_byte() {
    let mut queue = new("drop-tail", &[]);
    let link = LinkView {
        limit_bytes: 60_000,
        queue_bytes: 58_500,
        ..LinkView::default()
    };
    assert_eq!(queue.enqueue(&link, &packet(1500)), Verdict::Pass);
    assert_eq!(queue.enqueue(&link, &packet(1501)), Verdict::DropFull);
}

#[test]
fn drop_tail_with_overshoot_admits_one_packet_beyond_the_limit() {
    let mut queue = new("drop-tail", &[("overshoot", 1)]);
    let link = |queue_bytes| LinkView {
        limit_bytes: 60_000,
        queue_bytes,
        ..LinkView::default()
    };
    assert_eq!(queue.enqueue(&link(60_000), &packet(1500)), Verdict::Pass);
    assert_eq!(queue.enqueue(&link(60_001), &packet(40)), Verdict::DropFull);
}

#[test]
fn drop_tail_limits_packets_too_or_nothing_at_all() {
    let mut queue = new("drop-tail", &[]);
    let link = |queue_pkts, limit_pkts| LinkView {
        limit_pkts,
        queue_pkts,
        ..LinkView::default()
    };
    assert_eq!(queue.enqueue(&link(416, 417), &packet(1500)), Verdict::Pass);
    assert_eq!(
        queue.enqueue(&link(417, 417), &packet(40)),
        Verdict::DropFull
    );
    let endless = LinkView {
        queue_bytes: u32::MAX,
        queue_pkts: u32::MAX,
        ..LinkView::default()
    };
    assert_eq!(queue.enqueue(&endless, &packet(1500)), Verdict::Pass);
}

/// A random generator of its own, so that this test does not depend on another crate's sequence.
fn random(seed: &mut u64) -> u32 {
    *seed = seed
        .wrapping_mul(6_364_136_223_846_793_005)
        .wrapping_add(1_442_695_040_888_963_407);
    (*seed >> 32) as u32
}

/// RED's verdicts on `n` packets at a constant queue length, after its average has settled.
fn red_at(queue_pkts: u32, tunables: &[(&str, u32)], pkt: PacketView, n: usize) -> Vec<Verdict> {
    let mut queue = new("red", tunables);
    let mut seed = 7;
    let mut verdict = || {
        let link = LinkView {
            queue_pkts,
            random: random(&mut seed),
            ..LinkView::default()
        };
        queue.enqueue(&link, &pkt)
    };
    for _ in 0..20_000 {
        verdict();
    }
    (0..n).map(|_| verdict()).collect()
}

#[test]
fn red_leaves_a_short_queue_alone() {
    let verdicts = red_at(4, &[], packet(1500), 10_000);
    assert!(verdicts.iter().all(|v| *v == Verdict::Pass));
}

#[test]
fn red_spreads_its_drops_evenly_at_twice_the_probability_of_the_average() {
    // the drop probability is p = 0.1 * (10 - 5)/(15 - 5) = 1/20: gaps are uniform over 1..=19,
    // with mean 10
    let verdicts = red_at(10, &[], packet(1500), 100_000);
    let drops: Vec<usize> = verdicts
        .iter()
        .enumerate()
        .filter(|(_, v)| **v == Verdict::DropEarly)
        .map(|(i, _)| i)
        .collect();
    let rate = drops.len() as f64 / verdicts.len() as f64;
    assert!((rate - 0.1).abs() < 0.003, "{rate}");
    let gaps: Vec<usize> = drops.windows(2).map(|w| w[1] - w[0]).collect();
    assert!(
        (19..=20).contains(gaps.iter().max().unwrap()),
        "{:?}",
        gaps.iter().max()
    );
    let early = gaps.iter().filter(|g| **g <= 5).count() as f64 / gaps.len() as f64;
    assert!((early - 5.0 / 19.0).abs() < 0.02, "{early}");
}

#[test]
fn red_drops_everything_above_max_th_or_rises_gently_to_twice_it() {
    let all = red_at(16, &[("gentle", 0)], packet(1500), 1000);
    assert!(all.iter().all(|v| *v == Verdict::DropEarly));
    let some = red_at(16, &[], packet(1500), 1000);
    let dropped = some.iter().filter(|v| **v == Verdict::DropEarly).count();
    assert!((150..500).contains(&dropped), "{dropped}"); // p = 0.16
    let all = red_at(31, &[], packet(1500), 1000);
    assert!(all.iter().all(|v| *v == Verdict::DropEarly));
}

#[test]
fn red_marks_what_can_be_marked_and_drops_the_rest() {
    let ecn = [("ecn", 1)];
    let marked = red_at(
        12,
        &ecn,
        PacketView {
            flow: 1,
            ip_bytes: 1500,
            ecn: 2,
            local: 0,
            ip_id: 0,
            pkts: 1,
            opens: 0,
        },
        5000,
    );
    assert!(marked.contains(&Verdict::Mark) && !marked.contains(&Verdict::DropEarly));
    let dropped = red_at(12, &ecn, packet(1500), 5000);
    assert!(dropped.contains(&Verdict::DropEarly) && !dropped.contains(&Verdict::Mark));
}

#[test]
fn red_is_still_bound_by_the_limit_of_the_link() {
    let mut queue = new("red", &[]);
    let link = LinkView {
        limit_pkts: 10,
        queue_pkts: 10,
        ..LinkView::default()
    };
    assert_eq!(queue.enqueue(&link, &packet(1500)), Verdict::DropFull);
}

/// Finds out the average queue after an idle time: it determines how soon RED reacts to a full
/// queue.
#[test]
fn red_forgets_a_queue_as_fast_as_packets_could_have_come_while_the_link_was_idle() {
    let arrivals_until_drop = |idle_us: u32| {
        let mut queue = new("red", &[("gentle", 0), ("max_p_permille", 1)]);
        let busy = LinkView {
            queue_pkts: 15,
            random: u32::MAX,
            ..LinkView::default()
        };
        for _ in 0..20_000 {
            queue.enqueue(&busy, &packet(1500));
        }
        // while the link is idle RED assumes packets of 500 bytes (mean_bytes): at 500 kB/s one per
        // millisecond
        let idle = LinkView {
            idle_us,
            rate_bytes_per_s: 500_000,
            ..LinkView::default()
        };
        queue.enqueue(&idle, &packet(1500));
        let full = LinkView {
            queue_pkts: 30,
            random: u32::MAX,
            ..LinkView::default()
        };
        (1..10_000)
            .find(|_| queue.enqueue(&full, &packet(1500)) != Verdict::Pass)
            .expect("the average rises again")
    };
    for idle_ms in [0u32, 100, 1000] {
        // an average of 15 decays to 15 (1 - w)^n, then rises towards 30; RED drops when the
        // average reaches max_th. Below max_th RED would drop one packet in a thousand, which is
        // later than this.
        let keep: f64 = 1.0 - 1.0 / 512.0;
        let average = 15.0 * keep.powi(i32::try_from(idle_ms).unwrap() + 1);
        let expected = (15.0 / (30.0 - average)).ln() / keep.ln();
        let got = f64::from(arrivals_until_drop(idle_ms * 1000));
        assert!(
            (got - expected).abs() <= 2.0,
            "{idle_ms} ms: {got} {expected}"
        );
    }
    assert!(arrivals_until_drop(0) < arrivals_until_drop(100_000));
    assert!(arrivals_until_drop(100_000) < arrivals_until_drop(1_000_000));
}
