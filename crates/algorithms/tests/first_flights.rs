//! Startups that choose a first window, and HyStart++: their rules, compared with numbers computed
//! by hand.

use crate::common::{self, start, RTT_US};
use headway_algorithms::{Ack, CaState, Conn, ControlInstance, Event, Grant, SSTHRESH_INFINITE};

/// A connection that is about to send its first 1_000_000 bytes.
fn fresh() -> Conn {
    common::fresh(1_000_000)
}

/// Lets the connection send `n` new packets.
fn send(conn: &mut Conn, n: u32) {
    conn.sent_pkts += n;
    conn.snd_nxt += n * conn.mss_bytes;
}

/// Passes an ACK of `n` packets.
fn ack(cc: &mut ControlInstance, conn: &mut Conn, n: u32) {
    conn.snd_una += n * conn.mss_bytes;
    conn.inflight_pkts = (conn.snd_nxt - conn.snd_una) / conn.mss_bytes;
    let ack = Ack {
        acked_pkts: n,
        rtt_us: RTT_US as i32,
    };
    cc.ack(conn, &ack, n);
}

/// Goes through a fast recovery as the stack does, with `copies` retransmitted packets.
fn recover(cc: &mut ControlInstance, conn: &mut Conn, copies: u32) {
    conn.ssthresh_pkts = cc.ssthresh(conn);
    cc.set_state(conn, CaState::Recovery);
    conn.retrans_pkts += copies;
    conn.sent_pkts += copies;
    cc.pkts_acked(
        conn,
        &Ack {
            acked_pkts: 1,
            rtt_us: -1,
        },
    );
    conn.snd_una = conn.snd_nxt;
    cc.set_state(conn, CaState::Open);
    conn.cwnd_pkts = conn.ssthresh_pkts;
    cc.event(conn, Event::CompleteCwr);
}

#[test]
fn jump_start_sends_what_its_bounds_allow_over_one_round_trip() {
    let window = |bytes: u32, rtt_us: u32| {
        let mut conn = Conn {
            app_queued_bytes: bytes,
            srtt_us: rtt_us,
            ..fresh()
        };
        start("jump-start", &[], &mut conn);
        (conn.cwnd_pkts, conn.pacing_rate_bytes_per_s)
    };
    // K_data limits the window to 65535/1448 packets, and the rate to these packets of 1500 bytes
    // per 200 ms
    assert_eq!(window(1_000_000, 200_000), (45, 45 * 1500 * 5));
    // K_rate limits the window to 10 Mbit/s x 20 ms: 25000 bytes, 17 packets
    assert_eq!(window(1_000_000, 20_000).0, 17);
    // s
    assert_eq!(window(30_000, 200_000).0, 21);
    // the application has no more data than the initial window holds, so the startup does nothing
    assert_eq!(window(14_480, 200_000), (10, 0));
}

#[test]
fn after_recovery_the_window_is_half_of_what_arrived_and_never_0() {
    // For eq. 4.11: (N_pacing, N_rtx, resulting window)
    for (paced, copies, expected) in [(45, 20, 12), (45, 44, 1), (45, 45, 1), (45, 60, 1)] {
        for startup in ["jump-start", "mega-start"] {
            let mut conn = fresh();
            let mut cc = start(startup, &[], &mut conn);
            send(&mut conn, paced);
            recover(&mut cc, &mut conn, copies);
            assert_eq!(conn.cwnd_pkts, expected, "{startup}: {paced}, {copies}");
            assert_eq!(conn.ssthresh_pkts, expected.max(2), "slow start is over");
        }
    }
}

#[test]
fn an_undone_reduction_leaves_the_window_alone() {
    let mut conn = fresh();
    let mut cc = start("jump-start", &[], &mut conn);
    send(&mut conn, 45);
    ack(&mut cc, &mut conn, 1);
    conn.ssthresh_pkts = cc.ssthresh(&mut conn);
    cc.set_state(&mut conn, CaState::Recovery);
    // the recovery is undone: the old window and the old ssthresh return
    conn.cwnd_pkts = 46;
    conn.ssthresh_pkts = SSTHRESH_INFINITE;
    cc.set_state(&mut conn, CaState::Open);
    cc.event(&mut conn, Event::CompleteCwr);
    assert_eq!(
        (conn.cwnd_pkts, conn.ssthresh_pkts),
        (46, SSTHRESH_INFINITE)
    );
}

