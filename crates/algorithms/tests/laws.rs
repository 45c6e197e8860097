//! Each control's law, in the numbers of its paper and of the kernel it follows.

#[path = "laws/by_delay.rs"]
mod by_delay;
#[path = "laws/load_factor.rs"]
mod load_factor;
#[path = "laws/loss_based.rs"]
mod loss_based;

use headway_algorithms::{Ack, CaState, Conn, ControlInstance, Event};

const MS: u64 = 1000;

/// A flow in congestion avoidance, driven ACK by ACK.
struct Flow {
    cc: ControlInstance,
    conn: Conn,
}

impl Flow {
    fn new(control: &str, tunables: &[(&str, u32)], conn: Conn) -> Self {
        let tunables: Vec<_> = tunables.iter().map(|&(n, v)| (n.to_owned(), v)).collect();
        let mut flow = Self {
            cc: ControlInstance::new(control, Some("slow-start"), &tunables).unwrap(),
            conn,
        };
        flow.cc.init(&mut flow.conn);
        flow
    }

    /// Linux 2.6's counting.
    fn counting_acks(control: &str, tunables: &[(&str, u32)], cwnd: u32, ssthresh: u32) -> Self {
        let conn = Conn {
            cwnd_pkts: cwnd,
            ssthresh_pkts: ssthresh,
            counts_acks: 1,
            ..Conn::default()
        };
        Self::new(control, tunables, conn)
    }

    fn ack(&mut self, acked_pkts: u32, rtt_ms: u64) {
        let ack = Ack {
            acked_pkts,
            rtt_us: i32::try_from(rtt_ms * MS).unwrap(),
        };
        let grow = if self.conn.counts_acks == 1 {
            1
        } else {
            acked_pkts
        };
        self.cc.ack(&mut self.conn, &ack, grow);
    }

    fn wait_ms(&mut self, ms: u64) {
        self.conn.now_us += ms * MS;
    }

    /// ACKs of one packet each until cwnd grows, all at this moment.
    fn acks_to_grow(&mut self, rtt_ms: u64) -> u32 {
        self.acks_of_to_grow(1, rtt_ms)
    }

    fn acks_of_to_grow(&mut self, acked_pkts: u32, rtt_ms: u64) -> u32 {
        let cwnd = self.conn.cwnd_pkts;
        let mut acks = 0;
        while self.conn.cwnd_pkts == cwnd {
            self.ack(acked_pkts, rtt_ms);
            acks += 1;
            assert!(acks < 1_000_000);
        }
        acks
    }

    /// A loss repaired at once.
    fn lose(&mut self) {
        self.conn.ssthresh_pkts = self.cc.ssthresh(&mut self.conn);
        self.cc.set_state(&mut self.conn, CaState::Recovery);
        self.conn.cwnd_pkts = self.conn.ssthresh_pkts;
        self.conn.cwnd_cnt = 0;
        self.cc.set_state(&mut self.conn, CaState::Open);
    }

    /// One round trip of ACKs for `per_ack` packets each, evenly spread.
    fn round(&mut self, rtt_ms: u64, per_ack: u32) {
        let acks = (self.conn.cwnd_pkts / per_ack).max(1);
        let end = self.conn.now_us + rtt_ms * MS;
        for i in 0..acks {
            self.conn.now_us += (end - self.conn.now_us) / u64::from(acks - i);
            self.ack(per_ack, rtt_ms);
        }
    }
}

#[test]
fn reno_of_2_6_spends_one_ack_more_than_a_window_per_packet() {
    let mut flow = Flow::counting_acks("reno", &[], 50, 10);
    assert_eq!(flow.acks_to_grow(100), 51);
    assert_eq!(flow.acks_to_grow(100), 52);
}

#[test]
fn reno_of_today_counts_acked_packets_and_loses_none() {
    let mut flow = Flow::new(
        "reno",
        &[],
        Conn {
            cwnd_pkts: 50,
            ssthresh_pkts: 10,
            ..Conn::default()
        },
    );
    for _ in 0..25 {
        flow.ack(2, 100);
    }
    assert_eq!((flow.conn.cwnd_pkts, flow.conn.cwnd_cnt), (51, 0));
    flow.ack(60, 100);
    assert_eq!((flow.conn.cwnd_pkts, flow.conn.cwnd_cnt), (52, 9));
}

