//! Quick-Start's arithmetic against RFC 4782: rates, nonce, TTL, bytes, and how the sender judges
//! honest and lying receivers.

use headway_algorithms::quick_start::{
    code_down, code_up, rate_bytes_per_s, redraw, window_pkts, QsFailure, QsState, IPV4_OPTION,
    REPORT, TCP_OPTION,
};
use headway_algorithms::{QsHost, QsOption};
use proptest::prelude::*;

const NONCE: u32 = 0x2aaa_aaaa;

/// A request of a host for a rate code, with QS TTL 0x5a and the nonce above.
fn request(host: &mut QsHost, code: u32) -> QsOption {
    let random = 0x5a << 32 | u64::from(NONCE);
    host.request(code, 64, random).expect("a first request")
}

/// The receiver's response to a request that has passed routers which grant these codes.
fn answer(mut request: QsOption, routers: &[u32], random: u32) -> Option<QsOption> {
    for &granted in routers {
        request.forward(granted, 1, random);
    }
    request.respond(64 - routers.len() as u8, 15)
}

#[test]
fn the_codes_are_the_rfcs_rates() {
    let kbps = [
        0, 80, 160, 320, 640, 1280, 2560, 5120, 10_240, 20_480, 40_960, 81_920, 163_840, 327_680,
        655_360, 1_310_720,
    ];
    for (code, kbps) in (0..).zip(kbps) {
        let rate = rate_bytes_per_s(code);
        assert_eq!(rate * 8, kbps * 1000, "code {code}");
        assert_eq!(code_down(rate), code);
        assert_eq!(code_up(rate), code);
        if code > 0 {
            assert_eq!(code_down(rate - 1), code - 1, "below code {code}");
            assert_eq!(code_up(rate - 1), code);
            assert_eq!(code_down(rate + 1), code);
            assert_eq!(code_up(rate + 1), (code + 1).min(15));
        }
    }
    assert_eq!((code_down(u64::MAX), code_up(u64::MAX)), (15, 15));
    // a router grants nothing below 80 kbit/s; a sender then requests 80 kbit/s
    assert_eq!(code_up(1), 1);
    assert_eq!(rate_bytes_per_s(99), rate_bytes_per_s(15));
}

#[test]
fn the_largest_code_below_10_mbps_is_5_12_mbps() {
    assert_eq!(rate_bytes_per_s(code_down(10_000_000 / 8)) * 8, 5_120_000);
}

#[test]
fn the_window_is_rate_times_rtt_over_packet_size() {
    // the window is 640 000 B/s * 0.2 s / 1500 B
    assert_eq!(window_pkts(rate_bytes_per_s(7), 200_000, 1460, 40), 85);
    assert_eq!(window_pkts(rate_bytes_per_s(15), u32::MAX, 1, 0), u32::MAX);
    assert_eq!(window_pkts(0, 200_000, 1460, 40), 0);
}

#[test]
fn request_report_and_response_have_the_rfcs_bytes() {
    let mut host = QsHost::default();
    let asked = request(&mut host, 7);
    assert_eq!(
        asked.emit(IPV4_OPTION),
        [0x19, 8, 0x07, 0x5a, 0xaa, 0xaa, 0xaa, 0xa8]
    );
    let response = asked.respond(64, 5).expect("a response");
    assert_eq!(
        response.emit(TCP_OPTION),
        [0x1b, 8, 0x05, 0xe6, 0xaa, 0xaa, 0xaa, 0xa8]
    );
    assert_eq!(host.judge(Some(&response)), 5);
    let report = host.report(5).expect("a report is due");
    assert_eq!(
        report.emit(IPV4_OPTION),
        [0x19, 8, 0x85, 0, 0xaa, 0xaa, 0xaa, 0xa8]
    );
    assert_eq!(host.report(5), None, "one report per request");
}

