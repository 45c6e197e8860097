//! XCP's and RCP's routers and senders by hand, against the same laws in f64, from 1 Mbit/s
//! to 40 Gbit/s and from 1 ms to 2 s; their options byte by byte.

use headway_algorithms::header::header;
use headway_algorithms::{
    Ack, Arrival, Conn, ControlInstance, Fields, LinkView, PacketView, RouterInstance,
    ROUTERS_ABSENT, SSTHRESH_INFINITE,
};
use proptest::prelude::*;

const S: f64 = 1e9;
const UNLIMITED: i32 = 0x7fff_fffe;

/// XCP's fields.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Xcp {
    x_ns: u32,
    rtt_us: u32,
    delta: i32,
    reverse: i32,
    is_stamped: bool,
    is_answer: bool,
}

impl From<Xcp> for Fields {
    fn from(x: Xcp) -> Fields {
        let word = |low: u32, high: u32| u64::from(high) << 32 | u64::from(low);
        Fields([
            word(x.x_ns, x.rtt_us),
            word(x.delta as u32, x.reverse as u32),
            u64::from(x.is_stamped) | u64::from(x.is_answer) << 8,
        ])
    }
}

impl From<Fields> for Xcp {
    fn from(f: Fields) -> Xcp {
        let [first, second, third] = f.0;
        Xcp {
            x_ns: first as u32,
            rtt_us: (first >> 32) as u32,
            delta: second as i32,
            reverse: (second >> 32) as i32,
            is_stamped: third & 1 != 0,
            is_answer: third >> 8 & 1 != 0,
        }
    }
}

/// RCP's: rate, returned rate, RTT.
fn rcp(rate: u64, returned: u64, rtt_us: u32) -> Fields {
    Fields([rate, returned, u64::from(rtt_us)])
}

/// A router on a link, and the time.
struct Router {
    router: RouterInstance,
    link: LinkView,
    next_ns: u64,
}

impl Router {
    fn new(name: &str, rate_bps: u64, tunables: &[(&str, u32)]) -> Router {
        let tunables: Vec<_> = tunables.iter().map(|&(n, v)| (n.to_owned(), v)).collect();
        let mut link = LinkView {
            rate_bytes_per_s: rate_bps / 8,
            ..LinkView::default()
        };
        let mut router = RouterInstance::new(name, &tunables, &mut link).unwrap();
        let next_ns = router.tick(&mut link).expect("it has timers");
        Router {
            router,
            link,
            next_ns,
        }
    }

    /// Goes to a time, by way of all timers before it.
    fn at(&mut self, now_ns: u64) {
        while self.next_ns <= now_ns {
            self.link.now_ns = self.next_ns;
            self.next_ns = self.router.tick(&mut self.link).expect("it has timers");
        }
        self.link.now_ns = now_ns;
        self.link.random = (now_ns as u32 ^ 0x5bd1_e995).wrapping_mul(0x9e37_79b9) ^ 0x1234;
        self.link.random ^= self.link.random >> 15;
        self.link.random = self.link.random.wrapping_mul(0x85eb_ca6b);
    }

    fn pass(&mut self, ip_bytes: u32, fields: Fields) -> Fields {
        let packet = PacketView {
            flow: 1 << 32,
            ip_bytes,
            pkts: 1,
            ..PacketView::default()
        };
        let mut fields = fields;
        self.router
            .arrive(&mut self.link, &packet, Some(&mut fields));
        self.router
            .depart(&mut self.link, &packet, Some(&mut fields));
        fields
    }

    fn counter(&self, name: &str) -> u64 {
        let at = self
            .router
            .info()
            .counters
            .iter()
            .position(|c| c.name == name);
        self.router.counters().nth(at.expect("a counter")).unwrap()
    }

    fn queue(&mut self, bytes: u32) {
        self.link.queue_bytes = bytes;
        self.link.queue_pkts = u32::MAX; // so that none of it is in transmission
    }
}

/// Packets of one flow, at even distances.
#[derive(Clone, Copy, Debug)]
struct Flow {
    rate_bps: f64,
    rtt_us: u32,
    asks: i32,
}

