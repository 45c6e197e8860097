//! Approval of Quick-Start requests by a router, compared with numbers computed by hand. Unless a
//! test says otherwise, the link has 10 Mbit/s, slots are 200 ms, and two slots are remembered.

use crate::common::Router;
use headway_algorithms::quick_start::{rate_bytes_per_s, REPORT};
use headway_algorithms::QsOption;

#[test]
fn the_target_algorithm_gives_away_all_that_is_unused_and_no_more() {
    let mut router = Router::new(&[]);
    // 5.12 + 2.56 + 1.28 + 0.64 + 0.32 + 0.08 = 10
    let codes: Vec<u32> = (1..=8).map(|flow| router.ask(flow, 7)).collect();
    assert_eq!(codes, [7, 6, 5, 4, 3, 1, 0, 0]);
    let status = router.status();
    assert_eq!(status.outstanding_bytes_per_s, 1_250_000);
    assert_eq!(status.granted_bytes_per_s, 1_250_000);
    assert_eq!((status.requests, status.grants), (8, 6));
    assert_eq!((status.lowered, status.denials), (5, 2));
}

#[test]
fn after_a_large_grant_others_are_denied_for_the_time_the_ring_remembers() {
    let mut router = Router::new(&[("capacity_kbps", 1_310_720)]);
    router.at(150);
    assert_eq!(router.ask(1, 15), 15);
    router.at(399);
    assert_eq!(router.ask(2, 1), 0);
    router.at(400); // at 400 ms the third slot begins
    assert_eq!(router.ask(3, 15), 15);
    let mut router = Router::new(&[("slots", 4), ("capacity_kbps", 1_310_720)]);
    assert_eq!(router.ask(1, 15), 15);
    router.at(799);
    assert_eq!(router.ask(2, 1), 0);
    router.at(800);
    assert_eq!(router.ask(2, 15), 15);
}

#[test]
fn the_threshold_is_a_part_of_the_capacity_and_the_capacity_may_be_told() {
    assert_eq!(Router::new(&[("threshold_permille", 500)]).ask(1, 7), 6);
    assert_eq!(Router::new(&[("threshold_permille", 512)]).ask(1, 15), 7);
    assert_eq!(Router::new(&[("threshold_permille", 0)]).ask(1, 15), 0);
    assert_eq!(Router::new(&[("capacity_kbps", 1000)]).ask(1, 7), 4);
    assert_eq!(Router::new(&[("capacity_kbps", 100_000)]).ask(1, 15), 11);
}

#[test]
fn the_peak_is_remembered_for_five_slots() {
    let mut router = Router::new(&[]);
    router.at(100).offer_bps(6_000_000); // 6 Mbit/s of data in the slot from 0 to 200 ms
    assert_eq!(router.ask(1, 7), 7, "a slot that is not over says nothing");
    router.at(600);
    assert_eq!(router.usage_bps(), 6_000_000);
    assert_eq!(router.ask(2, 7), 6);
    router.at(1199);
    assert_eq!(router.usage_bps(), 6_000_000);
    router.at(1200);
    assert_eq!(router.usage_bps(), 0);
    router.offer_bps(2_000_000);
    router.at(1400).offer_bps(3_000_000);
    router.at(1600).offer_bps(1_000_000);
    router.at(1800);
    assert_eq!(router.usage_bps(), 3_000_000);
}

#[test]
fn the_average_follows_equation_4_14() {
    let mut router = Router::new(&[("estimator", 1)]);
    router.offer_bps(8_000_000);
    router.at(200);
    assert_eq!(router.usage_bps(), 1_000_000);
    router.offer_bps(8_000_000);
    router.at(400);
    assert_eq!(router.usage_bps(), 1_875_000);
    // after four slots without a packet the measured rate is (7/8)^4 of the previous one
    router.at(1200);
    let expected = 1_875_000.0 * 0.875_f64.powi(4);
    assert!((router.usage_bps() as f64 - expected).abs() < 64.0);
    router.at(10_000_000);
    assert_eq!(router.usage_bps(), 0);
}

#[test]
fn the_last_sample_forgets_at_once() {
    let mut router = Router::new(&[("estimator", 0)]);
    router.offer_bps(8_000_000);
    router.at(399);
    assert_eq!(router.usage_bps(), 8_000_000);
    router.at(400);
    assert_eq!(router.usage_bps(), 0);
}

#[test]
fn the_offered_load_may_exceed_the_link() {
    let mut router = Router::new(&[]);
    router.offer_bps(25_000_000);
    router.at(200);
    assert_eq!(router.usage_bps(), 25_000_000);
    assert_eq!(router.ask(1, 1), 0);
}

#[test]
fn the_optimistic_algorithm_asks_only_for_the_load() {
    let mut router = Router::new(&[("algorithm", 2)]);
    router.offer_bps(4_000_000);
    router.at(200);
    let codes: Vec<u32> = (1..=20).map(|flow| router.ask(flow, 9)).collect();
    // 5.12 Mbit/s for each request: this algorithm does not subtract earlier grants from the free 6
    // Mbit/s
    assert_eq!(codes, [7; 20]);
    assert_eq!(
        router.status().outstanding_bytes_per_s,
        20 * rate_bytes_per_s(7)
    );
}

