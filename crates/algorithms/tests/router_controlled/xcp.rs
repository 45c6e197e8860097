//! XCP: what its router assigns to packets in an interval, what a receiver answers, and how a
//! sender applies the answer.

use super::{sender, Router, Xcp, S, UNLIMITED};
use headway_algorithms::header::header;
use headway_algorithms::{Ack, Arrival, Conn, ControlInstance, Fields};
use proptest::prelude::*;

/// Packets of one flow, evenly spaced in time.
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

/// The throughput change, in B/s, that an XCP router assigns to each flow between two times.
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

/// Upper bound of the sum of random rounding errors to multiples of 2 B/s: six standard deviations.
fn rounding(pkts: f64) -> f64 {
    6.0 * pkts.sqrt() * 2.0 / 12f64.sqrt() + 2.0
}

#[test]
fn xcp_assigns_in_an_interval_what_its_law_gives() {
    for (load, queue_bytes) in [(0.5, 0), (0.9, 0), (1.0, 0), (1.2, 0), (0.7, 40_000)] {
        let mut router = Router::new("xcp", 10_000_000, &[]);
        let flows = [2e6, 3e6, 5e6].map(|rate_bps| Flow {
            rate_bps: rate_bps * load,
            rtt_us: 100_000,
            asks: UNLIMITED,
        });
        router.queue(queue_bytes);
        // the router's first interval lasts 50 ms, later intervals last 100 ms
        drive(&mut router, &flows, 0, 250_000_000);
        let came = drive(&mut router, &flows, 250_000_000, 349_999_999);
        let meant = (router.counter("raise_bps") as f64 - router.counter("cut_bps") as f64) / 8.0;
        let sum: f64 = came.iter().sum();
        let capacity = 1_250_000.0;
        let law = 0.4 * (capacity - capacity * load) - 0.226 * f64::from(queue_bytes) / 0.1;
        // the tolerance is one packet: an interval has a whole number of packets
        assert!((meant - law).abs() < 0.4 * 1500.0 / 0.1, "{meant} {law}");
        // before its first packet an interval has nothing to assign its changes to, so that part is
        // missing
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
        // a tenth of the traffic is taken in proportion to the flows' bytes, 4 to 1, and given back
        // in equal parts
        let wanted = if moves { 125_000.0 * (0.5 - 0.2) } else { 0.0 };
        let pkts = 84.0;
        let slack = 0.4 * 1500.0 / 0.1 + 125_000.0 * 2.0 / pkts * f64::from(moves) + rounding(pkts);
        assert!((came[0] - wanted).abs() < slack, "{came:?} {wanted}");
        assert!((came[1] + wanted).abs() < slack, "{came:?} {wanted}");
    }
}

#[test]
fn a_flow_that_asks_for_nothing_gets_nothing_and_leaves_it_to_others() {
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

/// A router that saw no traffic can assign alpha C in an interval. A header whose X is a whole
/// interval gets all of it, and no header gets more.
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
        // later packets get only what is left in the pool of this interval
        let rest: i32 = (0..20)
            .map(|_| Xcp::from(router.pass(1500, first.into())).delta)
            .sum();
        let whole = f64::from(came.delta + rest);
        assert!((whole - 500_000.0).abs() <= 42.0, "{x_ns}: {whole}");
    }
}

#[test]
fn xcps_timers_are_independent() {
    let mut router = Router::new("xcp", 10_000_000, &[]);
    let flow = Flow {
        rate_bps: 8e6,
        rtt_us: 100_000,
        asks: UNLIMITED,
    };
    drive(&mut router, &[flow], 0, 300_000_000);
    assert_eq!(router.counter("interval_us"), 100_000);
    // the router detects a standing queue after half a round trip, and not before
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

    /// One interval of the router, compared with f64, for any rate and round trip in its valid
    /// domain.
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
        // each header represents the packets that its flow sends in `span_ns`, as a sender's header
        // does for those between two ticks of its millisecond clock
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
        // the first interval ends at 50 ms; each flow sends four packets in it
        for k in 0..4 {
            bytes += send(&mut router, every_ns / 8 + k * every_ns / 4, every_ns as f64 / 4.0).0;
        }
        router.at(every_ns);
        let y = bytes / (every_ns as f64 / S);
        let q = router.counter("persistent_queue_bytes") as f64;
        let law = 0.4 * (capacity - y) - 0.226 * q / (rtt_us / 1e6);
        let meant = (router.counter("raise_bps") as f64 - router.counter("cut_bps") as f64) / 8.0;
        prop_assert!((router.counter("rtt_us") as f64 - rtt_us).abs() <= 1.0 + rtt_us * 1e-6);
        // the bound allows for the rounding of alpha y to whole B/s, and of the RTT in Q/d to a
        // microsecond
        let bound = 4.0 + 1e-6 * (0.4 * (capacity + y)) + 1.1e-3 * 0.226 * q / (rtt_us / 1e6);
        prop_assert!((meant - law).abs() <= bound, "{} {} {}", meant, law, bound);
        // tolerance: the share of one packet, which represents a part of the interval's sums
        let shuffle = (0.1 * y - law.abs()).max(0.0);
        let (give, take) = (shuffle + law.max(0.0), shuffle + (-law).max(0.0));
        prop_assume!(give.max(take) / 4.0 < 1e9);
        let (_, change) = send(&mut router, every_ns + 1, every_ns as f64 / 4.0);
        let wanted = (give - take) / 4.0;
        let bound = bound + 2.0 * flows.len() as f64 + 2e-5 * give.max(take);
        prop_assert!((change - wanted).abs() <= bound, "{} {} {}", change, wanted, bound);
    }
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
    // if three packets were merged on arrival, their header counts three times
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

#[test]
fn xcps_window_changes_by_the_rate_times_the_round_trip() {
    let (mut control, mut conn) = sender("xcp");
    let answer = |reverse| Xcp {
        reverse,
        is_answer: true,
        ..Xcp::default()
    };
    // in 100 ms, 30,000 B/s more are two packets, and 1000 B/s more are a fifteenth of a packet
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
        (1, false, 10, 10), // (1, false, 10, 10): the window is Reno's, because no router answers
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
        conn.idle_us = 301_000; // above the RTT and 200 ms
        control.event(&mut conn, headway_algorithms::Event::TxStart);
        assert_eq!(conn.cwnd_pkts, wanted, "{initial_pkts} {answered} {left}");
    }
}