impl Flow {
    fn header(&self) -> Xcp {
        let bytes_per_s = self.rate_bps / 8.0;
        Xcp {
            x_ns: (1500.0 / bytes_per_s * S).round().min(4e9) as u32,
            rtt_us: self.rtt_us,
            delta: self.asks,
            ..Xcp::default()
        }
    }
}

/// What flows get from a router of XCP until a time, each in B/s by its packets' changes.
fn drive(router: &mut Router, flows: &[Flow], from_ns: u64, to_ns: u64) -> Vec<f64> {
    let mut sums = vec![0.0; flows.len()];
    let gap_ns = |f: &Flow| 1500.0 * 8.0 / f.rate_bps * S;
    let mut next: Vec<f64> = (0..flows.len())
        .map(|i| from_ns as f64 + gap_ns(&flows[i]) * (i + 1) as f64 / (flows.len() + 1) as f64)
        .collect();
    loop {
        let (i, at) = next
            .iter()
            .copied()
            .enumerate()
            .min_by(|a, b| a.1.total_cmp(&b.1))
            .expect("a flow");
        if at >= to_ns as f64 {
            return sums;
        }
        router.at(at as u64);
        let came = Xcp::from(router.pass(1500, flows[i].header().into()));
        assert!(came.is_stamped && came.delta & 1 == 0);
        sums[i] += f64::from(came.delta);
        next[i] += gap_ns(&flows[i]);
    }
}

/// What changes that are rounded at random to multiples of 2 may sum up to besides, at six
/// standard deviations of a uniform error.
fn rounding(pkts: f64) -> f64 {
    6.0 * pkts.sqrt() * 2.0 / 12f64.sqrt() + 2.0
}

#[test]
fn what_xcp_hands_out_in_an_interval_is_what_it_meant_to() {
    for (load, queue_bytes) in [(0.5, 0), (0.9, 0), (1.0, 0), (1.2, 0), (0.7, 40_000)] {
        let mut router = Router::new("xcp", 10_000_000, &[]);
        let flows = [2e6, 3e6, 5e6].map(|rate_bps| Flow {
            rate_bps: rate_bps * load,
            rtt_us: 100_000,
            asks: UNLIMITED,
        });
        router.queue(queue_bytes);
        // the first interval lasts 50 ms, those after it 100
        drive(&mut router, &flows, 0, 250_000_000);
        let came = drive(&mut router, &flows, 250_000_000, 349_999_999);
        let meant = (router.counter("raise_bps") as f64 - router.counter("cut_bps") as f64) / 8.0;
        let sum: f64 = came.iter().sum();
        let capacity = 1_250_000.0;
        let law = 0.4 * (capacity - capacity * load) - 0.226 * f64::from(queue_bytes) / 0.1;
        // the traffic of an interval is whole packets
        assert!((meant - law).abs() < 0.4 * 1500.0 / 0.1, "{meant} {law}");
        // what is not handed out: the part of the interval before its first packet
        let pools = law.abs() + (0.1 * capacity * load - law.abs()).max(0.0);
        let pkts = capacity * load * 0.1 / 1500.0;
        assert!(
            (sum - meant).abs() < 2.0 * pools / pkts + rounding(pkts),
            "load {load}: {sum} of {meant}"
        );
    }
}

#[test]
fn without_shuffling_unequal_flows_stay_unequal() {
    for (gamma, moves) in [(0, false), (100, true)] {
        let mut router = Router::new("xcp", 10_000_000, &[("gamma", gamma)]);
        let flows = [2e6, 8e6].map(|rate_bps| Flow {
            rate_bps,
            rtt_us: 100_000,
            asks: UNLIMITED,
        });
        drive(&mut router, &flows, 0, 250_000_000);
        let came = drive(&mut router, &flows, 250_000_000, 350_000_000);
        // a tenth of all is taken by bytes, 4 to 1, and given back in halves
        let wanted = if moves { 125_000.0 * (0.5 - 0.2) } else { 0.0 };
        let pkts = 84.0;
        let slack = 0.4 * 1500.0 / 0.1 + 125_000.0 * 2.0 / pkts * f64::from(moves) + rounding(pkts);
        assert!((came[0] - wanted).abs() < slack, "{came:?} {wanted}");
        assert!((came[1] + wanted).abs() < slack, "{came:?} {wanted}");
    }
}

