//! The laws of the delay-based controls: FAST, Vegas, Compound, Illinois.

use super::{Flow, MS};
use headway_algorithms::{CaState, Conn, Event, SSTHRESH_INFINITE};

/// A flow in congestion avoidance with a full window in flight. Its sequence numbers count packets.
fn flow(control: &str, tunables: &[(&str, u32)], cwnd: u32) -> Flow {
    starting(control, tunables, cwnd, 2)
}

fn starting(control: &str, tunables: &[(&str, u32)], cwnd: u32, ssthresh: u32) -> Flow {
    let conn = Conn {
        cwnd_pkts: cwnd,
        ssthresh_pkts: ssthresh,
        snd_nxt: cwnd,
        ..Conn::default()
    };
    Flow::new(control, tunables, conn)
}

impl Flow {
    /// Passes an ACK of the next packet, with a full window still in flight.
    fn ack_next(&mut self, rtt_ms: u64) {
        self.conn.snd_una += 1;
        self.conn.snd_nxt = self.conn.snd_una + self.conn.cwnd_pkts;
        self.ack(1, rtt_ms);
    }

    /// Passes the ACKs of one round: until an ACK acknowledges data that was sent after the round
    /// began.
    fn rtt(&mut self, rtt_ms: u64) {
        let end = self.conn.snd_nxt;
        while self.conn.snd_una <= end {
            self.ack_next(rtt_ms);
        }
    }

    /// The ssthresh that the control chooses at a loss with this cwnd.
    fn kept_of(&mut self, cwnd: u32) -> u32 {
        self.conn.cwnd_pkts = cwnd;
        self.cc.ssthresh(&mut self.conn)
    }
}

/// The window after one update of FAST, on a path of 100 ms whose RTT has long been `rtt_ms`.
fn fast_update(tunables: &[(&str, u32)], cwnd: u32, rtt_ms: u64) -> u32 {
    let every = [("update_us", 1_000_000)];
    let mut flow = flow("fast", &[&every, tunables].concat(), cwnd);
    flow.ack(1, 100);
    for _ in 0..3000 {
        flow.ack(1, rtt_ms);
    }
    assert_eq!(flow.conn.cwnd_pkts, cwnd, "updated too early");
    flow.wait_ms(1000);
    flow.ack(1, rtt_ms);
    flow.conn.cwnd_pkts
}

#[test]
fn fast_goes_half_the_way_to_alpha_packets_in_the_queue() {
    // nothing is queued, so the window grows by half of alpha, which is 20
    assert_eq!(fast_update(&[], 100, 100), 110);
    assert_eq!(fast_update(&[], 100, 125), 100); // 100 (1 - 100/125) = 20
    assert_eq!(fast_update(&[], 100, 200), 85); // 50 packets are queued, 30 more than alpha
    assert_eq!(fast_update(&[("gamma", 256)], 100, 200), 70);
    assert_eq!(fast_update(&[("alpha", 50)], 100, 200), 100);
    assert_eq!(fast_update(&[("alpha", 200)], 100, 100), 200);
}

#[test]
fn fast_at_most_doubles_its_window_and_keeps_two_packets() {
    assert_eq!(fast_update(&[], 4, 100), 8);
    assert_eq!(fast_update(&[("alpha", 1), ("gamma", 256)], 10, 1000), 2);
}

#[test]
fn fast_updates_once_per_round_trip_of_data() {
    let mut flow = flow("fast", &[], 50);
    let mut changes = vec![];
    for _ in 0..300 {
        let before = flow.conn.cwnd_pkts;
        flow.ack_next(100);
        if flow.conn.cwnd_pkts != before {
            changes.push((before, flow.conn.snd_una));
        }
    }
    let windows: Vec<_> = changes.iter().map(|c| c.0).collect();
    assert_eq!(windows[..4], [50, 60, 70, 80]);
    for pair in changes.windows(2) {
        assert_eq!(pair[1].1 - pair[0].1, pair[0].0 + 1);
    }
}

#[test]
fn fast_leaves_slow_start_at_its_threshold_of_delay() {
    let mut flow = starting("fast", &[], 10, SSTHRESH_INFINITE);
    for _ in 0..5 {
        flow.ack_next(100);
    }
    assert_eq!(
        (flow.conn.cwnd_pkts, flow.conn.ssthresh_pkts),
        (15, SSTHRESH_INFINITE)
    );
    // the RTT is 6 ms longer, of which an eighth counts at first: 0.75 ms, which does not exceed
    // the threshold
    flow.ack_next(106);
    assert_eq!(flow.conn.ssthresh_pkts, SSTHRESH_INFINITE);
    flow.ack_next(106);
    assert_eq!((flow.conn.cwnd_pkts, flow.conn.ssthresh_pkts), (16, 15));
}

