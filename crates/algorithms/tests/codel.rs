//! CoDel's state machine against RFC 8289: when it drops, how often, and when it does not.

use headway_algorithms::native::sqrt;
use headway_algorithms::{LinkView, PacketView, QueueInstance, Verdict};

const MS: u64 = 1_000_000;
const US: u64 = 1000;
const INTERVAL_NS: u64 = 100 * MS;

fn codel(tunables: &[(&str, u32)]) -> QueueInstance {
    let tunables: Vec<_> = tunables.iter().map(|&(n, v)| (n.to_owned(), v)).collect();
    QueueInstance::new("codel", &tunables, &LinkView::default()).unwrap()
}

/// CoDel's verdict on a packet at the head of the queue that has waited for `sojourn_ns`, with
/// `behind` bytes behind it.
fn head(queue: &mut QueueInstance, now_ns: u64, sojourn_ns: u64, behind: u32, ecn: u8) -> Verdict {
    let joined = LinkView {
        now_ns: now_ns.wrapping_sub(sojourn_ns),
        ..LinkView::default()
    };
    let packet = PacketView {
        flow: 1,
        ip_bytes: 1500,
        ecn,
        ..PacketView::default()
    };
    assert_eq!(queue.arrive(&joined, &packet, 0), Verdict::Pass);
    let link = LinkView {
        now_ns,
        queue_bytes: behind + 1500,
        ..LinkView::default()
    };
    let sent = queue.dequeue(&link).map(|packet| packet.verdict);
    let dropped = queue.next_drop().map(|packet| packet.verdict);
    sent.or(dropped).expect("either")
}

/// Times at which CoDel drops or marks packets of a queue that is never empty. The queue sends a
/// packet each microsecond from `from_ns` on, and another one immediately after a drop.
fn strikes(queue: &mut QueueInstance, from_ns: u64, to_ns: u64, ecn: u8) -> Vec<u64> {
    let mut times = vec![];
    let mut now_ns = from_ns;
    while now_ns < to_ns {
        while head(queue, now_ns, 20 * MS, 1_000_000, ecn) != Verdict::Pass {
            times.push(now_ns);
            if ecn != 0 {
                break;
            }
        }
        now_ns += US;
    }
    times
}

/// floor(interval / sqrt(n)) without floating point: the largest s with n s^2 <= interval^2.
fn spacing_ns(n: u64) -> u64 {
    let square = u128::from(INTERVAL_NS) * u128::from(INTERVAL_NS);
    let fits = |s: u64| u128::from(n) * u128::from(s) * u128::from(s) <= square;
    let mut s = (INTERVAL_NS as f64 / (n as f64).sqrt()) as u64;
    while !fits(s) {
        s -= 1;
    }
    while fits(s + 1) {
        s += 1;
    }
    s
}

/// When the drops of one dropping state are due, rounded up to whole microseconds.
fn expected(first_ns: u64, to_ns: u64) -> Vec<u64> {
    let mut times = vec![];
    let mut due_ns = first_ns;
    for n in 1.. {
        let seen_ns = due_ns.div_ceil(US) * US;
        if seen_ns >= to_ns {
            break;
        }
        times.push(seen_ns);
        due_ns += spacing_ns(n);
    }
    times
}

#[test]
fn the_integer_square_root_is_exact() {
    let squares = (0..2000u64).chain((1 << 32) - 2000..1 << 32);
    for root in squares {
        assert_eq!(u64::from(sqrt(root * root)), root);
        assert_eq!(u64::from(sqrt(root * root + root)), root);
        if root > 0 {
            assert_eq!(u64::from(sqrt(root * root - 1)), root - 1);
        }
    }
    assert_eq!(sqrt(u64::MAX), u32::MAX);
}

#[test]
fn the_spacing_is_interval_over_root_n_within_a_nanosecond() {
    for n in 1..=1_000_000u64 {
        let exact = INTERVAL_NS as f64 / (n as f64).sqrt();
        let ours = u64::from(sqrt(INTERVAL_NS * INTERVAL_NS / n));
        assert_eq!(ours, spacing_ns(n));
        assert!(ours as f64 <= exact && exact < (ours + 1) as f64, "{n}");
    }
}

#[test]
fn drops_of_a_standing_queue_are_interval_over_root_n_apart() {
    let mut queue = codel(&[]);
    let end_ns = 10_000 * MS;
    let drops = strikes(&mut queue, MS, end_ns, 0);
    // packets wait longer than the target from 1 ms on, so the first drop comes one interval later
    let due = expected(MS + INTERVAL_NS, end_ns);
    assert!(due.len() > 2000, "{}", due.len());
    assert_eq!(drops, due);
}

#[test]
fn marks_follow_the_same_law_and_what_cannot_be_marked_is_dropped() {
    let mut queue = codel(&[("ecn", 1)]);
    let end_ns = 3_000 * MS;
    let marks = strikes(&mut queue, MS, end_ns, 2);
    assert_eq!(marks, expected(MS + INTERVAL_NS, end_ns));
    let mut queue = codel(&[("ecn", 1)]);
    head(&mut queue, MS, 20 * MS, 1_000_000, 0);
    let at_ns = MS + INTERVAL_NS;
    let verdict = |queue: &mut QueueInstance, ecn| head(queue, at_ns, 20 * MS, 1_000_000, ecn);
    assert_eq!(verdict(&mut queue.clone(), 0), Verdict::DropEarly);
    for ecn in 1..=3 {
        assert_eq!(verdict(&mut queue.clone(), ecn), Verdict::Mark);
    }
    // with the tunable ecn off, CoDel drops instead of marking
    let mut queue = codel(&[]);
    head(&mut queue, MS, 20 * MS, 1_000_000, 2);
    assert_eq!(verdict(&mut queue, 2), Verdict::DropEarly);
}

