//! Protocols whose routers tell a flow its rate, compared with their theoretical fixed points:
//! max-min fair rates on a dumbbell and on a parking lot, empty queues, the stability limit. It
//! also tests these protocols without participating routers.

use crate::common::{run, MS, SECOND};
use headway_sim::Outcome;
use serde_json::{json, Value};

/// Limit of a queue that has room for all packets of a test.
const ENDLESS_BYTES: u64 = 1 << 31;

/// A flow that always has data.
fn flow(control: &Value) -> Value {
    json!({"name": "f", "app": {"kind": "bulk"}, "control": control})
}

fn named(name: &str) -> Value {
    json!({"name": name})
}

fn link(rate_bps: u64, delay_ms: u64, routers: &Value) -> Value {
    json!({"rate_bps": rate_bps, "delay_ns": delay_ms * MS, "limit_bytes": ENDLESS_BYTES,
           "routers": routers})
}

/// A scenario that lasts this many seconds, with a checkpoint every second.
fn scenario(topology: Value, flows: &[Value], seconds: u64) -> Value {
    let every: Vec<u64> = (1..seconds).map(|s| s * SECOND).collect();
    json!({"duration_ns": seconds * SECOND, "stack": "linux-6", "topology": topology,
           "flows": flows, "checkpoints_ns": every,
           "record": {"flows": false, "queue": false, "udp": false, "drops": true}})
}

fn dumbbell(forward: &Value, flows: &[Value], seconds: u64) -> Value {
    let reverse = json!({"rate_bps": 1_000_000_000, "limit_bytes": ENDLESS_BYTES,
        "delay_ns": forward["delay_ns"]});
    let topology = json!({"kind": "dumbbell", "forward": forward, "reverse": reverse});
    scenario(topology, flows, seconds)
}

/// Goodput of each flow between two checkpoints, in bit/s.
fn goodputs_bps(outcome: &Outcome, from_s: u64, to_s: u64) -> Vec<f64> {
    let counters = &outcome.tables.flow_counters;
    let at = |flow: u32, s: u64| {
        let row = (0..counters.time_ns.len())
            .find(|&i| counters.flow[i] == flow && counters.time_ns[i] == (s * SECOND) as i64);
        counters.delivered_bytes[row.expect("a checkpoint")] as f64
    };
    (0..outcome.summary.flows.len() as u32)
        .map(|f| (at(f, to_s) - at(f, from_s)) * 8.0 / (to_s - from_s) as f64)
        .collect()
}

/// The IP bits per second that left a link between two checkpoints, and its mean queue in bytes.
fn carried(outcome: &Outcome, link: u32, from_s: u64, to_s: u64) -> (f64, f64) {
    let c = &outcome.tables.link_counters;
    let at = |s: u64| {
        (0..c.time_ns.len())
            .find(|&i| c.link[i] == link && c.time_ns[i] == (s * SECOND) as i64)
            .expect("a checkpoint")
    };
    let (a, b, seconds) = (at(from_s), at(to_s), (to_s - from_s) as f64);
    (
        (c.sent_bytes[b] - c.sent_bytes[a]) as f64 * 8.0 / seconds,
        (c.queue_byte_us[b] - c.queue_byte_us[a]) as f64 / 1e6 / seconds,
    )
}

/// The values of a router's counter on a link, one per checkpoint.
fn counter(outcome: &Outcome, link: u32, router: &str, name: &str) -> Vec<u64> {
    let all = &outcome.summary.routers;
    let algorithm = all.iter().position(|r| r.name == router).expect("a router");
    let at = all[algorithm].counters.iter().position(|c| c.name == name);
    let at = at.expect("a counter");
    let c = &outcome.tables.router_counters;
    let is_it = |i: &usize| {
        c.link[*i] == link
            && usize::from(c.algorithm[*i]) == algorithm
            && usize::from(c.name[*i]) == at
    };
    (0..c.name.len())
        .filter(is_it)
        .map(|i| c.value[i])
        .collect()
}

/// The fraction of an IP packet that is payload, with this many bytes of header option.
fn payload_part(option_bytes: u32) -> f64 {
    f64::from(1448 - option_bytes) / 1500.0
}

