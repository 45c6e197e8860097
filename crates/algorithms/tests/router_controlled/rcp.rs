//! RCP: the router's rate follows its law, whether packets or a timer call the router, and a sender
//! paces at that rate.

use super::{rcp, Router, S};
use headway_algorithms::{Conn, ControlInstance, PacketView};

/// RCP's law, computed in f64.
struct Law {
    rate: f64,
    rtt_us: f64,
}

#[test]
fn rcps_rate_goes_as_its_law_in_f64() {
    for rate_bps in [1e6, 1e7, 1e9, 4e10] {
        for rtt_us in [1000u32, 50_000, 2_000_000] {
            let mut router = Router::new("rcp", rate_bps as u64, &[("gamma", 950)]);
            let (capacity, slot_ns) = (rate_bps / 8.0, |d: f64| (d * 1e3).min(1e7));
            let mut law = Law {
                rate: 0.05 * capacity,
                rtt_us: 200_000.0,
            };
            let mut now_ns = 0u64;
            let mut lasts_ns = 10_000_000u64;
            for k in 0..400u64 {
                // loads from 0.5 to 1.3 times the capacity, sometimes with a queue
                let load = 0.5 + (k * 7 % 9) as f64 / 10.0;
                let bytes = (load * capacity * lasts_ns as f64 / S) as u32;
                router.at(now_ns);
                router.queue(0);
                let queue_bytes = if k % 5 == 0 { bytes / 4 } else { 0 };
                router.at(now_ns + 1);
                let packet = PacketView {
                    flow: 1,
                    ip_bytes: bytes / 2,
                    pkts: 1,
                    ..PacketView::default()
                };
                // the traffic of a slot arrives in two parts, both of which end within the slot
                let mut fields = rcp(u64::MAX >> 1, 0, rtt_us);
                router
                    .router
                    .arrive(&mut router.link, &packet, Some(&mut fields));
                router
                    .router
                    .arrive(&mut router.link, &packet, Some(&mut fields));
                router.queue(queue_bytes);
                now_ns += lasts_ns;
                // packets that leave after the slot's end count partly in that slot; these packets
                // arrived when the slot began
                let y = f64::from(bytes / 2 * 2) / (lasts_ns as f64 / S);
                let (t, d) = (lasts_ns as f64 / 1e3, law.rtt_us);
                let sample = f64::from(rtt_us);
                let gain = if sample >= d {
                    t / d
                } else {
                    law.rate / capacity * (sample / d) * (t / d)
                };
                law.rtt_us += gain * (sample - d);
                let target = 0.95 * capacity;
                let spare =
                    0.4 * (target - y) - 0.226 * f64::from(queue_bytes) / (law.rtt_us / 1e6);
                law.rate *= 1.0 + t / law.rtt_us * spare / target;
                law.rate = law.rate.clamp(0.01 * 1000.0 / (law.rtt_us / 1e6), target);
                router.at(now_ns);
                lasts_ns = slot_ns(router.counter("rtt_us") as f64) as u64;
                let rate = router.counter("rate_bps") as f64 / 8.0;
                assert!(
                    (rate - law.rate).abs() <= 2.0 + 1e-4 * law.rate,
                    "slot {k} of {rate_bps} {rtt_us}: {rate}, by the law {}",
                    law.rate
                );
                // continue from the router's values, so that rounding errors do not accumulate
                law.rate = rate;
                law.rtt_us = router.counter("rtt_us") as f64 + 0.5;
            }
        }
    }
}

#[test]
fn a_packet_that_a_slots_end_cuts_counts_on_both_sides() {
    let mut router = Router::new("rcp", 1_200_000, &[]);
    // 1500 bytes take 10 ms, so half of the second packet belongs to the next slot
    router.at(1);
    router.pass(750, rcp(u64::MAX >> 1, 0, 0));
    router.at(5_000_000);
    router.pass(1500, rcp(u64::MAX >> 1, 0, 0));
    router.at(10_000_000);
    assert_eq!(router.counter("input_bps"), 1_200_000);
    router.at(20_000_000);
    assert_eq!(router.counter("input_bps"), 600_000);
}

/// If only packets call the router, as in the kernel, it computes the idle slots afterwards.
#[test]
fn a_router_of_rcp_that_wakes_late_has_nearly_the_rate_of_one_that_does_not() {
    for idle_ms in [20, 100, 500, 2000] {
        let [steps, jump] = [true, false].map(|in_steps| {
            let mut router = Router::new("rcp", 80_000_000, &[("first_rate", 10)]);
            router.at(9_999_999);
            let until_ns = (10 + idle_ms) * 1_000_000;
            if !in_steps {
                router.next_ns = until_ns;
            }
            router.at(until_ns);
            router.counter("rate_bps") as f64
        });
        assert!(
            (jump / steps - 1.0).abs() < 0.05,
            "{idle_ms}: {jump} {steps}"
        );
    }
}

#[test]
fn rcp_lowers_what_is_asked_for_and_leaves_acks_alone() {
    let mut router = Router::new("rcp", 8_000_000, &[("first_rate", 500)]);
    let allowed = router.counter("rate_bps") / 8;
    assert_eq!(allowed, 500_000);
    assert_eq!(
        router.pass(1500, rcp(u64::MAX >> 1, 7, 0)),
        rcp(allowed, 7, 0)
    );
    assert_eq!(router.pass(1500, rcp(1000, 7, 0)), rcp(1000, 7, 0));
    assert_eq!(router.pass(52, rcp(0, 7, 0)), rcp(0, 7, 0));
    assert_eq!(router.counter("headers"), 2);
    assert_eq!(router.counter("lowered"), 1);
}

#[test]
fn rcp_is_paced_at_its_rate_and_has_it_again_after_idle_times() {
    for (idle, paced) in [("last", true), ("probe", false)] {
        let tunables = vec![("idle".to_owned(), u32::from(!paced))];
        let mut control = ControlInstance::new("rcp", None, &tunables).unwrap();
        let mut conn = Conn {
            srtt_us: 100_000,
            ..Conn::default()
        };
        control.init(&mut conn);
        control.on_feedback(&mut conn, &rcp(0, 1_500_000, 0));
        assert_eq!(conn.pacing_rate_bytes_per_s, 1_500_000);
        assert_eq!(conn.cwnd_pkts, 204, "two windows, and four");
        conn.cwnd_pkts = 10;
        control.event(&mut conn, headway_algorithms::Event::CwndRestart);
        conn.idle_us = 3_000_000;
        control.event(&mut conn, headway_algorithms::Event::TxStart);
        let is_paced = conn.pacing_rate_bytes_per_s == 1_500_000 && conn.cwnd_pkts == 204;
        assert_eq!(is_paced, paced, "{idle}");
        control.on_feedback(&mut conn, &rcp(0, 750_000, 0));
        assert_eq!(conn.pacing_rate_bytes_per_s, 750_000);
    }
}