#[test]
fn the_share_algorithm_gives_half_of_what_is_left() {
    let mut router = Router::new(&[("algorithm", 1)]);
    // each request gets at most half of what is free: of 10, 7.44, 4.88, 3.6 and 2.32 Mbit/s
    let codes: Vec<u32> = (1..=5).map(|flow| router.ask(flow, 7)).collect();
    assert_eq!(codes, [6, 6, 5, 5, 4]);
}

#[test]
fn the_fair_algorithm_opens_a_slots_part_linearly() {
    let mut router = Router::new(&[("algorithm", 3)]);
    assert_eq!(
        router.ask(1, 7),
        3,
        "nothing granted before, and no more than what is open: 0.625 Mbit/s"
    );
    router.at(100);
    assert_eq!(router.ask(2, 7), 5, "2.8125 - 0.32 Mbit/s");
    router.at(200);
    assert_eq!(
        router.ask(3, 7),
        3,
        "an eighth of 5 Mbit/s at the slot's start"
    );
    router.at(300);
    assert_eq!(router.ask(4, 7), 5, "2.8125 - 0.32 Mbit/s");
    router.at(400);
    // the grants of the first slot are forgotten: what may be granted is 10 - 0.32 - 1.28 Mbit/s,
    // of which 0.625 may be granted now
    assert_eq!(router.ask(5, 7), 3);
    router.at(599);
    assert_eq!(router.ask(6, 7), 6, "4.978 - 0.32 Mbit/s");
}

#[test]
fn a_clock_that_lags_behind_opens_no_more_than_a_slots_start() {
    for lag_us in 1..1000 {
        let mut router = Router::new(&[("algorithm", 3), ("fair_permille", 100)]);
        router.at(200).ask(1, 1);
        router.at_ns(200_000_000 - lag_us * 1000); // another processor's
        assert_eq!(router.ask(2, 7), 3, "0.5 - 0.08 Mbit/s, {lag_us} us behind");
    }
}

#[test]
fn in_a_slot_the_fair_algorithm_grants_at_most_its_part() {
    for slots in [2, 3, 5] {
        let mut router = Router::new(&[("algorithm", 3), ("slots", slots)]);
        for slot in 0..20 {
            let before = router.status().granted_bytes_per_s;
            for ms in 0..200 {
                router.at(slot * 200 + ms).ask(ms, 1 + (ms as u32 * 7) % 9);
            }
            let granted = router.status().granted_bytes_per_s - before;
            assert!(granted * u64::from(slots) <= 1_250_000, "slot {slot}");
            assert!(
                granted * u64::from(slots) > 1_000_000,
                "slot {slot}: {granted}"
            );
        }
    }
}

#[test]
fn the_ring_can_be_as_long_as_equation_4_16_asks() {
    // slots of 200 ms: for a delay of 300 ms ceil(1.5 + 2) = 4 of them, for 200 ms and for 1 ms 3
    for (delay_ms, slots) in [(300, 4), (200, 3), (1, 3), (0, 2), (1000, 7)] {
        let mut router = Router::new(&[("slots", 0), ("max_delay_ms", delay_ms)]);
        router.ask(1, 7);
        router.at(slots * 200 - 1);
        assert_eq!(
            router.status().outstanding_bytes_per_s,
            640_000,
            "{delay_ms} ms"
        );
        router.at(slots * 200);
        assert_eq!(router.status().outstanding_bytes_per_s, 0, "{delay_ms} ms");
    }
}

#[test]
fn the_slot_adapts_to_the_time_from_request_to_report() {
    let report = |nonce| QsOption {
        nonce,
        function: REPORT,
        code: 7,
        ..QsOption::default()
    };
    let mut router = Router::new(&[("interval_ms", 0)]);
    assert_eq!(router.status().interval_ns, 200_000_000, "before the first");
    router.ask(1, 7);
    router.at(100).ask(2, 1); // the router times only one sender's report at a time
    router.at(300).send(2, &mut report(0));
    router.at(350).send(1, &mut report(0));
    router.at(399);
    assert_eq!(
        router.status().interval_ns,
        200_000_000,
        "a slot keeps its length"
    );
    router.at(400);
    assert_eq!(router.status().interval_ns, 350_000_000);
    router.ask(3, 1);
    router.at(430).send(3, &mut report(0)); // 30 ms
    router.at(5000);
    assert_eq!(router.status().interval_ns, 310_000_000, "7/8 350 + 1/8 30");
    // if a sender never reports, the router times another sender's report after three seconds
    router.ask(4, 1);
    router.at(6000).ask(5, 1);
    router.at(6100).send(5, &mut report(0));
    router.at(8001).ask(6, 1);
    router.at(8032).send(6, &mut report(0));
    router.at(9000);
    assert_eq!(router.status().interval_ns, 275_125_000, "7/8 310 + 1/8 31");
}