#[test]
fn other_options_are_not_parsed() {
    let bytes = [0x19, 8, 0x07, 0x5a, 0xaa, 0xaa, 0xaa, 0xab]; // reserved bits set
    let option = QsOption::parse_ipv4(&bytes).expect("a request");
    assert_eq!((option.code, option.ttl, option.nonce), (7, 0x5a, NONCE));
    assert_eq!(QsOption::parse_tcp(&bytes), None);
    for (at, byte) in [(0, 0x99), (1, 7), (1, 9), (2, 0x17), (2, 0xf7)] {
        let mut wrong = bytes;
        wrong[at] = byte;
        assert_eq!(QsOption::parse_ipv4(&wrong), None, "byte {at} {byte:#x}");
    }
    let tcp = [0x1b, 8, 0xf5, 0xe6, 0, 0, 0, 4]; // one bit of the reserved half byte is set
    let option = QsOption::parse_tcp(&tcp).expect("a response");
    assert_eq!((option.function, option.code, option.nonce), (0, 5, 1));
}

#[test]
fn lowering_redraws_exactly_the_lost_steps() {
    // from code 7 to 5, steps 7 and 6 are redrawn, which are bits 13 to 10 of the nonce
    assert_eq!(redraw(NONCE, 7, 5, u32::MAX), NONCE | 0x3c00);
    assert_eq!(redraw(NONCE, 7, 5, 0), NONCE & !0x3c00);
    for from in 0..=15 {
        for to in 0..=from {
            let changed = redraw(0, from, to, u32::MAX);
            let steps: u32 = (to + 1..=from).map(|k| 3 << (2 * (k - 1))).sum();
            assert_eq!(changed, steps, "{from} to {to}");
        }
    }
}

#[test]
fn the_ttl_difference_finds_routers_that_do_not_take_part() {
    // QS TTL 10 and three routers; a router that does not know the option reduces only the IP TTL
    for (qs_ttl, deaf, ok) in [(10, 0, true), (10, 1, false), (1, 0, true), (1, 2, false)] {
        let mut host = QsHost::default();
        let mut asked = host.request(7, 64, qs_ttl << 32).expect("a first request");
        for _ in 0..3 {
            asked.forward(15, 1, 0);
        }
        let response = asked.respond(64 - 3 - deaf, 15).expect("a response");
        assert_eq!(host.judge(Some(&response)), if ok { 7 } else { 0 });
        assert_eq!(host.failure(), (!ok).then_some(QsFailure::TtlDiffers));
        assert_eq!(host.disabled, 0);
    }
}

#[test]
fn a_router_that_denies_leaves_nothing_to_answer() {
    let mut asked = request(&mut QsHost::default(), 7);
    assert_eq!(asked.forward(0, 1, 0xffff_ffff), 0);
    assert_eq!(asked, QsOption::default());
    assert_eq!(asked.respond(63, 15), None);
    assert_eq!(asked.forward(15, 1, 0xffff_ffff), 0, "nor is it revived");
    assert_eq!(asked, QsOption::default());
}

#[test]
fn every_failure_is_counted_and_reported_as_rate_0() {
    type Lie = fn(QsOption) -> Option<QsOption>;
    let cases: [(Lie, QsFailure, u8); 5] = [
        (|_| None, QsFailure::Unanswered, 0),
        (|r| Some(QsOption { code: 0, ..r }), QsFailure::Refused, 0),
        (|r| Some(QsOption { code: 9, ..r }), QsFailure::Inflated, 1),
        (
            |r| {
                Some(QsOption {
                    nonce: r.nonce ^ 1,
                    ..r
                })
            },
            QsFailure::NonceForged,
            1,
        ),
        (
            |r| Some(QsOption { ttl: 0xe5, ..r }),
            QsFailure::TtlDiffers,
            0,
        ),
    ];
    for (lie, failure, disabled) in cases {
        let mut host = QsHost::default();
        let honest = answer(request(&mut host, 8), &[], 0).expect("a response");
        assert_eq!(host.judge(lie(honest).as_ref()), 0);
        assert_eq!(host.state(), QsState::Denied);
        assert_eq!(host.failure(), Some(failure));
        assert_eq!(host.failures[failure as usize], 1);
        assert_eq!(host.disabled, disabled, "{failure:?}");
        assert_eq!(host.judge(Some(&honest)), 0, "the first answer counts");
        let report = host.report(8).expect("a report is due");
        assert_eq!((report.function, report.code), (REPORT, 0));
        assert_eq!(report.nonce, NONCE);
        assert_eq!(host.request(8, 64, 1).is_none(), disabled == 1);
    }
}

