//! The laws of BIC, Scalable, HighSpeed, Westwood+ and Hybla.

use super::{Flow, MS};
use headway_algorithms::CaState;
use headway_algorithms::{Conn, ControlInstance, Event};

/// Number of ACKs until a BIC flow grows at this window, after a loss at `w_max`. Each ACK is for
/// two packets, which BIC's delayed-ACK ratio assumes at first.
fn bic_acks(tunables: &[(&str, u32)], w_max: u32, cwnd: u32) -> u32 {
    let mut flow = Flow::counting_acks("bic", tunables, w_max, 2);
    let _ = flow.cc.ssthresh(&mut flow.conn);
    flow.conn.cwnd_pkts = cwnd;
    flow.acks_of_to_grow(2, 100)
}

#[test]
fn bic_searches_for_w_max_by_quarters_of_the_gap_of_at_most_16_packets() {
    // expected ACKs until cwnd grows: packets per packet of growth, halved for delayed ACKs, plus
    // one
    for (cwnd, pkts) in [
        (800, 800 / 16),     // the gap to w_max is 200: linear growth
        (960, 960 / 10),     // a quarter of the gap, 40
        (992, 992 / 2),      // a quarter of the gap, 8
        (996, 996 * 20 / 4), // the last four packets take 20 windows
        // the first four packets above w_max take as long as the last four below it
        (1003, 1003 * 5),
        (1010, 1010 * 3 / 10), // then BIC grows by a third of the distance to w_max per window
        (1048, 1048 / 16),     // beyond a distance of 16 * 3 growth is linear again
    ] {
        assert_eq!(bic_acks(&[], 1000, cwnd), pkts / 2 + 1, "{cwnd}");
    }
    assert_eq!(bic_acks(&[], 1000, 14), 14 + 1, "Reno's up to low_window");
    assert_eq!(
        bic_acks(&[("max_increment", 32)], 1000, 800),
        800 / 32 / 2 + 1
    );
}

#[test]
fn bic_grows_by_5_percent_per_window_before_any_loss() {
    let mut flow = Flow::counting_acks("bic", &[], 1000, 2);
    assert_eq!(flow.acks_of_to_grow(2, 100), 20 / 2 + 1);
}

#[test]
fn bic_is_back_at_w_max_when_its_constants_say() {
    // The way from 799 to 1000 packets takes (201 - 64)/16 = 8.6 windows of 16 packets each, then 4
    // (1/15 + ... + 1/2) = 9.3 windows for gaps of 63 to 8, and five windows for each of the last
    // seven packets.
    let mut flow = Flow::counting_acks("bic", &[], 1000, 2);
    flow.lose();
    assert_eq!(flow.conn.cwnd_pkts, 799);
    let mut rounds = 0;
    while flow.conn.cwnd_pkts < 1000 {
        flow.round(100, 2);
        rounds += 1;
    }
    assert!((51..=55).contains(&rounds), "{rounds} for 52.8");
}

#[test]
fn bic_corrects_for_delayed_acks_even_if_packets_are_counted() {
    let conn = Conn {
        cwnd_pkts: 1000,
        ssthresh_pkts: 2,
        ..Conn::default()
    };
    let mut flow = Flow::new("bic", &[], conn);
    let _ = flow.cc.ssthresh(&mut flow.conn);
    flow.conn.cwnd_pkts = 800;
    // by BIC's constants 800/16 packets, and half as many by the delayed-ACK ratio: 25 packets, in
    // ACKs for two each
    assert_eq!(flow.acks_of_to_grow(2, 100), (800_u32 / 16 / 2).div_ceil(2));
}

#[test]
fn bic_that_shrinks_aims_lower_and_halves_small_windows() {
    let acks = |fast_convergence: u32| {
        let tunables = [("fast_convergence", fast_convergence)];
        let mut flow = Flow::counting_acks("bic", &tunables, 1000, 2);
        let _ = flow.cc.ssthresh(&mut flow.conn);
        flow.conn.cwnd_pkts = 800;
        let _ = flow.cc.ssthresh(&mut flow.conn);
        flow.conn.cwnd_pkts = 715;
        flow.acks_of_to_grow(2, 100)
    };
    assert_eq!(acks(0), 715 / 16 / 2 + 1); // W_max 800
    assert_eq!(acks(1), 715 * 5 / 2 + 1); // W_max 800 * (1 + 0.8)/2 = 719
    let mut flow = Flow::counting_acks("bic", &[], 14, 2);
    assert_eq!(flow.cc.ssthresh(&mut flow.conn), 7);
    flow.conn.cwnd_pkts = 15;
    assert_eq!(flow.cc.ssthresh(&mut flow.conn), 11);
}

