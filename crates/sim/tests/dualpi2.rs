//! DualPI2 and classic queues with the scalable controls Prague and DCTCP beside Reno and CUBIC. Tests
//! are named after those of the literature on L4S that they repeat. DCTCP sends ECT(0), so for it
//! `l4s_ecn` lets both classes join the L queue.

use crate::common::{bulk, run, MS, SECOND};
use crate::queues::{goodputs, link, many, path};
use headway_sim::Outcome;
use serde_json::{json, Value};

/// How much a sub-queue of the forward link has sent, dropped and marked since the first checkpoint.
struct Since {
    sent: f64,
    dropped: f64,
    /// Mean sojourn time of the sent packets.
    sojourn_ms: f64,
}

const CLASSIC: u32 = 0;
const L4S: u32 = 1;

fn since(outcome: &Outcome, queue: u32) -> Since {
    let q = &outcome.tables.sub_queues;
    let rows: Vec<_> = (0..q.link.len())
        .filter(|&row| q.link[row] == 0 && q.queue[row] == queue)
        .collect();
    let (from, to) = (rows[0], rows[rows.len() - 1]);
    let grown = |of: &[u64]| (of[to] - of[from]) as f64;
    let sent = grown(&q.sent_pkts);
    Since {
        sent,
        dropped: grown(&q.dropped_pkts),
        sojourn_ms: grown(&q.sojourn_us) / sent / 1000.0,
    }
}

/// By how much a counter of the forward link's discipline has grown since the first checkpoint.
fn counted(outcome: &Outcome, name: &str) -> f64 {
    let declared = &outcome.summary.queues[0].counters;
    let at = declared.iter().position(|c| c.name == name).unwrap() as u8;
    let c = &outcome.tables.queue_counters;
    let rows = (0..c.link.len()).filter(|&row| c.link[row] == 0 && c.name[row] == at);
    let values: Vec<u64> = rows.map(|row| c.value[row]).collect();
    (values[values.len() - 1] - values[0]) as f64
}

fn mean(of: &[f64]) -> f64 {
    of.iter().sum::<f64>() / of.len() as f64
}

#[test]
fn l5_classic_flows_lose_the_square_of_half_the_marks_of_scalable_ones() {
    for (mbps, rtt_ms, flows) in [(50, 20, 5), (100, 10, 5)] {
        let forward = link(
            mbps * 1_000_000,
            rtt_ms * MS,
            "dualpi2",
            json!({"l4s_ecn": 3}),
        );
        let all = [many("dctcp", flows), many("reno", flows)].concat();
        let outcome = run(&path(forward, json!(all), 30 * SECOND, 10 * SECOND));
        let (classic, l4s) = (since(&outcome, CLASSIC), since(&outcome, L4S));
        let p_l = counted(&outcome, "coupled_marks") / l4s.sent;
        let p_c = counted(&outcome, "classic_drops") / (classic.sent + classic.dropped);
        let shares = goodputs(&outcome, 2 * flows as usize);
        let (scalable, reno) = shares.split_at(flows as usize);
        let ratio = mean(scalable) / mean(reno);
        println!(
            "{mbps} Mbit/s {rtt_ms} ms: p_L {p_l:.4}, p_C {p_c:.5}, (p_L/2)^2 {:.5}, delays L {:.2} \
             C {:.1} ms, rates {ratio:.2}",
            (p_l / 2.0).powi(2),
            l4s.sojourn_ms,
            classic.sojourn_ms
        );
        // p varies in time, and the mean of a square exceeds the square of the mean
        let coupled = p_c / (p_l / 2.0).powi(2);
        assert!((0.8..1.5).contains(&coupled), "{coupled}");
        assert!((10.0..20.0).contains(&classic.sojourn_ms));
        assert!(l4s.sojourn_ms < 2.0, "{}", l4s.sojourn_ms);
        // neither kind is starved
        assert!((0.5..2.8).contains(&ratio), "{ratio}");
    }
}

/// The 99th percentile, over the time from 10 s on, of how long the last packet in the queue of a
/// link of 20 Mbit/s waits until its transmission begins, at most.
fn p99_ms(outcome: &Outcome) -> f64 {
    let q = &outcome.tables.queue;
    let rows: Vec<_> = (0..q.link.len())
        .filter(|&row| q.link[row] == 0 && q.time_ns[row] >= 10 * SECOND as i64)
        .collect();
    let span = |pair: &[usize]| {
        (
            q.queue_bytes[pair[0]],
            q.time_ns[pair[1]] - q.time_ns[pair[0]],
        )
    };
    let mut spans: Vec<(u32, i64)> = rows.windows(2).map(span).collect();
    spans.sort_unstable();
    let mut above = spans.iter().map(|span| span.1).sum::<i64>() / 100;
    while let Some((bytes, ns)) = spans.pop() {
        above -= ns;
        if above < 0 {
            return f64::from(bytes.saturating_sub(1500)) * 8.0 / 20e3;
        }
    }
    0.0
}