#[test]
fn one_request_at_a_time() {
    let mut host = QsHost::default();
    assert_eq!(host.request(0, 64, 7), None);
    assert_eq!(host.request(16, 64, 7), None);
    let _ = request(&mut host, 7);
    assert_eq!(host.request(7, 64, 7), None);
    assert_eq!(host.report(7), None, "its fate is not known");
    host.fail(QsFailure::Lost);
    assert_eq!(host.failures[QsFailure::Lost as usize], 1);
    assert!(host.request(7, 64, 7).is_some());
    assert_eq!(host.requests, 2);
}

/// A receiver that claims `steps` more than was approved has to guess two bits per step: it is
/// caught except with probability 4^-steps (RFC 4782 section 3.4).
#[test]
fn a_receiver_that_inflates_the_rate_is_caught_at_the_rfcs_rate() {
    const TRIALS: u32 = 40_000;
    let mut random = 0x9e37_79b9_7f4a_7c15_u64;
    let mut draw = || {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        random
    };
    for steps in 1..=4 {
        let mut accepted = 0;
        for _ in 0..TRIALS {
            let mut host = QsHost::default();
            let mut asked = host.request(10, 64, draw()).expect("a first request");
            asked.forward(5, 1, (draw() >> 16) as u32);
            let mut response = asked.respond(63, 15).expect("a response");
            response.code += steps;
            accepted += u32::from(host.judge(Some(&response)) > 0);
            assert_eq!(host.disabled == 0, host.grants == 1);
        }
        let p = 0.25_f64.powi(i32::from(steps));
        let sigma = (p * (1.0 - p) * f64::from(TRIALS)).sqrt();
        let error = f64::from(accepted) - p * f64::from(TRIALS);
        assert!(error.abs() < 4.5 * sigma, "{steps} steps: {accepted}");
        assert!(accepted > 0);
    }
}

proptest! {
    #[test]
    fn an_honest_path_is_believed(
        code in 1..=15u32, random in any::<u64>(), ip_ttl in 20..=255u8,
        routers in prop::collection::vec((1..=15u32, any::<u32>()), 0..20),
        willing in 1..=15u32,
    ) {
        let mut host = QsHost::default();
        let mut asked = host.request(code, ip_ttl, random).expect("a first request");
        for &(granted, random) in &routers {
            let before = asked.code;
            let after = asked.forward(granted, 1, random);
            prop_assert!(after <= u32::from(before), "raised");
            prop_assert_eq!(u32::from(asked.code), after);
        }
        let lowest = routers.iter().map(|r| r.0).min().unwrap_or(15).min(code);
        let response = asked.respond(ip_ttl - routers.len() as u8, willing).expect("a response");
        prop_assert_eq!(host.judge(Some(&response)), lowest.min(willing));
        prop_assert_eq!(host.lowered == 1, lowest.min(willing) < code);
        let report = host.report(15).expect("a report is due");
        prop_assert_eq!(u32::from(report.code), lowest.min(willing));
    }

    #[test]
    fn a_header_survives_its_bytes(
        nonce in 0..1u32 << 30, report in any::<bool>(), code in 0..=15u8, ttl in any::<u8>()
    ) {
        let function = if report { REPORT } else { 0 };
        let option = QsOption { nonce, function, code, ttl, spare: 0 };
        prop_assert_eq!(QsOption::parse_ipv4(&option.emit(IPV4_OPTION)), Some(option));
        let response = QsOption { function: 0, ..option };
        prop_assert_eq!(QsOption::parse_tcp(&response.emit(TCP_OPTION)), Some(response));
    }

    #[test]
    fn a_code_is_the_nearest_rate_on_its_side(rate in 0..200_000_000u64) {
        let (down, up) = (code_down(rate), code_up(rate));
        prop_assert!(rate_bytes_per_s(down) <= rate);
        prop_assert!(down == 15 || rate_bytes_per_s(down + 1) > rate);
        prop_assert!(up == 15 || rate_bytes_per_s(up) >= rate);
        prop_assert!(up == 0 || rate_bytes_per_s(up - 1) < rate);
    }
}
