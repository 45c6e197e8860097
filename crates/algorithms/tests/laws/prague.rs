//! TCP Prague's law: the average of marks, reductions, growth, losses, pacing, and Reno's law
//! without Accurate ECN.

use headway_algorithms::{
    CaState, Conn, ControlInstance, Event, RateSample, ECN_ACCURATE, ECN_CLASSIC, ECN_NONE,
    SSTHRESH_INFINITE,
};

const MS: u64 = 1000;
const PKT_BYTES: u64 = 1500;
/// The virtual round trip, in ms.
const VIRTUAL_MS: u64 = 25;

/// A flow of Prague with a constant round trip. Its packets arrive evenly spaced.
struct Flow {
    cc: ControlInstance,
    conn: Conn,
    rtt_us: u64,
    seen_marks: u32,
}

impl Flow {
    fn new(tunables: &[(&str, u32)], conn: Conn, rtt_ms: u64) -> Self {
        let tunables: Vec<_> = tunables.iter().map(|&(n, v)| (n.to_owned(), v)).collect();
        let rtt_us = rtt_ms * MS;
        let mut flow = Flow {
            cc: ControlInstance::new("prague", None, &tunables).unwrap(),
            conn: Conn {
                srtt_us: rtt_us as u32,
                min_rtt_us: rtt_us as u32,
                ..conn
            },
            rtt_us,
            seen_marks: 0,
        };
        flow.conn.snd_nxt = flow.conn.snd_una.wrapping_add(flow.conn.cwnd_pkts);
        flow.cc.init(&mut flow.conn);
        flow
    }

    /// A flow in congestion avoidance, with Accurate ECN.
    fn avoiding(tunables: &[(&str, u32)], cwnd: u32, rtt_ms: u64) -> Self {
        let conn = Conn {
            cwnd_pkts: cwnd,
            ssthresh_pkts: 2,
            ecn: ECN_ACCURATE as u8,
            ..Conn::default()
        };
        Self::new(tunables, conn, rtt_ms)
    }

    /// The same after its first mark, and after the rounds that it takes until the virtual round
    /// trip applies.
    fn settled(tunables: &[(&str, u32)], cwnd: u32, rtt_ms: u64) -> Self {
        let mut flow = Self::avoiding(tunables, 2 * cwnd, rtt_ms);
        flow.ack(1, 1);
        for _ in 0..8 {
            flow.conn.app_limited = 1;
            flow.round(0);
        }
        flow.conn.app_limited = 0;
        assert_eq!(flow.conn.cwnd_pkts, cwnd, "halved by the first mark");
        flow
    }

    /// Passes an ACK of so many packets, of which some were marked.
    fn ack(&mut self, acked_pkts: u32, marked_pkts: u32) {
        self.conn.delivered_pkts += u64::from(acked_pkts);
        self.conn.delivered_ce_pkts += marked_pkts;
        self.conn.snd_una = self.conn.snd_una.wrapping_add(acked_pkts);
        self.conn.snd_nxt = self.conn.snd_una.wrapping_add(self.conn.cwnd_pkts);
        self.seen_marks += marked_pkts;
        let sample = RateSample {
            acked_pkts,
            prior_inflight_pkts: self.conn.cwnd_pkts,
            ..RateSample::default()
        };
        self.cc.take_sample(&mut self.conn, &sample);
    }

    /// One round trip with an ACK for every packet of the window. The first packets are marked.
    fn round(&mut self, marked_pkts: u32) {
        let acks = self.conn.cwnd_pkts;
        let begin_us = self.conn.now_us;
        for number in 0..acks {
            self.conn.now_us = begin_us + self.rtt_us * u64::from(number + 1) / u64::from(acks);
            self.ack(1, u32::from(number < marked_pkts));
        }
    }

    /// ACKs of so many packets, of which the first are marked, with a window of as many packets: a
    /// round.
    fn block(&mut self, pkts: u32, marked_pkts: u32) {
        for number in 0..pkts {
            self.conn.now_us += self.rtt_us / u64::from(pkts);
            self.conn.cwnd_pkts = pkts;
            self.ack(1, u32::from(number < marked_pkts));
        }
    }