#[test]
fn reno_grows_half_as_fast_on_delayed_acks_where_acks_are_counted() {
    let slope = |counts_acks: u8| {
        let conn = Conn {
            cwnd_pkts: 100,
            ssthresh_pkts: 10,
            counts_acks,
            ..Conn::default()
        };
        let mut flow = Flow::new("reno", &[], conn);
        for _ in 0..20 {
            flow.round(100, 2);
        }
        f64::from(flow.conn.cwnd_pkts - 100) / 20.0
    };
    assert!((slope(1) - 0.5).abs() <= 0.05, "{}", slope(1));
    assert!((slope(0) - 1.0).abs() <= 0.06, "{}", slope(0));
}

#[test]
fn slow_start_doubles_or_grows_by_half_with_delayed_acks_as_the_stack_counts() {
    let after_a_round = |counts_acks: u8, per_ack: u32| {
        let conn = Conn {
            cwnd_pkts: 64,
            counts_acks,
            ..Conn::default()
        };
        let mut flow = Flow::new("reno", &[], conn);
        flow.round(100, per_ack);
        flow.conn.cwnd_pkts
    };
    assert_eq!(after_a_round(1, 1), 128);
    assert_eq!(after_a_round(1, 2), 96);
    assert_eq!(after_a_round(0, 1), 128);
    assert_eq!(after_a_round(0, 2), 128);
}

#[test]
fn slow_start_of_2_6_still_counts_the_window_equal_to_ssthresh() {
    let mut flow = Flow::counting_acks("reno", &[], 10, 10);
    flow.ack(1, 100);
    assert_eq!(flow.conn.cwnd_pkts, 11);
    let conn = Conn {
        cwnd_pkts: 9,
        ssthresh_pkts: 10,
        ..Conn::default()
    };
    let mut flow = Flow::new("reno", &[], conn);
    flow.ack(5, 100); // one to ssthresh, four for congestion avoidance
    assert_eq!((flow.conn.cwnd_pkts, flow.conn.cwnd_cnt), (10, 4));
}

#[test]
fn what_is_kept_on_a_loss_is_what_each_version_says() {
    for (control, kept) in [
        ("reno", 50),
        ("htcp", 50),
        ("cubic", 70),
        ("cubic26", 79),
        ("bic", 79),
        ("scalable", 88),
        ("highspeed", 50),
        ("hybla", 50),
        ("westwood", 50),
        ("fast", 50),
        ("vegas", 50),
        ("compound", 50),
        ("illinois", 50),
    ] {
        let mut flow = Flow::counting_acks(control, &[], 100, 10);
        assert_eq!(flow.cc.ssthresh(&mut flow.conn), kept, "{control}");
        flow.conn.cwnd_pkts = 2;
        assert_eq!(flow.cc.ssthresh(&mut flow.conn), 2, "{control}");
    }
}

#[test]
fn rate_halving_stops_at_ssthresh_or_where_a_control_says() {
    for (control, floor) in [
        ("reno", 25),
        ("hybla", 25),
        ("scalable", 25),
        ("highspeed", 25),
        ("fast", 25),
        ("vegas", 25),
        ("compound", 25),
        ("illinois", 25),
        ("htcp", 50),
        ("cubic", 50),
        ("cubic26", 50),
        ("bic", 50),
        ("westwood", 2),
    ] {
        let mut flow = Flow::counting_acks(control, &[], 100, 50);
        assert_eq!(flow.cc.min_cwnd(&mut flow.conn), floor, "{control}");
    }
}

#[test]
fn nothing_grows_unless_the_window_was_used_up() {
    for control in headway_algorithms::controls() {
        if control.flags.own_start() {
            continue;
        }
        let control = control.name;
        let mut flow = Flow::counting_acks(control, &[], 10, 100);
        flow.conn.cwnd_limited = 0;
        flow.ack(1, 100);
        assert_eq!(flow.conn.cwnd_pkts, 10, "{control}");
    }
}