#[test]
fn scalable_grows_by_a_hundredth_of_what_is_acknowledged_however_it_is_counted() {
    let mut flow = Flow::counting_acks("scalable", &[], 200, 10);
    assert_eq!(flow.acks_to_grow(100), 50 + 1);
    let conn = |cwnd_pkts| Conn {
        cwnd_pkts,
        ssthresh_pkts: 10,
        ..Conn::default()
    };
    let mut flow = Flow::new("scalable", &[], conn(200));
    assert_eq!(flow.acks_of_to_grow(2, 100), 50);
    let mut flow = Flow::new("scalable", &[("ai_cnt", 25)], conn(200));
    assert_eq!(flow.acks_to_grow(100), 25);
    let mut flow = Flow::new("scalable", &[], conn(30)); // Reno is faster
    assert_eq!(flow.acks_to_grow(100), 30);
}

#[test]
fn scalable_recovers_from_a_loss_in_equal_round_trips_at_any_window() {
    for cwnd in [1000, 8000] {
        let conn = Conn {
            cwnd_pkts: cwnd,
            ssthresh_pkts: 10,
            ..Conn::default()
        };
        let mut flow = Flow::new("scalable", &[], conn);
        flow.lose();
        assert_eq!(flow.conn.cwnd_pkts, cwnd / 8 * 7);
        let mut rounds = 0;
        while flow.conn.cwnd_pkts < cwnd {
            flow.round(100, 1);
            rounds += 1;
        }
        assert_eq!(rounds, 14); // ln(8/7) / ln(1.01) = 13.4
    }
}

/// HighSpeed's a(w) in packets per window, derived from the effect of one ACK, and its b(w).
fn highspeed_at(cwnd: u32) -> (f64, f64) {
    let mut flow = Flow::counting_acks("highspeed", &[], cwnd, 2);
    flow.ack(1, 100);
    let increase = flow.conn.cwnd_cnt;
    let kept = flow.cc.ssthresh(&mut flow.conn);
    (f64::from(increase), 1.0 - f64::from(kept) / f64::from(cwnd))
}

#[test]
fn highspeed_has_the_table_of_rfc_3649() {
    for (cwnd, increase, part) in [
        (38, 1.0, 0.50),
        (118, 2.0, 0.44),
        (221, 3.0, 0.41),
        (347, 4.0, 0.38),
        (495, 5.0, 0.37),
        (1058, 8.0, 0.33),
        (10661, 30.0, 0.21),
        (84035, 71.0, 0.10),
    ] {
        let (a, b) = highspeed_at(cwnd);
        assert_eq!(a, increase, "{cwnd}");
        assert!((b - part).abs() < 0.015, "{cwnd}: {b}");
    }
    assert_eq!(highspeed_at(1_000_000).0, 72.0);
}

#[test]
fn highspeed_is_within_a_packet_of_the_equations_of_rfc_3649() {
    for step in 0..400 {
        let cwnd = (38.0 * (89_053.0f64 / 38.0).powf(f64::from(step) / 399.0)) as u32;
        let w = f64::from(cwnd);
        let b = 0.5 - 0.4 * (w / 38.0).ln() / (83_000.0f64 / 38.0).ln();
        let a = w * w * 0.078 / w.powf(1.2) * 2.0 * b / (2.0 - b);
        let (increase, part) = highspeed_at(cwnd);
        assert!(
            (-0.05..1.1).contains(&(increase - a)),
            "{cwnd}: {increase} for {a}"
        );
        // the window after a loss is rounded down to whole packets
        assert!(
            (-0.006..0.065 + 1.0 / w).contains(&(b - part)),
            "{cwnd}: {part} for {b}"
        );
    }
}

#[test]
fn highspeed_halves_what_slow_start_lost_and_carries_growth_over() {
    let mut flow = Flow::counting_acks("highspeed", &[], 1000, 2);
    assert_eq!(flow.cc.ssthresh(&mut flow.conn), 500);
    flow.conn.cwnd_cnt = 995;
    flow.ack(1, 100); // at 1000 packets, cwnd grows by 8 packets per window
    assert_eq!((flow.conn.cwnd_pkts, flow.conn.cwnd_cnt), (1001, 3));
}

