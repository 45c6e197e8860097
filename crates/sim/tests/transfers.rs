//! Transfers that arrive during the run: when they arrive, how large they are, how long they take,
//! and how much memory they need.

use crate::common::{run, text, wide_link, world, MS, SECOND};
use headway_sim::trace::digest::{TransferTotals, CLASS_EDGES_BYTES};
use headway_sim::trace::record::Transfers;
use headway_sim::{Outcome, Scenario};
use serde_json::{json, Value};

/// A host pair whose transfers of this size arrive every `interval_ns` on average.
fn pair(sizes: &str, interval_ns: u64) -> Value {
    json!({
        "name": "pair", "control": {"name": "reno"},
        "app": {"kind": "transfers", "sizes": sizes, "interval_ns": interval_ns, "group": "all"}
    })
}

/// These flows over a link without a queue limit; the way back is fast.
fn shared(duration_ns: u64, forward: &Value, flows: &[Value]) -> Value {
    json!({
        "duration_ns": duration_ns, "digest_at_ns": [0],
        "topology": {
            "kind": "dumbbell", "access_rate_bps": 10_000_000_000_u64,
            "forward": forward, "reverse": wide_link(10_000_000_000, forward["delay_ns"].as_u64().unwrap()),
        },
        "flows": flows,
        "record": {"flows": false, "queue": false, "udp": false, "drops": false}
    })
}

/// The transfers of one host pair over 100 Mbit/s and 2 ms.
fn rows_of(duration_ns: u64, flow: Value) -> Transfers {
    run(&shared(duration_ns, &wide_link(100_000_000, MS), &[flow]))
        .tables
        .transfers
}

fn group(outcome: &Outcome) -> &TransferTotals {
    &outcome.digest.as_ref().unwrap().transfers[0]
}

/// Pearson's statistic of samples in bins that are equally likely.
fn chi_squared(bins: &[u64]) -> f64 {
    let expected = bins.iter().sum::<u64>() as f64 / bins.len() as f64;
    let squares = bins.iter().map(|&n| (n as f64 - expected).powi(2));
    squares.sum::<f64>() / expected
}

/// The 99.9 % quantile of the chi-squared distribution with 19 degrees of freedom: 20 bins.
const CHI_SQUARED_19: f64 = 43.82;

#[test]
fn a_lone_small_transfer_takes_its_ideal_time() {
    let mut flow = pair("10 kB", SECOND);
    flow["app"]["constant"] = json!(true);
    let rows = rows_of(5 * SECOND + 500 * MS, flow);
    assert_eq!(rows.start_ns, [1, 2, 3, 4, 5].map(|s| s * SECOND as i64));
    for i in 0..5 {
        let slowdown = (rows.end_ns[i] - rows.start_ns[i]) as f64 / rows.ideal_ns[i] as f64;
        // The sender's ACK of the SYN-ACK precedes the data: 4.2 us of 4.9 ms.
        assert!((1.0..1.001).contains(&slowdown), "{slowdown}");
    }
}

#[test]
fn arrivals_are_a_poisson_process() {
    let rows = rows_of(100 * SECOND, pair("1 kB", 10 * MS));
    let gaps = rows.start_ns.windows(2).map(|two| (two[1] - two[0]) as f64);
    let mut bins = [0; 20];
    for gap_ns in gaps {
        // The distribution function at the gap is uniformly distributed.
        let share = 1.0 - (-gap_ns / 10e6).exp();
        bins[(share * 20.0) as usize] += 1;
    }
    assert!(chi_squared(&bins) < CHI_SQUARED_19, "{bins:?}");
    // The numbers of arrivals in seconds vary as much as their mean: within 4.5 standard deviations
    // of the estimate, which is sqrt(2 / 99) of the variance.
    let mut counts = [0.0; 100];
    for start_ns in &rows.start_ns {
        counts[(start_ns / SECOND as i64) as usize] += 1.0;
    }
    let mean = counts.iter().sum::<f64>() / 100.0;
    let variance = counts.iter().map(|n: &f64| (n - mean).powi(2)).sum::<f64>() / 99.0;
    assert!((mean - 100.0).abs() < 4.5, "{mean}");
    assert!((variance / mean - 1.0).abs() < 0.64, "{variance}");
}

