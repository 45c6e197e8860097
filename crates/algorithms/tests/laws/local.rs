//! Local router assistance: how the values of a link's monitor change a window.

use headway_algorithms::{CaState, Conn, ControlInstance, Event, Monitor, RateSample};

const PKT_BYTES: f64 = 1500.0;
const CONTROLS: [&str; 3] = ["xcp_pep", "mpcp_pep", "vcp_pep"];

struct Led {
    cc: ControlInstance,
    conn: Conn,
    monitor: Monitor,
}

impl Led {
    fn new(control: &str, cwnd_pkts: u32, rtt_ms: u32, monitor: Monitor) -> Self {
        let mut led = Self {
            cc: ControlInstance::new(control, None, &[]).unwrap(),
            conn: Conn {
                cwnd_pkts,
                srtt_us: rtt_ms * 1000,
                min_rtt_us: rtt_ms * 1000,
                ..Conn::default()
            },
            monitor,
        };
        led.cc.init(&mut led.conn);
        led
    }

    /// Passes an ACK for `acked_pkts` packets while `inflight_pkts` are in flight.
    fn ack(&mut self, acked_pkts: u32, inflight_pkts: u32) {
        self.cc.on_monitor(&mut self.conn, &self.monitor);
        let sample = RateSample {
            acked_pkts,
            prior_inflight_pkts: inflight_pkts,
            ..RateSample::default()
        };
        self.cc.take_sample(&mut self.conn, &sample);
    }

    /// Passes the ACKs of a window, which is one round trip. Returns by how much the window grew.
    fn round(&mut self) -> f64 {
        let before = self.conn.cwnd_pkts;
        self.conn.snd_una = self.conn.snd_nxt;
        self.conn.snd_nxt += 1;
        for _ in 0..before {
            self.ack(1, self.conn.cwnd_pkts);
        }
        f64::from(self.conn.cwnd_pkts) - f64::from(before)
    }
}

fn word(give: u64, take: u64, output: u64, flows: u32) -> Monitor {
    Monitor {
        give_bytes_per_s: give,
        take_bytes_per_s: take,
        output_bytes_per_s: output,
        flows,
        intervals: 7,
        ..Monitor::default()
    }
}

#[test]
fn all_windows_of_xcp_pep_together_change_by_the_spare_bandwidth_of_a_round_trip() {
    // five flows with different windows fill 1 MB/s with RTTs of 800 ms; together they grow by the
    // spare bandwidth S
    let (rtt_ms, output) = (800, 1_000_000u64);
    for (raise, cut) in [(400_000, 0), (30_000, 0), (0, 0), (0, 90_000), (0, 400_000)] {
        let shuffle = 100_000u64.saturating_sub(raise + cut);
        let windows = [20, 40, 80, 160, 233];
        let n = windows.len() as u32;
        let mut changes = vec![];
        for window in windows {
            let monitor = word(raise + shuffle, cut + shuffle, output, n);
            let mut led = Led::new("xcp_pep", window, rtt_ms, monitor);
            let change = led.round();
            let give = (raise + shuffle) as f64 * 0.8 / f64::from(n) / PKT_BYTES;
            let take = f64::from(window) * (cut + shuffle) as f64 / output as f64;
            assert!((change - (give - take)).abs() <= 1.01, "{window}: {change}");
            changes.push(change);
        }
        let (sum, spare) = (changes.iter().sum::<f64>(), raise as f64 - cut as f64);
        let wanted = spare * 0.8 / PKT_BYTES;
        assert!((sum - wanted).abs() < 5.0, "{sum} packets, not {wanted}");
        // the traffic that XCP shuffles makes windows more equal
        if raise + cut < 50_000 {
            assert!(changes[0] > 0.0 && changes[4] < 0.0, "{changes:?}");
        }
    }
}

#[test]
fn mpcp_pep_grows_and_falls_by_the_raw_load_factor() {
    let load = |percent: u64| Monitor {
        demand_bytes: percent * 1000,
        capacity_bytes: 100_000,
        capacity_bytes_per_s: 1_250_000,
        ..word(0, 0, 1_250_000, 5)
    };
    let of = |percent| Led::new("mpcp_pep", 200, 800, load(percent)).round();
    // growth by (17/16)^4, and by a tenth of a fair share, which is 666.7/5 packets
    let at_80 = of(80);
    let wanted = 200.0 * (1.0625f64.powi(4) - 1.0) + 13.3;
    assert!((wanted - 1.1..wanted + 1.1).contains(&at_80), "{at_80}");
    assert!(of(90) < at_80 && of(90) > 11.0);
    // growth by (5/4)^4 would more than double the window, and doubling is the limit
    let low = of(50);
    assert!((212.0..214.0).contains(&low), "{low}");
    assert_eq!(of(20), low);
    assert!(of(65) < low && of(65) > at_80);
    // 1/LF is 0.8, so the window falls by 5 % per 200 ms
    let high = of(125);
    let wanted = 13.3 - 200.0 * (1.0 - 0.95f64.powi(4));
    assert!((high - wanted).abs() < 1.1, "{high}, not {wanted}");
    assert!(of(1_000_000) >= -130.0, "half of each packet at most");
}

