//! VCP and MPCP: saw-tooth, utilization and shares on a link that participates; behaviour like Reno
//! on a link that does not; and the ECN bits, which RFC 3168 uses as well.

use crate::common::{bulk, dumbbell, run, segments, MS, SECOND};
use headway_sim::Outcome;
use serde_json::{json, Value};

/// Flows of one control over a link with a router of the control's protocol and a buffer of one
/// BDP.
struct Path {
    control: Value,
    router: Value,
    rate_bps: u64,
    rtt_ms: u64,
    flows: usize,
    seconds: u64,
}

impl Path {
    fn of(protocol: &str) -> Path {
        Path {
            control: json!({"name": protocol}),
            router: json!([{"name": protocol}]),
            rate_bps: 10_000_000,
            rtt_ms: 200,
            flows: 1,
            seconds: 60,
        }
    }

    /// MPCP whose congestion level has this number of pieces.
    fn in_pieces(pieces: u32) -> Path {
        let named = json!({"name": "mpcp", "tunables": {"pieces": pieces}});
        Path {
            control: named.clone(),
            router: json!([named]),
            ..Path::of("mpcp")
        }
    }

    fn with_flows(mut self, flows: usize) -> Path {
        self.flows = flows;
        self
    }

    fn without_router(mut self) -> Path {
        self.router = json!([]);
        self
    }

    fn scenario(&self) -> Value {
        let bdp_bytes = self.rate_bps * self.rtt_ms / 8000;
        let mut link = json!({"rate_bps": self.rate_bps, "delay_ns": self.rtt_ms * MS / 2,
            "limit_bytes": bdp_bytes});
        let reverse = link.clone();
        link["routers"] = self.router.clone();
        let flow = |i: usize| {
            let mut flow = bulk("a", None);
            flow["control"] = self.control.clone();
            flow["start_ns"] = json!(i as u64 * SECOND);
            flow
        };
        let flows: Vec<Value> = (0..self.flows).map(flow).collect();
        let mut scenario = dumbbell("linux-6", self.seconds * SECOND, &link, json!(flows));
        scenario["topology"]["reverse"] = reverse;
        scenario["capture"] = Value::Null;
        let every: Vec<u64> = (1..self.seconds).map(|s| s * SECOND).collect();
        scenario["checkpoints_ns"] = json!(every);
        scenario
    }

    fn run(&self) -> CapturedSegment {
        CapturedSegment::of(&run(&self.scenario()), self)
    }
}

/// Results of the second half of a run.
#[derive(Debug)]
struct CapturedSegment {
    utilization: f64,
    drops: u64,
    /// Each flow's share of the bytes that all flows delivered in order.
    shares: Vec<f64>,
    /// Mean queue length divided by the BDP.
    queue: f64,
}

impl CapturedSegment {
    fn of(outcome: &Outcome, path: &Path) -> CapturedSegment {
        let (from, to) = (path.seconds as i64 / 2, path.seconds as i64);
        let links = &outcome.tables.link_counters;
        let link_at = |s: i64| {
            (0..links.time_ns.len())
                .find(|&i| links.link[i] == 0 && links.time_ns[i] == s * SECOND as i64)
                .expect("a checkpoint")
        };
        let (a, b) = (link_at(from), link_at(to));
        let ns = (to - from) as f64 * 1e9;
        let flows = &outcome.tables.flow_counters;
        let delivered = |flow: usize, s: i64| {
            let row = (0..flows.time_ns.len())
                .find(|&i| flows.flow[i] == flow as u32 && flows.time_ns[i] == s * SECOND as i64);
            flows.delivered_bytes[row.expect("a checkpoint")] as f64
        };
        let gained: Vec<f64> = (0..path.flows)
            .map(|flow| delivered(flow, to) - delivered(flow, from))
            .collect();
        let all: f64 = gained.iter().sum();
        let queue_bytes = (links.queue_byte_us[b] - links.queue_byte_us[a]) as f64 * 1000.0 / ns;
        CapturedSegment {
            utilization: (links.sent_bytes[b] - links.sent_bytes[a]) as f64 * 8e9
                / ns
                / path.rate_bps as f64,
            drops: links.dropped_pkts[b] - links.dropped_pkts[a],
            shares: gained.iter().map(|one| one / all).collect(),
            queue: queue_bytes * 8000.0 / (path.rate_bps * path.rtt_ms) as f64,
        }
    }

    fn jain(&self) -> f64 {
        let squares: f64 = self.shares.iter().map(|s| s * s).sum();
        1.0 / (self.shares.len() as f64 * squares)
    }
}

/// VCP, and MPCP with levels of two and of three pieces, each with four flows.
fn all(rate_bps: u64, rtt_ms: u64) -> Vec<(String, Path)> {
    let paths = [Path::of("vcp"), Path::in_pieces(2), Path::in_pieces(3)];
    paths
        .into_iter()
        .map(|path| {
            let path = Path {
                rate_bps,
                rtt_ms,
                ..path
            };
            (path.control.to_string(), path)
        })
        .collect()
}

#[test]
fn one_flow_fills_nine_tenths_of_a_long_path_without_a_drop() {
    for (name, path) in all(10_000_000, 200) {
        let seen = path.run();
        assert!(seen.utilization >= 0.9, "{name}: {seen:?}");
        assert!(seen.drops == 0 && seen.queue < 0.5, "{name}: {seen:?}");
    }
}