#[test]
fn sizes_follow_their_distribution_function() {
    // Each list has the sizes that 5, 10, ... 95 % of the transfers do not exceed.
    let quantiles = |of: &dyn Fn(f64) -> f64| -> Vec<f64> {
        (1..20).map(|n| of(f64::from(n) / 20.0)).collect()
    };
    // quantiles of the standard normal distribution
    let normal = [
        -1.644_854, -1.281_552, -1.036_433, -0.841_621, -0.674_490, -0.524_401, -0.385_320,
        -0.253_347, -0.125_661, 0.0,
    ];
    let normal_at = |share: f64| {
        let at = (share * 20.0).round() as usize;
        if at <= 10 {
            normal[at - 1]
        } else {
            -normal[19 - at]
        }
    };
    let mu = 20_000f64.ln() - 0.5;
    let cases = [
        (
            "log-normal/20kB/1",
            quantiles(&|q| (mu + normal_at(q)).exp()),
        ),
        (
            "pareto/30kB/1.5",
            quantiles(&|q| 10_000.0 * (1.0 - q).powf(-1.0 / 1.5)),
        ),
        ("cdf/1000@0/21000@1", quantiles(&|q| 1000.0 + 20_000.0 * q)),
    ];
    for (sizes, edges) in cases {
        let mut bins = [0; 20];
        for seed in 1..=5 {
            let flow = pair(sizes, 10 * MS);
            let mut scenario = shared(100 * SECOND, &wide_link(100_000_000, MS), &[flow]);
            scenario["seed"] = json!(seed);
            for &bytes in &run(&scenario).tables.transfers.size_bytes {
                bins[edges.partition_point(|&edge| edge < bytes as f64)] += 1;
            }
        }
        assert!(chi_squared(&bins) < CHI_SQUARED_19, "{sizes}: {bins:?}");
    }
    // A share of exactly the smallest size: 0.3 of 10000 within 4.5 standard deviations.
    let rows = rows_of(100 * SECOND, pair("cdf/500@0.3/800@1", 10 * MS));
    let smallest = rows
        .size_bytes
        .iter()
        .filter(|&&bytes| bytes == 500)
        .count() as f64;
    let share = smallest / rows.size_bytes.len() as f64;
    assert!((share - 0.3).abs() < 0.021, "{share}");
    // Cutting off the tail keeps the mean: 20 kB within 4.5 standard deviations of 10000 draws.
    let text = "pareto/20kB/1.2/200kB";
    let rows = rows_of(100 * SECOND, pair(text, 10 * MS));
    let n = rows.size_bytes.len() as f64;
    let mean = rows.size_bytes.iter().sum::<u64>() as f64 / n;
    let squares = rows.size_bytes.iter().map(|&b| (b as f64 - mean).powi(2));
    let deviation = (squares.sum::<f64>() / n / n).sqrt();
    assert!(
        (mean - 20_000.0).abs() < 4.5 * deviation,
        "{mean} {deviation}"
    );
    assert!(rows.size_bytes.iter().all(|&bytes| bytes <= 200_000));
}

#[test]
fn in_a_closed_loop_a_transfer_waits_for_the_one_before_and_the_think_time() {
    let mut flow = pair("100 kB", 300 * MS);
    flow["app"]["closed"] = json!(true);
    let rows = rows_of(200 * SECOND, flow.clone());
    let thinks = rows.start_ns[1..].iter().zip(&rows.end_ns);
    let thinks: Vec<f64> = thinks.map(|(start, end)| (start - end) as f64).collect();
    let mean_ms = thinks.iter().sum::<f64>() / thinks.len() as f64 / 1e6;
    // about 640 exponential times: 4 standard deviations are 47 ms
    assert!((mean_ms - 300.0).abs() < 47.0, "{mean_ms}");
    flow["app"]["constant"] = json!(true);
    let rows = rows_of(5 * SECOND, flow);
    for (start_ns, end_ns) in rows.start_ns[1..].iter().zip(&rows.end_ns) {
        assert_eq!(start_ns - end_ns, 300 * MS as i64);
    }
}