#[test]
fn vcp_pep_grows_below_80_per_cent_adds_below_100_and_falls_by_an_eighth_from_there() {
    let of = |percent: u64| {
        let load = Monitor {
            demand_bytes: percent * 1000,
            capacity_bytes: 100_000,
            capacity_bytes_per_s: 1_250_000,
            ..word(0, 0, 1_250_000, 5)
        };
        Led::new("vcp_pep", 200, 800, load).round()
    };
    // the window grows by (17/16)^4 and by a tenth of a fair share, 666.7/5 packets, or falls by an
    // eighth
    for (percent, wanted) in [(0, 54.9), (79, 54.9), (80, 13.3), (99, 13.3), (100, -25.0)] {
        assert!(
            (of(percent) - wanted).abs() < 1.1,
            "{percent} %: {}",
            of(percent)
        );
    }
    assert_eq!(of(500), of(100));
}

/// Monitor data of a link of 1 MB/s and 800 ms, which is 533 packets per round trip; `used` bytes
/// per second are in use.
fn link(used: u64, flows: u32, opening: u32) -> Monitor {
    Monitor {
        demand_bytes: used / 5,
        capacity_bytes: 200_000,
        capacity_bytes_per_s: 1_000_000,
        opening,
        ..word(0, 0, used, flows)
    }
}

/// A connection whose first data is about to leave.
fn begins(control: &str, tunables: &[(String, u32)], monitor: Monitor) -> Led {
    let mut led = Led {
        cc: ControlInstance::new(control, None, tunables).unwrap(),
        ..Led::new(control, 10, 800, monitor)
    };
    led.cc.init(&mut led.conn);
    led.conn.app_queued_bytes = 5_000_000;
    led.cc.on_monitor(&mut led.conn, &monitor);
    led.cc.event(&mut led.conn, Event::TxStart);
    led
}

#[test]
fn a_connection_begins_paced_with_its_share_of_the_spare_capacity() {
    for control in CONTROLS {
        for (used, flows, opening, wanted) in [
            (0, 0, 1, 533),        // a single flow gets the whole capacity of an idle link
            (0, 0, 5, 106),        // each of five connections that are being opened gets a fifth
            (400_000, 1, 1, 266),  // a flow gets at most an equal share of the whole capacity
            (900_000, 1, 1, 53),   // a flow gets at most an equal share of the unused capacity
            (1_000_000, 3, 1, 10), // nothing is
            (0, 0, 0, 10),         // the monitor did not see the connection's SYN
        ] {
            let led = begins(control, &[], link(used, flows, opening));
            assert_eq!(
                led.conn.cwnd_pkts, wanted,
                "{control}: {used} {flows} {opening}"
            );
            let rate = f64::from(wanted) * PKT_BYTES / 0.8;
            if wanted > 10 {
                assert!((led.conn.pacing_rate_bytes_per_s as f64 / rate - 1.0).abs() < 0.01);
            } else {
                assert_eq!(led.conn.pacing_rate_bytes_per_s, 0);
            }
        }
        let plain = [("start".into(), 0)];
        let led = begins(control, &plain, link(0, 0, 1));
        assert_eq!(led.conn.cwnd_pkts, 10, "{control}: as in the paper");
        assert_eq!(led.conn.pacing_rate_bytes_per_s, 0);
    }
}

#[test]
fn the_window_is_the_sent_part_of_what_was_approved() {
    for control in CONTROLS {
        let first_ack = |sent: u32, queued: u32, used: u64| {
            let mut led = begins(control, &[], link(0, 0, 1));
            led.conn.sent_pkts = sent;
            led.conn.snd_nxt += sent * led.conn.mss_bytes;
            led.conn.app_queued_bytes = queued;
            led.monitor = link(used, 1, 0);
            led.conn.snd_una += led.conn.mss_bytes;
            led.ack(1, sent);
            (led.conn.cwnd_pkts, led.conn.pacing_rate_bytes_per_s > 0)
        };
        let (whole, paced) = first_ack(533, 1_000_000, 1_000_000);
        assert!((532..=534).contains(&whole) && !paced, "{control}: {whole}");
        // the application had no more data, so the flow gets only what it used
        assert!((40..=42).contains(&first_ack(40, 0, 75_000).0), "{control}");
        assert!((10..=12).contains(&first_ack(2, 0, 3750).0), "{control}");
        // the peer's window limited the flight, so the flow also gets the capacity that is unused
        // now
        let (again, paced) = first_ack(44, 1_000_000, 82_500);
        assert!(
            (44 + 485..=44 + 490).contains(&again) && paced,
            "{control}: {again}"
        );
    }
}

