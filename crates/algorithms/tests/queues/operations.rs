//! Random operations on every discipline, with random tunables. After each operation, bytes and
//! packets are accounted for; packets leave once, and in order; limits and classes are kept.
//! Timers give the same results however often they are brought up to date.
//!
//! `HEADWAY_QUEUE_OPERATIONS` sets the number of operations per discipline (default 30,000):
//! `HEADWAY_QUEUE_OPERATIONS=10000000 cargo test --release -p headway-integration --test algorithms
//! queues::operations`.

use super::{Lane, ECT_0, ECT_1, MS, US};
use headway_algorithms::{queues, Leaving, LinkView, QueueInfo, QueueInstance, Verdict};
use std::collections::{HashMap, VecDeque};

/// Operations on one instance, before the next one has other tunables.
const PER_INSTANCE: u64 = 5000;

struct Draw(u64);

impl Draw {
    fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb) >> 16
    }

    fn below(&mut self, n: u64) -> u64 {
        self.bits() % n
    }

    fn one<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len() as u64) as usize]
    }
}

/// Tunables of which most have their defaults, others an extreme or a random value.
fn tunables(draw: &mut Draw, info: &QueueInfo) -> Vec<(String, u32)> {
    let mut all = vec![];
    for tunable in &info.tunables {
        // not so many sub-queues that creating them takes longest
        let most = if tunable.name == "flows" {
            2000
        } else {
            tunable.max
        };
        let range = u64::from(most - tunable.min) + 1;
        let value = match draw.below(8) {
            0 => tunable.min,
            1 => most,
            2 | 3 => tunable.min + draw.below(range) as u32,
            4 => tunable.min + draw.below(range.min(100)) as u32,
            _ => continue,
        };
        all.push((tunable.name.to_owned(), value));
    }
    all
}

fn lane(draw: &mut Draw, info: &QueueInfo) -> (Lane, Vec<(String, u32)>) {
    loop {
        let link = LinkView {
            rate_bytes_per_s: draw.one(&[12_500, 1_250_000, 125_000_000]),
            limit_bytes: draw.one(&[0, 0, 3000, 60_000, 1_000_000]),
            limit_pkts: draw.one(&[0, 0, 1, 7, 100]),
            ..LinkView::default()
        };
        let tunables = tunables(draw, info);
        // some tunables do not fit together
        if let Ok(mut queue) = QueueInstance::new(info.name, &tunables, &link) {
            if !queue.holds() {
                // as if a router wanted to see packets leave
                queue.hold();
            }
            queue.watch_heads();
            queue.seed(draw.bits());
            let arrived = 0;
            let lane = Lane {
                queue,
                link,
                arrived,
            };
            return (lane, tunables);
        }
    }
}

/// What has to be true of a queue.
#[derive(Default)]
struct Books {
    /// The packets of each connection that are in the queue.
    inside: HashMap<u64, VecDeque<(u32, u32, u8)>>,
    pkts: u32,
    bytes: u32,
}

impl Books {
    fn joined(&mut self, flow: u64, id: u32, ip_bytes: u32, ecn: u8) {
        let entry = (id, ip_bytes, ecn);
        self.inside.entry(flow).or_default().push_back(entry);
        self.pkts += 1;
        self.bytes += ip_bytes;
    }

    /// The oldest packet of its connection has left.
    fn left(&mut self, packet: &Leaving, classes: u32) {
        let own = self.inside.get_mut(&packet.packet.flow).expect("it joined");
        let (id, ip_bytes, ecn) = own.pop_front().expect("it joined");
        assert_eq!((id, ip_bytes), (packet.id, packet.packet.ip_bytes));
        assert!(ecn == packet.packet.ecn || packet.packet.ecn == 3);
        if packet.packet.ecn != ecn {
            assert!(u32::from(ecn) & classes != 0, "{ecn} is not marked");
        }
        self.pkts -= 1;
        self.bytes -= ip_bytes;
    }

    fn check(&self, lane: &Lane) {
        let queue = &lane.queue;
        assert_eq!((queue.pkts(), queue.bytes()), (self.pkts, self.bytes));
    }

    fn check_sub_queues(&self, lane: &Lane) {
        let mut sums = (0, 0);
        for queue in lane.queue.sub_queues() {
            sums = (sums.0 + queue.pkts, sums.1 + queue.bytes);
            assert_eq!(queue.pkts == 0, queue.bytes == 0);
        }
        assert_eq!(sums, (self.pkts, self.bytes));
        // the head of a sub-queue is the oldest packet of its connection
        let oldest = self.inside.values().filter_map(|own| own.front());
        if let Some(least) = oldest.map(|packet| packet.1).min() {
            assert!(lane.queue.least_head_bytes() >= least);
        }
    }
}

