//! Hints of applications (table 5.1 of the thesis) and how startups use them: a deadline, a rate
//! that is all the application needs, and low priority.

use crate::common::{self, start, RTT_US};
use headway_algorithms::{Conn, ControlInstance, SSTHRESH_INFINITE};

/// A connection that is about to send its first 100_000 bytes.
fn fresh() -> Conn {
    common::fresh(100_000)
}

/// Returns Mega-Start's window and pacing rate.
fn mega(conn: Conn) -> (u32, u64) {
    let mut conn = conn;
    start("mega-start", &[], &mut conn);
    (conn.cwnd_pkts, conn.pacing_rate_bytes_per_s)
}

#[test]
fn a_deadline_gives_the_rate_that_meets_it() {
    // eq. 7.1: the rate is s/(T - d), because T - d/2 is left when the request has arrived
    for (left_ms, rate, pkts) in [
        (300, 525_000, 70),
        (499, 263_158, 35),
        (150, 2_100_000, 280),
    ] {
        let conn = Conn {
            deadline_us: left_ms * 1000,
            ..fresh()
        };
        assert_eq!(mega(conn), (pkts, rate), "{left_ms} ms");
    }
}

#[test]
fn where_slow_start_meets_the_deadline_or_nothing_can_there_is_no_fast_start() {
    // 10 + 20 + 40 packets take three rounds; the last of them arrives half a round trip after it
    // is sent
    for left_us in [500_000, 600_000, u32::MAX, 100_000, 99_999, 1] {
        let conn = Conn {
            deadline_us: left_us,
            ..fresh()
        };
        assert_eq!(mega(conn), (10, 0), "{left_us} us");
    }
    // 71 packets take four rounds, so 2 d + d/2 is too short for slow start
    let one_more = Conn {
        deadline_us: 500_000,
        app_queued_bytes: 70 * 1448 + 1,
        ..fresh()
    };
    assert!(mega(one_more).0 > 10);
}

#[test]
fn a_rate_comes_before_a_deadline_and_a_deadline_before_the_default() {
    let named = Conn {
        deadline_us: 300_000,
        asked_rate_bytes_per_s: 1_000_000,
        ..fresh()
    };
    assert_eq!(mega(named).1, 1_000_000);
    let announced = Conn {
        deadline_us: 300_000,
        app_queued_bytes: 10_000, // the application has queued only the first bytes of its data
        app_data_bytes: 100_000,
        ..fresh()
    };
    assert_eq!(mega(announced).1, 525_000);
    assert_eq!(mega(fresh()).1, 1_250_000); // ms_rate_kbps
}

#[test]
fn a_remembered_path_has_priority_over_the_default_if_it_still_looks_the_same() {
    let remembers = |min_rtt_us| Conn {
        saved_cwnd_pkts: 400, // 3 MB/s
        saved_rtt_us: RTT_US,
        min_rtt_us,
        ..fresh()
    };
    for (min_rtt_us, rate) in [
        (RTT_US, 3_000_000),
        (RTT_US / 2, 3_000_000),
        (RTT_US / 2 - 1, 1_250_000),
        (10 * RTT_US + 1, 1_250_000),
    ] {
        assert_eq!(mega(remembers(min_rtt_us)).1, rate, "{min_rtt_us}");
    }
    let asks = Conn {
        asked_rate_bytes_per_s: 1_000_000,
        ..remembers(RTT_US)
    };
    assert_eq!(mega(asks).1, 1_000_000);
    // if the application sets no rate, Quick-Start requests that of an earlier transfer on the path
    let mut conn = Conn {
        app_queued_bytes: 10_000_000,
        ..remembers(RTT_US)
    };
    start("quick-start", &[("qs_activation", 1)], &mut conn);
    assert_eq!(conn.request_code, 10); // 5.12 MB/s
}