    /// Lets alpha become this fraction of `pkts` packets, with a window of as many packets.
    fn with_alpha(mut self, pkts: u32, marked_pkts: u32) -> Self {
        self.conn.app_limited = 1;
        // in Recovery marks do not reduce the window
        self.cc.set_state(&mut self.conn, CaState::Recovery);
        for _ in 0..300 {
            self.block(pkts, marked_pkts);
        }
        let _ = self.cc.undo_cwnd(&mut self.conn, 0);
        self.cc.set_state(&mut self.conn, CaState::Open);
        self
    }

    fn reading(&mut self, name: &str) -> f64 {
        let control = self.cc.control();
        let at = control.readings.iter().position(|r| r.name == name);
        let at = at.unwrap_or_else(|| panic!("no reading {name}"));
        let conn = self.conn.clone();
        self.cc.readings(&conn).nth(at).unwrap() as f64
    }

    fn alpha(&mut self) -> f64 {
        self.reading("alpha_ppm") / 1e6
    }

    /// The window in packets, with its fraction.
    fn window(&mut self) -> f64 {
        self.reading("window_millipkts") / 1e3
    }
}

#[test]
fn alpha_is_the_average_of_the_marked_fractions_with_the_weight_of_a_sixteenth() {
    let mut flow = Flow::avoiding(&[], 200, 50);
    flow.conn.app_limited = 1;
    flow.block(200, 0);
    assert_eq!(flow.alpha(), 0.0, "no queue on the path has marked yet");
    let mut expected = 0.0;
    for round in 0..200 {
        let marked = [0, 6, 100, 200, 13, 0, 0, 40][round % 8];
        flow.block(200, marked);
        if round > 0 {
            expected += (f64::from(marked) / 200.0 - expected) / 16.0;
        }
        let got = flow.alpha();
        assert!(
            (got - expected).abs() < 2e-6,
            "round {round}: {got} for {expected}"
        );
    }
}

#[test]
fn alpha_of_constant_marks_is_their_fraction_to_a_millionth() {
    for (every, gain) in [(10, 4), (40, 4), (10, 2)] {
        let mut flow = Flow::avoiding(&[("shift_g", gain)], 400, 50);
        flow.conn.app_limited = 1;
        for number in 0..40_000 {
            flow.conn.now_us += flow.rtt_us / 400;
            // the window stays, so that all rounds have the same number of packets
            flow.conn.cwnd_pkts = 400;
            flow.ack(1, u32::from(number % every == 0));
        }
        let (got, expected) = (flow.alpha(), 1.0 / f64::from(every));
        assert!(
            (got - expected).abs() < 0.01 * expected,
            "{got} for {expected}"
        );
    }
}

#[test]
fn the_first_mark_halves_the_window_and_ends_slow_start() {
    let conn = Conn {
        ecn: ECN_ACCURATE as u8,
        ..Conn::default()
    };
    let mut flow = Flow::new(&[], conn.clone(), 50);
    for _ in 0..3 {
        flow.round(0);
    }
    assert_eq!(
        (flow.conn.cwnd_pkts, flow.window()),
        (80, 80.0),
        "slow start"
    );
    flow.ack(1, 1);
    assert_eq!(flow.window(), 40.0);
    let mut before = flow.conn.cwnd_pkts;
    while flow.conn.cwnd_pkts > 41 {
        flow.conn.now_us += MS / 10;
        flow.ack(1, 0);
        assert_eq!(
            flow.conn.cwnd_pkts,
            before - 1,
            "cwnd follows by one packet per ACK"
        );
        before = flow.conn.cwnd_pkts;
    }
    assert!(flow.conn.ssthresh_pkts <= 42);

    // the draft's variant: alpha begins at 1 and decays in rounds without marks
    let mut flow = Flow::new(&[("first_mark", 1)], conn, 50);
    flow.round(0);
    assert_eq!(flow.alpha(), 1.0);
    flow.ack(1, 1);
    assert_eq!(flow.window(), 10.0);
}