fn assert_near(got: f64, wanted: f64, part: f64, what: &str) {
    assert!(
        (got / wanted - 1.0).abs() <= part,
        "{what}: {got}, wanted {wanted} within {part}"
    );
}

const PROTOCOLS: [(&str, u32); 2] = [("xcp", 16), ("rcp", 12)];

#[test]
fn flows_of_unequal_round_trips_share_a_dumbbell_equally() {
    for (name, option_bytes) in PROTOCOLS {
        let forward = link(20_000_000, 10, &json!([{"name": name}]));
        let flows: Vec<Value> = [0, 10, 30, 80]
            .map(|extra_ms| {
                let mut flow = flow(&named(name));
                flow["extra_delay_ns"] = json!(extra_ms * MS);
                flow
            })
            .to_vec();
        let outcome = run(&dumbbell(&forward, &flows, 60));
        let fair_bps = 20e6 * payload_part(option_bytes) / 4.0;
        for bps in goodputs_bps(&outcome, 20, 59) {
            // the tolerance is 2.5 %: with eight sets of start times, xcp was off by up to 2.4 %
            assert_near(bps, fair_bps, 0.025, name);
        }
        assert_eq!(outcome.tables.drops.time_ns.len(), 0);
    }
}

#[test]
fn xcp_fills_a_link_and_leaves_its_queue_empty() {
    let forward = link(10_000_000, 50, &named_list("xcp"));
    let outcome = run(&dumbbell(&forward, &[flow(&named("xcp"))], 40));
    let (bps, queue_bytes) = carried(&outcome, 0, 10, 39);
    assert!(bps > 0.95 * 10e6, "{bps}");
    // the queue is below 5 % of the bandwidth-delay product of 125,000 bytes; a packet in
    // transmission has 1500
    assert!(queue_bytes < 0.05 * 125_000.0, "{queue_bytes}");
    let standing = counter(&outcome, 0, "xcp", "persistent_queue_bytes");
    assert!(standing[10..].iter().all(|&b| b <= 1500), "{standing:?}");
}

fn named_list(name: &str) -> Value {
    json!([{"name": name}])
}

#[test]
fn xcps_delayed_acks_lose_no_feedback() {
    let reached_s = |delayed_ack: bool| {
        let forward = link(20_000_000, 50, &named_list("xcp"));
        let mut flow = flow(&named("xcp"));
        flow["delayed_ack"] = json!(delayed_ack);
        let mut scenario = dumbbell(&forward, &[flow], 8);
        let every: Vec<u64> = (1..80).map(|k| k * SECOND / 10).collect();
        scenario["checkpoints_ns"] = json!(every);
        let outcome = run(&scenario);
        let c = &outcome.tables.flow_counters;
        let bytes: Vec<u64> = (0..c.flow.len()).map(|i| c.delivered_bytes[i]).collect();
        // the bytes that the link sends in a tenth of a second at nine tenths of its rate
        let part = 0.9 * 20e6 * payload_part(16) / 8.0 / 10.0;
        let full = bytes.windows(2).position(|w| (w[1] - w[0]) as f64 > part);
        full.expect("it fills the link") as f64 / 10.0
    };
    let (delayed, at_once) = (reached_s(true), reached_s(false));
    assert!((delayed - at_once).abs() <= 0.2, "{delayed} s, {at_once} s");
}

#[test]
fn rcps_rate_is_an_nth_of_the_link_and_new_flows_get_it_at_once() {
    for (gamma, flows) in [(1000, 1), (1000, 5), (950, 20)] {
        let routers = json!([{"name": "rcp", "tunables": {"gamma": gamma}}]);
        let forward = link(100_000_000, 25, &routers);
        let all: Vec<Value> = (0..flows)
            .map(|i| {
                let mut flow = flow(&named("rcp"));
                flow["start_ns"] = json!(i * 3 * SECOND / flows);
                flow
            })
            .collect();
        let outcome = run(&dumbbell(&forward, &all, 20));
        let fair_bps = f64::from(gamma as u32) / 1000.0 * 100e6 / flows as f64;
        for &bps in &counter(&outcome, 0, "rcp", "rate_bps")[15..] {
            assert_near(bps as f64, fair_bps, 0.02, "R");
        }
        for bps in goodputs_bps(&outcome, 12, 19) {
            assert_near(bps, fair_bps * payload_part(12), 0.02, "a flow");
        }
    }
    // a flow that joins four others reaches their rate within its first second
    let forward = link(20_000_000, 25, &named_list("rcp"));
    let mut all = vec![flow(&named("rcp")); 5];
    all[4]["start_ns"] = json!(10 * SECOND);
    let outcome = run(&dumbbell(&forward, &all, 14));
    let first = goodputs_bps(&outcome, 10, 11);
    assert!(first[4] > 0.85 * first[0], "{first:?}");
    let second = goodputs_bps(&outcome, 11, 12);
    assert_near(second[4], second[0], 0.02, "the new flow");
}