#[test]
fn nothing_is_dropped_below_target_or_with_an_mtu_behind() {
    for (sojourn_ns, behind) in [(5 * MS - 1, 1_000_000), (900 * MS, 1500), (900 * MS, 0)] {
        let mut queue = codel(&[]);
        for now_ns in (0..5_000 * MS).step_by(MS as usize) {
            let verdict = head(&mut queue, now_ns, sojourn_ns, behind, 0);
            assert_eq!(verdict, Verdict::Pass);
        }
    }
    // now the sojourn time or the queue exceeds its threshold, by one nanosecond or one byte
    for (sojourn_ns, behind) in [(5 * MS, 1_000_000), (900 * MS, 1501)] {
        let mut queue = codel(&[]);
        head(&mut queue, MS, sojourn_ns, behind, 0);
        let verdict = head(&mut queue, MS + INTERVAL_NS, sojourn_ns, behind, 0);
        assert_eq!(verdict, Verdict::DropEarly);
    }
}

#[test]
fn one_packet_below_target_ends_a_dropping_state_and_the_interval_starts_anew() {
    let mut queue = codel(&[]);
    assert!(!strikes(&mut queue, MS, 150 * MS, 0).is_empty());
    assert_eq!(head(&mut queue, 150 * MS, MS, 1_000_000, 0), Verdict::Pass);
    let drops = strikes(&mut queue, 151 * MS, 1000 * MS, 0);
    assert_eq!(drops[0], 151 * MS + INTERVAL_NS);
}

/// Goes through a dropping state with `drops` drops. A packet that waited only briefly ends this
/// state. Returns the queue and the time.
fn after(drops: usize) -> (QueueInstance, u64) {
    let mut queue = codel(&[]);
    let due = expected(MS + INTERVAL_NS, 5_000 * MS);
    let end_ns = due[drops - 1] + US;
    assert_eq!(strikes(&mut queue, MS, end_ns, 0).len(), drops);
    assert_eq!(head(&mut queue, end_ns, MS, 1_000_000, 0), Verdict::Pass);
    (queue, end_ns)
}

#[test]
fn a_dropping_state_soon_after_another_goes_on_with_its_count() {
    // in ten drops the count has grown by 9, from 1 to 10, so the next dropping state begins with
    // count 9
    let (queue, end_ns) = after(10);
    let mut soon = queue.clone();
    let begin_ns = end_ns + 900 * MS;
    let drops = strikes(&mut soon, begin_ns, begin_ns + 200 * MS, 0);
    let grid = |ns: u64| ns.div_ceil(US) * US;
    assert_eq!(drops[0], begin_ns + INTERVAL_NS);
    assert_eq!(drops[1], grid(drops[0] + spacing_ns(9)));
    assert_eq!(drops[2], grid(drops[0] + spacing_ns(9) + spacing_ns(10)));
    // a dropping state that begins more than 16 intervals after the last drop was due begins with
    // count 1
    let mut late = queue.clone();
    let begin_ns = end_ns + 16 * INTERVAL_NS;
    let drops = strikes(&mut late, begin_ns, begin_ns + 300 * MS, 0);
    assert_eq!(drops[1], drops[0] + INTERVAL_NS);
    // after two drops the count has grown by only 1, and the next dropping state begins with count
    // 1
    let (mut queue, end_ns) = after(2);
    let drops = strikes(&mut queue, end_ns + US, end_ns + 400 * MS, 0);
    assert_eq!(drops[1], drops[0] + INTERVAL_NS);
}

#[test]
fn target_and_interval_are_tunables_with_bounds() {
    let tunables = [("target_us", 1000), ("interval_us", 4_000_000)];
    let mut queue = codel(&tunables);
    assert_eq!(head(&mut queue, MS, MS, 1_000_000, 0), Verdict::Pass);
    let at_ns = 4_001 * MS;
    assert_eq!(head(&mut queue, at_ns - 1, MS, 1_000_000, 0), Verdict::Pass);
    assert_eq!(
        head(&mut queue, at_ns, MS, 1_000_000, 0),
        Verdict::DropEarly
    );
    // the next drop is due after an interval whose square is near 2^64
    let next_ns = at_ns + 4_000 * MS;
    assert_eq!(
        head(&mut queue, next_ns - 1, MS, 1_000_000, 0),
        Verdict::Pass
    );
    assert_eq!(
        head(&mut queue, next_ns, MS, 1_000_000, 0),
        Verdict::DropEarly
    );
    let refused = QueueInstance::new(
        "codel",
        &[("interval_us".to_owned(), 4_000_001)],
        &LinkView::default(),
    );
    assert!(refused.unwrap_err().to_string().contains("interval_us"));
}