#[test]
fn who_asks_for_nothing_gets_nothing_and_leaves_it_to_others() {
    let mut router = Router::new("xcp", 10_000_000, &[]);
    let flows = [(2.5e6, 0), (2.5e6, UNLIMITED)].map(|(rate_bps, asks)| Flow {
        rate_bps,
        rtt_us: 100_000,
        asks,
    });
    drive(&mut router, &flows, 0, 250_000_000);
    let came = drive(&mut router, &flows, 250_000_000, 349_999_999);
    assert!(came[0] <= 0.0 && came[1] > 100_000.0, "{came:?}");
}

/// A router that saw no traffic hands out alpha C, to a header that stands for an interval all
/// of it, and never more.
#[test]
fn on_an_idle_link_xcps_first_packet_gets_what_the_law_gives() {
    for (x_ns, gets) in [(50_000_000, 1.0), (10_000_000, 0.2), (500_000_000, 1.0)] {
        let mut router = Router::new("xcp", 10_000_000, &[]);
        router.at(1_010_000_000);
        assert_eq!(router.counter("input_bps"), 0);
        assert_eq!(router.counter("raise_bps"), 4_000_000);
        let first = Xcp {
            x_ns,
            rtt_us: 50_000,
            delta: UNLIMITED,
            ..Xcp::default()
        };
        let came = Xcp::from(router.pass(1500, first.into()));
        let wanted = gets * 0.4 * 1_250_000.0;
        assert!(
            (f64::from(came.delta) - wanted).abs() <= 2.0,
            "{x_ns}: {} {wanted}",
            came.delta
        );
        // what is left is all that the next ones get
        let rest: i32 = (0..20)
            .map(|_| Xcp::from(router.pass(1500, first.into())).delta)
            .sum();
        let whole = f64::from(came.delta + rest);
        assert!((whole - 500_000.0).abs() <= 42.0, "{x_ns}: {whole}");
    }
}