#[test]
fn requests_beyond_the_limit_per_second_pass_untouched() {
    let mut router = Router::new(&[("max_requests", 3)]);
    for flow in 0..3 {
        assert_eq!(router.ask(flow, 1), 1);
    }
    let mut request = Router::request(1);
    let before = request;
    router.at(900).send(4, &mut request);
    assert_eq!(request, before, "its TTL tells the sender");
    let status = router.status();
    assert_eq!((status.requests, status.denials, status.limited), (4, 1, 1));
    router.at(1000);
    assert_eq!(router.ask(5, 1), 1);
}

#[test]
fn a_large_request_can_be_denied_instead_of_lowered() {
    let mut router = Router::new(&[("whole", 1)]);
    assert_eq!(router.ask(1, 8), 0);
    assert_eq!(router.ask(1, 7), 7);
    let mut router = Router::new(&[("max_code", 5)]);
    assert_eq!(router.ask(1, 9), 5);
    assert_eq!(router.ask(2, 4), 4);
}

#[test]
fn a_report_below_the_grant_gives_the_difference_back() {
    let mut router = Router::new(&[("track", 1)]);
    let mut request = Router::request(7);
    router.send(1, &mut request);
    assert_eq!(request.code, 7);
    let mut report = |flow, code, nonce| {
        let mut option = QsOption {
            nonce,
            function: REPORT,
            code,
            ..QsOption::default()
        };
        let before = option;
        router.send(flow, &mut option);
        assert_eq!(option, before, "a report is not changed");
        (
            router.status().outstanding_bytes_per_s,
            router.status().cheats,
        )
    };
    assert_eq!(report(2, 0, request.nonce), (640_000, 0), "another's");
    assert_eq!(
        report(1, 5, request.nonce ^ 1),
        (640_000, 0),
        "another nonce"
    );
    // a later router lowered the code and drew new nonce bits for the higher steps
    assert_eq!(report(1, 5, request.nonce ^ 1 << 13), (160_000, 0));
    assert_eq!(report(1, 7, request.nonce), (160_000, 1), "above the grant");
    assert_eq!(report(1, 0, 0), (0, 1), "nothing to compare");
    assert_eq!(
        report(1, 1, request.nonce),
        (0, 2),
        "denied, but reports a rate"
    );
    assert_eq!(router.status().corrections, 2);
}

#[test]
fn a_correction_after_the_ring_has_expired_takes_nothing_from_others() {
    let mut router = Router::new(&[("track", 1)]);
    let mut request = Router::request(7);
    router.send(1, &mut request);
    router.at(400).ask(2, 6);
    let mut report = QsOption {
        function: REPORT,
        ..QsOption::default()
    };
    router.send(1, &mut report);
    assert_eq!(router.status().outstanding_bytes_per_s, rate_bytes_per_s(6));
}

#[test]
fn extreme_forgets_a_grant_with_the_slot_in_which_its_data_was_seen() {
    let mut router = Router::new(&[("algorithm", 4), ("slots", 8), ("estimator", 0)]);
    assert_eq!(router.ask(1, 7), 7);
    router.at(200).data(1, 128_000); // the sender uses its grant in full: 5.12 Mbit/s for 200 ms
    assert_eq!(router.status().outstanding_bytes_per_s, 640_000);
    router.at(400);
    assert_eq!(router.usage_bps(), 5_120_000);
    assert_eq!(router.status().outstanding_bytes_per_s, 0);
    // data of another flow does not release the first flow's grant
    let mut router = Router::new(&[("algorithm", 4), ("slots", 8)]);
    assert_eq!(router.ask(1, 7), 7);
    router.at(200).data(2, 128_000);
    router.at(400);
    assert_eq!(router.status().outstanding_bytes_per_s, 640_000);
}

#[test]
fn extreme_gives_less_to_a_sender_that_does_not_use_what_it_asked_for() {
    let mut router = Router::new(&[("algorithm", 4)]);
    let mut granted = Vec::new();
    for round in 0..8 {
        router.at(round * 1000);
        granted.push(router.ask(1, 7));
        assert_eq!(router.ask(2, 4), 4);
        router.data(2, 20_000); // the flow sends the bytes of 640 kbit/s in 200 ms, and more
    }
    // each unused grant lowers the score to three quarters, down to an eighth
    assert_eq!(granted, [7, 6, 6, 5, 5, 4, 4, 4]);
    router.at(8000);
    assert_eq!(router.ask(1, 4), 1);
    router.data(1, 20_000);
    for round in 9..14 {
        router.at(round * 1000).ask(1, 4);
        router.data(1, 20_000);
    }
    assert!(router.at(15_000).ask(1, 4) >= 3, "the way back");
}

#[test]
fn a_wrong_tunable_is_one_line() {
    let error = Router::refused(&[("algorithm", 5)]);
    assert_eq!(
        error,
        "tunable algorithm = 5: must be target, share, optimistic, fair, extreme"
    );
    assert_eq!(
        Router::refused(&[("slot", 2)]),
        "quick-start has no tunable \"slot\"; did you mean slots?"
    );
}