#[test]
fn four_flows_share_links_of_10_and_100_mbit_equally_without_a_drop() {
    for (rate_bps, rtt_ms) in [(10_000_000, 200), (10_000_000, 50), (100_000_000, 40)] {
        for (name, path) in all(rate_bps, rtt_ms) {
            let seen = path.with_flows(4).run();
            let what = format!("{name} at {rate_bps} bit/s, {rtt_ms} ms: {seen:?}");
            assert!(seen.utilization >= 0.9 && seen.drops == 0, "{what}");
            assert!(seen.jain() >= 0.95, "{what}");
        }
    }
}

#[test]
fn the_saw_tooth_of_vcp_falls_to_seven_eighths_and_rises_packet_by_packet() {
    let outcome = run(&Path::of("vcp").scenario());
    let states = &outcome.tables.flow_state;
    let late = (0..states.time_ns.len()).filter(|&i| states.time_ns[i] > 30 * SECOND as i64);
    let cwnd: Vec<u32> = late.map(|i| states.cwnd_pkts[i]).collect();
    let falls: Vec<(u32, u32)> = cwnd
        .windows(2)
        .filter(|w| w[1] < w[0])
        .map(|w| (w[0], w[1]))
        .collect();
    assert!(falls.len() >= 5, "{falls:?}");
    for &(before, after) in &falls {
        let exact = f64::from(before) * 0.875;
        assert!(
            (f64::from(after) - exact).abs() <= 1.0,
            "{before} to {after}"
        );
    }
    assert!(
        cwnd.windows(2).all(|w| w[1] <= w[0] + 1),
        "it rises by at most a packet"
    );
}

#[test]
fn flows_of_mpcp_get_equal_shares_at_any_rtt() {
    let mut scenario = Path::in_pieces(3).with_flows(2).scenario();
    scenario["flows"][1]["extra_delay_ns"] = json!(200 * MS);
    scenario["duration_ns"] = json!(120 * SECOND);
    let path = Path {
        seconds: 120,
        ..Path::in_pieces(3).with_flows(2)
    };
    scenario["checkpoints_ns"] = json!([60 * SECOND]);
    let seen = CapturedSegment::of(&run(&scenario), &path);
    assert!(seen.jain() >= 0.95, "{seen:?}");
}

/// Runs the control next to a Reno flow, over a link without routers. VCP cannot detect that no
/// router takes part while the queue is almost empty, and it grows by less than Reno from small
/// windows.
#[test]
fn without_a_router_they_get_no_more_than_a_competing_reno_flow() {
    for (rate_bps, rtt_ms) in [(10_000_000, 50), (100_000_000, 100)] {
        for (name, path) in all(rate_bps, rtt_ms) {
            let path = path.without_router().with_flows(2);
            let mut scenario = path.scenario();
            scenario["flows"][1]["control"] = json!({"name": "reno"});
            let seen = CapturedSegment::of(&run(&scenario), &path);
            let what = format!("{name} at {rate_bps} bit/s: {seen:?}");
            assert!(seen.utilization >= 0.9 && seen.shares[0] < 0.7, "{what}");
            assert!(name.contains("vcp") || seen.shares[0] > 0.3, "{what}");
        }
    }
}

#[test]
fn a_path_that_clears_the_ecn_bits_acts_like_one_without_routers() {
    for (name, path) in all(10_000_000, 50) {
        let mut scenario = path.scenario();
        // after the router a link clears the ECN bits, so receivers get no information from the
        // protocol
        scenario["topology"]["forward"]["routers"] = json!([]);
        scenario["topology"]["forward"]["ecn"] = json!("bleach");
        let seen = CapturedSegment::of(&run(&scenario), &path);
        assert!(seen.utilization >= 0.9, "{name}: {seen:?}");
    }
}

#[test]
fn only_data_carries_the_bits_and_ecn_is_not_negotiated() {
    for protocol in ["vcp", "mpcp"] {
        let mut scenario = Path::of(protocol).scenario();
        scenario["sysctls"] = json!({"tcp_ecn": [1]});
        scenario["duration_ns"] = json!(5 * SECOND);
        scenario["checkpoints_ns"] = json!([]);
        scenario["capture"] = json!({"link": "bottleneck"});
        let outcome = run(&scenario);
        let seen = segments(outcome.capture.as_deref().expect("a capture"));
        assert!(seen.iter().all(|s| (s.ecn != 0) == (s.len > 0)));
        let data = seen.iter().filter(|s| s.len > 0);
        assert!(data.clone().count() > 100 && data.clone().all(|s| s.ecn == 1 && s.len == 1448));
        use headway_wire::TcpFlags;
        assert!(!seen.iter().any(|s| s.has(TcpFlags::ECE)));
        // ACKs have 60 bytes, because they contain timestamps and the option with the feedback
        let answers = seen.iter().filter(|s| !s.outbound && s.ip_bytes == 60);
        assert!(answers.count() > 50);
    }
}

/// Routers do not change packets of other protocols, and write nothing to packets without ECN bits.
#[test]
fn routers_leave_packets_without_the_bits_unchanged() {
    let mut scenario = Path::of("vcp").with_flows(2).scenario();
    scenario["flows"][1]["control"] = json!({"name": "cubic"});
    scenario["duration_ns"] = json!(30 * SECOND);
    scenario["checkpoints_ns"] = json!([]);
    scenario["capture"] = json!({"link": "reverse0"});
    scenario["topology"]["reverse"]["routers"] = json!([{"name": "vcp"}]);
    let outcome = run(&scenario);
    let seen = segments(outcome.capture.as_deref().expect("a capture"));
    assert!(seen.iter().all(|s| s.ecn == 0));
}
