//! The same scenario and seed give the same trace, bit for bit: in two runs, in debug and release
//! builds, and with any number of parallel threads.
//!
//! When the simulator's results change on purpose, the failing assertion shows the new hash. Enter
//! the new hash in this file, and describe the change in CHANGELOG.md under "Results that change".
//! The bounds next to each hash check plausibility; do not change them.

use crate::common::{bulk, run, MS, SECOND};
use headway_sim::trace::record::Column;
use headway_sim::Outcome;
use serde_json::{json, Value};

/// FNV-1a hash of a run: every column of every table with its name, the capture and the summary.
fn hash(outcome: Outcome) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    let mut add = |bytes: &[u8]| {
        for byte in bytes {
            hash = (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
    };
    // The number of events depends on the engine's implementation, so it is not hashed.
    for flow in &outcome.summary.flows {
        add(serde_json::to_string(flow).expect("a flow").as_bytes());
    }
    for (table, columns) in outcome.tables.into_columns() {
        // Tables without rows are left out of the hash, so that a new kind of table does not change
        // the hashes of existing runs.
        let rows = columns.first().map_or(0, |(_, column)| column.len());
        if rows == 0 {
            continue;
        }
        add(table.as_bytes());
        for (name, column) in columns {
            add(name.as_bytes());
            match column {
                Column::U8(v) => add(&v),
                Column::U32(v) => v.iter().for_each(|x| add(&x.to_le_bytes())),
                Column::U64(v) => v.iter().for_each(|x| add(&x.to_le_bytes())),
                Column::I64(v) => v.iter().for_each(|x| add(&x.to_le_bytes())),
            }
        }
    }
    // The first block of a capture names the version of Headway. Bytes 4 to 7 have its length.
    if let Some(capture) = outcome.capture {
        let block_bytes = u32::from_le_bytes(capture[4..8].try_into().expect("four bytes"));
        add(&capture[block_bytes as usize..]);
    }
    hash
}

/// The home link of the project's paper 001: three senders and a call share 1 Mbit/s.
fn home_link() -> Value {
    let link = json!({"rate_bps": 1_000_000, "delay_ns": 25 * MS, "limit_bytes": 60_000});
    let mut late = bulk("htcp", None);
    late["start_ns"] = json!(SECOND);
    let call = json!({"name": "call",
        "app": {"kind": "cbr", "ip_bytes": 186, "interval_ns": 20 * MS}});
    json!({"seed": 1, "duration_ns": 20 * SECOND, "stack": "linux-2.6",
        "topology": {"kind": "dumbbell", "forward": link, "reverse": link},
        "flows": [bulk("reno", None), bulk("cubic26", None), late, call],
        "checkpoints_ns": [5 * SECOND, 10 * SECOND],
        "capture": {"link": "bottleneck", "snaplen_bytes": 80}})
}

/// linux-6 on a path that loses, duplicates and reorders packets.
fn rough_path() -> Value {
    let link = json!({"rate_bps": 10_000_000, "delay_ns": 20 * MS, "limit_pkts": 50,
        "loss": 0.005, "duplicate": 0.01, "reorder": 0.02, "reorder_delay_ns": 5 * MS});
    let flow = |control: &str, bytes: u64| bulk(control, Some(bytes));
    json!({"seed": 2, "duration_ns": 60 * SECOND, "stack": "linux-6",
        "topology": {"kind": "dumbbell", "forward": link, "reverse": link},
        "flows": [flow("cubic", 3_000_000), flow("reno", 2_000_000)]})
}

/// A parking lot with RED, messages and requests.
fn parking_lot() -> Value {
    let aqm = json!({"name": "red", "tunables": {"weight_shift": 6}});
    let link = json!({"rate_bps": 4_000_000, "delay_ns": 5 * MS, "limit_pkts": 60, "aqm": aqm});
    let hop = json!({"forward": link, "reverse": link});
    let epochs = vec![json!([400, 30_000, 200 * MS]); 30];
    let requests = json!({"name": "web", "app": {"kind": "vectors", "epochs": epochs},
        "control": {"name": "cubic"}, "from_hop": 0, "to_hop": 1});
    let messages = json!({"name": "chat", "control": {"name": "reno"}, "nodelay": true,
        "app": {"kind": "pingpong", "request_bytes": 200, "mean_interval_ns": 50 * MS}});
    json!({"seed": 3, "duration_ns": 20 * SECOND, "stack": "linux-6",
        "topology": {"kind": "chain", "hops": [hop, hop]},
        "flows": [bulk("cubic", None), requests, messages]})
}

fn assert_hash(scenario: &Value, expected: u64) {
    let found = hash(run(scenario));
    assert_eq!(
        found, expected,
        "the trace has changed; the new hash is {found:#018x}"
    );
}

#[test]
fn the_home_link_gives_its_golden_trace() {
    let scenario = home_link();
    let outcome = run(&scenario);
    let links = &outcome.tables.link_counters;
    // Row of the forward link at the last checkpoint.
    let row = links.link.len() - 2;
    let utilization = links.sent_bytes[row] as f64 / (20.0 * 125_000.0);
    assert!((0.95..=1.0).contains(&utilization), "{utilization}");
    let dropped = links.dropped_pkts[row];
    assert!((10..400).contains(&dropped), "{dropped} packets dropped");
    let lost = outcome.tables.udp.owd_ns.iter().filter(|&&d| d < 0).count();
    assert!(lost < 200, "{lost} of 1000 datagrams lost");
    // The longest delay consists of the propagation delay, a full queue and the packet in
    // transmission.
    let longest = outcome.tables.udp.owd_ns.iter().max().expect("datagrams");
    assert!(
        (400 * MS..540 * MS).contains(&(*longest as u64)),
        "{longest}"
    );
    assert_hash(&scenario, 0x3095_7587_390b_4f60);
}

#[test]
fn the_rough_path_gives_its_golden_trace() {
    let scenario = rough_path();
    let outcome = run(&scenario);
    let flows = &outcome.summary.flows;
    for (flow, bytes) in flows.iter().zip([3_000_000, 2_000_000]) {
        assert_eq!(flow.unique_bytes, bytes);
        let end_ns = flow.last_packet_ns.expect("packets");
        assert!((2 * SECOND..40 * SECOND).contains(&end_ns), "{end_ns}");
        // Half a round trip after the last byte arrives, the sender gets its ACK; the FINs follow.
        let done_ns = flow.done_ns.expect("all has arrived");
        assert!((SECOND..end_ns - 20 * MS).contains(&done_ns), "{done_ns}");
    }
    let counters = &outcome.tables.flow_counters;
    assert_eq!(counters.delivered_bytes, [3_000_000, 2_000_000]);
    let data_pkts = (3_000_000_u64.div_ceil(1448), 2_000_000_u64.div_ceil(1448));
    let again = counters.retransmits_pkts[0] + counters.retransmits_pkts[1];
    let sent = counters.sent_pkts[0] + counters.sent_pkts[1];
    // Some segments are cut at the end of the window, which adds packets.
    assert!((data_pkts.0 + data_pkts.1..data_pkts.0 + data_pkts.1 + 20).contains(&(sent - again)));
    assert!((17..400).contains(&again), "{again} packets retransmitted");
    assert_hash(&scenario, 0x84d6_31e2_75ef_7621);
}

#[test]
fn the_parking_lot_gives_its_golden_trace() {
    let scenario = parking_lot();
    let outcome = run(&scenario);
    let links = &outcome.tables.link_counters;
    let utilization = |link: usize| links.sent_bytes[link] as f64 / (20.0 * 500_000.0);
    assert!((0.85..=1.0).contains(&utilization(0)), "{}", utilization(0));
    assert!((0.85..=1.0).contains(&utilization(2)), "{}", utilization(2));
    assert!(links.dropped_pkts[0] < links.arrived_pkts[0] / 20);
    let responses = &outcome.tables.responses;
    let web = responses.flow.iter().filter(|&&f| f == 1).count();
    let chat = responses.flow.iter().filter(|&&f| f == 2).count();
    assert_eq!(web, 30);
    assert!((330..480).contains(&chat), "{chat} messages of about 400");
    assert_hash(&scenario, 0x36c8_603f_ad5e_8252);
}

#[test]
fn two_runs_are_identical_and_another_seed_is_not() {
    for scenario in [home_link(), rough_path(), parking_lot()] {
        let mut scenario = scenario;
        scenario["duration_ns"] = json!(5 * SECOND);
        let first = run(&scenario);
        let second = run(&scenario);
        assert_eq!(first.tables, second.tables);
        assert_eq!(first.summary, second.summary);
        assert_eq!(first.capture, second.capture);
        let before = hash(first);
        assert_eq!(before, hash(second));
        scenario["seed"] = json!(12_345);
        assert_ne!(before, hash(run(&scenario)));
    }
}

#[test]
fn parallel_runs_do_not_affect_each_other() {
    let scenarios: Vec<Value> = (0..8)
        .map(|seed| {
            let mut scenario = [home_link(), rough_path(), parking_lot()][seed % 3].clone();
            scenario["seed"] = json!(seed);
            scenario["duration_ns"] = json!(3 * SECOND);
            scenario
        })
        .collect();
    let with_threads = |n: usize| {
        let share = scenarios.len().div_ceil(n);
        std::thread::scope(|scope| {
            let workers: Vec<_> = scenarios
                .chunks(share)
                .map(|part| scope.spawn(|| part.iter().map(|s| hash(run(s))).collect::<Vec<_>>()))
                .collect();
            let results = workers.into_iter().map(|w| w.join().expect("no panic"));
            results.flatten().collect::<Vec<_>>()
        })
    };
    let alone = with_threads(1);
    assert_eq!(alone, with_threads(2));
    assert_eq!(alone, with_threads(8));
}

#[test]
fn recording_does_not_change_the_run() {
    let full = run(&home_link());
    let mut bare = home_link();
    bare["record"] = json!({"flows": false, "queue": false, "udp": false, "drops": false});
    bare["capture"] = Value::Null;
    let bare = run(&bare);
    assert_eq!(full.tables.flow_counters, bare.tables.flow_counters);
    assert_eq!(full.tables.link_counters, bare.tables.link_counters);
    assert!(bare.tables.flow_state.flow.is_empty() && bare.tables.queue.link.is_empty());
}