#[test]
fn rcp_sends_its_header_on_the_syn_in_linux_26_and_with_the_first_data_in_linux_6() {
    // the response has 11 packets, one more than the initial window of linux-6
    for (stack, round_trips) in [("linux-2.6", 1.5), ("linux-6", 2.5)] {
        let forward = link(180_000_000, 250, &named_list("rcp"));
        let mut flow = flow(&named("rcp"));
        flow["app"]["bytes"] = json!(15_000);
        flow["initial_rwnd_bytes"] = json!(60_000);
        let mut scenario = dumbbell(&forward, &[flow], 3);
        scenario["stack"] = json!(stack);
        let done_ns = run(&scenario).summary.flows[0].done_ns.expect("it ends");
        assert_near(done_ns as f64 / 500e6, round_trips, 0.04, stack);
    }
}

#[test]
fn a_router_that_assumes_a_tenth_of_the_capacity_uses_a_tenth() {
    for (name, _) in PROTOCOLS {
        let routers = json!([{"name": name, "tunables": {"capacity_kbps": 10_000}}]);
        let forward = link(100_000_000, 20, &routers);
        let outcome = run(&dumbbell(&forward, &[flow(&named(name))], 30));
        let (bps, queue_bytes) = carried(&outcome, 0, 10, 29);
        assert_near(bps, 10e6, 0.03, name);
        assert!(queue_bytes < 1500.0, "{name}: {queue_bytes}");
    }
}

#[test]
fn without_participating_routers_a_flow_behaves_like_reno_and_reports_it() {
    let goodput = |name: &str| {
        let mut forward = link(10_000_000, 20, &json!([]));
        forward["limit_bytes"] = json!(50_000);
        let outcome = run(&dumbbell(&forward, &[flow(&named(name))], 40));
        let told = outcome.summary.flows[0].protocols.get(name).cloned();
        (goodputs_bps(&outcome, 10, 39)[0], told)
    };
    let (reno_bps, _) = goodput("reno");
    for (name, option_bytes) in PROTOCOLS {
        let (bps, told) = goodput(name);
        let told = told.expect("it reports a failure");
        assert_eq!(told.failure, Some("no router answers"));
        assert_eq!(told.counts["fall_backs"], 1);
        let wanted = reno_bps * payload_part(option_bytes) / payload_part(0);
        assert_near(bps, wanted, 0.03, name);
    }
}

#[test]
fn every_kind_of_packet_carries_their_options() {
    for (name, option_bytes) in PROTOCOLS {
        let mut forward = link(10_000_000, 20, &named_list(name));
        forward["limit_bytes"] = json!(20_000);
        forward["loss"] = json!(0.02);
        let mut scenario = dumbbell(&forward, &[flow(&named(name))], 3);
        scenario["capture"] = json!({"link": "bottleneck"});
        let outcome = run(&scenario);
        let seen = crate::common::segments(outcome.capture.as_deref().expect("a capture"));
        let data = seen.iter().filter(|s| s.len > 0);
        let largest = data.map(|s| s.len).max().expect("data");
        assert_eq!(largest, 1448 - option_bytes, "{name}");
        assert!(seen.iter().all(|s| s.ip_bytes <= 1500 && s.sack.len() <= 1));
        assert!(seen.iter().any(|s| s.sack.len() == 1), "{name}");
    }
}

const LOT_BPS: u64 = 100_000_000;