/// In the simulator they begin with 1, on a live connection anywhere. The windows of a flow
/// with a queue that comes and goes, and a loss, are the same. Those with a start of their own
/// go by samples, which count packets.
#[test]
fn no_control_minds_where_sequence_numbers_begin() {
    let windows = |control: &str, sequence: u32| -> Vec<u32> {
        let conn = Conn {
            cwnd_pkts: 40,
            ssthresh_pkts: 20,
            cwnd_limited: 1,
            mss_bytes: 1448,
            srtt_us: 50_000,
            min_rtt_us: 50_000,
            snd_una: sequence,
            snd_nxt: sequence,
            ..Conn::default()
        };
        let mut flow = Flow::new(control, &[], conn);
        let mut seen = Vec::new();
        for round in 0..60 {
            let rtt_ms = [50, 60, 120, 200, 90][round / 4 % 5];
            if round == 37 {
                flow.lose();
            }
            let end = flow.conn.now_us + rtt_ms * MS;
            let acks = flow.conn.cwnd_pkts.div_ceil(2);
            for i in 0..acks {
                flow.conn.now_us += (end - flow.conn.now_us) / u64::from(acks - i);
                let conn = &mut flow.conn;
                conn.snd_una = conn.snd_una.wrapping_add(2 * 1448);
                conn.snd_nxt = conn.snd_una.wrapping_add(conn.cwnd_pkts * 1448);
                flow.ack(2, rtt_ms);
                seen.push(flow.conn.cwnd_pkts);
            }
        }
        seen
    };
    for control in headway_algorithms::controls() {
        if control.flags.own_start() {
            continue;
        }
        let from_1 = windows(control.name, 1);
        for sequence in [0, (1 << 31) - 40_000, (1 << 31) + 1, u32::MAX - 40_000] {
            let same = windows(control.name, sequence) == from_1;
            assert!(same, "{} from {sequence}", control.name);
        }
    }
}

/// alpha = 2 (1 - beta) factor = factor at beta 0.5: a window of 22 * 23 packets
/// needs 23 counted ACKs at factor 22, and one that spends them.
fn htcp_acks_after_3_s(rtt_ms: u64, window: u32, tunables: &[(&str, u32)]) -> u32 {
    let mut flow = Flow::counting_acks("htcp", tunables, window - 1, 10);
    flow.lose();
    flow.conn.cwnd_pkts = window - 1;
    flow.wait_ms(3000);
    flow.acks_to_grow(rtt_ms); // alpha is read when cwnd grows
    assert_eq!(flow.conn.cwnd_pkts, window);
    flow.acks_to_grow(rtt_ms)
}

#[test]
fn htcp_reads_alpha_22_three_seconds_after_a_backoff_and_23_by_the_draft() {
    assert_eq!(htcp_acks_after_3_s(100, 506, &[]), 23 + 1);
    assert_eq!(
        htcp_acks_after_3_s(100, 506, &[("draft_quadratic", 1)]),
        22 + 1
    );
}

#[test]
fn htcp_scales_alpha_by_the_round_trip_in_integers() {
    assert_eq!(htcp_acks_after_3_s(50, 220, &[]), 20 + 1); // factor 22 * 8 / 16 = 11
    assert_eq!(htcp_acks_after_3_s(200, 220, &[]), 5 + 1); // factor 22 * 8 / 4 = 44
    assert_eq!(htcp_acks_after_3_s(50, 220, &[("rtt_scaling", 0)]), 10 + 1);
}

#[test]
fn htcp_in_its_first_second_scales_one_to_one_or_two() {
    for (rtt_ms, acks) in [(50, 100), (100, 100), (200, 50)] {
        let mut flow = Flow::counting_acks("htcp", &[], 99, 10);
        flow.acks_to_grow(rtt_ms);
        assert_eq!(flow.acks_to_grow(rtt_ms), acks + 1, "{rtt_ms} ms");
    }
}

#[test]
fn htcp_counts_the_packets_of_an_ack_in_open_only() {
    let mut flow = Flow::counting_acks("htcp", &[("rtt_scaling", 0)], 100, 10);
    flow.ack(2, 100);
    assert_eq!(flow.conn.cwnd_cnt, 2);
    flow.cc.set_state(&mut flow.conn, CaState::Disorder);
    flow.ack(2, 100);
    assert_eq!(flow.conn.cwnd_cnt, 3);
}

#[test]
fn htcp_restarts_its_clock_after_a_backoff_but_not_after_a_lone_duplicate_ack() {
    let acks = |recovery: bool| {
        let mut flow = Flow::counting_acks("htcp", &[("rtt_scaling", 0)], 505, 10);
        flow.wait_ms(3000);
        let state = if recovery {
            CaState::Recovery
        } else {
            CaState::Disorder
        };
        flow.cc.set_state(&mut flow.conn, state);
        flow.cc.set_state(&mut flow.conn, CaState::Open);
        flow.acks_to_grow(100);
        flow.acks_to_grow(100)
    };
    assert_eq!(acks(false), 23 + 1); // alpha 22
    assert_eq!(acks(true), 506 + 1); // alpha 1
}

