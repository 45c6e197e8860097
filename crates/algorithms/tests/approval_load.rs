//! Approval of Quick-Start requests by routers under any load: invariants, and the thesis' results
//! with a generator of requests (section 6.3.3.3).

use crate::common::{tunables_at, Router, Status};
use headway_algorithms::quick_start::{rate_bytes_per_s, REPORT};
use headway_algorithms::{router, LinkView, PacketView, QsOption, RouterInstance, Verdict};
use proptest::prelude::*;

#[derive(Clone, Debug)]
enum Step {
    Wait(u64),
    Data(u32, u32),
    Ask(u32, u32),
    Report(u32, u32, u32),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        3 => (0..90u64).prop_map(Step::Wait),
        1 => (200..5000u64).prop_map(Step::Wait),
        4 => (0..80u32, 40..60_000u32).prop_map(|(f, b)| Step::Data(f, b)),
        6 => (0..80u32, 0..=15u32).prop_map(|(f, c)| Step::Ask(f, c)),
        2 => (0..80u32, 0..=15u32, any::<u32>()).prop_map(|(f, c, n)| Step::Report(f, c, n)),
    ]
}

fn report(code: u32, nonce: u32) -> QsOption {
    QsOption {
        nonce: nonce & 0x3fff_ffff,
        function: REPORT,
        code: code as u8,
        ..QsOption::default()
    }
}

proptest! {
    /// The algorithms that subtract remembered grants: each grant fits into the unused capacity
    /// minus these grants, and the sum of the grants of Omega slots fits into the capacity that the
    /// link may grant.
    #[test]
    fn a_pool_is_never_overdrawn(
        steps in prop::collection::vec(step(), 1..300),
        algorithm in prop_oneof![Just(0u32), Just(1), Just(3), Just(4)],
        estimator in 0..3u32, slots in 1..=16u32, permille in 0..=1000u32, track in 0..2u32,
    ) {
        let mut router = Router::new(&[
            ("algorithm", algorithm), ("estimator", estimator), ("slots", slots),
            ("threshold_permille", permille), ("track", track),
        ]);
        let given = 1_250_000 * u64::from(permille) / 1000;
        let mut now_ms = 0;
        // slot, granted rate and load at each grant
        let mut grants: Vec<(u64, u64, u64)> = Vec::new();
        let mut reported = false;
        for step in steps {
            match step {
                Step::Wait(ms) => { now_ms += ms; router.at(now_ms); }
                Step::Data(flow, bytes) => { router.data(flow, bytes); }
                Step::Report(flow, code, nonce) => {
                    reported = true;
                    router.send(flow, &mut report(code, nonce));
                }
                Step::Ask(flow, code) => {
                    let Status { usage_bytes_per_s: usage, outstanding_bytes_per_s: before, .. } =
                        router.status();
                    let rate = rate_bytes_per_s(router.ask(flow, code));
                    prop_assert!(rate == 0 || usage + before + rate <= given);
                    if rate > 0 {
                        grants.push((now_ms / 200, rate, usage));
                    }
                }
            }
            let expected: u64 = grants.iter()
                .filter(|g| g.0 + u64::from(slots) > now_ms / 200)
                .map(|g| g.1).sum();
            let outstanding = router.status().outstanding_bytes_per_s;
            if algorithm == 4 || (track == 1 && reported) {
                prop_assert!(outstanding <= expected); // some was returned
                continue;
            }
            prop_assert_eq!(outstanding, expected);
            if algorithm == 3 {
                // the fair algorithm limits the grants of each slot to the slot's part of the
                // capacity, whichever flow requests first
                let own = grants.iter().filter(|g| g.0 == now_ms / 200);
                let (sum, load) = own.fold((0, 0), |(sum, _), g| (sum + g.1, g.2));
                prop_assert!(sum == 0 || sum * u64::from(slots) <= given - load);
            }
            let least = grants.iter().map(|g| g.2).min().unwrap_or(0);
            prop_assert!(grants.is_empty() || expected <= given - least);
        }
    }

    #[test]
    fn any_request_is_answered(
        steps in prop::collection::vec(
            (any::<u64>(), 0..1u64 << 48, any::<u64>(), any::<[u8; 8]>(), any::<u32>(), 0..4u8),
            1..80,
        ),
        extremes in any::<u64>(),
    ) {
        let info = router("quick-start").expect("there");
        let tunables = tunables_at(&info.tunables, extremes);
        let mut link = LinkView::default();
        let mut router = RouterInstance::new(info.name, &tunables, &mut link).expect("in range");
        for (jump_ns, rate, flow, bytes, ip_bytes, kind) in steps {
            link.now_ns = match kind {
                // the time is earlier than before, as on another processor's clock
                0 => link.now_ns.saturating_sub(jump_ns >> 40),
                1 => link.now_ns.saturating_add(jump_ns >> 34),
                _ => link.now_ns.saturating_add(jump_ns >> 20),
            };
            link.rate_bytes_per_s = rate;
            link.random = ip_bytes;
            let packet = PacketView { flow, ip_bytes, ecn: 0 , local: 0, ip_id: 0, pkts: 1, opens: 0 };
            let option = [&[25, 8], &bytes[2..]].concat().try_into().expect("8 bytes");
            if let Some(mut option) = QsOption::parse_ipv4(&option) {
                let before = option;
                let mut fields = option.into();
                prop_assert_eq!(router.arrive(&mut link, &packet, Some(&mut fields)), Verdict::Pass);
                option = fields.into();
                prop_assert!(option.code <= before.code);
                prop_assert!(option.nonce <= 0x3fff_ffff);
                prop_assert_eq!(option.function, before.function);
                if option.function == REPORT {
                    prop_assert_eq!(option, before);
                }
            } else {
                router.arrive(&mut link, &packet, None);
            }
        }
        let get = |name| router.counter(name).expect("a declared counter");
        prop_assert_eq!(get("requests"), get("grants") + get("denials"));
    }
}