#[test]
fn the_first_ack_ends_pacing_with_what_was_sent() {
    let mut conn = fresh();
    let mut cc = start("mega-start", &[], &mut conn);
    // the window is 10 Mbit/s x 200 ms in packets of 1500 bytes
    assert_eq!(
        (conn.cwnd_pkts, conn.pacing_rate_bytes_per_s),
        (166, 1_250_000)
    );
    assert_eq!(conn.pacing_chunk_pkts, 3);
    send(&mut conn, 150);
    ack(&mut cc, &mut conn, 2);
    assert_eq!((conn.cwnd_pkts, conn.pacing_rate_bytes_per_s), (152, 0));
}

#[test]
fn after_a_timeout_the_window_comes_back_when_the_loss_is_repaired() {
    let mut conn = fresh();
    let mut cc = start("jump-start", &[], &mut conn);
    send(&mut conn, 45);
    conn.ssthresh_pkts = cc.ssthresh(&mut conn);
    cc.event(&mut conn, Event::Loss);
    cc.set_state(&mut conn, CaState::Loss);
    conn.cwnd_pkts = 1;
    conn.retrans_pkts += 15;
    conn.sent_pkts += 15;
    ack(&mut cc, &mut conn, 20);
    conn.snd_una = conn.snd_nxt;
    cc.set_state(&mut conn, CaState::Open);
    assert_eq!(conn.cwnd_pkts, 15);
}

#[test]
fn careful_resume_jumps_to_half_and_retreats_to_half_of_what_is_known() {
    let mut conn = fresh();
    let saved = [("cr_saved_cwnd_pkts", 200), ("cr_saved_rtt_us", RTT_US)];
    let mut cc = start("careful-resume", &saved, &mut conn);
    assert_eq!(conn.cwnd_pkts, 10);
    send(&mut conn, 10);
    for _ in 0..9 {
        ack(&mut cc, &mut conn, 1);
        send(&mut conn, 2);
    }
    assert_eq!(conn.pacing_rate_bytes_per_s, 0);
    ack(&mut cc, &mut conn, 1);
    assert_eq!(conn.cwnd_pkts, 100);
    assert!(conn.pacing_rate_bytes_per_s > 0);
    send(&mut conn, 82);
    for _ in 0..18 {
        ack(&mut cc, &mut conn, 1); // ACK of a packet that was sent before the jump
    }
    assert_eq!(conn.cwnd_pkts, 100, "nothing grows while unvalidated");
    ack(&mut cc, &mut conn, 1);
    assert_eq!(conn.pacing_rate_bytes_per_s, 0, "validating");
    // PipeSize is 37: 18 packets were in flight at the jump, and 19 were acknowledged since
    conn.ssthresh_pkts = cc.ssthresh(&mut conn);
    cc.set_state(&mut conn, CaState::Recovery);
    assert!(conn.ssthresh_pkts <= 37 / 2, "{}", conn.ssthresh_pkts);
    // when the last packet of the jump is acknowledged, ssthresh is at most the number of packets
    // that arrived
    conn.cwnd_pkts = conn.ssthresh_pkts;
    ack(&mut cc, &mut conn, 81);
    assert_eq!(conn.ssthresh_pkts, 82);
}

#[test]
fn initial_start_keeps_one_packet_after_a_handshake_timeout() {
    for (begin, expected) in [(10, 30), (2, 30), (1, 1)] {
        let mut conn = Conn {
            cwnd_pkts: begin,
            ..fresh()
        };
        start("initial-start", &[("is_window_pkts", 30)], &mut conn);
        assert_eq!(conn.cwnd_pkts, expected);
    }
}