/// With round trips of 80 ms and of 240 ms, a window has about a thousand packets. The fair share F
/// is then exact to less than 1/1000. With 20 and 60 ms the long flow gets 2.4 % less. The long
/// flow gets the smallest of three routers' window changes, and these changes are uncertain because
/// windows are whole packets.
#[test]
fn a_parking_lot_of_three_hops_is_shared_max_min_fairly() {
    for (name, option_bytes) in PROTOCOLS {
        let hop = || {
            json!({"forward": link(LOT_BPS, 40, &json!([{"name": name}])),
                   "reverse": {"rate_bps": 1_000_000_000, "delay_ns": 40 * MS,
                               "limit_bytes": ENDLESS_BYTES}})
        };
        let over = |from_hop: u32, to_hop: u32| {
            let mut flow = flow(&named(name));
            flow["from_hop"] = json!(from_hop);
            flow["to_hop"] = json!(to_hop);
            flow
        };
        let topology = json!({"kind": "chain", "hops": [hop(), hop(), hop()]});
        let flows = [over(0, 3), over(0, 1), over(1, 2), over(2, 3)];
        let outcome = run(&scenario(topology, &flows, 40));
        for bps in goodputs_bps(&outcome, 20, 39) {
            assert_near(
                bps,
                LOT_BPS as f64 / 2.0 * payload_part(option_bytes),
                0.02,
                name,
            );
        }
    }
}

/// Windows are whole packets, so the spare rate F is slightly above or below 0. The shuffled
/// traffic is therefore never exactly zero, and the late flow grows, but slowly.
#[test]
fn without_shuffling_a_late_flow_of_xcp_stays_small() {
    for (gamma, least, most) in [(0, 3.0, 1e3), (100, 0.95, 1.05)] {
        let routers = json!([{"name": "xcp", "tunables": {"gamma": gamma}}]);
        let forward = link(100_000_000, 20, &routers);
        let mut late = flow(&named("xcp"));
        late["start_ns"] = json!(5 * SECOND);
        let outcome = run(&dumbbell(&forward, &[flow(&named("xcp")), late], 16));
        let bps = goodputs_bps(&outcome, 12, 15);
        let ratio = bps[0] / bps[1];
        assert!((least..=most).contains(&ratio), "gamma {gamma}: {bps:?}");
    }
}

/// How fast the queue grows at the end of the run, under RCP on a link of 2 Mbit/s and 40 ms, if
/// the router assumes another capacity. The unit is seconds of queueing delay per second.
fn growth_of_queue(told_kbps: u32) -> f64 {
    let routers = json!([{"name": "rcp", "tunables": {"capacity_kbps": told_kbps}}]);
    let forward = link(2_000_000, 20, &routers);
    // enough flows that the largest window of a flow is no limit
    let flows = vec![flow(&named("rcp")); 8];
    let outcome = run(&dumbbell(&forward, &flows, 60));
    let queue = counter(&outcome, 0, "rcp", "queue_bytes");
    (queue[58] as f64 - queue[38] as f64) / 20.0 / 250_000.0
}

/// Scharf (2011), eq. 6.15: R is stable for c / r < 1 + beta / alpha, 1.565 by default. Beyond this
/// limit the queue's growth is linear in c / r; the limit is where the line reaches 0.
#[test]
fn the_stability_limit_of_rcp_agrees_with_eq_6_15() {
    let border = 1.0 + 226.0 / 400.0;
    let growth = |ratio: f64| growth_of_queue((ratio * 2000.0).round() as u32);
    for ratio in [1.3, 1.4, 0.95 * border] {
        let still = growth(ratio);
        assert!(still < 0.005, "{ratio}: {still}");
    }
    let beyond = [1.65, 1.7, 1.75, 1.8, 1.85].map(|ratio| (ratio, growth(ratio)));
    let n = beyond.len() as f64;
    let mean = |f: &dyn Fn(&(f64, f64)) -> f64| beyond.iter().map(f).sum::<f64>() / n;
    let (x, y) = (mean(&|p| p.0), mean(&|p| p.1));
    let slope = mean(&|p| (p.0 - x) * (p.1 - y)) / mean(&|p| (p.0 - x).powi(2));
    let found = x - y / slope;
    assert!(
        (found / border - 1.0).abs() < 0.05 && slope > 0.2,
        "{found} of {border}: {beyond:?}"
    );
}