#[test]
fn marks_reduce_the_window_by_half_of_alpha_once_per_round_trip() {
    for rtt_ms in [30, 50, 100] {
        for marked in [4, 40, 100] {
            let mut flow = Flow::settled(&[], 200, rtt_ms).with_alpha(200, marked);
            let alpha = flow.alpha();
            assert!((alpha - f64::from(marked) / 200.0).abs() < 1e-4, "{alpha}");
            assert_eq!(flow.window(), 200.0);
            // one reduction, although all packets of the round are marked
            flow.block(200, 200);
            let expected = 200.0 * (1.0 - alpha / 2.0);
            assert!((flow.window() - expected).abs() < 0.01, "{}", flow.window());
            // and the next one with the first mark of the next round
            flow.block(1, 1);
            assert!(flow.window() < expected - 0.5);
        }
    }
}

#[test]
fn short_round_trips_reduce_the_window_once_per_25_ms() {
    for rtt_ms in [1, 5, 10] {
        let mut flow = Flow::settled(&[], 400, rtt_ms).with_alpha(400, 50);
        let mut times = vec![];
        let mut before = flow.window();
        while times.len() < 8 {
            flow.conn.now_us += MS / 10;
            // a round trip of four packets in sequence numbers, not in slow start
            (flow.conn.cwnd_pkts, flow.conn.ssthresh_pkts) = (4, 2);
            flow.ack(1, 1);
            let window = flow.window();
            if window < before {
                times.push(flow.conn.now_us);
            }
            before = window;
        }
        for pair in times.windows(2) {
            let apart_us = pair[1] - pair[0];
            assert!(
                (VIRTUAL_MS * MS..=VIRTUAL_MS * MS + 200).contains(&apart_us),
                "{rtt_ms}: {apart_us}"
            );
        }
    }
}

#[test]
fn the_window_grows_by_a_packet_per_round_trip_with_unmarked_packets_only() {
    for (rtt_ms, cwnd) in [(50, 40), (100, 200)] {
        let mut flow = Flow::settled(&[], cwnd, rtt_ms);
        for state in [CaState::Open, CaState::Cwr, CaState::Disorder] {
            flow.conn.ca_state = state as u8;
            let before = flow.window();
            flow.round(0);
            let growth = flow.window() - before;
            assert!((growth - 1.0).abs() < 0.03, "{state:?}: {growth}");
        }
        let before = flow.window();
        flow.conn.app_limited = 1;
        flow.round(0);
        assert_eq!(flow.window(), before, "the application uses less");
        flow.conn.app_limited = 0;
        // half of the packets are marked, but the window was reduced just before
        flow.ack(1, 1);
        let before = flow.window();
        let acks = flow.conn.cwnd_pkts / 2 - 1;
        for _ in 0..acks {
            flow.ack(2, 1);
        }
        let (growth, expected) = (flow.window() - before, f64::from(acks) / before);
        assert!(
            (growth / expected - 1.0).abs() < 0.03,
            "{growth} for {expected}"
        );
    }
}

#[test]
fn short_round_trips_grow_with_the_square_of_their_length() {
    for rtt_ms in [5, 10, 20] {
        let mut flow = Flow::settled(&[], 400, rtt_ms);
        let before = flow.window();
        for _ in 0..10 {
            flow.round(0);
        }
        let growth = (flow.window() - before) / 10.0;
        let expected = (rtt_ms as f64 / VIRTUAL_MS as f64).powi(2);
        assert!(
            (growth / expected - 1.0).abs() < 0.03,
            "{growth} for {expected}"
        );
        // not before the transition, which begins four rounds after slow start
        let mut flow = Flow::avoiding(&[], 400, rtt_ms);
        let before = flow.window();
        flow.round(0);
        assert!((flow.window() - before - 1.0).abs() < 0.03);
        assert_eq!(flow.reading("virtual_rtt_us"), (rtt_ms * MS) as f64);
        for _ in 0..5 {
            flow.round(0);
        }
        assert_eq!(flow.reading("virtual_rtt_us"), (VIRTUAL_MS * MS) as f64);
    }
}