#[test]
fn each_of_xcps_timers_runs_by_itself() {
    let mut router = Router::new("xcp", 10_000_000, &[]);
    let flow = Flow {
        rate_bps: 8e6,
        rtt_us: 100_000,
        asks: UNLIMITED,
    };
    drive(&mut router, &[flow], 0, 300_000_000);
    assert_eq!(router.counter("interval_us"), 100_000);
    // a queue that stands is seen after half of a round trip and not before
    router.queue(30_000);
    let mut seen_ns = None;
    for ms in 300..420 {
        drive(&mut router, &[flow], ms * 1_000_000, (ms + 1) * 1_000_000);
        if router.counter("persistent_queue_bytes") == 30_000 {
            seen_ns.get_or_insert(ms - 300);
        }
    }
    let seen = seen_ns.expect("it is seen");
    assert!((38..=100).contains(&seen), "{seen} ms");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// One interval against f64, for any rate and round trip of the valid domain.
    #[test]
    fn xcps_integers_are_as_f64(
        rate in 6.0..10.602f64, rtt in 3.0..6.301f64, load in 0.3..1.4f64, queue in 0.0..0.5f64,
        shares in proptest::collection::vec(0.2..1.0f64, 1..6),
    ) {
        let (rate_bps, rtt_us) = (10f64.powf(rate), 10f64.powf(rtt).round());
        let mut router = Router::new(
            "xcp", rate_bps as u64, &[("least_interval_ms", 1), ("most_interval_ms", 2000)]);
        let capacity = (rate_bps as u64 / 8) as f64;
        let sum: f64 = shares.iter().sum();
        let queue_bytes = (queue * capacity * rtt_us / 1e6).min(3e9) as u32;
        router.queue(queue_bytes);
        // a header stands for the packets of a flow between two ticks of a millisecond
        let flows: Vec<f64> = shares.iter().map(|s| s / sum * load * capacity).collect();
        let every_ns = 50_000_000u64;
        let send = |router: &mut Router, at_ns: u64, span_ns: f64| -> (f64, f64) {
            let (mut bytes, mut change) = (0.0, 0.0);
            for &flow in &flows {
                let ip_bytes = (flow * span_ns / S).clamp(1.0, 4e9) as u32;
                let x_ns = (f64::from(ip_bytes) / flow * S).round() as u32;
                router.at(at_ns);
                let header = Xcp {
                    x_ns, rtt_us: rtt_us as u32, delta: UNLIMITED, ..Xcp::default()
                };
                let came = Xcp::from(router.pass(ip_bytes, header.into()));
                bytes += f64::from(ip_bytes);
                change += f64::from(came.delta);
            }
            (bytes, change)
        };
        let mut bytes = 0.0;
        // the first interval ends at 50 ms; four packets of each flow
        for k in 0..4 {
            bytes += send(&mut router, every_ns / 8 + k * every_ns / 4, every_ns as f64 / 4.0).0;
        }
        router.at(every_ns);
        let y = bytes / (every_ns as f64 / S);
        let q = router.counter("persistent_queue_bytes") as f64;
        let law = 0.4 * (capacity - y) - 0.226 * q / (rtt_us / 1e6);
        let meant = (router.counter("raise_bps") as f64 - router.counter("cut_bps") as f64) / 8.0;
        prop_assert!((router.counter("rtt_us") as f64 - rtt_us).abs() <= 1.0 + rtt_us * 1e-6);
        // alpha y is rounded to whole B/s, Q/d by the RTT's microsecond
        let bound = 4.0 + 1e-6 * (0.4 * (capacity + y)) + 1.1e-3 * 0.226 * q / (rtt_us / 1e6);
        prop_assert!((meant - law).abs() <= bound, "{} {} {}", meant, law, bound);
        // what a packet that stands for a part of the sums gets
        let shuffle = (0.1 * y - law.abs()).max(0.0);
        let (give, take) = (shuffle + law.max(0.0), shuffle + (-law).max(0.0));
        prop_assume!(give.max(take) / 4.0 < 1e9);
        let (_, change) = send(&mut router, every_ns + 1, every_ns as f64 / 4.0);
        let wanted = (give - take) / 4.0;
        let bound = bound + 2.0 * flows.len() as f64 + 2e-5 * give.max(take);
        prop_assert!((change - wanted).abs() <= bound, "{} {} {}", change, wanted, bound);
    }
}

/// RCP's law in f64.
struct Law {
    rate: f64,
    rtt_us: f64,
}

#[test]
fn rcps_rate_goes_as_its_law_in_f64() {
    for rate_bps in [1e6, 1e7, 1e9, 4e10] {
        for rtt_us in [1000u32, 50_000, 2_000_000] {
            let mut router = Router::new("rcp", rate_bps as u64, &[("gamma", 950)]);
            let (capacity, slot_ns) = (rate_bps / 8.0, |d: f64| (d * 1e3).min(1e7));
            let mut law = Law {
                rate: 0.05 * capacity,
                rtt_us: 200_000.0,
            };
            let mut now_ns = 0u64;
            let mut lasts_ns = 10_000_000u64;
            for k in 0..400u64 {
                // loads between 0.5 and 1.3 times the capacity, and a queue at times
                let load = 0.5 + (k * 7 % 9) as f64 / 10.0;
                let bytes = (load * capacity * lasts_ns as f64 / S) as u32;
                router.at(now_ns);
                router.queue(0);
                let queue_bytes = if k % 5 == 0 { bytes / 4 } else { 0 };
                router.at(now_ns + 1);
                let packet = PacketView {
                    flow: 1,
                    ip_bytes: bytes / 2,
                    pkts: 1,
                    ..PacketView::default()
                };
                // in two parts, neither of which reaches into the next slot
                let mut fields = rcp(u64::MAX >> 1, 0, rtt_us);
                router
                    .router
                    .arrive(&mut router.link, &packet, Some(&mut fields));
                router
                    .router
                    .arrive(&mut router.link, &packet, Some(&mut fields));
                router.queue(queue_bytes);
                now_ns += lasts_ns;
                // late packets count in parts: these came at the slot's start
                let y = f64::from(bytes / 2 * 2) / (lasts_ns as f64 / S);
                let (t, d) = (lasts_ns as f64 / 1e3, law.rtt_us);
                let sample = f64::from(rtt_us);
                let gain = if sample >= d {
                    t / d
                } else {
                    law.rate / capacity * (sample / d) * (t / d)
                };
                law.rtt_us += gain * (sample - d);
                let target = 0.95 * capacity;
                let spare =
                    0.4 * (target - y) - 0.226 * f64::from(queue_bytes) / (law.rtt_us / 1e6);
                law.rate *= 1.0 + t / law.rtt_us * spare / target;
                law.rate = law.rate.clamp(0.01 * 1000.0 / (law.rtt_us / 1e6), target);
                router.at(now_ns);
                lasts_ns = slot_ns(router.counter("rtt_us") as f64) as u64;
                let rate = router.counter("rate_bps") as f64 / 8.0;
                assert!(
                    (rate - law.rate).abs() <= 2.0 + 1e-4 * law.rate,
                    "slot {k} of {rate_bps} {rtt_us}: {rate}, by the law {}",
                    law.rate
                );
                // no error adds up
                law.rate = rate;
                law.rtt_us = router.counter("rtt_us") as f64 + 0.5;
            }
        }
    }
}