#[test]
fn htcp_adapts_its_backoff_to_the_queue_unless_told_not_to() {
    let kept = |adaptive: u32, max_rtt_ms: u64| {
        let tunables = [("adaptive_backoff", adaptive), ("bandwidth_switch", 0)];
        let mut flow = Flow::counting_acks("htcp", &tunables, 1000, 10);
        let _ = flow.cc.ssthresh(&mut flow.conn); // the first backoff only arms it
        for rtt_ms in (100..=max_rtt_ms).step_by(20) {
            flow.ack(1, rtt_ms);
        }
        flow.conn.cwnd_pkts = 1280;
        flow.cc.ssthresh(&mut flow.conn)
    };
    assert_eq!(kept(0, 160), 640);
    assert_eq!(kept(1, 160), 800); // 100/160 = 80/128
    assert_eq!(kept(1, 400), 640); // not less than half
    assert_eq!(kept(1, 100), 1020); // not more than 102/128
}

#[test]
fn htcp_takes_the_end_of_recovery_back_on_undo() {
    let mut flow = Flow::counting_acks("htcp", &[("rtt_scaling", 0)], 505, 10);
    flow.wait_ms(3000);
    flow.conn.ssthresh_pkts = flow.cc.ssthresh(&mut flow.conn);
    flow.cc.set_state(&mut flow.conn, CaState::Recovery);
    flow.conn.cwnd_pkts = 252;
    assert_eq!(flow.cc.undo_cwnd(&mut flow.conn, 505), 505);
    flow.conn.cwnd_pkts = 505;
    flow.cc.set_state(&mut flow.conn, CaState::Open);
    flow.acks_to_grow(100);
    assert_eq!(flow.acks_to_grow(100), 23 + 1);
}

/// Rounds until cwnd is back where the loss found it.
fn cubic_seconds_to_w_max(control: &str, w_max: u32, per_ack: u32) -> f64 {
    let conn = Conn {
        cwnd_pkts: w_max,
        ssthresh_pkts: 2,
        now_us: 77_000_000,
        ..Conn::default()
    };
    let mut flow = Flow::new(control, &[("tcp_friendliness", 0)], conn);
    for _ in 0..5 {
        flow.ack(1, 10);
    }
    flow.conn.cwnd_pkts = w_max;
    flow.lose();
    let start = flow.conn.now_us;
    while flow.conn.cwnd_pkts < w_max {
        flow.round(10, per_ack);
    }
    (flow.conn.now_us - start) as f64 / 1e6
}

#[test]
fn cubic_is_back_at_w_max_after_k() {
    // Whole packets: W(t) rounds up to W_max once less than one packet is missing,
    // cbrt(1/C) = 1.36 s before K.
    for (control, kept, per_ack) in [("cubic", 0.7, 1), ("cubic26", 0.8, 2)] {
        let k = ((1.0 - kept) * 1000.0 / 0.4f64).cbrt() - 0.4f64.recip().cbrt();
        let t = cubic_seconds_to_w_max(control, 1000, per_ack);
        assert!((t - k).abs() < 0.1, "{control}: {t} s for {k} s");
    }
}

#[test]
fn cubic_of_2_6_25_without_a_loss_takes_50_acks_corrected_for_delayed_ones() {
    let acks = |per_ack: u32| {
        let mut flow = Flow::counting_acks("cubic26", &[("tcp_friendliness", 0)], 1000, 10);
        for _ in 0..400 {
            flow.ack(per_ack, 100);
        }
        flow.wait_ms(100); // the count is taken anew
        flow.acks_of_to_grow(per_ack, 100);
        flow.acks_of_to_grow(per_ack, 100)
    };
    assert_eq!(acks(2), 25 + 1); // 50 * 16 / 32
    assert_eq!(acks(5), 10 + 1); // 50 * 16 / 80
                                 // The ratio is an integer that moves by acked - (ratio >> 4): from 32 it gets down to
                                 // 31 and no further, so that an ACK for every packet is still taken for two.
    assert_eq!(acks(1), 25 + 1);
}

#[test]
fn cubic_of_2_6_25_forgets_the_loss_on_a_timeout() {
    let mut flow = Flow::counting_acks("cubic26", &[("tcp_friendliness", 0)], 1000, 10);
    flow.lose();
    let far_below_w_max = flow.acks_to_grow(100);
    assert!(far_below_w_max < 26, "{far_below_w_max}");
    flow.cc.set_state(&mut flow.conn, CaState::Loss);
    flow.conn.cwnd_cnt = 0;
    assert_eq!(flow.acks_to_grow(100), 26);
}