/// Packets per virtual round trip that marks with the probability `p` leave a flow, if every packet
/// is marked independently. Between two reductions of a window W by the part p/2 lie a round and
/// 1/p packets, in which the flow waits for a mark. It grows by 1 - p packets per round, so
/// W p/2 = (1 - p) (1 + 1/(W p)).
fn pkts_with_random_marks(p: f64) -> f64 {
    let grows = 1.0 - p;
    (grows + (grows * grows + 2.0 * grows).sqrt()) / p
}

#[test]
fn random_marks_leave_the_rate_of_a_flow_that_waits_for_a_mark_after_every_round() {
    let mut random = 1_u64;
    for p in [0.005, 0.02, 0.05, 0.2] {
        let law = pkts_with_random_marks(p);
        for rtt_ms in [5, 25, 100] {
            let virtual_us = (rtt_ms.max(VIRTUAL_MS) * MS) as f64;
            let pkts_per_rtt = law * (rtt_ms * MS) as f64 / virtual_us;
            let mut flow = Flow::settled(&[], pkts_per_rtt as u32, rtt_ms);
            let begin_us = flow.conn.now_us as f64;
            let (mut time_us, mut pkts) = (0.0, 0);
            // alpha and the window settle in the first rounds
            while time_us < 1600.0 * virtual_us {
                time_us += PKT_BYTES as f64 * 1e6 / flow.conn.pacing_rate_bytes_per_s as f64;
                pkts += u32::from(time_us > 100.0 * virtual_us);
                flow.conn.now_us = (begin_us + time_us) as u64;
                random = random
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1);
                flow.ack(1, u32::from(p * 2_f64.powi(32) > (random >> 32) as f64));
            }
            let found = f64::from(pkts) / 1500.0;
            println!(
                "{p} {rtt_ms} ms: {:.3} of 2/p, {:.3} of the law",
                found * p / 2.0,
                found / law
            );
            assert!(
                (found / law - 1.0).abs() < 0.1,
                "{p} {rtt_ms}: {found} for {law}"
            );
        }
    }
}

#[test]
fn losses_halve_the_window_whatever_alpha_is_and_may_be_undone() {
    let mut flow = Flow::settled(&[], 100, 50);
    let before = flow.window();
    flow.conn.ssthresh_pkts = flow.cc.ssthresh(&mut flow.conn);
    assert_eq!(f64::from(flow.conn.ssthresh_pkts), (before / 2.0).ceil());
    flow.cc.set_state(&mut flow.conn, CaState::Recovery);
    flow.conn.ca_state = CaState::Recovery as u8;
    assert_eq!(flow.window(), before / 2.0);
    flow.round(10);
    assert_eq!(
        flow.window(),
        before / 2.0,
        "neither growth nor marks in Recovery"
    );
    assert_eq!(f64::from(flow.conn.cwnd_pkts), (before / 2.0).ceil());
    let undone = flow.cc.undo_cwnd(&mut flow.conn, 0);
    assert_eq!(f64::from(undone), before.ceil());
    assert_eq!(flow.window(), before);

    flow.conn.ca_state = CaState::Open as u8;
    flow.cc.set_state(&mut flow.conn, CaState::Open);
    flow.conn.ssthresh_pkts = flow.cc.ssthresh(&mut flow.conn);
    flow.cc.event(&mut flow.conn, Event::Loss);
    flow.cc.set_state(&mut flow.conn, CaState::Loss);
    flow.conn.ca_state = CaState::Loss as u8;
    flow.conn.cwnd_pkts = 1;
    for acked in 1..=20 {
        flow.ack(1, 0);
        assert_eq!(
            flow.conn.cwnd_pkts,
            1 + acked,
            "as slow start up to half of the window"
        );
    }
    assert_eq!(flow.window(), before / 2.0);
}