/// Bytes on the way there, as times at 100 Mbit/s: of SYN, ACK and last ACK, and of the data with 52
/// bytes of headers per packet.
fn service_ns(bytes: u64) -> f64 {
    (60 + 2 * 52 + bytes + 52 * bytes.div_ceil(1448)) as f64 * 80.0
}

/// Mean completion time of an M/G/1 queue with processor sharing, E[S] / (1 - load) (Kleinrock 1976,
/// volume 2, section 4.4). The load is not exactly that of the description, so the formula uses the
/// mean time that these transfers would wait in a first-come first-served queue, for which Pollaczek
/// and Khinchine give load E[S^2] / (2 E[S] (1 - load)).
fn processor_sharing_ns(start_ns: &[i64], service_ns: &[f64]) -> f64 {
    let mut order: Vec<_> = (0..start_ns.len()).collect();
    order.sort_by_key(|&i| start_ns[i]);
    let (mut idle_at_ns, mut waited_ns) = (0.0, 0.0);
    for i in order {
        let arrives_ns = start_ns[i] as f64;
        waited_ns += f64::max(idle_at_ns - arrives_ns, 0.0);
        idle_at_ns = f64::max(idle_at_ns, arrives_ns) + service_ns[i];
    }
    let n = service_ns.len() as f64;
    let mean_ns = service_ns.iter().sum::<f64>() / n;
    let mean_square = service_ns.iter().map(|ns| ns * ns).sum::<f64>() / n;
    mean_ns + waited_ns / n * 2.0 * mean_ns * mean_ns / mean_square
}

#[test]
fn mean_times_over_a_fair_queue_are_those_of_processor_sharing() {
    const RUNS: u32 = 4;
    for (sizes, bytes, load) in [
        ("144800 B", 144_800, 0.5),
        ("144800 B", 144_800, 0.8),
        ("log-normal/144800B/1", 144_800, 0.5),
        ("log-normal/144800B/1", 144_800, 0.8),
    ] {
        // 170 host pairs, each with a sub-queue of its own, and a round-trip time of 20 us.
        let mut link = wide_link(100_000_000, 10_000);
        link["aqm"] = json!({"name": "drr"});
        let flow = pair(sizes, (service_ns(bytes) / load * 170.0) as u64);
        let mut scenario = shared(150 * SECOND, &link, &vec![flow; 170]);
        scenario["topology"]["access_rate_bps"] = json!(1_000_000_000_000_u64);
        // Means of four runs, because one run has few busy periods with large transfers.
        let (mut found_ns, mut ideal_ns) = (0.0, 0.0);
        for seed in 1..=RUNS {
            scenario["seed"] = json!(seed);
            let outcome = run(&scenario);
            let rows = &outcome.tables.transfers;
            let services: Vec<f64> = rows.size_bytes.iter().map(|&b| service_ns(b)).collect();
            let offered = services.iter().sum::<f64>() / (150 * SECOND) as f64;
            assert!((offered / load - 1.0).abs() < 0.05, "{offered}");
            let mean_us = group(&outcome).all.fct_us.body.mean.unwrap();
            found_ns += mean_us * 1000.0 / f64::from(RUNS);
            ideal_ns += processor_sharing_ns(&rows.start_ns, &services) / f64::from(RUNS);
        }
        let error = found_ns / ideal_ns - 1.0;
        assert!(error.abs() < 0.05, "{sizes}, load {load}: {error}");
        println!("{sizes}, load {load}: {found_ns:.0} ns, ideal {ideal_ns:.0} ns");
    }
}

/// Transfers of all sizes over a path that loses, duplicates and reorders packets.
fn rough(duration_ns: u64) -> Value {
    let mut link = json!({
        "rate_bps": 50_000_000, "delay_ns": 5 * MS, "limit_pkts": 100, "loss": 0.01,
        "duplicate": 0.02, "reorder": 0.02, "reorder_delay_ns": 40 * MS
    });
    let flows = vec![pair("pareto/10kB/1.2/1MB", 20 * MS); 5];
    let mut scenario = shared(duration_ns, &link, &flows);
    link["rate_bps"] = json!(1_000_000_000);
    scenario["topology"]["reverse"] = link;
    scenario
}