/// Passes ACKs for one packet each, evenly spaced in time.
fn deliver(flow: &mut Flow, acks: u32, gap_us: u64, rtt_ms: u64) {
    for _ in 0..acks {
        flow.conn.now_us += gap_us;
        flow.conn.delivered_pkts += 1;
        flow.ack(1, rtt_ms);
    }
}

/// The window after a reduction without a loss.
fn reduced(flow: &mut Flow) -> u32 {
    flow.conn.ssthresh_pkts = flow.cc.ssthresh(&mut flow.conn);
    flow.cc.event(&mut flow.conn, Event::CompleteCwr);
    assert_eq!(flow.conn.cwnd_pkts, flow.conn.ssthresh_pkts);
    flow.conn.ssthresh_pkts
}

fn westwood() -> Flow {
    let conn = Conn {
        cwnd_pkts: 100,
        ssthresh_pkts: 10,
        ..Conn::default()
    };
    Flow::new("westwood", &[], conn)
}

#[test]
fn westwood_sets_the_window_to_its_rate_times_the_smallest_round_trip() {
    let mut flow = westwood();
    deliver(&mut flow, 10, MS, 80);
    deliver(&mut flow, 1000, MS, 100);
    assert_eq!(
        flow.cc.ssthresh(&mut flow.conn),
        flow.conn.cwnd_pkts / 2,
        "Reno's at first"
    );
    assert_eq!(flow.cc.min_cwnd(&mut flow.conn), 80);
    assert_eq!(reduced(&mut flow), 80); // 1000/s * 80 ms
}

#[test]
fn westwood_filters_its_rate_twice_by_seven_eighths() {
    let mut flow = westwood();
    deliver(&mut flow, 10, MS, 80);
    deliver(&mut flow, 1000, MS, 100);
    // the rate doubles from 1000 to 2000 packets per second: 1125 after the first filter, 1015.6
    // after both
    deliver(&mut flow, 202, MS / 2, 100);
    assert_eq!(reduced(&mut flow), 81);
    deliver(&mut flow, 40_000, MS / 2, 100);
    assert_eq!(reduced(&mut flow), 159); // less than 160, because the filters round down
}

#[test]
fn westwood_measures_rates_over_at_least_50_ms_and_keeps_two_packets_without_one() {
    let mut flow = westwood();
    deliver(&mut flow, 50, MS, 10);
    assert_eq!(reduced(&mut flow), 2);
    let mut flow = westwood();
    deliver(&mut flow, 51, MS, 10);
    assert_eq!(reduced(&mut flow), 10);
}

#[test]
fn westwood_measures_the_smallest_round_trip_again_after_a_timeout() {
    let mut flow = westwood();
    deliver(&mut flow, 10, MS, 80);
    deliver(&mut flow, 1000, MS, 100);
    flow.cc.event(&mut flow.conn, Event::Loss);
    assert_eq!(flow.conn.ssthresh_pkts, 80);
    assert_eq!(flow.cc.min_cwnd(&mut flow.conn), 80);
    deliver(&mut flow, 1, MS, 100);
    assert_eq!(reduced(&mut flow), 100);
}

fn hybla(tunables: &[(&str, u32)], rtt_ms: u32, conn: Conn) -> Flow {
    let tunables: Vec<_> = tunables.iter().map(|&(n, v)| (n.to_owned(), v)).collect();
    let mut flow = Flow {
        cc: ControlInstance::new("hybla", None, &tunables).unwrap(),
        conn: Conn {
            srtt_us: rtt_ms * 1000,
            ..conn
        },
    };
    flow.cc.init(&mut flow.conn);
    flow
}

/// Number of ACKs until a Hybla flow in congestion avoidance grows by a packet.
fn hybla_acks(tunables: &[(&str, u32)], rtt_ms: u32, cwnd: u32) -> u32 {
    let mut flow = hybla(tunables, rtt_ms, Conn::default());
    flow.conn.cwnd_pkts = cwnd;
    flow.conn.ssthresh_pkts = 2;
    flow.acks_to_grow(u64::from(rtt_ms))
}

#[test]
fn hybla_grows_by_rho_squared_per_window_and_2_to_rho_less_1_per_ack_of_slow_start() {
    let mut flow = hybla(&[], 200, Conn::default());
    assert_eq!(flow.conn.cwnd_pkts, 8, "the first window is rho");
    flow.ack(1, 200);
    assert_eq!(flow.conn.cwnd_pkts, 8 + 255);
    // growth per ACK is 64/1000 packets, rounded to 8/128: 16 ACKs instead of the law's 15.6
    assert_eq!(hybla_acks(&[], 200, 1000), 16);
    let mut flow = hybla(&[], 40, Conn::default()); // rho 1.5
    for _ in 0..128 {
        flow.ack(1, 40);
    }
    assert_eq!(flow.conn.cwnd_pkts, 1 + 234); // 2^1.5 - 1 = 234/128
}