#[test]
fn cubic_of_2_6_25_grows_at_most_max_increment_per_100_ms_above_w_max() {
    let growth_per_100_ms = |max_increment: u32| {
        let tunables = [("tcp_friendliness", 0), ("max_increment", max_increment)];
        let mut flow = Flow::counting_acks("cubic26", &tunables, 2000, 10);
        flow.conn.now_us = 5_000_000;
        flow.cc.init(&mut flow.conn);
        flow.ack(1, 100);
        flow.lose();
        flow.conn.cwnd_pkts = 2000; // at W_max: K = 0
        for _ in 0..150 {
            flow.round(100, 2);
        }
        let before = flow.conn.cwnd_pkts;
        for _ in 0..10 {
            flow.round(100, 2);
        }
        f64::from(flow.conn.cwnd_pkts - before) / 10.0
    };
    assert!(
        (growth_per_100_ms(16) - 16.0).abs() < 1.0,
        "{}",
        growth_per_100_ms(16)
    );
    assert!(growth_per_100_ms(100) > 20.0, "{}", growth_per_100_ms(100));
}

#[test]
fn cubic_with_fast_convergence_aims_lower_when_it_shrinks() {
    let second_w_max = |fast_convergence: u32| {
        let tunables = [("fast_convergence", fast_convergence)];
        let mut flow = Flow::counting_acks("cubic26", &tunables, 1000, 10);
        let _ = flow.cc.ssthresh(&mut flow.conn);
        flow.conn.cwnd_pkts = 800;
        let _ = flow.cc.ssthresh(&mut flow.conn);
        flow.conn.cwnd_pkts = 1;
        flow.cc.undo_cwnd(&mut flow.conn, 0) // 2.6.25 returns to W_max
    };
    assert_eq!(second_w_max(0), 800);
    assert_eq!(second_w_max(1), 719); // 800 * (1 + 0.8)/2
}

#[test]
fn cubic_of_today_grows_at_most_by_half_per_round_and_at_least_by_5_percent_at_first() {
    let conn = Conn {
        cwnd_pkts: 100,
        ssthresh_pkts: 10,
        ..Conn::default()
    };
    let mut flow = Flow::new("cubic", &[("tcp_friendliness", 0)], conn.clone());
    flow.round(100, 1);
    assert!(
        (103..=106).contains(&flow.conn.cwnd_pkts),
        "{}",
        flow.conn.cwnd_pkts
    );
    flow.wait_ms(60_000); // far up the curve
    let before = flow.conn.cwnd_pkts;
    flow.round(100, 1);
    let grown = flow.conn.cwnd_pkts - before;
    assert!(grown <= before / 2 + 1, "{grown} of {before}");
    assert!(grown >= before / 2 - 2, "{grown} of {before}");
}

#[test]
fn cubic_of_today_does_not_count_idle_time_as_time_on_the_curve() {
    let acks = |tell: bool| {
        let conn = Conn {
            cwnd_pkts: 1000,
            ssthresh_pkts: 10,
            ..Conn::default()
        };
        let mut flow = Flow::new("cubic", &[("tcp_friendliness", 0)], conn);
        flow.lose();
        flow.ack(1, 100); // the epoch starts
        flow.wait_ms(60_000);
        flow.conn.idle_us = 60_000_000;
        if tell {
            flow.cc.event(&mut flow.conn, Event::TxStart);
        }
        flow.acks_to_grow(100)
    };
    assert!(acks(false) <= 3);
    assert!(acks(true) > 10);
}

#[test]
fn cubic_never_grows_slower_than_its_share_of_reno() {
    // at 10 ms the cubic curve is flat for seconds: Reno's share must carry growth
    for (control, per_round) in [("cubic", 1.0 / 1.875), ("cubic26", 1.0 / 2.875)] {
        let mut flow = Flow::counting_acks(control, &[], 20, 5);
        flow.conn.counts_acks = 1;
        flow.ack(1, 10);
        flow.conn.cwnd_pkts = 20;
        flow.lose();
        let before = f64::from(flow.conn.cwnd_pkts);
        for _ in 0..100 {
            flow.round(10, 1);
        }
        let grown = f64::from(flow.conn.cwnd_pkts) - before;
        assert!(
            (grown / 100.0 / per_round - 1.0).abs() < 0.2,
            "{control}: {grown}"
        );
    }
}
