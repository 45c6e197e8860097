//! What BBRv3 does on simple paths: how it fills them, and what it costs others.

use super::{Path, Run, MBIT, PKT_BYTES};
use crate::common::{bulk, run, MS, SECOND};
use headway_sim::Outcome;
use serde_json::{json, Value};

const PATH: Path = Path {
    rate_bps: 50 * MBIT,
    rtt_ns: 40 * MS,
    limit_pkts: 10_000,
};

fn with_buffer(bdp_tenths: u64) -> Path {
    let limit_pkts = PATH.bdp_pkts() * bdp_tenths / 10;
    Path { limit_pkts, ..PATH }
}

fn quiet(mut scenario: Value) -> Value {
    scenario["capture"] = Value::Null;
    scenario
}

/// Goodput of each flow from the first checkpoint to the end as a share of the path's rate, and the
/// share of retransmitted packets.
fn results(outcome: &Outcome, path: &Path, seconds: u64) -> (Vec<f64>, f64) {
    let c = &outcome.tables.flow_counters;
    let flows = c.flow.len() / 2;
    let payload_bps = path.rate_bps as f64 * 1448.0 / PKT_BYTES as f64;
    let share = |flow: usize| {
        let bytes = c.acked_bytes[flows + flow] - c.acked_bytes[flow];
        bytes as f64 * 8.0 / seconds as f64 / payload_bps
    };
    let sum = |column: &[u64]| column[flows..].iter().sum::<u64>() as f64;
    let again = sum(&c.retransmits_pkts) / sum(&c.sent_pkts);
    ((0..flows).map(share).collect(), again)
}

/// One flow for 20 s, measured from 5 s on.
fn alone(control: &str, path: &Path, loss: f64) -> (f64, f64, Outcome) {
    let mut link = path.link();
    link["loss"] = json!(loss);
    let mut scenario = quiet(path.scenario(20 * SECOND, &link, bulk(control, None)));
    scenario["checkpoints_ns"] = json!([5 * SECOND]);
    let outcome = run(&scenario);
    let (shares, again) = results(&outcome, path, 15);
    (shares[0], again, outcome)
}

#[test]
fn a_flow_fills_the_link_from_half_a_bdp_of_buffer_on_and_keeps_the_queue_short() {
    for (bdp_tenths, least) in [(1, 0.8), (5, 0.93), (10, 0.95), (20, 0.95), (100, 0.95)] {
        let path = with_buffer(bdp_tenths);
        let (share, again, outcome) = alone("bbr3", &path, 0.0);
        println!("buffer of {bdp_tenths} tenths of a BDP: {share:.3}, {again:.4} retransmitted");
        assert!(share > least, "{bdp_tenths}: {share}");
        assert!(again < 0.02, "{bdp_tenths}: {again}");
        let q = &outcome.tables.queue;
        let longest = |from_ns: u64, to_ns: u64| {
            let inside =
                |&i: &usize| q.link[i] == 0 && (from_ns..to_ns).contains(&(q.time_ns[i] as u64));
            let lengths = (0..q.link.len()).filter(inside).map(|i| q.queue_pkts[i]);
            u64::from(lengths.max().unwrap_or(0))
        };
        // Startup's gain of 2 keeps a BDP in the queue; UP lasts three rounds of 1.25
        assert!(
            longest(0, 2 * SECOND) <= PATH.bdp_pkts() * 5 / 4,
            "{bdp_tenths}"
        );
        assert!(
            longest(5 * SECOND, 20 * SECOND) <= PATH.bdp_pkts(),
            "{bdp_tenths}"
        );
    }
}

/// In Cruise a round with a loss sets the rate to what was delivered in it. That is lower than the
/// rate by the loss and by the pacing margin of 1 %, so already rare losses cost some percent.
#[test]
fn a_flow_stands_random_loss_of_one_percent_and_not_of_three() {
    let path = with_buffer(10);
    for (loss, least) in [(0.001, 0.9), (0.005, 0.8), (0.01, 0.78)] {
        let (share, _, _) = alone("bbr3", &path, loss);
        println!("loss of {loss}: {share:.3}");
        assert!(share > least, "{loss}: {share}");
    }
    let (share, _, _) = alone("bbr3", &path, 0.03);
    println!("loss of 0.03: {share:.3}");
    assert!((0.05..0.5).contains(&share), "{share}");
}