/// The laws are those of RFC 9332 section 2.1, at the probabilities and round trips of the run.
/// Prague's rate exceeds its law because marks at random leave it rounds without a reduction (see L7
/// in prague.rs). At 100 ms each flow has too few signals in 90 s for a comparison.
#[test]
fn l5_prague_and_cubic_share_a_link_by_the_laws_of_their_signals() {
    for rtt_ms in [5, 10, 15, 20, 25, 40, 50] {
        let forward = link(40_000_000, rtt_ms * MS, "dualpi2", json!({}));
        let flows = json!([bulk("prague", None), bulk("cubic", None)]);
        let outcome = run(&path(forward, flows, 120 * SECOND, 30 * SECOND));
        let (classic, l4s) = (since(&outcome, CLASSIC), since(&outcome, L4S));
        let p_l = (counted(&outcome, "coupled_marks") + counted(&outcome, "step_marks")) / l4s.sent;
        let p_c = counted(&outcome, "classic_drops") / (classic.sent + classic.dropped);
        let [prague, cubic] = goodputs(&outcome, 2)[..] else {
            panic!("two flows")
        };
        let rtts_ms = [l4s.sojourn_ms, classic.sojourn_ms].map(|queue| queue + rtt_ms as f64);
        let law_l = 2.0 / (p_l * rtts_ms[0].max(25.0));
        let law_c = 1.22 / (p_c.sqrt() * rtts_ms[1]);
        let [of_l, of_c] =
            [(l4s.sent, law_l), (classic.sent, law_c)].map(|(n, law)| n / 90e3 / law);
        println!(
            "{rtt_ms} ms: {:.2}; p_L {p_l:.4}, p_C {p_c:.5}, round trips {rtts_ms:.1?} ms, of the \
             laws {of_l:.2} and {of_c:.2}",
            prague / cubic
        );
        assert!((0.9..1.2).contains(&of_c), "{rtt_ms}: {of_c}");
        assert!((1.2..1.55).contains(&of_l), "{rtt_ms}: {of_l}");
    }
}

#[test]
fn l6_one_prague_flow_keeps_its_queue_below_a_millisecond() {
    for rtt_ms in [20, 40, 80] {
        let forward = link(20_000_000, rtt_ms * MS, "dualpi2", json!({}));
        let flows = json!([bulk("prague", None)]);
        let mut scenario = path(forward, flows, 40 * SECOND, 10 * SECOND);
        scenario["record"]["queue"] = json!(true);
        let outcome = run(&scenario);
        let (l4s, p99_ms) = (since(&outcome, L4S), p99_ms(&outcome));
        let goodput = goodputs(&outcome, 1)[0];
        println!(
            "{rtt_ms} ms: L delay {:.2} ms, 99th percentile {p99_ms:.2} ms, {goodput:.1} Mbit/s",
            l4s.sojourn_ms
        );
        assert!(l4s.sojourn_ms < 1.0, "{rtt_ms}: {}", l4s.sojourn_ms);
        assert!(p99_ms <= 2.0, "{rtt_ms}: {p99_ms}");
        assert_eq!(l4s.dropped, 0.0);
        assert!(goodput > 18.0, "{rtt_ms}: {goodput}");
    }
}

#[test]
fn prague_flows_of_unlike_round_trips_get_similar_rates() {
    let ratio = |control: &str, tunables: Value| {
        let mut flows = many(control, 4);
        for (flow, extra_us) in flows.iter_mut().zip([0, 250, 4750, 14_750]) {
            flow["extra_delay_ns"] = json!(extra_us * 1000);
        }
        let forward = link(400_000_000, MS / 2, "dualpi2", tunables);
        let outcome = run(&path(forward, json!(flows), 60 * SECOND, 20 * SECOND));
        let rates = goodputs(&outcome, 4);
        let most = rates.iter().copied().fold(0.0, f64::max);
        let ratio = most / rates.iter().copied().fold(most, f64::min);
        println!("{control}: {rates:.1?} Mbit/s of 0.5, 1, 10 and 30 ms, {ratio:.2}");
        ratio
    };
    let ramp = || json!({"step_us": 800, "ramp_us": 400});
    let (prague, cubic) = (ratio("prague", ramp()), ratio("cubic", ramp()));
    assert!(prague <= 1.6, "{prague}");
    assert!(cubic > 2.0 * prague, "{cubic}");
    // the step marks bursts, so a flow whose packets arrive evenly gets more
    let step = ratio("prague", json!({}));
    assert!(step <= 1.6, "{step}");
}

#[test]
fn l8_a_scalable_flow_starves_a_classic_one_that_shares_its_sub_queue() {
    // A hazard, not a feature: both get the same marks, of which DCTCP needs many and CUBIC few.
    let cubic = || {
        let mut cubic = bulk("cubic", None);
        cubic["ecn"] = json!(["on", "on"]);
        cubic
    };
    let ratio = |aqm: &str, tunables: Value| {
        let forward = link(100_000_000, 20 * MS, aqm, tunables);
        let flows = json!([bulk("dctcp", None), cubic()]);
        let outcome = run(&path(forward, flows, 40 * SECOND, 10 * SECOND));
        let shares = goodputs(&outcome, 2);
        println!("{aqm}: {shares:.1?}");
        shares[0] / shares[1]
    };
    let shared = ratio("fq_codel", json!({"flows": 1}));
    assert!(shared > 4.0, "{shared}");
    // sub-queues of their own, or coupled signals, avoid it
    let own = ratio("fq_codel", json!({}));
    assert!((0.8..1.25).contains(&own), "{own}");
}

#[test]
fn l11_a_step_below_a_packets_time_costs_throughput_unless_it_counts_packets() {
    // 4 Mbit/s: a packet takes 3 ms, three times the step
    for control in ["dctcp", "prague"] {
        let goodput = |min_step_pkts: u32| {
            let tunables = json!({"l4s_ecn": 3, "min_step_pkts": min_step_pkts});
            let forward = link(4_000_000, 20 * MS, "dualpi2", tunables);
            let flows = json!([bulk(control, None)]);
            let outcome = run(&path(forward, flows, 30 * SECOND, 10 * SECOND));
            goodputs(&outcome, 1)[0]
        };
        let (time, packets) = (goodput(0), goodput(3));
        println!("{control}: step in time {time:.2}, from three packets on {packets:.2} Mbit/s");
        assert!(packets > 3.5 && packets > time, "{packets} {time}");
    }
}
