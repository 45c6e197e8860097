//! MaxNet over simulated paths: the equilibrium of its equations, max-min fairness at any RTT,
//! empty queues, and its behaviour without routers.

use crate::common::{bulk, run, MS, SECOND};
use headway_sim::Outcome;
use serde_json::{json, Value};

/// MaxNet's target utilization of 0.96, with the rounding of the router's fixed-point number.
const MU: f64 = 983.0 / 1024.0;
/// The fraction of a packet of 1500 bytes that is payload: MaxNet's option takes eight bytes.
const PAYLOAD: f64 = 1440.0 / 1500.0;
/// The factor by which sources multiply MaxNet's congestion price (1/32), and the interval in the
/// source's law, in seconds.
const SCALE: f64 = 1.0 / 32.0;
const INTERVAL_S: f64 = 2.0;

fn link(rate_bps: u64, delay_ms: u64, limit_bytes: u64) -> Value {
    json!({"rate_bps": rate_bps, "delay_ns": delay_ms * MS, "limit_bytes": limit_bytes,
           "routers": [{"name": "maxnet"}]})
}

/// A flow with an additional delay in each direction. Every packet is acknowledged, because delayed
/// ACKs would make RTTs longer than the smallest RTT, with which the law computes.
fn flow(extra_ms: u64) -> Value {
    let mut flow = bulk("maxnet", None);
    flow["extra_delay_ns"] = json!(extra_ms * MS);
    flow["delayed_ack"] = json!(false);
    flow
}

fn scenario(seconds: u64, topology: &Value, flows: Vec<Value>) -> Value {
    let named = |(at, mut flow): (usize, Value)| {
        flow["name"] = json!(format!("flow{at}"));
        flow["start_ns"] = json!(at as u64 * 20 * MS);
        flow
    };
    let flows: Vec<Value> = flows.into_iter().enumerate().map(named).collect();
    let every: Vec<u64> = (1..seconds).map(|s| s * SECOND).collect();
    json!({"duration_ns": seconds * SECOND, "topology": topology, "flows": flows,
           "checkpoints_ns": every, "stack": "linux-6",
           "record": {"flows": false, "queue": false, "udp": false, "drops": false}})
}

fn dumbbell(rate_bps: u64, one_way_ms: u64, limit_bytes: u64) -> Value {
    let link = link(rate_bps, one_way_ms, limit_bytes);
    json!({"kind": "dumbbell", "forward": link, "reverse": link})
}

/// IP bits per second of a flow between two checkpoints, measured at its receiver.
fn rate_bps(outcome: &Outcome, flow: u32, from_s: u64, to_s: u64) -> f64 {
    let c = &outcome.tables.flow_counters;
    let at = |s: u64| {
        let is_it = |&i: &usize| c.flow[i] == flow && c.time_ns[i] == (s * SECOND) as i64;
        c.delivered_bytes[(0..c.time_ns.len()).find(is_it).expect("a checkpoint")] as f64
    };
    (at(to_s) - at(from_s)) * 8.0 / (to_s - from_s) as f64 / PAYLOAD
}

/// The router's congestion price at a checkpoint, in seconds.
fn price_s(outcome: &Outcome, link: u32, at_s: u64) -> f64 {
    let routers = &outcome.summary.routers;
    let at = routers.iter().position(|r| r.name == "maxnet").unwrap();
    let name = routers[at]
        .counters
        .iter()
        .position(|c| c.name == "price_us");
    let c = &outcome.tables.router_counters;
    let is_it = |&i: &usize| {
        c.link[i] == link
            && usize::from(c.algorithm[i]) == at
            && Some(usize::from(c.name[i])) == name
            && c.time_ns[i] == (at_s * SECOND) as i64
    };
    let row = (0..c.name.len()).find(is_it).expect("a checkpoint");
    c.value[row] as f64 / 1e6
}