#[test]
fn vegas_keeps_between_two_and_four_packets_in_the_queue() {
    let grown = |rtt_ms: u64| {
        let mut flow = flow("vegas", &[], 50);
        flow.rtt(100);
        assert_eq!(flow.conn.cwnd_pkts, 51);
        flow.rtt(rtt_ms);
        i64::from(flow.conn.cwnd_pkts) - 51
    };
    assert_eq!(grown(104), 1); // 51 * 4/104 = 1.96
    assert_eq!(grown(105), 0); // 2.43
    assert_eq!(grown(108), 0); // 3.78
    assert_eq!(grown(109), -1); // 4.21
    assert_eq!(grown(300), -1);
}

#[test]
fn vegas_goes_by_the_smallest_round_trip_of_a_round() {
    let mut flow = flow("vegas", &[], 50);
    flow.rtt(100);
    flow.ack_next(100);
    flow.rtt(300);
    assert_eq!(flow.conn.cwnd_pkts, 52);
}

#[test]
fn vegas_leaves_slow_start_with_more_than_gamma_packets_in_the_queue() {
    let mut flow = starting("vegas", &[], 20, SSTHRESH_INFINITE);
    flow.rtt(100);
    assert_eq!(flow.conn.cwnd_pkts, 41);
    let mut before = 0;
    while flow.conn.ssthresh_pkts == SSTHRESH_INFINITE {
        before = flow.conn.cwnd_pkts;
        flow.ack_next(110);
    }
    // one ACK of the previous round had an RTT of 100 ms, so only in the second round all RTTs are
    // 110 ms
    let queued = before * 10 / 110;
    assert!(queued > 1, "{before}");
    assert_eq!(flow.conn.cwnd_pkts, before - queued + 1);
    flow.rtt(110);
    assert!(flow.conn.ssthresh_pkts <= flow.conn.cwnd_pkts);
}

#[test]
fn vegas_is_reno_with_few_samples_and_outside_open() {
    let mut few = flow("vegas", &[], 2);
    for _ in 0..20 {
        few.rtt(100);
        few.rtt(300);
    }
    assert!(few.conn.cwnd_pkts > 2, "Reno does not look at delay");
    let mut flow = flow("vegas", &[], 50);
    flow.cc.set_state(&mut flow.conn, CaState::Loss);
    flow.ack(50, 100);
    assert_eq!(flow.conn.cwnd_pkts, 51);
    flow.ack(51, 900);
    assert_eq!(flow.conn.cwnd_pkts, 52);
}

#[test]
fn vegas_measures_the_path_anew_after_idle_times() {
    let grown = |idle: bool| {
        let mut flow = flow("vegas", &[], 50);
        flow.rtt(100);
        if idle {
            flow.cc.event(&mut flow.conn, Event::TxStart);
        }
        flow.rtt(120);
        flow.conn.cwnd_pkts
    };
    assert_eq!(grown(false), 50);
    assert_eq!(grown(true), 52);
}

/// An Illinois flow whose path of 100 ms has had at most `most_ms` of queueing, after a round with
/// `delay_ms` of queueing.
fn illinois(tunables: &[(&str, u32)], most_ms: u64, delay_ms: u64) -> Flow {
    let mut flow = flow("illinois", tunables, 100);
    flow.ack_next(100);
    flow.ack_next(100 + most_ms);
    flow.rtt(100 + delay_ms); // the two samples above belong to this round
    flow.rtt(100 + delay_ms);
    flow.conn.cwnd_pkts = 100;
    flow.conn.cwnd_cnt = 0;
    flow
}

#[test]
fn illinois_grows_by_10_packets_without_delay_and_by_0_3_at_the_largest() {
    // number of ACKs until a window of 100 grows by a packet; alpha is in units of 1/128
    let acks = |delay_ms: u64| illinois(&[], 100, delay_ms).acks_to_grow(100 + delay_ms);
    assert_eq!(acks(0), 10); // 10: never above dm/100
    assert_eq!(acks(10), 40); // 99 * 10 / (99 + 9 * 32.684) = 2.518, in 1/128: 322
    assert_eq!(acks(50), 173); // 0.582: 74
    assert_eq!(acks(100), 337); // 0.297: 38
}