#[test]
fn by_scharfs_rules_a_denied_request_restores_its_window() {
    let windows = |rules: u32, answer: Grant| {
        let mut conn = fresh();
        let mut cc = start("quick-start", &[("qs_rules", rules)], &mut conn);
        assert!(conn.request_code > 0);
        conn.grant = Grant::Requested as u8;
        send(&mut conn, 10);
        ack(&mut cc, &mut conn, 1); // ACK of data that was sent before the request
        conn.grant = answer as u8;
        [1; 3].map(|n| {
            ack(&mut cc, &mut conn, n);
            conn.cwnd_pkts
        })
    };
    assert_eq!(windows(0, Grant::Denied), [12, 13, 14]);
    // the denial undoes the growth of the window since the request, but not the growth by this ACK;
    // slow start continues from there
    assert_eq!(windows(1, Grant::Denied), [10, 11, 12]);
    assert_eq!(windows(1, Grant::Requested), [12, 13, 14]);
}

#[test]
fn limited_slow_start_grows_by_half_its_limit_per_round_trip() {
    let mut conn = fresh();
    let mut cc = ControlInstance::new("reno", Some("quick-start"), &[]).unwrap();
    conn.grant = Grant::Approved as u8;
    conn.granted_rate_bytes_per_s = 1_280_000;
    cc.init(&mut conn);
    cc.event(&mut conn, Event::TxStart);
    assert_eq!(conn.grant, Grant::Used as u8);
    assert_eq!(conn.cwnd_pkts, 170);
    send(&mut conn, 170);
    for _ in 0..3 {
        let before = conn.cwnd_pkts;
        for _ in 0..before {
            ack(&mut cc, &mut conn, 1);
            send(&mut conn, 1);
        }
        let grown = conn.cwnd_pkts - before;
        assert!((40..=57).contains(&grown), "{before} grew by {grown}");
    }
}

#[test]
fn a_late_grant_or_one_below_the_present_rate_is_declined() {
    let decide = |wait_us: u64, rate: u64| {
        let mut conn = Conn {
            grant: Grant::Approved as u8,
            granted_rate_bytes_per_s: rate,
            ..fresh()
        };
        let mut cc = ControlInstance::new("reno", Some("quick-start"), &[]).unwrap();
        cc.init(&mut conn);
        // at this event the startup reads the answer to its request
        cc.event(&mut conn, Event::CompleteCwr);
        conn.now_us += wait_us;
        cc.event(&mut conn, Event::TxStart);
        conn.grant
    };
    assert_eq!(decide(0, 640_000), Grant::Used as u8);
    assert_eq!(decide(200_000, 640_000), Grant::Used as u8);
    assert_eq!(decide(200_001, 640_000), Grant::Declined as u8);
    assert_eq!(decide(0, 75_000), Grant::Declined as u8); // 10 packets
}

/// A Quick-Start flight of 170 packets, of which 40 have arrived when a loss is detected.
fn lossy_flight(conn: &mut Conn, tunables: &[(&str, u32)]) -> ControlInstance {
    conn.grant = Grant::Approved as u8;
    conn.granted_rate_bytes_per_s = 1_280_000;
    let mut cc = start("quick-start", tunables, conn);
    assert_eq!(conn.cwnd_pkts, 170);
    send(conn, 170);
    conn.delivered_pkts += 1;
    ack(&mut cc, conn, 1);
    conn.delivered_pkts += 39; // by SACK
    conn.inflight_pkts = 60;
    conn.ssthresh_pkts = cc.ssthresh(conn);
    cc.set_state(conn, CaState::Recovery);
    cc
}

/// Sends a retransmission and passes an ACK for `acked_pkts` packets; returns the ssthresh after
/// that.
fn repair(cc: &mut ControlInstance, conn: &mut Conn, acked_pkts: u32) -> u32 {
    conn.retrans_pkts += 1;
    conn.sent_pkts += 1;
    conn.delivered_pkts += 1;
    conn.snd_una += acked_pkts * conn.mss_bytes;
    let ack = Ack {
        acked_pkts,
        rtt_us: -1,
    };
    cc.pkts_acked(conn, &ack);
    conn.ssthresh_pkts
}

/// Ends the recovery: all packets of the flight have arrived.
fn end_of_recovery(cc: &mut ControlInstance, conn: &mut Conn) {
    conn.snd_una = conn.snd_nxt;
    cc.set_state(conn, CaState::Open);
    conn.cwnd_pkts = conn.ssthresh_pkts;
    cc.event(conn, Event::CompleteCwr);
}