/// Mean length of a link's queue between two checkpoints, as queueing delay in seconds.
fn queue_ms(outcome: &Outcome, link: u32, rate_bps: f64, from_s: u64, to_s: u64) -> f64 {
    let c = &outcome.tables.link_counters;
    let at = |s: u64| {
        let is_it = |&i: &usize| c.link[i] == link && c.time_ns[i] == (s * SECOND) as i64;
        c.queue_byte_us[(0..c.time_ns.len()).find(is_it).expect("a checkpoint")] as f64
    };
    (at(to_s) - at(from_s)) / 1e6 / (to_s - from_s) as f64 * 8e3 / rate_bps
}

fn dropped(outcome: &Outcome, link: u32, from_s: u64) -> u64 {
    let c = &outcome.tables.link_counters;
    let of = |s: i64| {
        let is_it = |&i: &usize| c.link[i] == link && (s < 0 || c.time_ns[i] == s);
        c.dropped_pkts[(0..c.time_ns.len()).rfind(is_it).expect("a checkpoint")]
    };
    of(-1) - of((from_s * SECOND) as i64)
}

fn near(got: f64, wanted: f64, by: f64, what: &str) {
    assert!(
        (got / wanted - 1.0).abs() <= by,
        "{what}: {got} of {wanted}"
    );
}

/// Equilibrium of the law in the paper's figure 2: N p1/(p2 price interval) = mu C.
fn equilibrium_s(flows: f64, rate_bps: f64) -> f64 {
    6.0 * flows / (SCALE * INTERVAL_S * MU * rate_bps / 12_000.0)
}

#[test]
fn n_flows_get_mu_c_over_n_each_at_n_times_the_price_of_one_flow() {
    for flows in [2u32, 4, 8] {
        let topology = dumbbell(20_000_000, 30, 400_000);
        let all = (0..flows).map(|_| flow(0)).collect();
        let outcome = run(&scenario(60, &topology, all));
        let share = MU * 20e6 / f64::from(flows);
        for at in 0..flows {
            near(
                rate_bps(&outcome, at, 30, 59),
                share,
                0.02,
                &format!("flow {at} of {flows}"),
            );
        }
        let price = (30..59).map(|s| price_s(&outcome, 0, s)).sum::<f64>() / 29.0;
        // the congestion price is a little higher than in theory: RTTs exceed the smallest RTT by a
        // packet's transmission and a delayed ACK
        near(price, equilibrium_s(f64::from(flows), 20e6), 0.12, "price");
        assert!(queue_ms(&outcome, 0, 20e6, 30, 59) < 1.2, "a packet or two");
        assert_eq!(dropped(&outcome, 0, 10), 0);
    }
}

#[test]
fn with_seconds_as_units_the_price_is_7_5_ms_per_flow_at_10_mbit_s() {
    // the law is stable if enough flows share the link: with 16 flows the congestion price is 120
    // ms
    let flows = 16;
    let mut all = Vec::new();
    for _ in 0..flows {
        let mut one = flow(0);
        one["control"]["tunables"] = json!({"price_scale": 32, "interval_ms": 32_000});
        all.push(one);
    }
    let outcome = run(&scenario(60, &dumbbell(10_000_000, 50, 200_000), all));
    let price = (30..59).map(|s| price_s(&outcome, 0, s)).sum::<f64>() / 29.0;
    near(price, 0.0075 * f64::from(flows), 0.12, "price");
}

#[test]
fn the_law_in_seconds_as_printed_does_not_settle_on_the_papers_path() {
    let of = |tunables: Value| {
        let mut one = flow(0);
        one["control"]["tunables"] = tunables;
        run(&scenario(40, &dumbbell(10_000_000, 14, 200_000), vec![one]))
    };
    let ours = of(json!({}));
    let printed = of(json!({"price_scale": 1024, "interval_ms": 1000, "anti_windup": 0}));
    near(rate_bps(&ours, 0, 20, 39), MU * 10e6, 0.01, "ours");
    assert!(queue_ms(&ours, 0, 10e6, 20, 39) < 2.4);
    assert!(rate_bps(&printed, 0, 20, 39) < 0.85 * MU * 10e6);
    assert!(queue_ms(&printed, 0, 10e6, 20, 39) > 10.0);
}

