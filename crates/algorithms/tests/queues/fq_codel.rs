//! FQ-CoDel: the order of its sub-queues, its hash, and what it drops when it is full.

use super::{flows, Lane, ECT_0, ECT_1, FULL, MS, NOT_ECT, SECOND, US};
use headway_algorithms::{LinkView, Verdict};

#[test]
fn a10_a_new_flow_goes_first_until_it_has_sent_a_quantum() {
    let mut lane = Lane::new("fq_codel", &[]);
    let mut flow_of = vec![];
    let mut join = |lane: &mut Lane, flow: u32, pkts: u32| {
        for _ in 0..pkts {
            lane.join(0, flow, FULL, NOT_ECT);
            flow_of.push(flow);
        }
    };
    // two bulk flows, which become old after their first packets
    join(&mut lane, 0, 5);
    join(&mut lane, 1, 5);
    let mut order: Vec<u32> = (0..4).map(|_| lane.leave(0).unwrap().id).collect();
    // a flow with one packet and one with four join
    join(&mut lane, 2, 1);
    join(&mut lane, 3, 4);
    order.extend(lane.empty(0));
    let order = flows(&order, &flow_of);
    // both new flows send a packet, a quantum, before the old ones; flow 3 is old from then on
    let expected = [0, 1, 0, 1, 2, 3, 0, 3, 1, 0, 3, 1, 0, 3, 1];
    assert_eq!(order, expected);
}

#[test]
fn a_flow_that_empties_and_returns_does_not_starve_old_ones() {
    let mut lane = Lane::new("fq_codel", &[]);
    for _ in 0..20 {
        lane.join(0, 0, FULL, NOT_ECT);
    }
    lane.leave(0);
    // a packet of flow 1 comes as soon as its last one has left
    let mut served = [0; 2];
    lane.join(0, 1, 100, NOT_ECT);
    for _ in 0..20 {
        let id = lane.leave(0).unwrap().id;
        let flow = usize::from(id >= 20);
        served[flow] += 1;
        if flow == 1 {
            lane.join(0, 1, 100, NOT_ECT);
        }
    }
    // the emptied sub-queue goes to the old ones, so flow 0 has its turn
    assert!(served[0] >= 1, "{served:?}");
}

#[test]
fn backlogged_flows_get_equal_bytes_whatever_their_packet_sizes() {
    // without early drops, to see the order alone
    let mut lane = Lane::new("fq_codel", &[("interval_us", 4_000_000)]);
    let sizes = [1500, 600, 200];
    let mut size_of = vec![];
    for _ in 0..3000 {
        for (flow, size) in sizes.iter().enumerate() {
            lane.join(0, flow as u32, *size, NOT_ECT);
            size_of.push((flow, *size));
        }
    }
    let mut bytes = [0; 3];
    for _ in 0..3000 {
        let (flow, size) = size_of[lane.leave(0).unwrap().id as usize];
        bytes[flow] += size + 14; // of Ethernet frames
    }
    let (least, most) = (bytes.iter().min().unwrap(), bytes.iter().max().unwrap());
    assert!(most - least <= 2 * 1514, "{bytes:?}");
}

#[test]
fn a11_overflow_drops_half_of_the_longest_sub_queue_at_most_64_packets_from_its_head() {
    // first 100 packets of the flood fit, then 1000
    for (limit_pkts, batch) in [(100, 46), (1000, 64)] {
        let mut lane = Lane::new("fq_codel", &[("limit_pkts", limit_pkts)]);
        for flow in 1..10 {
            lane.join(0, flow, FULL, NOT_ECT);
        }
        let mut lost = vec![];
        let mut batches = vec![];
        for _ in 0..5000 {
            lane.join(0, 0, FULL, NOT_ECT);
            let drops = lane.drops();
            if !drops.is_empty() {
                batches.push(drops.len());
            }
            assert!(drops.iter().all(|d| d.verdict == Verdict::DropFull));
            lost.extend(drops.iter().map(|d| d.id));
            assert!(lane.queue.pkts() <= limit_pkts);
        }
        // only packets of the flood, oldest first: ids from 9 on
        let in_order: Vec<u32> = (9..).take(lost.len()).collect();
        assert_eq!(lost, in_order);
        // half of 92 or of 992 packets, at most 64
        assert!(batches.iter().all(|&n| n == batch), "{batches:?}");
        let counted = lane.counter(0, "overlimit_pkts");
        assert_eq!(counted, lost.len() as u64);
    }
}

#[test]
fn a_full_queue_drops_by_bytes_packets_and_memory() {
    let join = |tunables: &[(&str, u32)], link: LinkView| {
        let mut lane = Lane::on("fq_codel", tunables, link);
        for n in 0..100 {
            lane.join(0, n % 3, FULL, NOT_ECT);
            lane.drops();
        }
        lane
    };
    let bytes = LinkView {
        limit_bytes: 60_000,
        ..LinkView::default()
    };
    assert!((45_000..=60_000).contains(&join(&[], bytes).queue.bytes()));
    let pkts = LinkView {
        limit_pkts: 40,
        ..LinkView::default()
    };
    assert!((30..=40).contains(&join(&[], pkts).queue.pkts()));
    // a full packet takes 2304 bytes
    let memory = [("memory_bytes", 23_040), ("flows", 10)];
    let mut lane = join(&memory, LinkView::default());
    assert!((7..=10).contains(&lane.queue.pkts()));
    let counted = ["overlimit_pkts", "overmemory_pkts"].map(|name| lane.counter(0, name));
    assert!(counted[0] > 0 && counted[0] == counted[1]);
}