#[test]
fn illinois_gives_up_an_eighth_with_little_delay_and_half_with_much() {
    let kept = |delay_ms: u64| illinois(&[], 100, delay_ms).kept_of(100);
    assert_eq!(kept(0), 88); // 100 - 12
    assert_eq!(kept(10), 88);
    assert_eq!(kept(45), 69); // 1/8 + 3/8 * 35/70, in 1/64: 20
    assert_eq!(kept(80), 50);
    assert_eq!(kept(100), 50);
}

#[test]
fn illinois_grows_fastest_again_after_theta_rounds_with_little_delay() {
    for theta in [1, 5] {
        let mut flow = illinois(&[("theta", theta)], 100, 100);
        let mut rounds = 0;
        loop {
            flow.conn.cwnd_pkts = 100;
            flow.conn.cwnd_cnt = 0;
            flow.conn.snd_una = flow.conn.snd_nxt; // the next ACK ends the round
            flow.ack_next(100);
            rounds += 1;
            flow.conn.cwnd_cnt = 0;
            if flow.acks_to_grow(100) == 10 {
                break;
            }
        }
        // the first round also has samples from before it, so it does not count
        assert_eq!(rounds, theta + 1);
    }
}

#[test]
fn illinois_is_reno_with_small_windows_and_after_a_timeout() {
    let mut small = flow("illinois", &[], 10);
    small.conn.snd_una = small.conn.snd_nxt; // the next ACK ends the round
    small.ack_next(100);
    small.conn.cwnd_cnt = 0;
    assert_eq!(small.acks_to_grow(100), 10);
    assert_eq!(small.kept_of(12), 6);
    let mut flow = illinois(&[], 100, 0);
    assert_eq!(flow.kept_of(100), 88);
    flow.cc.set_state(&mut flow.conn, CaState::Loss);
    assert_eq!(flow.kept_of(100), 50);
    flow.conn.cwnd_pkts = 100;
    flow.conn.cwnd_cnt = 0;
    assert_eq!(flow.acks_to_grow(100), 100);
}

#[test]
fn compound_grows_by_an_eighth_of_its_window_to_three_quarters_per_round_trip() {
    let mut flow = flow("compound", &[], 100);
    let mut window = 100.0f64;
    for _ in 0..20 {
        flow.rtt(100);
        // in a round at 100 packets, the delay window grows by 2.95 packets and Reno's by one
        window += window.powf(0.75) / 8.0;
    }
    let off = f64::from(flow.conn.cwnd_pkts) - window;
    assert!(off.abs() <= 2.0, "{} for {window}", flow.conn.cwnd_pkts);
}

#[test]
fn compound_below_its_low_window_is_reno() {
    let mut flow = flow("compound", &[], 20);
    for rtt in 1..=10 {
        flow.rtt(100);
        assert!(flow.conn.cwnd_pkts <= 20 + rtt);
    }
    assert!(flow.conn.cwnd_pkts >= 29);
}

#[test]
fn compound_gives_up_its_delay_window_where_gamma_packets_are_queued() {
    let mut flow = flow("compound", &[], 100);
    for _ in 0..20 {
        flow.rtt(100);
    }
    let window = flow.conn.cwnd_pkts;
    assert!(window > 190, "{window}");
    flow.rtt(110); // 10/110 of the window are queued, which is less than gamma, 30 packets
    assert!(flow.conn.cwnd_pkts > window);
    flow.rtt(300); // the mean RTT of this round still includes earlier samples
    flow.rtt(300);
    flow.rtt(300);
    // Reno's part grows by a packet per round; the tolerance is one packet, because the end of a
    // round is uncertain
    let reno = 100 + 24;
    assert!(flow.conn.cwnd_pkts.abs_diff(reno) <= 2, "{:?}", flow.conn);
}

#[test]
fn compound_halves_both_windows_on_a_loss_and_drops_the_one_on_a_timeout() {
    let part_of_reno = |timeout: bool| {
        let mut flow = flow("compound", &[("gamma_tuning", 0)], 200);
        for _ in 0..20 {
            flow.rtt(100);
        }
        let (before, reno) = (flow.conn.cwnd_pkts, 220);
        flow.lose();
        assert_eq!(flow.conn.cwnd_pkts, before / 2);
        if timeout {
            flow.cc.set_state(&mut flow.conn, CaState::Loss);
            flow.cc.set_state(&mut flow.conn, CaState::Open);
        }
        for _ in 0..4 {
            flow.rtt(400); // the delay window becomes 0, so that only Reno's part is left
        }
        (flow.conn.cwnd_pkts, before, reno)
    };
    let (left, _, reno) = part_of_reno(false);
    assert!(left.abs_diff(reno / 2 + 4) <= 3, "{left}");
    let (left, before, _) = part_of_reno(true);
    assert!(left.abs_diff(before / 2 + 4) <= 3, "{left}");
}