/// What a router did with the requests that a generator sent.
struct Load {
    granted_bps: f64,
    jain_index: f64,
    optimum: f64,
    approved: f64,
}

/// A minute of requests for 2.56, 5.12 and 10.24 Mbit/s with exponential gaps, on a link of 100
/// Mbit/s without data. The thesis does not say which rates its generator mixed.
fn load(tunables: &[(&str, u32)], mean_gap_ms: f64) -> Load {
    let mut all = tunables.to_vec();
    all.push(("capacity_kbps", 100_000));
    let mut router = Router::new(&all);
    let mut random = 0x9e37_79b9_7f4a_7c15_u64;
    let mut draw = || {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        random
    };
    let (mut now_ms, mut flow) = (0.0, 0u32);
    let (mut asked, mut granted) = (Vec::new(), Vec::new());
    while now_ms < 60_000.0 {
        let uniform = ((draw() >> 11) + 1) as f64 / (1u64 << 53) as f64;
        now_ms -= mean_gap_ms * uniform.ln();
        let code = 6 + (draw() >> 32) as u32 % 3;
        flow += 1;
        let got = router.at_ns((now_ms * 1e6) as u64).ask(flow, code);
        asked.push(rate_bytes_per_s(code) as f64 * 8.0);
        granted.push(rate_bytes_per_s(got) as f64 * 8.0);
    }
    let jain = |x: &[f64]| {
        let (sum, squares) = (x.iter().sum::<f64>(), x.iter().map(|x| x * x).sum::<f64>());
        sum * sum / (x.len() as f64 * squares)
    };
    let approved = granted.iter().filter(|&&g| g > 0.0).count();
    Load {
        granted_bps: granted.iter().sum::<f64>() / 60.0,
        jain_index: jain(&granted),
        optimum: jain(&asked),
        approved: approved as f64 / granted.len() as f64,
    }
}

/// Equation 6.1: the target algorithm grants at most theta c / (Delta Omega) per second, however
/// much more is requested.
#[test]
fn the_target_algorithm_grants_at_most_equation_6_1_per_second() {
    let mut before = f64::INFINITY;
    for interval_ms in [100, 200, 500, 1000] {
        for slots in [2, 4] {
            let target = load(&[("interval_ms", interval_ms), ("slots", slots)], 0.5);
            let limit = 100e6 / (f64::from(interval_ms * slots) / 1000.0);
            let part = target.granted_bps / limit;
            assert!(
                (0.97..=1.02).contains(&part),
                "{interval_ms} ms, {slots}: {part}"
            );
        }
        let now = load(&[("interval_ms", interval_ms)], 10.0).granted_bps;
        assert!(now < before, "a longer slot grants less");
        before = now;
    }
}

/// Figures 6.30 and 6.31: where resources are scarce, the target algorithm is unfair. The
/// optimistic algorithm is as fair as the requests are. The fair algorithm is nearly as fair, but
/// grants less than the target algorithm.
#[test]
fn fairness_is_bought_with_efficiency_or_with_overbooking() {
    for interval_ms in [500, 1000] {
        let run = |algorithm| {
            load(
                &[("algorithm", algorithm), ("interval_ms", interval_ms)],
                10.0,
            )
        };
        let (target, optimistic, fair) = (run(0), run(2), run(3));
        assert!((optimistic.jain_index - optimistic.optimum).abs() < 1e-12);
        assert!((optimistic.approved - 1.0).abs() < 1e-12);
        assert!(optimistic.optimum < 1.0, "the requests differ");
        println!(
            "{interval_ms} ms: Jain {:.3} target, {:.3} fair, {:.3} optimistic; {:.1}, {:.1} Mbit/s",
            target.jain_index, fair.jain_index, optimistic.jain_index,
            target.granted_bps / 1e6, fair.granted_bps / 1e6,
        );
        assert!(fair.jain_index > 1.5 * target.jain_index);
        assert!(fair.jain_index < optimistic.jain_index);
        assert!(target.jain_index < 0.5 * optimistic.jain_index);
        assert!(fair.granted_bps < target.granted_bps);
    }
}

/// Section 6.4.3.3: the probability that a request is approved falls as the product of Omega and
/// Delta grows.
#[test]
fn the_chance_of_approval_falls_with_the_time_that_grants_are_remembered() {
    let chance = |interval_ms| load(&[("interval_ms", interval_ms), ("whole", 1)], 10.0).approved;
    let (short, long) = (chance(250), chance(1000));
    println!("approved: {short:.3} at 250 ms, {long:.3} at 1000 ms");
    assert!(short > 1.5 * long);
}

/// Section 4.5.2.2: if the load varies, the estimator `peak` grants less than the estimator
/// `average`.
#[test]
fn the_peak_grants_less_than_the_average() {
    let granted = |estimator| {
        let mut router = Router::new(&[("estimator", estimator)]);
        for slot in 0..300u64 {
            let busy = slot % 7 == 0 || slot % 11 < 3;
            router
                .at(slot * 200)
                .offer_bps(if busy { 8_000_000 } else { 500_000 });
            router.at(slot * 200 + 100).ask(slot, 6);
        }
        router.status().granted_bytes_per_s
    };
    assert!(granted(2) < granted(1));
}