#[test]
fn flows_with_different_rtts_get_the_same_rate() {
    let extra_ms = [0, 10, 20, 30];
    let topology = dumbbell(40_000_000, 20, 800_000);
    let share = MU * 40e6 / 4.0;
    for (delayed_ack, by) in [(false, 0.02), (true, 0.05)] {
        let of = |&ms: &u64| {
            let mut one = flow(ms);
            one["delayed_ack"] = json!(delayed_ack);
            one
        };
        let outcome = run(&scenario(80, &topology, extra_ms.iter().map(of).collect()));
        for at in 0..4 {
            let what = format!("flow {at}, delayed ACKs {delayed_ack}");
            near(rate_bps(&outcome, at, 40, 79), share, by, &what);
        }
    }
}

#[test]
fn a_parking_lot_of_three_hops_is_shared_max_min_fairly() {
    // the first hop limits the long flow and the three flows of that hop to C/4 each. The second
    // hop (2 C) has one flow of its own and the third (C) two; these flows share what the long flow
    // leaves.
    let rate = 20_000_000;
    let hop =
        |rate| json!({"forward": link(rate, 20, 800_000), "reverse": link(rate, 20, 800_000)});
    let topology = json!({"kind": "chain", "hops": [hop(rate), hop(2 * rate), hop(rate)]});
    let mut flows = vec![flow(0)];
    for (hop, n) in [(0, 3), (1, 1), (2, 2)] {
        for _ in 0..n {
            let mut one = flow(0);
            one["from_hop"] = json!(hop);
            one["to_hop"] = json!(hop + 1);
            flows.push(one);
        }
    }
    // The phase of the hosts' clocks decides which packet of the first windows arrives first, and
    // with it whether the smallest RTT of the long flow includes a queue. If it includes no queue,
    // the long flow's share is right.
    let mut fair = scenario(120, &topology, flows);
    fair["seed"] = json!(3);
    let outcome = run(&fair);
    let first = MU * 20e6 / 4.0;
    let second = MU * 40e6 - first;
    let third = (MU * 20e6 - first) / 2.0;
    let wanted = [first, first, first, first, second, third, third];
    for (at, share) in wanted.into_iter().enumerate() {
        near(
            rate_bps(&outcome, at as u32, 60, 119),
            share,
            0.02,
            &format!("flow {at}"),
        );
    }
    // the long flow follows the highest of its three routers' congestion prices
    let prices: Vec<f64> = [0, 2, 4]
        .iter()
        .map(|&l| price_s(&outcome, l, 100))
        .collect();
    assert!(prices[0] > prices[2] && prices[2] > prices[1], "{prices:?}");
}

#[test]
fn without_maxnet_routers_it_behaves_like_reno() {
    let mut topology = dumbbell(10_000_000, 20, 50_000);
    for way in ["forward", "reverse"] {
        topology[way]["routers"] = json!([]);
    }
    let outcome = run(&scenario(60, &topology, vec![flow(0), bulk("reno", None)]));
    let told = &outcome.summary.flows[0].protocols["maxnet"];
    assert_eq!(told.failure, Some("no router answers"));
    assert_eq!(told.counts["fall_backs"], 1);
    let (ours, reno) = (rate_bps(&outcome, 0, 10, 59), rate_bps(&outcome, 1, 10, 59));
    assert!(
        dropped(&outcome, 0, 10) > 0,
        "it fills the queue as Reno does"
    );
    assert!(ours + reno * PAYLOAD > 9e6, "{ours} {reno}");
    assert!((0.5..2.0).contains(&(ours / reno)), "{ours} {reno}");
}

#[test]
fn a_loss_is_repaired_without_a_smaller_window() {
    let lossy = |loss: f64| {
        let mut topology = dumbbell(10_000_000, 14, 30_000);
        topology["forward"]["loss"] = json!(loss);
        run(&scenario(40, &topology, vec![flow(0)]))
    };
    for loss in [0.005, 0.02] {
        let got = rate_bps(&lossy(loss), 0, 10, 39);
        // goodput is lower by the loss rate: lost packets are retransmitted, and the congestion
        // price counts all offered packets
        near(got, MU * 10e6 * (1.0 - loss), 0.04, &format!("loss {loss}"));
    }
}