/// The classes that a discipline with these tunables may mark.
fn classes(info: &QueueInfo, tunables: &[(String, u32)]) -> u32 {
    let value = |name: &str| {
        let default = info.tunables.iter().find(|t| t.name == name);
        let given = tunables.iter().find(|(n, _)| n == name);
        given
            .map(|(_, v)| *v)
            .or(default.map(|t| t.default))
            .unwrap_or(0)
    };
    match info.name {
        // any ECN-capable packet
        "dualpi2" | "red" | "codel" => 3,
        _ => value("ecn") | value("ce_threshold_ecn"),
    }
}

/// One instance's operations. Its twin gets the same packets, and its timers run in between, too.
fn operate(draw: &mut Draw, info: &QueueInfo, operations: u64) {
    let (mut lane, tunables) = lane(draw, info);
    let mut twin = lane.clone();
    let classes = classes(info, &tunables);
    let mut books = Books::default();
    let mut now_ns = draw.one(&[0, 1, 1 << 40, 1 << 60]);
    let flows = draw.one(&[1, 3, 300]);
    // how many packets arrive for each that leaves
    let load = draw.one(&[1, 2, 3, 30]);
    for operation in 0..operations {
        if draw.below(4) > 0 {
            now_ns += draw.one(&[1, 100 * US, 100 * US, MS, 20 * MS]);
        }
        for _ in 0..draw.below(3) {
            let tick_ns = now_ns - draw.below(100 * US).min(now_ns - twin.link.now_ns);
            twin.link.now_ns = tick_ns;
            twin.queue.tick(&twin.link.clone());
        }
        lane.link.random = draw.bits() as u32;
        twin.link.random = lane.link.random;
        if draw.below(load + 1) > 0 {
            let flow = draw.below(flows) as u32;
            // a connection's packets have one class
            let ecn = [0, ECT_0, ECT_1, 3][flow as usize % 4];
            let ip_bytes = draw.one(&[28, 52, 600, 1500, 1500, 1500, 9000, 65_535]);
            let id = lane.arrived;
            let verdict = lane.join(now_ns, flow, ip_bytes, ecn);
            assert_eq!(verdict, twin.join(now_ns, flow, ip_bytes, ecn));
            let is_marked = verdict == Verdict::Mark;
            if verdict == Verdict::Pass || is_marked && ecn != 0 {
                if is_marked && ecn != 3 {
                    assert!(u32::from(ecn) & classes != 0, "{ecn} is not marked");
                }
                let ecn = if is_marked { 3 } else { ecn };
                books.joined((u64::from(flow) + 1) << 32 | 7, id, ip_bytes, ecn);
            }
        } else {
            let sent = lane.leave(now_ns);
            assert_eq!(sent, twin.leave(now_ns));
            let drops = lane.drops();
            for packet in &drops {
                assert_eq!(Some(*packet), twin.queue.next_drop());
                books.left(packet, classes);
            }
            match sent {
                Some(packet) => books.left(&packet, classes),
                None if drops.is_empty() && books.pkts > 0 => {
                    assert!(lane.queue.wake_ns() > Some(now_ns));
                }
                None => {}
            }
        }
        for packet in lane.drops() {
            assert_eq!(Some(packet), twin.queue.next_drop());
            books.left(&packet, classes);
        }
        books.check(&lane);
        if operation % 500 == 0 {
            books.check_sub_queues(&lane);
        }
    }
    let values = |lane: &mut Lane| {
        lane.link.now_ns = now_ns;
        lane.queue.tick(&lane.link.clone());
        lane.queue.counters().collect::<Vec<_>>()
    };
    assert_eq!(values(&mut lane), values(&mut twin));
    // everything leaves in the end
    while books.pkts > 0 {
        let sent = lane.leave(now_ns);
        for packet in lane.drops() {
            books.left(&packet, classes);
        }
        match sent {
            Some(packet) => books.left(&packet, classes),
            None => now_ns = lane.queue.wake_ns().unwrap_or(now_ns),
        }
    }
    books.check(&lane);
    books.check_sub_queues(&lane);
}

#[test]
fn whatever_happens_packets_and_bytes_are_accounted_for() {
    let all = std::env::var("HEADWAY_QUEUE_OPERATIONS");
    let all = all.map_or(30_000, |n| n.parse().expect("a number"));
    for (number, info) in (0..).zip(queues()) {
        let mut draw = Draw(number);
        let mut left = all;
        while left > 0 {
            let now = PER_INSTANCE.min(left);
            operate(&mut draw, info, now);
            left -= now;
        }
    }
}