#[test]
fn a_packet_that_a_slots_end_cuts_counts_on_both_sides() {
    let mut router = Router::new("rcp", 1_200_000, &[]);
    // 10 ms take 1500 bytes; half of the second packet is of the next slot
    router.at(1);
    router.pass(750, rcp(u64::MAX >> 1, 0, 0));
    router.at(5_000_000);
    router.pass(1500, rcp(u64::MAX >> 1, 0, 0));
    router.at(10_000_000);
    assert_eq!(router.counter("input_bps"), 1_200_000);
    router.at(20_000_000);
    assert_eq!(router.counter("input_bps"), 600_000);
}

/// Where only packets wake it, as in the kernel, idle times are made up for.
#[test]
fn a_router_of_rcp_that_wakes_late_has_nearly_the_rate_of_one_that_does_not() {
    for idle_ms in [20, 100, 500, 2000] {
        let [steps, jump] = [true, false].map(|in_steps| {
            let mut router = Router::new("rcp", 80_000_000, &[("first_rate", 10)]);
            router.at(9_999_999);
            let until_ns = (10 + idle_ms) * 1_000_000;
            if !in_steps {
                router.next_ns = until_ns;
            }
            router.at(until_ns);
            router.counter("rate_bps") as f64
        });
        assert!(
            (jump / steps - 1.0).abs() < 0.05,
            "{idle_ms}: {jump} {steps}"
        );
    }
}

#[test]
fn rcp_lowers_what_is_asked_for_and_leaves_acks_alone() {
    let mut router = Router::new("rcp", 8_000_000, &[("first_rate", 500)]);
    let allowed = router.counter("rate_bps") / 8;
    assert_eq!(allowed, 500_000);
    assert_eq!(
        router.pass(1500, rcp(u64::MAX >> 1, 7, 0)),
        rcp(allowed, 7, 0)
    );
    assert_eq!(router.pass(1500, rcp(1000, 7, 0)), rcp(1000, 7, 0));
    assert_eq!(router.pass(52, rcp(0, 7, 0)), rcp(0, 7, 0));
    assert_eq!(router.counter("headers"), 2);
    assert_eq!(router.counter("lowered"), 1);
}