#[test]
fn a12_connections_collide_as_often_as_balls_in_1024_bins() {
    let mut lane = Lane::new("fq_codel", &[]);
    const SEEDS: u32 = 10_000;
    let flows = [10, 50, 100, 200];
    let mut alone = [0_u32; 4];
    // of 100 flows: at most two and at most three in the sub-queue
    let mut few = [0_u32; 2];
    for seed in 0..SEEDS {
        lane.queue.seed(u64::from(seed) + 1);
        lane.join(0, 0, 60, NOT_ECT);
        let own = lane.queue.sub_queues().iter().position(|q| q.pkts > 0);
        let mut joined = 0;
        for (count, n) in alone.iter_mut().zip(flows) {
            while joined + 1 < n {
                joined += 1;
                lane.join(0, joined, 60, NOT_ECT);
            }
            let pkts = lane.queue.sub_queues()[own.unwrap()].pkts;
            *count += u32::from(pkts == 1);
            if n == 100 {
                few = [few[0] + u32::from(pkts <= 2), few[1] + u32::from(pkts <= 3)];
            }
        }
        lane.empty(0);
    }
    let is_expected = |what: &str, count: u32, expected: f64, percent: f64| {
        // RFC 8290's table and text
        assert!((expected * 100.0 - percent).abs() < 0.06, "{what}");
        let measured = f64::from(count) / f64::from(SEEDS);
        let sigma = (expected * (1.0 - expected) / f64::from(SEEDS)).sqrt();
        println!("{what}: {measured:.4}, expected {expected:.4}");
        let off = (measured - expected).abs();
        assert!(off < 3.0 * sigma, "{what}: {measured} {expected}");
    };
    let other = 1.0_f64 / 1024.0;
    for ((count, n), percent) in alone.iter().zip(flows).zip([99.1, 95.3, 90.8, 82.3]) {
        let expected = (1.0 - other).powi(n as i32 - 1);
        is_expected(&format!("alone of {n}"), *count, expected, percent);
    }
    // binomial: one or two of the 99 others
    let one = 99.0 * other * (1.0 - other).powi(98);
    let two = 99.0 * 98.0 / 2.0 * other.powi(2) * (1.0 - other).powi(97);
    let at_most_two = (1.0 - other).powi(99) + one;
    is_expected("at most two of 100", few[0], at_most_two, 99.57);
    is_expected("at most three of 100", few[1], at_most_two + two, 99.99);
}

/// A flow that always has ten packets more, at 10 Mbit/s, for `until_ns`. Returns how many packets
/// were marked and dropped early.
fn standing(tunables: &[(&str, u32)], ecn: u8, until_ns: u64) -> (usize, usize) {
    let mut lane = Lane::new("fq_codel", tunables);
    let (mut marks, mut drops) = (0, 0);
    for now_ns in (0..until_ns).step_by((1200 * US) as usize) {
        while lane.queue.pkts() < 10 {
            lane.join(now_ns, 0, FULL, ecn);
        }
        let sent = lane.leave(now_ns).unwrap();
        marks += usize::from(sent.verdict == Verdict::Mark);
        drops += lane.drops().len();
    }
    (marks, drops)
}

#[test]
fn codel_marks_the_chosen_classes_and_drops_the_others() {
    for (tunable, marked) in [(0, vec![]), (1, vec![1]), (2, vec![2]), (3, vec![1, 2])] {
        for ecn in [NOT_ECT, ECT_1, ECT_0] {
            let (marks, drops) = standing(&[("ecn", tunable)], ecn, 2 * SECOND);
            assert_eq!(marks > 5, marked.contains(&ecn), "{tunable} {ecn} {marks}");
            assert_eq!(drops > 5, !marked.contains(&ecn), "{tunable} {ecn} {drops}");
        }
    }
    // every packet that has waited longer than 1 ms, of the class of L4S alone
    let threshold = [("ce_threshold_us", 1000), ("ce_threshold_ecn", 1)];
    let (marks, _) = standing(&threshold, ECT_1, 90 * MS);
    assert!(marks > 60, "{marks}");
    assert_eq!(standing(&threshold, ECT_0, 90 * MS), (0, 0));
}

#[test]
fn codel_drops_the_only_packet_of_a_sub_queue_if_all_sub_queues_count() {
    for (behind, drops_any) in [(0, false), (1, true)] {
        let mut lane = Lane::new("fq_codel", &[("behind", behind)]);
        let (mut flow_of, mut drops, mut served) = (vec![], 0, [0; 10]);
        for flow in 0..10 {
            lane.join(0, flow, FULL, NOT_ECT);
            flow_of.push(flow);
        }
        // a flow's next packet comes when the last one has gone, so each waits for about 12 ms
        for now_ns in (0..2 * SECOND).step_by((1200 * US) as usize) {
            let sent = lane.leave(now_ns).expect("another sub-queue has packets");
            let lost = lane.drops();
            drops += lost.len();
            served[flow_of[sent.id as usize] as usize] += 1;
            for gone in lost.iter().chain([&sent]) {
                let flow = flow_of[gone.id as usize];
                lane.join(now_ns, flow, FULL, NOT_ECT);
                flow_of.push(flow);
            }
        }
        assert_eq!(drops > 10, drops_any, "{drops}");
        assert!(served.iter().all(|&pkts| pkts > 150), "{served:?}");
    }
}