#[test]
fn a_lost_quick_start_flight_is_repaired_in_slow_start_up_to_half_of_what_arrived() {
    let mut conn = fresh();
    let mut cc = lossy_flight(&mut conn, &[]);
    assert_eq!((conn.cwnd_pkts, conn.ssthresh_pkts), (10, 10)); // RFC 4782, 4.6
    assert_eq!(repair(&mut cc, &mut conn, 0), 10, "nothing acknowledged");
    let windows: Vec<u32> = (0..12).map(|_| repair(&mut cc, &mut conn, 8)).collect();
    // each ACK increases ssthresh by one, however much it acknowledges (RFC 3465, 2.3), up to half
    // of the 40 packets that arrived
    let expected: Vec<u32> = (11..=20).chain([20, 20]).collect();
    assert_eq!(windows, expected);
    // the end of Recovery changes neither cwnd nor ssthresh
    end_of_recovery(&mut cc, &mut conn);
    assert_eq!((conn.cwnd_pkts, conn.ssthresh_pkts), (20, 20));
    assert_eq!(conn.grant, Grant::Disabled as u8);
}

/// Scharf (4.5.1.1) demands that "the source must undo the CWND increase", and nothing else.
#[test]
fn by_scharfs_rules_a_lost_flight_restores_the_window_before_it() {
    // slow start was over before the flight, perhaps with an ssthresh below the previous window
    for (before, expected) in [
        (SSTHRESH_INFINITE, (11..=40).collect()),
        (
            15,
            [11, 12, 13, 14, 15].into_iter().chain([15; 25]).collect(),
        ),
        (7, vec![10; 30]),
    ] {
        for strategy in 0..=1 {
            let rules = [("qs_rules", 1), ("qs_ssthresh", strategy)];
            let mut conn = fresh();
            conn.ssthresh_pkts = before;
            let mut cc = lossy_flight(&mut conn, &rules);
            assert_eq!((conn.cwnd_pkts, conn.ssthresh_pkts), (10, 10));
            let windows: Vec<u32> = (0..30).map(|_| repair(&mut cc, &mut conn, 4)).collect();
            assert_eq!(windows, expected, "one per ACK as far as slow start went");
            let reached = conn.ssthresh_pkts;
            end_of_recovery(&mut cc, &mut conn);
            assert_eq!((conn.cwnd_pkts, conn.ssthresh_pkts), (reached, before));
            assert_eq!(conn.grant, Grant::Used as u8, "it may ask again");
            // a timeout leads to the same ssthresh, whether it happens at once or during the
            // recovery
            for repairs in [0, 3] {
                let mut conn = fresh();
                conn.ssthresh_pkts = before;
                let mut cc = lossy_flight(&mut conn, &rules);
                for _ in 0..repairs {
                    repair(&mut cc, &mut conn, 4);
                }
                conn.cwnd_pkts = 1;
                cc.set_state(&mut conn, CaState::Loss);
                assert_eq!(conn.ssthresh_pkts, before);
                // at a later loss the startup leaves ssthresh as it is
                conn.ca_state = CaState::Loss as u8;
                conn.ssthresh_pkts = 20;
                cc.set_state(&mut conn, CaState::Loss);
                assert_eq!(conn.ssthresh_pkts, 20);
            }
        }
    }
}

#[test]
fn by_scharfs_rules_no_more_than_the_increase_is_taken_back_in_mid_connection() {
    let after_loss = |rules: u32| {
        let mut conn = fresh();
        let mut cc = start("quick-start", &[("qs_rules", rules)], &mut conn);
        send(&mut conn, 10);
        ack(&mut cc, &mut conn, 10);
        conn.grant = Grant::Approved as u8;
        conn.granted_rate_bytes_per_s = 1_280_000;
        conn.cwnd_pkts = 100;
        cc.event(&mut conn, Event::CwndRestart); // the connection was idle, and its window is 100
        cc.event(&mut conn, Event::TxStart);
        assert_eq!(conn.cwnd_pkts, 170);
        send(&mut conn, 170);
        ack(&mut cc, &mut conn, 1);
        conn.ssthresh_pkts = cc.ssthresh(&mut conn);
        cc.set_state(&mut conn, CaState::Recovery);
        conn.cwnd_pkts
    };
    assert_eq!(after_loss(0), 85, "half of the flight");
    assert_eq!(after_loss(1), 100);
}