#[test]
fn the_options_are_on_the_wire_as_documented() {
    let info = header("xcp").unwrap();
    let fields = Xcp {
        x_ns: 1_200_000,
        rtt_us: 100_000,
        delta: 1500,
        reverse: -4096,
        is_stamped: true,
        is_answer: false,
    };
    let bytes = info.emit(&fields.into());
    let told = "fd 10 48 58 51 28 34 35 00 00 05 dd ff ff f0 00";
    assert_eq!(hex(&bytes), told);
    // X is rounded to what has a code
    let read = Xcp::from(info.parse(&bytes).unwrap());
    assert_eq!((read.x_ns, read.rtt_us), (1_200_128, 100_000));
    assert_eq!((read.delta, read.reverse), (1500, -4096));
    let info = header("rcp").unwrap();
    let bytes = info.emit(&rcp(1_250_000, 625_000, 100_000));
    assert_eq!(hex(&bytes), "fd 0c 48 52 11 89 68 09 89 68 34 35");
    assert_eq!(info.parse(&bytes), Some(rcp(1_250_000, 625_000, 100_000)));
    let asks = info.emit(&rcp(u64::MAX >> 1, 0, 0));
    assert_eq!(hex(&asks), "fd 0c 48 52 ff ff ff 00 00 00 00 00");
}

fn hex(bytes: &[u8]) -> String {
    let all: Vec<_> = bytes.iter().map(|b| format!("{b:02x}")).collect();
    all.join(" ")
}

#[test]
fn an_ack_answers_the_sum_of_what_its_packets_brought() {
    let (info, mut held) = (header("xcp").unwrap(), Fields::default());
    let came = |delta: i32, is_stamped: bool| Xcp {
        x_ns: 1000,
        rtt_us: 1000,
        delta,
        is_stamped,
        ..Xcp::default()
    };
    let one = Arrival {
        pkts: 1,
        ..Arrival::default()
    };
    assert!(!info.reflect(&mut held, &came(UNLIMITED, false).into(), &one));
    assert!(info.reflect(&mut held, &came(300, true).into(), &one));
    assert!(info.reflect(&mut held, &came(-100, true).into(), &one));
    // three that came as one
    let three = Arrival { pkts: 3, ..one };
    assert!(info.reflect(&mut held, &came(20, true).into(), &three));
    let answer = Xcp::from(held);
    assert_eq!((answer.reverse, answer.is_answer), (260, true));
    // and it saturates
    for _ in 0..3 {
        info.reflect(&mut held, &came(UNLIMITED, true).into(), &one);
    }
    assert_eq!(Xcp::from(held).reverse, UNLIMITED);
}

fn sender(name: &str) -> (ControlInstance, Conn) {
    let mut control = ControlInstance::new(name, None, &[]).unwrap();
    let mut conn = Conn {
        srtt_us: 100_000,
        app_queued_bytes: 1 << 30,
        snd_nxt: 100_000, // the round trip goes on
        ..Conn::default()
    };
    control.init(&mut conn);
    (control, conn)
}

#[test]
fn xcps_window_changes_by_the_rate_times_the_round_trip() {
    let (mut control, mut conn) = sender("xcp");
    let answer = |reverse| Xcp {
        reverse,
        is_answer: true,
        ..Xcp::default()
    };
    // 100 ms of 30,000 B/s are two packets; of 1000 B/s a fifteenth of one
    control.on_feedback(&mut conn, &answer(30_000).into());
    assert_eq!(conn.cwnd_pkts, 12);
    for _ in 0..14 {
        control.on_feedback(&mut conn, &answer(1000).into());
    }
    assert_eq!(conn.cwnd_pkts, 12);
    control.on_feedback(&mut conn, &answer(1000).into());
    assert_eq!(conn.cwnd_pkts, 13);
    control.on_feedback(&mut conn, &answer(-1000).into());
    assert_eq!(conn.cwnd_pkts, 12);
    control.on_feedback(&mut conn, &answer(-14_000).into());
    assert_eq!(conn.cwnd_pkts, 12);
    control.on_feedback(&mut conn, &answer(-10_000_000).into());
    assert_eq!(conn.cwnd_pkts, 1);
    control.on_feedback(&mut conn, &answer(UNLIMITED).into());
    assert_eq!(conn.cwnd_pkts, 1 + 143_165);
}