#[test]
fn memory_does_not_grow_with_the_number_of_transfers() {
    let peak = |seconds: u64| {
        let mut scenario = rough(seconds * SECOND);
        scenario["trace"] = json!(false);
        let mut world = world(&scenario);
        let mut packets = 0;
        while world.step() {
            packets = packets.max(world.net.packets_inside());
        }
        let sockets = world.sockets();
        let outcome = world.finish();
        assert!(outcome.tables.transfers.size_bytes.is_empty());
        (sockets, packets, group(&outcome).begun)
    };
    let (short, long) = (peak(20), peak(200));
    assert!(long.2 > 9 * short.2 && short.2 > 4500, "{short:?} {long:?}");
    assert!(long.0 <= 2 * short.0 && long.0 < 1000, "{short:?} {long:?}");
    assert!(long.1 <= 2 * short.1, "{short:?} {long:?}");
}

#[test]
fn sockets_that_are_used_again_get_no_packet_of_an_earlier_connection() {
    let mut world = world(&rough(60 * SECOND));
    let mut events = 0u64;
    while world.step() {
        events += 1;
        if events % 1000 == 0 {
            world.check_invariants().unwrap();
        }
    }
    assert!(world.sockets() < 1000, "{} sockets", world.sockets());
    let outcome = world.finish();
    let rows = &outcome.tables.transfers;
    let done = rows.end_ns.iter().filter(|&&end_ns| end_ns >= 0).count();
    assert!(done as f64 > 0.99 * rows.end_ns.len() as f64);
    // All connections together have delivered the bytes of the complete transfers, and at most
    // those of the others.
    let bytes = |is_done: bool| -> u64 {
        let all = rows.size_bytes.iter().zip(&rows.end_ns);
        all.filter(|(_, &end_ns)| (end_ns >= 0) == is_done)
            .map(|(bytes, _)| bytes)
            .sum()
    };
    let counters = &outcome.tables.flow_counters;
    let last = counters.delivered_bytes.iter().rev().take(5);
    let delivered: u64 = last.sum();
    assert!((bytes(true)..=bytes(true) + bytes(false)).contains(&delivered));
    assert!(counters
        .retransmits_pkts
        .iter()
        .rev()
        .take(5)
        .all(|&n| n > 0));
}

#[test]
fn a_run_repeats_and_another_flow_changes_no_arrival_and_no_size() {
    let draws = |outcome: &Outcome, flow: u32| {
        let rows = &outcome.tables.transfers;
        let own = (0..rows.flow.len()).filter(|&i| rows.flow[i] == flow);
        let mut own: Vec<_> = own
            .map(|i| (rows.start_ns[i], rows.size_bytes[i]))
            .collect();
        own.sort_unstable();
        own
    };
    let scenario = rough(5 * SECOND);
    let (first, again) = (run(&scenario), run(&scenario));
    assert_eq!(first.tables, again.tables);
    assert_eq!(first.digest, again.digest);
    let mut fewer = scenario.clone();
    fewer["flows"].as_array_mut().unwrap().truncate(3);
    assert_eq!(draws(&run(&fewer), 2), draws(&first, 2));
    let mut other = scenario.clone();
    other["seed"] = json!(2);
    assert_ne!(draws(&run(&other), 2), draws(&first, 2));
}