#[test]
fn hybla_grows_no_window_beyond_linuxs_clamp() {
    let half_an_hour_ms = 1_779_200;
    let mut flow = hybla(&[], half_an_hour_ms, Conn::default()); // rho 71,168
    assert_eq!(flow.conn.cwnd_pkts, 65_535);
    flow.ack(1, u64::from(half_an_hour_ms));
    assert_eq!(flow.conn.cwnd_pkts, 65_535);
    flow.conn.ssthresh_pkts = 2;
    flow.ack(1, u64::from(half_an_hour_ms));
    assert_eq!(flow.conn.cwnd_pkts, 65_535);
    // Hybla does not shrink a window that another law has made larger than its own limit
    flow.conn.cwnd_pkts = 70_000;
    flow.ack(1, u64::from(half_an_hour_ms));
    assert_eq!(flow.conn.cwnd_pkts, 70_000);
}

#[test]
fn hybla_is_reno_on_25_ms_and_below() {
    for rtt_ms in [5, 25] {
        assert_eq!(hybla_acks(&[("growth_bits", 16)], rtt_ms, 64), 64);
        let mut flow = hybla(&[], rtt_ms, Conn::default());
        flow.ack(1, 25);
        assert_eq!(flow.conn.cwnd_pkts, 2);
    }
}

#[test]
fn hybla_rounds_growth_to_128ths_as_linux_unless_told_to_keep_more() {
    let large = 9000; // 128 * 64 = 8192 packets is the largest window with growth
    assert_eq!(
        hybla_acks(&[], 200, large),
        large,
        "6.x: one packet per window"
    );
    assert_eq!(hybla_acks(&[("growth_bits", 16)], 200, large), 141); // 9000/64
    let mut flow = hybla(&[("carry", 0)], 200, Conn::default());
    flow.conn.cwnd_pkts = large;
    flow.conn.ssthresh_pkts = 2;
    for _ in 0..3 * large {
        flow.ack(1, 200);
    }
    assert_eq!(flow.conn.cwnd_pkts, large, "2.6.24: none");
}

#[test]
fn hybla_follows_the_smallest_smoothed_round_trip() {
    let mut flow = hybla(&[], 200, Conn::default());
    flow.conn.ssthresh_pkts = 2;
    let mut acks_at = |srtt_ms: u32| {
        flow.conn.srtt_us = srtt_ms * 1000;
        flow.conn.cwnd_pkts = 512;
        flow.acks_to_grow(200)
    };
    assert_eq!(acks_at(200), 8); // 64/512
    assert_eq!(acks_at(400), 8);
    assert_eq!(acks_at(100), 32); // 16/512
    assert_eq!(acks_at(200), 32);
}

#[test]
fn hybla_is_reno_outside_open_and_grows_at_ssthresh_if_that_is_slow_start() {
    let mut flow = hybla(&[], 200, Conn::default());
    flow.cc.set_state(&mut flow.conn, CaState::Loss);
    flow.conn.cwnd_pkts = 1;
    flow.ack(1, 200);
    assert_eq!(flow.conn.cwnd_pkts, 2);
    flow.cc.set_state(&mut flow.conn, CaState::Open);
    flow.conn.counts_acks = 1;
    (flow.conn.cwnd_pkts, flow.conn.ssthresh_pkts) = (64, 64);
    flow.ack(1, 200);
    assert_eq!(flow.conn.cwnd_pkts, 65); // 64/64
}

#[test]
fn hybla_of_2_6_24_stops_growing_in_slow_start_at_800_ms() {
    let cwnd_after_an_ack = |max_exponent: u32, rtt_ms: u32| {
        let tunables = [("max_exponent", max_exponent)];
        let mut flow = hybla(&tunables, rtt_ms, Conn::default());
        flow.conn.cwnd_pkts = 10;
        flow.ack(1, u64::from(rtt_ms));
        flow.conn.cwnd_pkts
    };
    assert_eq!(cwnd_after_an_ack(16, 800), 65_535, "Linux's clamp");
    assert_eq!(cwnd_after_an_ack(0, 800), 10);
    assert_eq!(cwnd_after_an_ack(0, 200), 10 + 255);
}