#[test]
fn xcps_window_after_idle_times_is_at_most_its_first() {
    for (initial_pkts, answered, left, wanted) in [
        (1, true, 10, 1),
        (4, true, 10, 4),
        (4, true, 3, 3),
        (0, true, 10, 10),
        (1, false, 10, 10), // as Reno's, where no router answers
    ] {
        let tunables = vec![("initial_pkts".to_owned(), initial_pkts)];
        let mut control = ControlInstance::new("xcp", None, &tunables).unwrap();
        let mut conn = Conn {
            srtt_us: 100_000,
            ..Conn::default()
        };
        control.init(&mut conn);
        let mut fields = Fields::default();
        assert!(control.on_send(&mut conn, &mut fields));
        if answered {
            let answer = Xcp {
                is_answer: true,
                ..Xcp::default()
            };
            control.on_feedback(&mut conn, &answer.into());
        } else {
            let ack = Ack {
                acked_pkts: 1,
                rtt_us: 100_000,
            };
            conn.now_us += 500_000;
            control.ack(&mut conn, &ack, 0);
            assert_eq!(conn.fall_backs, 1);
        }
        conn.cwnd_pkts = left;
        control.event(&mut conn, headway_algorithms::Event::CwndRestart);
        assert_eq!(conn.cwnd_pkts, wanted, "{initial_pkts} {answered} {left}");
    }
}

#[test]
fn a_sender_without_routers_is_as_reno_and_returns_when_they_answer() {
    for name in ["xcp", "rcp"] {
        let (mut control, mut conn) = sender(name);
        let ack = Ack {
            acked_pkts: 2,
            rtt_us: 100_000,
        };
        let mut fields = Fields::default();
        assert!(control.on_send(&mut conn, &mut fields));
        conn.now_us += 390_000;
        control.ack(&mut conn, &ack, 2);
        assert_eq!((conn.cwnd_pkts, conn.fall_backs), (10, 0), "{name}");
        conn.now_us += 20_000;
        control.ack(&mut conn, &ack, 2);
        assert_eq!((conn.cwnd_pkts, conn.fall_backs), (12, 1), "{name}");
        assert_eq!(u32::from(conn.routers), ROUTERS_ABSENT);
        assert_eq!(conn.ssthresh_pkts, SSTHRESH_INFINITE);
        assert_eq!(control.ssthresh(&mut conn), 6);
        conn.ssthresh_pkts = 6;
        for _ in 0..6 {
            control.ack(&mut conn, &ack, 2);
        }
        assert_eq!(conn.cwnd_pkts, 13, "{name}: a window more per window");
        let answer = if name == "xcp" {
            Xcp {
                is_answer: true,
                ..Xcp::default()
            }
            .into()
        } else {
            rcp(0, 150_000, 0)
        };
        control.on_feedback(&mut conn, &answer);
        assert_ne!(u32::from(conn.routers), ROUTERS_ABSENT);
        let cwnd = conn.cwnd_pkts;
        control.ack(&mut conn, &ack, 2);
        assert_eq!((conn.cwnd_pkts, conn.fall_backs), (cwnd, 1), "{name}");
    }
}

#[test]
fn rcp_is_paced_at_its_rate_and_has_it_again_after_idle_times() {
    for (idle, paced) in [("last", true), ("probe", false)] {
        let tunables = vec![("idle".to_owned(), u32::from(!paced))];
        let mut control = ControlInstance::new("rcp", None, &tunables).unwrap();
        let mut conn = Conn {
            srtt_us: 100_000,
            ..Conn::default()
        };
        control.init(&mut conn);
        control.on_feedback(&mut conn, &rcp(0, 1_500_000, 0));
        assert_eq!(conn.pacing_rate_bytes_per_s, 1_500_000);
        assert_eq!(conn.cwnd_pkts, 204, "two windows, and four");
        conn.cwnd_pkts = 10;
        control.event(&mut conn, headway_algorithms::Event::CwndRestart);
        conn.idle_us = 3_000_000;
        control.event(&mut conn, headway_algorithms::Event::TxStart);
        let is_paced = conn.pacing_rate_bytes_per_s == 1_500_000 && conn.cwnd_pkts == 204;
        assert_eq!(is_paced, paced, "{idle}");
        control.on_feedback(&mut conn, &rcp(0, 750_000, 0));
        assert_eq!(conn.pacing_rate_bytes_per_s, 750_000);
    }
}