#[test]
fn a_digest_counts_the_transfers_of_the_trace_by_size() {
    let mut scenario = rough(20 * SECOND);
    scenario["digest_at_ns"] = json!([5 * SECOND]);
    let outcome = run(&scenario);
    let (rows, found) = (&outcome.tables.transfers, group(&outcome));
    let begun: Vec<_> = (0..rows.flow.len())
        .filter(|&i| rows.start_ns[i] >= 5 * SECOND as i64)
        .collect();
    let done: Vec<_> = begun
        .iter()
        .copied()
        .filter(|&i| rows.end_ns[i] >= 0)
        .collect();
    assert_eq!(found.begun, begun.len() as u64);
    assert_eq!(found.unfinished, (begun.len() - done.len()) as u64);
    assert_eq!(found.by_size.len(), CLASS_EDGES_BYTES.len() + 1);
    assert_eq!(
        found.by_size.iter().map(|one| one.completed).sum::<u64>(),
        found.all.completed
    );
    let is_large = |&&i: &&usize| (10_000..100_000).contains(&rows.size_bytes[i]);
    let large: Vec<_> = done.iter().filter(is_large).collect();
    assert_eq!(found.by_size[2].completed, large.len() as u64);
    let took_us = |i: usize| (rows.end_ns[i] - rows.start_ns[i]) as f64 / 1e3;
    let mean = large.iter().map(|&&i| took_us(i)).sum::<f64>() / large.len() as f64;
    assert!((found.by_size[2].fct_us.body.mean.unwrap() / mean - 1.0).abs() < 1e-9);
    let mut slowdowns: Vec<_> = done
        .iter()
        .map(|&i| took_us(i) * 1e3 / rows.ideal_ns[i] as f64)
        .collect();
    slowdowns.sort_unstable_by(f64::total_cmp);
    assert!(slowdowns[0] >= 1.0, "{}", slowdowns[0]);
    let p999 = slowdowns[(0.999 * (slowdowns.len() - 1) as f64) as usize];
    let next = slowdowns[(0.999 * (slowdowns.len() - 1) as f64) as usize + 1];
    let found_p999 = found.all.slowdown.p999.unwrap();
    assert!((p999 * 0.9995..=next * 1.0005).contains(&found_p999));
}

#[test]
fn the_slowdown_is_unknown_on_a_changing_link_and_transfers_pass_a_relay() {
    for (name, change) in [
        (
            "vary",
            json!({"kind": "schedule", "steps": [[0, 50_000_000, 5 * MS]]}),
        ),
        // A packet may arrive earlier than after the link's delay.
        ("jitter", json!({"spread_ns": MS})),
    ] {
        let mut scenario = rough(5 * SECOND);
        scenario["topology"]["forward"][name] = change;
        let outcome = run(&scenario);
        assert!(outcome.tables.transfers.ideal_ns.iter().all(|&ns| ns == -1));
        assert_eq!(group(&outcome).all.slowdown.body.median, None);
        assert!(group(&outcome).all.completed > 1000);
    }

    let hop = json!({"forward": wide_link(50_000_000, MS), "reverse": wide_link(50_000_000, MS)});
    let mut flow = pair("20 kB", 20 * MS);
    flow["relay"] = json!({"at_hop": 1});
    let mut relayed = shared(20 * SECOND, &hop["forward"], &[flow]);
    relayed["topology"] = json!({"kind": "chain", "hops": [hop, hop]});
    let mut world = world(&relayed);
    while world.step() {}
    assert!(world.sockets() < 600, "{} sockets", world.sockets());
    let outcome = world.finish();
    assert!(group(&outcome).unfinished < 5);
    assert!(outcome.tables.transfers.ideal_ns.iter().all(|&ns| ns == -1));
}

#[test]
fn wrong_transfers_are_rejected_by_name() {
    let refused = |change: &dyn Fn(&mut Value), words: &str| {
        let mut scenario = rough(SECOND);
        change(&mut scenario);
        let parsed = Scenario::from_json(&text(&scenario));
        let error = parsed.and_then(|s| headway_sim::World::new(&s).map(|_| ()));
        let error = error.unwrap_err().0;
        assert!(error.contains(words) && !error.contains('\n'), "{error}");
    };
    refused(
        &|s| s["flows"][0]["app"]["interval_ns"] = json!(0),
        "flows[0].app.interval_ns: 0",
    );
    refused(
        &|s| s["flows"][0]["app"]["sizes"] = json!("cdf/5@0.5"),
        "the last share is 0.5; it must be 1",
    );
    refused(&|s| s["capture"] = json!({"link": "bottleneck"}), "capture");
    refused(
        &|s| {
            let flow = s["flows"][0].clone();
            let named = |n: usize| {
                let mut flow = flow.clone();
                flow["app"]["group"] = json!(format!("group {n}"));
                flow
            };
            s["flows"] = (0..33).map(named).collect();
        },
        "flows[32].app.group: group 32 is not allowed; at most 32 groups of transfers",
    );
}