#[test]
fn compound_tunes_gamma_by_what_reno_alone_would_queue() {
    // gamma moves by a fifth of its distance to 3/4 of the queue that Reno alone would keep, here
    // 0: from 30 to 24. The queue has 25 of 200 packets, more than that.
    let grows = |tuning: u32| {
        let mut flow = flow("compound", &[("gamma_tuning", tuning)], 400);
        for _ in 0..10 {
            flow.rtt(700);
        }
        flow.lose();
        (flow.conn.cwnd_pkts, flow.conn.ssthresh_pkts) = (200, 2);
        for _ in 0..3 {
            flow.rtt(800);
            flow.conn.cwnd_pkts = 200;
        }
        flow.rtt(800);
        flow.conn.cwnd_pkts > 203 // if cwnd grows, the delay window adds 6.6 packets and Reno one
    };
    assert!(grows(0));
    assert!(!grows(1));
}

#[test]
fn undo_gives_compound_its_delay_window_back() {
    let mut flow = flow("compound", &[], 100);
    for _ in 0..20 {
        flow.rtt(100);
    }
    let before = flow.conn.cwnd_pkts;
    flow.conn.ssthresh_pkts = flow.cc.ssthresh(&mut flow.conn);
    flow.cc.set_state(&mut flow.conn, CaState::Recovery);
    flow.conn.cwnd_pkts = before / 2;
    flow.conn.cwnd_pkts = flow.cc.undo_cwnd(&mut flow.conn, before);
    flow.conn.ssthresh_pkts = 2;
    flow.cc.set_state(&mut flow.conn, CaState::Open);
    assert_eq!(flow.conn.cwnd_pkts, before);
    for _ in 0..4 {
        flow.rtt(400);
    }
    assert!(flow.conn.cwnd_pkts.abs_diff(124) <= 3, "{:?}", flow.conn);
}

/// Mean window of a control that has a loss after every 1/p packets.
fn mean_window(control: &str, packets_between_losses: u32) -> f64 {
    let mut flow = flow(control, &[], 500);
    let (mut windows, mut rounds, mut sent) = (0.0, 0.0, 0);
    let mut losses = 0;
    while losses < 60 {
        let before = flow.conn.cwnd_pkts;
        flow.rtt(100);
        sent += before;
        if losses >= 20 {
            windows += f64::from(before);
            rounds += 1.0;
        }
        if sent >= packets_between_losses {
            sent -= packets_between_losses;
            losses += 1;
            flow.lose();
        }
    }
    windows / rounds
}

#[test]
fn compound_has_its_published_response_function() {
    // by the table in the draft, the window is 64 packets at a loss rate of 1e-3
    for (between, window) in [(1000, 64.0), (10_000, 404.0), (100_000, 2550.0)] {
        let p = 1.0 / f64::from(between);
        let published = 0.255 / p.powf(0.8);
        assert!((published / window - 1.0f64).abs() < 0.01);
        let seen = mean_window("compound", between);
        assert!(
            (seen / published - 1.0).abs() < 0.05,
            "{seen} for {published}"
        );
    }
}

#[test]
fn illinois_without_delay_has_the_response_function_of_its_gains() {
    for between in [1000, 10_000, 100_000] {
        // the mean window is sqrt(alpha (2 - beta) / (2 beta p)), with a growth alpha of 10 and a
        // reduction beta of 1/8
        let published = (10.0 * 1.875 / 0.25 * f64::from(between)).sqrt();
        let seen = mean_window("illinois", between);
        assert!(
            (seen / published - 1.0).abs() < 0.05,
            "{seen} for {published}"
        );
    }
}

#[test]
fn delay_is_told_in_microseconds_where_the_control_asks_for_it() {
    // the queue adds 0.4 ms to a path of 10 ms: 1.9 of 50 packets are queued
    let mut flow = flow("vegas", &[], 50);
    let mut round = |us: u64| {
        let end = flow.conn.snd_nxt;
        while flow.conn.snd_una <= end {
            flow.conn.snd_una += 1;
            flow.conn.snd_nxt = flow.conn.snd_una + flow.conn.cwnd_pkts;
            let rtt_us = i32::try_from(us).unwrap();
            let ack = headway_algorithms::Ack {
                acked_pkts: 1,
                rtt_us,
            };
            flow.cc.ack(&mut flow.conn, &ack, 1);
        }
        flow.conn.cwnd_pkts
    };
    assert_eq!(round(10 * MS), 51);
    assert_eq!(round(10 * MS + 400), 52);
    assert_eq!(round(10 * MS + 600), 52);
}