#[test]
fn version_3_retransmits_much_less_than_version_1_with_small_buffers() {
    for bdp_tenths in [5, 10] {
        let path = with_buffer(bdp_tenths);
        let version_1 = alone("bbr", &path, 0.0).1;
        let version_3 = alone("bbr3", &path, 0.0).1;
        println!("buffer of {bdp_tenths} tenths: {version_1:.4} and {version_3:.4} retransmitted");
        assert!(
            version_3 < version_1 / 4.0,
            "{bdp_tenths}: {version_3} {version_1}"
        );
    }
}

fn several(count: usize, apart_ns: u64, path: &Path, duration_ns: u64) -> Value {
    let mut scenario = quiet(path.bulk(duration_ns));
    let flows: Vec<_> = (0..count)
        .map(|number| {
            let mut flow = bulk("bbr3", None);
            flow["name"] = json!(format!("bbr3-{number}"));
            flow["start_ns"] = json!(number as u64 * apart_ns);
            flow
        })
        .collect();
    scenario["flows"] = json!(flows);
    scenario
}

#[test]
fn two_flows_share_the_link_after_some_cycles() {
    let path = Path {
        rate_bps: 20 * MBIT,
        rtt_ns: 20 * MS,
        limit_pkts: 67,
    };
    let mut scenario = several(2, 10 * SECOND, &path, 70 * SECOND);
    scenario["checkpoints_ns"] = json!([40 * SECOND]);
    scenario["record"] = json!({"flows": false, "queue": false});
    let (shares, _) = results(&run(&scenario), &path, 30);
    let sum: f64 = shares.iter().sum();
    let squares: f64 = shares.iter().map(|s| s * s).sum();
    let jain = sum * sum / (2.0 * squares);
    println!("two flows: {shares:?}, Jain {jain:.4}");
    assert!(jain > 0.95 && sum > 0.93, "{shares:?}");
}

#[test]
fn the_probes_of_several_flows_drain_the_queue_together() {
    let path = Path {
        rate_bps: 20 * MBIT,
        rtt_ns: 40 * MS,
        limit_pkts: 1000,
    };
    let outcome = run(&several(3, SECOND, &path, 48 * SECOND));
    let t = &outcome.tables.queue;
    // once the flows probe at the same times, the queue is empty at least once in every 6 s
    for from_s in (18..48).step_by(6) {
        let inside = |&i: &usize| {
            t.link[i] == 0 && (from_s..from_s + 6).contains(&(t.time_ns[i] as u64 / SECOND))
        };
        let shortest = (0..t.link.len())
            .filter(inside)
            .map(|i| t.queue_pkts[i])
            .min();
        println!("shortest queue from {from_s} s: {shortest:?}");
        assert!(
            shortest.is_some_and(|pkts| pkts <= 2),
            "{from_s}: {shortest:?}"
        );
    }
}

#[test]
fn marks_end_startup_and_probes_as_losses_do() {
    let mut path = with_buffer(20);
    path.rate_bps = 20 * MBIT;
    let mut link = path.link();
    link["aqm"] = json!({"name": "red", "tunables": {"ecn": 1, "min_th_pkts": 20, "gentle": 0,
        "max_th_pkts": 21, "max_p_permille": 1000, "weight_shift": 1}});
    let run_with = |ecn: &str| {
        let mut flow = bulk("bbr3", None);
        flow["ecn"] = json!([ecn, ecn]);
        Run::of(&path.scenario(10 * SECOND, &link, flow))
    };
    let marked = run_with("on");
    assert!(marked.outcome.summary.flows[0].ce_marks > 0);
    assert!(marked.outcome.tables.drops.reason.is_empty());
    let drain = marked.first("drain", 0);
    assert!(
        drain.get("full_bw_count") < 3,
        "a mark and no plateau ends Startup"
    );
    let mut bounds = marked
        .rows
        .iter()
        .map(|row| row.get("inflight_longterm_pkts"));
    assert!(bounds.next_back().expect("a row") < 2 * path.bdp_pkts());
    let late = marked.rows.iter().filter(|row| row.time_ns > 5 * SECOND);
    assert!(late.clone().any(|row| row.get("prev_probe_too_high") == 1));
    assert!(late.clone().count() > 1000);
}
