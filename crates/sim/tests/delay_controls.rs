//! Published behaviour of the delay-based controls in traces: the queue that they keep, and how
//! they share a link. studies/controls has their response functions.

use crate::common::{bulk, dumbbell, run, wide_link, MS, SECOND};
use headway_sim::Outcome;
use serde_json::{json, Value};

const RATE_BPS: u64 = 10_000_000;
const PKT_BYTES: f64 = 1500.0;
/// Time in seconds in which the link sends one packet.
const PKT_S: f64 = 1.2e-3;
const MSS_BYTES: f64 = 1448.0;
const STACKS: [&str; 2] = ["linux-2.6", "linux-6"];
/// Everything before this time is ignored. Slow start overshoots, because the first ACKs of each
/// round show no queue, and Vegas then reduces cwnd by only one packet per round trip.
const WARM_UP_S: u64 = 120;
const END_S: u64 = 150;

/// Flows over 10 Mbit/s and 100 ms with room for all packets; each flow has its own additional
/// one-way delay. They start 20 ms apart, so that each one's first data meets an empty queue and
/// measures the base RTT. Every packet is acknowledged, so that no packet waits for the ACK of an
/// earlier one.
fn flows(stack: &str, controls: &[(Value, u64)]) -> Outcome {
    let flow = |(i, (control, extra_ms)): (usize, &(Value, u64))| {
        let mut flow = bulk("reno", None);
        flow["control"] = control.clone();
        flow["start_ns"] = json!(20 * MS * i as u64);
        flow["extra_delay_ns"] = json!(extra_ms * MS);
        flow["delayed_ack"] = json!(false);
        flow
    };
    let flows: Vec<_> = controls.iter().enumerate().map(flow).collect();
    let link = wide_link(RATE_BPS, 50 * MS);
    let mut scenario = dumbbell(stack, END_S * SECOND, &link, json!(flows));
    scenario["checkpoints_ns"] = json!([WARM_UP_S * SECOND]);
    scenario["record"] = json!({"flows": false, "queue": false});
    scenario["capture"] = Value::Null;
    run(&scenario)
}

fn alike(stack: &str, control: &Value, n: usize) -> Outcome {
    flows(stack, &vec![(control.clone(), 0); n])
}

fn fast(alpha: u32) -> Value {
    json!({"name": "fast", "tunables": {"alpha": alpha}})
}

/// Mean length of the forward queue over time, including the packet in transmission.
fn mean_queue_pkts(outcome: &Outcome) -> f64 {
    let c = &outcome.tables.link_counters;
    let at: Vec<_> = (0..c.link.len()).filter(|&i| c.link[i] == 0).collect();
    let [from, end] = at[..] else {
        panic!("a checkpoint and the end")
    };
    let byte_us = (c.queue_byte_us[end] - c.queue_byte_us[from]) as f64;
    byte_us / ((END_S - WARM_UP_S) as f64 * 1e6) / PKT_BYTES
}

/// Packets per second that arrive of each flow.
fn rates_pps(outcome: &Outcome) -> Vec<f64> {
    let c = &outcome.tables.flow_counters;
    let n = outcome.summary.flows.len();
    let bytes = |row: usize| c.delivered_bytes[row] as f64;
    let seconds = (END_S - WARM_UP_S) as f64;
    (0..n)
        .map(|flow| (bytes(n + flow) - bytes(flow)) / MSS_BYTES / seconds)
        .collect()
}

/// The number of packets that each flow has in the queue, computed from the flow's own
/// measurements: rate times queueing delay.
fn own_queues_pkts(outcome: &Outcome) -> Vec<f64> {
    let rates = rates_pps(outcome);
    let delay_us = |flow: usize| {
        let of = &outcome.summary.flows[flow];
        f64::from(of.srtt_us.unwrap()) - f64::from(of.min_rtt_us.unwrap())
    };
    let both = rates.iter().enumerate();
    both.map(|(flow, rate)| rate * delay_us(flow) / 1e6)
        .collect()
}

fn near(seen: f64, expected: f64, part: f64) -> bool {
    (seen / expected - 1.0).abs() <= part
}

#[test]
fn a_flow_of_fast_keeps_alpha_packets_in_the_queue_and_fills_the_link() {
    for stack in STACKS {
        for alpha in [10, 20, 50] {
            let outcome = alike(stack, &fast(alpha), 1);
            let queue = mean_queue_pkts(&outcome);
            assert!(
                (queue - f64::from(alpha)).abs() <= 1.5,
                "{stack} {alpha}: {queue}"
            );
            let rate = rates_pps(&outcome)[0];
            assert!(near(rate, 1.0 / PKT_S, 0.002), "{stack} {alpha}: {rate}");
        }
    }
}

#[test]
fn the_queue_of_several_flows_of_fast_is_the_sum_of_their_alphas() {
    for stack in STACKS {
        let outcome = alike(stack, &fast(20), 4);
        let queue = mean_queue_pkts(&outcome);
        assert!(near(queue, 80.0, 0.05), "{stack}: {queue}");
        let rates = rates_pps(&outcome);
        let fair = rates
            .iter()
            .all(|&rate| near(rate, 1.0 / PKT_S / 4.0, 0.05));
        assert!(fair, "{stack}: {rates:?}");
    }
}

#[test]
fn flows_of_fast_get_alpha_packets_per_queueing_delay_at_any_rtt() {
    for stack in STACKS {
        let outcome = flows(stack, &[(fast(10), 0), (fast(30), 0), (fast(20), 50)]);
        let queue = mean_queue_pkts(&outcome);
        assert!(near(queue, 60.0, 0.05), "{stack}: {queue}");
        // each flow's rate is alpha/(RTT - base RTT), and RTT - base RTT, the queueing delay, is
        // the same for all flows
        for (rate, alpha) in rates_pps(&outcome).into_iter().zip([10.0, 30.0, 20.0]) {
            let expected = alpha / (queue * PKT_S);
            assert!(near(rate, expected, 0.07), "{stack}: {rate} for {expected}");
        }
    }
}

#[test]
fn flows_of_vegas_keep_between_alpha_and_beta_packets_each() {
    for stack in STACKS {
        for n in [1, 2, 5] {
            let outcome = alike(stack, &json!({"name": "vegas"}), n);
            let queue = mean_queue_pkts(&outcome);
            // the mean queue includes the packet in transmission, which controls do not count as
            // queued
            let most = 4.0 * n as f64 + 1.0;
            let within = (2.0 * n as f64..most).contains(&queue);
            assert!(within, "{stack} {n}: {queue}");
            let total: f64 = rates_pps(&outcome).iter().sum();
            assert!(near(total, 1.0 / PKT_S, 0.01), "{stack} {n}: {total}");
        }
    }
}

#[test]
fn vegas_shares_by_packets_in_the_queue_not_by_rtt() {
    let vegas = json!({"name": "vegas"});
    let controls: Vec<_> = [0, 50, 100].map(|ms| (vegas.clone(), ms)).into();
    let outcome = flows("linux-6", &controls);
    let queues = own_queues_pkts(&outcome);
    // each flow keeps 2 to 4 packets queued. The RTT also counts a packet's transmission time,
    // which the base RTT of the handshake does not include.
    let within = queues.iter().all(|queue| (2.0..5.5).contains(queue));
    assert!(within, "{queues:?}");
    let rates = rates_pps(&outcome);
    let most = rates.iter().copied().fold(0.0, f64::max);
    let least = rates.iter().copied().fold(f64::MAX, f64::min);
    assert!(most / least <= 2.0, "{rates:?}");
}