#[test]
fn when_the_monitor_goes_its_approved_pacing_ends() {
    for control in CONTROLS {
        let mut led = begins(control, &[], link(0, 0, 1));
        assert!(led.conn.pacing_rate_bytes_per_s > 0, "{control}");
        led.conn.sent_pkts = 40;
        led.conn.snd_nxt += 40 * led.conn.mss_bytes;
        led.monitor = Monitor::default();
        led.conn.snd_una += led.conn.mss_bytes;
        led.ack(1, 40);
        assert_eq!(led.conn.pacing_rate_bytes_per_s, 0, "{control}");
    }
}

#[test]
fn after_a_short_idle_time_a_connection_shares_what_is_spare_with_all_that_are_present() {
    for control in CONTROLS {
        let after_idle = |idle_us: u32, present: u32| {
            let mut led = begins(control, &[], link(0, 0, 0));
            led.conn.sent_pkts = 40;
            led.conn.idle_us = idle_us;
            led.monitor = Monitor {
                present,
                ..link(0, 0, 0)
            };
            led.cc.on_monitor(&mut led.conn, &led.monitor);
            led.cc.event(&mut led.conn, Event::TxStart);
            let window = led.conn.cwnd_pkts;
            // two packets are sent, and the window is the same as before
            led.conn.sent_pkts += 2;
            led.conn.snd_nxt += 2 * led.conn.mss_bytes;
            led.conn.app_queued_bytes = 0;
            led.conn.snd_una = led.conn.snd_nxt;
            led.ack(2, 2);
            assert!(led.conn.cwnd_pkts <= 12, "{control}");
            window
        };
        assert_eq!(after_idle(1_600_000, 1), 533, "{control}");
        assert_eq!(after_idle(1_000_000, 8), 66, "{control}");
        assert_eq!(
            after_idle(2_500_000, 1),
            10,
            "{control}: too long ago to be known"
        );
    }
}

#[test]
fn a_loss_changes_nothing_and_the_window_comes_back_after_a_timeout() {
    for control in CONTROLS {
        let mut led = Led::new(control, 300, 800, word(0, 0, 1_000_000, 1));
        // at a load of 1, the window of mpcp_pep has only additive growth
        led.monitor.demand_bytes = 100;
        led.monitor.capacity_bytes = 100;
        led.ack(1, 300);
        let before = led.conn.cwnd_pkts;
        assert_eq!(led.cc.ssthresh(&mut led.conn), before);
        led.cc.set_state(&mut led.conn, CaState::Recovery);
        led.ack(2, before);
        assert!(led.conn.cwnd_pkts >= before, "{control}");
        let before = led.conn.cwnd_pkts;
        led.cc.set_state(&mut led.conn, CaState::Loss);
        led.conn.cwnd_pkts = 1;
        led.ack(1, 1);
        assert_eq!(
            led.conn.cwnd_pkts, 2,
            "{control}: what arrives is sent anew"
        );
        led.cc.set_state(&mut led.conn, CaState::Open);
        led.ack(1, 2);
        assert_eq!(led.conn.cwnd_pkts, before, "{control}");
    }
}

#[test]
fn an_unfilled_window_stays_and_idle_times_halve_it() {
    for control in CONTROLS {
        let mut led = Led::new(control, 300, 800, word(500_000, 0, 1_000_000, 1));
        led.ack(1, 100);
        assert_eq!(led.conn.cwnd_pkts, 300, "{control}");
        led.conn.idle_us = 1_700_000;
        led.cc.event(&mut led.conn, Event::TxStart);
        assert_eq!(led.conn.cwnd_pkts, 75, "{control}");
        led.conn.idle_us = u32::MAX;
        led.cc.event(&mut led.conn, Event::TxStart);
        assert_eq!(led.conn.cwnd_pkts, 10, "{control}");
    }
}

#[test]
fn without_a_monitor_it_is_reno() {
    for control in CONTROLS {
        let mut led = Led::new(control, 10, 100, Monitor::default());
        led.monitor.intervals = 0;
        let sample = RateSample {
            acked_pkts: 2,
            prior_inflight_pkts: 10,
            ..RateSample::default()
        };
        led.cc.take_sample(&mut led.conn, &sample);
        assert_eq!(led.conn.cwnd_pkts, 12, "{control}: slow start");
        assert_eq!(led.cc.ssthresh(&mut led.conn), 6, "{control}");
        led.conn.ssthresh_pkts = 6;
        led.cc.set_state(&mut led.conn, CaState::Recovery);
        led.cc.take_sample(&mut led.conn, &sample);
        assert_eq!(led.conn.cwnd_pkts, 6, "{control}");
    }
}