#[test]
fn packets_are_paced_around_the_window_per_round_trip() {
    let rate = |pkts: f64, rtt_ms: u64| pkts * (PKT_BYTES * 1000 / rtt_ms) as f64;
    let mut flow = Flow::settled(&[], 100, 50);
    let (mut faster, mut slower) = (0, 0);
    for _ in 0..200 {
        flow.conn.now_us += flow.rtt_us / 100;
        flow.ack(1, 0);
        let part = flow.conn.pacing_rate_bytes_per_s as f64 / rate(flow.window(), 50);
        faster += u32::from((part - 132.0 / 128.0).abs() < 0.002);
        slower += u32::from((part - 124.0 / 128.0).abs() < 0.002);
    }
    assert_eq!(faster + slower, 200);
    assert!(
        (90..=110).contains(&faster),
        "half of each round trip: {faster}"
    );

    let conn = Conn {
        ecn: ECN_ACCURATE as u8,
        ssthresh_pkts: SSTHRESH_INFINITE,
        ..Conn::default()
    };
    let mut flow = Flow::new(&[], conn, 50);
    let twice = 2.0 * rate(10.0, 50);
    assert!((flow.conn.pacing_rate_bytes_per_s as f64 / twice - 1.0).abs() < 0.001);
    // 100 kbit/s remain, with less than a packet per round trip
    for _ in 0..2000 {
        flow.conn.now_us += flow.rtt_us;
        flow.ack(1, 1);
    }
    let least = 12_500.0 * 132.0 / 128.0;
    assert!(flow.conn.pacing_rate_bytes_per_s as f64 <= least);
    assert!(flow.conn.pacing_rate_bytes_per_s >= 12_100);
    assert_eq!(flow.conn.cwnd_pkts, 2);
    assert!(flow.window() < 0.5);
}

#[test]
fn bursts_take_at_most_a_quarter_of_a_millisecond_at_the_pacing_rate() {
    for (cwnd, rtt_ms) in [(10, 50), (1000, 20), (10_000, 10)] {
        let mut flow = Flow::settled(&[], cwnd, rtt_ms);
        flow.round(0);
        let bytes = u64::from(flow.conn.pacing_chunk_pkts) * PKT_BYTES;
        let most = flow.conn.pacing_rate_bytes_per_s >> 12;
        assert!(bytes <= most.max(PKT_BYTES), "{cwnd}: {bytes} {most}");
        assert!(bytes + PKT_BYTES > most, "{cwnd}: {bytes} {most}");
    }
}

#[test]
fn without_accurate_ecn_the_law_is_renos() {
    for ecn in [ECN_NONE, ECN_CLASSIC] {
        let conn = Conn {
            cwnd_pkts: 40,
            ssthresh_pkts: 2,
            ecn: ecn as u8,
            ..Conn::default()
        };
        // a round trip that would count as a longer one
        let mut flow = Flow::new(&[], conn, 10);
        for _ in 0..10 {
            let before = flow.window();
            flow.round(0);
            assert!((flow.window() - before - 1.0).abs() < 0.03);
        }
        assert_eq!(flow.reading("is_scalable"), 0.0);
        assert_eq!(flow.conn.pacing_rate_bytes_per_s, 0);
        // each round trip with marks costs half of the window, as losses do
        if ecn == ECN_CLASSIC {
            for _ in 0..2 {
                let before = flow.window();
                flow.ack(1, 1);
                assert!((flow.window() / before - 0.5).abs() < 0.01);
                flow.ack(1, 1);
                assert!((flow.window() / before - 0.5).abs() < 0.02);
                flow.round(0);
                flow.round(0);
            }
        }
        let before = flow.window();
        flow.cc.set_state(&mut flow.conn, CaState::Recovery);
        assert!((flow.window() / before - 0.5).abs() < 0.01);
    }
}
