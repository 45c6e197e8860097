//! The laws of the control cubic (Linux 6) and of cubic26 (Linux 2.6.25): the curve, its bounds,
//! and the Reno-friendly part.

use super::Flow;
use headway_algorithms::{CaState, Conn, Event};

/// Seconds until cwnd has reached its value before the loss again.
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
    // cwnd reaches W_max before K, because windows are whole packets: W(t) rounds up to W_max when
    // less than one packet is missing, cbrt(1/C) = 1.36 s before K.
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
        // after this pause CUBIC computes the number of ACKs per packet of growth again
        flow.wait_ms(100);
        flow.acks_of_to_grow(per_ack, 100);
        flow.acks_of_to_grow(per_ack, 100)
    };
    assert_eq!(acks(2), 25 + 1); // 50 * 16 / 32
    assert_eq!(acks(5), 10 + 1); // 50 * 16 / 80
                                 // The ratio of packets per ACK is an integer that moves by acked -
                                 // (ratio >> 4). From 32 it falls to 31 and no further, so ACKs for
                                 // one packet still count as ACKs for two.
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
        flow.conn.cwnd_pkts = 2000; // the window is W_max, so K is 0
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
        flow.cc.undo_cwnd(&mut flow.conn, 0) // CUBIC of 2.6.25 returns to W_max
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
    flow.wait_ms(60_000); // after a minute, the curve is far above the window
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
    // at an RTT of 10 ms the cubic curve is flat for seconds, so the Reno-friendly part determines
    // the growth
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