#[test]
fn quick_start_asks_for_what_is_left_after_the_round_trip_of_asking() {
    let mut conn = Conn {
        app_queued_bytes: 1_000_000,
        deadline_us: 800_000,
        ..fresh()
    };
    start("quick-start", &[], &mut conn);
    // ten of 691 packets are sent at once; for the other 681 x 1500 bytes, 800 - 300 ms are left:
    // 2.04 MB/s
    assert_eq!(conn.request_code, 9); // 2.56 MB/s
    let mut enough = Conn {
        deadline_us: 1_300_000, // enough time for seven rounds of slow start
        ..conn.clone()
    };
    enough.request_code = 0;
    start("quick-start", &[], &mut enough);
    assert_eq!(enough.request_code, 0, "routers need not be asked");
    // in the handshake the RTT is not known: 100 ms are assumed, and one of them passes before data
    // is sent
    let mut early = Conn {
        srtt_us: 0,
        app_queued_bytes: 0,
        app_data_bytes: 1_000_000,
        deadline_us: 350_000,
        ..Conn::default()
    };
    let mut cc = ControlInstance::new("reno", Some("quick-start"), &[]).unwrap();
    cc.open(&mut early);
    // 691 x 1500 bytes in 200 ms need 5.18 MB/s
    assert_eq!(early.request_code, 11); // 10.24 MB/s
}

#[test]
fn by_scharfs_rules_a_deadline_forgets_the_round_trip_of_asking_and_rates_are_rounded_down() {
    let mut conn = Conn {
        app_queued_bytes: 1_000_000,
        deadline_us: 800_000,
        ..fresh()
    };
    start("quick-start", &[("qs_rules", 1)], &mut conn);
    // eq. 7.1 in its printed form: 691 x 1500 bytes in 800 - 100 ms need 1.48 MB/s
    assert_eq!(conn.request_code, 8); // 1.28 MB/s
}

#[test]
fn if_the_rate_is_all_it_needs_slow_start_ends_at_its_window() {
    let asks = |stabilize| Conn {
        asked_rate_bytes_per_s: 1_250_000, // 166 packets in 200 ms
        app_queued_bytes: 10_000_000,
        stabilize,
        ..fresh()
    };
    for (startup, tunables) in [
        ("mega-start", &[][..]),
        ("jump-start", &[]),
        (
            "initial-start",
            &[("is_paced", 1), ("is_window_pkts", 50)][..],
        ),
    ] {
        for (stabilize, ssthresh) in [(1, 166), (0, SSTHRESH_INFINITE)] {
            let mut conn = asks(stabilize);
            start(startup, tunables, &mut conn);
            assert!(conn.cwnd_pkts > 10, "{startup}");
            assert_eq!(conn.ssthresh_pkts, ssthresh, "{startup}");
        }
    }
    // if the grant is smaller than requested, the window grows up to what the application needs
    for granted in [640_000, 1_250_000] {
        let mut conn = asks(1);
        conn.grant = headway_algorithms::Grant::Approved as u8;
        conn.granted_rate_bytes_per_s = granted;
        start("quick-start", &[], &mut conn);
        assert_eq!(conn.cwnd_pkts, (granted / 7500) as u32);
        assert_eq!(conn.ssthresh_pkts, 166);
    }
}

#[test]
fn low_priority_starts_normally_with_any_startup() {
    for (startup, tunables) in [
        ("mega-start", &[][..]),
        ("jump-start", &[]),
        ("initial-start", &[("is_window_pkts", 50)]),
        ("initial-start", &[("is_window_pkts", 50), ("is_paced", 1)]),
        ("quick-start", &[]),
        ("careful-resume", &[]),
    ] {
        let mut conn = Conn {
            no_fast_start: 1,
            asked_rate_bytes_per_s: 5_000_000,
            saved_cwnd_pkts: 400,
            saved_rtt_us: RTT_US,
            ..fresh()
        };
        let mut cc = start(startup, tunables, &mut conn);
        conn.sent_pkts = 10;
        conn.snd_nxt += 10 * 1448;
        for _ in 0..10 {
            conn.snd_una += 1448;
            let ack = headway_algorithms::Ack {
                acked_pkts: 1,
                rtt_us: RTT_US as i32,
            };
            cc.ack(&mut conn, &ack, 1);
        }
        assert_eq!(conn.cwnd_pkts, 20, "{startup} {tunables:?}");
        assert_eq!(
            (conn.request_code, conn.pacing_rate_bytes_per_s),
            (0, 0),
            "{startup}"
        );
    }
}
