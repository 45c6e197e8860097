//! The step: which packets it marks, to the packet, the byte and the microsecond.

use super::{owned, refusal, ECT_0, ECT_1, FULL, NOT_ECT};
use headway_algorithms::{LinkView, PacketView, QueueInstance, Verdict};

/// The verdict on a packet that finds a queue of this length on a link of 10 Mbit/s.
fn verdict(tunables: &[(&str, u32)], pkts: u32, bytes: u32, ecn: u8) -> Verdict {
    let link = LinkView {
        rate_bytes_per_s: 1_250_000,
        queue_pkts: pkts,
        queue_bytes: bytes,
        ..LinkView::default()
    };
    let mut queue = QueueInstance::new("step", &owned(tunables), &link).unwrap();
    let packet = PacketView {
        flow: 1,
        ip_bytes: FULL,
        ecn,
        ..PacketView::default()
    };
    queue.enqueue(&link, &packet)
}

#[test]
fn the_threshold_is_exact() {
    let none = ("threshold_pkts", 0);
    for (tunable, at) in [
        // 20 packets may wait or be in transmission; the 21st exceeds the threshold
        (("threshold_pkts", 20), (19, 20)),
        (("threshold_bytes", 30_000), (19, 20)),
        // 20 packets before it take 24 ms
        (("threshold_us", 24_000), (20, 21)),
        (("threshold_us", 23_999), (19, 20)),
    ] {
        let tunables = if tunable.0 == none.0 {
            vec![tunable]
        } else {
            vec![none, tunable]
        };
        for (pkts, expected) in [(at.0, Verdict::Pass), (at.1, Verdict::Mark)] {
            let found = verdict(&tunables, pkts, pkts * FULL, ECT_0);
            assert_eq!(found, expected, "{tunable:?} {pkts}");
        }
    }
}

#[test]
fn packets_that_cannot_be_marked_pass_or_are_dropped() {
    for (tunable, marked) in [(0, vec![]), (1, vec![1]), (2, vec![2]), (3, vec![1, 2])] {
        for ecn in [NOT_ECT, ECT_1, ECT_0] {
            for (others, otherwise) in [(0, Verdict::Pass), (1, Verdict::DropEarly)] {
                let tunables = [("ecn", tunable), ("others", others)];
                let expected = if marked.contains(&ecn) {
                    Verdict::Mark
                } else {
                    otherwise
                };
                assert_eq!(verdict(&tunables, 30, 45_000, ecn), expected);
            }
        }
    }
}

#[test]
fn a_threshold_above_the_limit_is_refused() {
    let link = LinkView {
        rate_bytes_per_s: 1_250_000,
        limit_bytes: 60_000,
        ..LinkView::default()
    };
    let refused = |tunables: &[(&str, u32)]| refusal("step", tunables, &link);
    assert_eq!(
        refused(&[("threshold_pkts", 41)]),
        "tunable threshold_pkts=41 is not allowed; at most the queue's limit in packets of 1500 \
         bytes, 40"
    );
    assert_eq!(
        refused(&[("threshold_bytes", 60_001)]),
        "tunable threshold_bytes=60001 is not allowed; at most the queue's limit in bytes, 60000"
    );
    assert_eq!(
        refused(&[("threshold_us", 48_001)]),
        "tunable threshold_us=48001 is not allowed; at most the time in which the link sends a \
         full queue, 48000"
    );
    let pkts = LinkView {
        limit_pkts: 19,
        ..LinkView::default()
    };
    assert_eq!(
        refusal("step", &[], &pkts),
        "tunable threshold_pkts=20 is not allowed; at most the queue's limit in packets, 19"
    );
}

#[test]
fn marks_are_counted_by_class() {
    let mut queue = QueueInstance::new("step", &[], &LinkView::default()).unwrap();
    for (n, ecn) in [ECT_0, ECT_0, ECT_0, ECT_1, ECT_1, NOT_ECT]
        .into_iter()
        .enumerate()
    {
        let link = LinkView {
            queue_pkts: 20 + n as u32,
            ..LinkView::default()
        };
        let packet = PacketView {
            flow: 1,
            ip_bytes: FULL,
            ecn,
            ..PacketView::default()
        };
        let _ = queue.enqueue(&link, &packet);
    }
    let counted = ["marked_ect0_pkts", "marked_ect1_pkts", "others_pkts"];
    let counted = counted.map(|name| queue.counter(name).unwrap());
    assert_eq!(counted, [3, 2, 1]);
}