#[test]
fn retransmissions_in_flight_do_not_count_as_arrived() {
    let mut conn = fresh();
    let mut cc = lossy_flight(&mut conn, &[]);
    conn.retrans_pkts += 100; // all packets in flight are retransmitted when the timer fires
    conn.sent_pkts += 100;
    cc.event(&mut conn, Event::Loss);
    cc.set_state(&mut conn, CaState::Loss);
    assert_eq!(conn.ssthresh_pkts, 20, "40 had arrived");
    let mut conn = fresh();
    let mut cc = lossy_flight(&mut conn, &[]);
    // the reduction was spurious and is undone
    (conn.cwnd_pkts, conn.ssthresh_pkts) = (171, SSTHRESH_INFINITE);
    ack(&mut cc, &mut conn, 5);
    cc.set_state(&mut conn, CaState::Open);
    cc.event(&mut conn, Event::CompleteCwr);
    assert_eq!(conn.ssthresh_pkts, SSTHRESH_INFINITE);
}

/// cwnd at the end of each round, under HyStart++ on a path of `base_us`. Each round has 20 ACKs,
/// and its RTT is longer by the given number of microseconds.
fn hystart_pp(base_us: u32, extra_us: &[u32], conn: &mut Conn) -> Vec<u32> {
    let mut cc = ControlInstance::new("reno", Some("hystart-plus-plus"), &[]).unwrap();
    conn.snd_nxt = conn.snd_una + 20;
    cc.init(conn);
    let mut windows = vec![];
    for extra in extra_us {
        for _ in 0..20 {
            conn.snd_una += 1;
            conn.snd_nxt = conn.snd_una + 20;
            let sample = Ack {
                acked_pkts: 1,
                rtt_us: (base_us + extra) as i32,
            };
            cc.ack(conn, &sample, 1);
        }
        windows.push(conn.cwnd_pkts);
    }
    windows
}

#[test]
fn hystart_plus_plus_slows_down_an_eighth_above_the_last_round_within_4_and_16_ms() {
    for (base_us, step_us) in [(100_000, 12_500), (20_000, 4_000), (400_000, 16_000)] {
        for (extra_us, slows) in [(step_us - 500, false), (step_us, true)] {
            let mut conn = Conn::default();
            let windows = hystart_pp(base_us, &[0, 0, extra_us, extra_us], &mut conn);
            let grown = windows[3] - windows[2];
            assert_eq!(grown == 5, slows, "{base_us} us: {windows:?}");
        }
    }
}

#[test]
fn conservative_slow_start_lasts_five_rounds_at_a_quarter_of_the_pace() {
    let mut conn = Conn::default();
    let windows = hystart_pp(
        100_000,
        &[0, 0, 20_000, 20_000, 20_000, 20_000, 20_000],
        &mut conn,
    );
    let grown: Vec<u32> = windows.windows(2).map(|w| w[1] - w[0]).collect();
    // the round in which conservative slow start begins counts as the first of its five rounds
    assert_eq!(grown[2..5], [5, 5, 5], "{windows:?}");
    assert_ne!(conn.ssthresh_pkts, SSTHRESH_INFINITE, "{windows:?}");
}

#[test]
fn jitter_that_goes_away_resumes_slow_start() {
    let mut conn = Conn::default();
    let windows = hystart_pp(100_000, &[0, 0, 20_000, 0, 0, 0, 0, 0, 0], &mut conn);
    assert_eq!(windows[8] - windows[7], 20, "{windows:?}");
    assert_eq!(conn.ssthresh_pkts, SSTHRESH_INFINITE);
}

#[test]
fn an_ack_of_many_packets_grows_by_8_unless_packets_are_paced() {
    for (paced, expected) in [(0, 18), (1, 40)] {
        let mut conn = Conn {
            paced,
            ..Conn::default()
        };
        let mut cc = ControlInstance::new("reno", Some("hystart-plus-plus"), &[]).unwrap();
        cc.init(&mut conn);
        cc.grow(&mut conn, 30);
        assert_eq!(conn.cwnd_pkts, expected);
    }
}
