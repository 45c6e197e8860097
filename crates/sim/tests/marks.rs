//! Controls that respond to marks: DCTCP with its exact echo (RFC 8257), and ABE (RFC 8511).

use crate::common::{bulk, dumbbell, run, text, wide_link, MS, SECOND};
use headway_sim::Outcome;
use headway_wire::pcapng::{Block, Reader};
use headway_wire::{Ipv4View, TcpFlags, TcpView};
use serde_json::{json, Value};

const RECOVERY_KIND: u8 = 0;
const CWR_KIND: u8 = 2;
const CE: u8 = 3;
const US: u64 = 1000;

/// A queue that marks every packet that finds `k` packets or more.
fn threshold(rate_bps: u64, delay_ns: u64, k_pkts: u32, limit_pkts: u32) -> Value {
    json!({"rate_bps": rate_bps, "delay_ns": delay_ns, "limit_pkts": limit_pkts,
        "aqm": {"name": "red", "tunables": {"ecn": 1, "min_th_pkts": k_pkts, "gentle": 0,
            "max_th_pkts": k_pkts + 1, "max_p_permille": 1000, "weight_shift": 1}}})
}

/// Flows of a control from hosts of their own over a link of 10 Gbit/s, 100 us and K = 65.
fn data_center(control: &str, flows: usize, duration_ns: u64) -> Outcome {
    let forward = threshold(10_000_000_000, 25 * US, 65, 1000);
    let flows: Vec<_> = (0..flows)
        .map(|number| {
            let mut flow = bulk(control, None);
            flow["name"] = json!(format!("{control}-{number}"));
            flow
        })
        .collect();
    run(&json!({
        "duration_ns": duration_ns,
        "stack": "linux-6",
        "topology": {
            "kind": "dumbbell",
            "forward": forward,
            "reverse": wide_link(10_000_000_000, 25 * US),
            "access_rate_bps": 10_000_000_000_u64,
            "access_delay_ns": 25 * US / 2,
        },
        "flows": flows,
        "checkpoints_ns": [duration_ns / 2]
    }))
}

/// The queue's lengths in packets in the second half of a run.
fn queue_pkts(outcome: &Outcome, from_ns: u64) -> Vec<u32> {
    let q = &outcome.tables.queue;
    (0..q.link.len())
        .filter(|&i| q.link[i] == 0 && q.time_ns[i] as u64 >= from_ns)
        .map(|i| q.queue_pkts[i])
        .collect()
}

/// Goodput of each flow in the second half of a run, bits per second.
fn goodputs_bps(outcome: &Outcome, duration_ns: u64) -> Vec<f64> {
    let c = &outcome.tables.flow_counters;
    let flows = c.flow.len() / 2;
    (0..flows)
        .map(|flow| (c.acked_bytes[flows + flow] - c.acked_bytes[flow]) as f64)
        .map(|bytes| bytes * 8e9 / (duration_ns / 2) as f64)
        .collect()
}

fn jain(shares: &[f64]) -> f64 {
    let sum: f64 = shares.iter().sum();
    let squares: f64 = shares.iter().map(|share| share * share).sum();
    sum * sum / (shares.len() as f64 * squares)
}

#[test]
fn forty_dctcp_senders_fill_a_fast_link_and_keep_its_queue_near_the_threshold() {
    let duration_ns = 60 * MS;
    let outcome = data_center("dctcp", 40, duration_ns);
    let goodputs = goodputs_bps(&outcome, duration_ns);
    let sum: f64 = goodputs.iter().sum();
    assert!(sum > 0.94 * 10e9, "{sum}");
    assert!(jain(&goodputs) > 0.9, "{}", jain(&goodputs));
    let queue = queue_pkts(&outcome, duration_ns / 2);
    // Alizadeh et al. 2010, equation 10: the longest queue is K plus a packet of every flow
    let longest = *queue.iter().max().expect("a queue");
    assert!(longest <= 65 + 2 * 40, "{longest}");
    assert!(outcome.tables.drops.reason.is_empty());
    println!(
        "40 flows: {sum:.0} bit/s, Jain {:.4}, queue up to {longest}",
        jain(&goodputs)
    );
}

#[test]
fn two_dctcp_flows_oscillate_as_published() {
    let duration_ns = 100 * MS;
    let outcome = data_center("dctcp", 2, duration_ns);
    let queue = queue_pkts(&outcome, duration_ns / 2);
    let (least, most) = (*queue.iter().min().unwrap(), *queue.iter().max().unwrap());
    // Alizadeh et al. 2010, section 3.3, with C RTT = 83 packets, K = 65 and N = 2: the queue
    // oscillates below K + N by 1/2 sqrt(2 N (C RTT + K)) = 12 packets. Large segments of up to
    // 44 packets add to both ends.
    assert!(most <= 65 + 2 + 2 * 44, "{most}");
    println!("2 flows: queue {least} to {most}");
    assert!(least > 0, "the link never idles: {least} to {most}");
    let goodputs = goodputs_bps(&outcome, duration_ns);
    assert!(goodputs.iter().sum::<f64>() > 0.94 * 10e9, "{goodputs:?}");
    assert!(jain(&goodputs) > 0.95, "{goodputs:?}");
}

/// What passes the responder's interface: for data (sequence number after it, mark), for ACKs
/// (acknowledgement number, ECE).
enum Seen {
    Data(u32, bool),
    Ack(u32, bool),
}

fn at_responder(scenario: &Value) -> Vec<Seen> {
    let outcome = headway_sim::run(&text(scenario)).expect("a scenario");
    let capture = outcome.capture.expect("a capture");
    let mut seen = vec![];
    for block in Reader::new(&capture) {
        let Block::Packet(packet) = block.expect("a well formed file") else {
            continue;
        };
        let ip = Ipv4View::parse(packet.bytes).expect("an IPv4 packet");
        let tcp = TcpView::parse(ip.payload()).expect("a TCP segment");
        let (seq, len) = (tcp.sequence(), tcp.payload().len() as u32);
        if packet.interface != 1 || tcp.flags().contains(TcpFlags::SYN) {
            continue;
        }
        if tcp.destination_port() == 5001 {
            if len > 0 {
                let marked = ip.ecn() as u8 == CE;
                seen.push(Seen::Data(seq.wrapping_add(len), marked));
            }
        } else {
            let ece = tcp.flags().contains(TcpFlags::ECE);
            seen.push(Seen::Ack(tcp.acknowledgement(), ece));
        }
    }
    seen
}

#[test]
fn every_ack_of_dctcp_echoes_exactly_the_marks_of_the_packets_that_it_acknowledges() {
    for (stack, k_pkts) in [("linux-6", 8), ("linux-6", 30), ("linux-2.6", 12)] {
        let link = threshold(50_000_000, 5 * MS, k_pkts, 1000);
        let mut scenario = dumbbell(stack, 3 * SECOND, &link, json!([bulk("dctcp", None)]));
        scenario["topology"]["reverse"] = wide_link(50_000_000, 5 * MS);
        scenario["capture"] = json!({"link": "hosts", "snaplen_bytes": 0});
        let mut waiting: Vec<(u32, bool)> = vec![];
        let (mut delayed, mut changes, mut last) = (0, 0, None);
        for one in at_responder(&scenario) {
            match one {
                Seen::Data(end, marked) => waiting.push((end, marked)),
                Seen::Ack(number, ece) => {
                    let covered = |w: &&(u32, bool)| number.wrapping_sub(w.0) < 1 << 31;
                    let acked: Vec<_> = waiting.iter().filter(covered).copied().collect();
                    waiting.retain(|w| !covered(&w));
                    assert!(
                        acked.iter().all(|w| w.1 == ece),
                        "{stack}: {acked:?}, {ece}"
                    );
                    delayed += usize::from(acked.len() > 1);
                    if let Some(&(_, marked)) = acked.last() {
                        changes += usize::from(last.replace(marked) == Some(!marked));
                    }
                }
            }
        }
        assert!(
            changes > 20 && delayed > 100,
            "{stack}: {changes} {delayed}"
        );
    }
}

#[test]
fn dctcp_responds_once_per_window_and_sends_only_ecn_capable_packets() {
    let link = threshold(50_000_000, 5 * MS, 20, 1000);
    let scenario = dumbbell("linux-6", 5 * SECOND, &link, json!([bulk("dctcp", None)]));
    let outcome = run(&scenario);
    let backoffs = &outcome.tables.backoffs;
    assert!(backoffs.kind.iter().all(|&kind| kind == CWR_KIND));
    assert!(backoffs.kind.len() > 50, "{}", backoffs.kind.len());
    for pair in backoffs.time_ns.windows(2) {
        assert!(pair[1] - pair[0] >= 10 * MS as i64, "{pair:?}");
    }
    // the window settles where it is reduced by little
    let late = backoffs.cwnd_pkts.len() * 3 / 4;
    let kept = (late..backoffs.cwnd_pkts.len())
        .map(|i| f64::from(backoffs.ssthresh_pkts[i]) / f64::from(backoffs.cwnd_pkts[i]));
    assert!(
        kept.clone().all(|part| part > 0.7),
        "{:?}",
        kept.collect::<Vec<_>>()
    );
    assert_eq!(outcome.summary.flows[0].ecn, Some(true));
    let segments = crate::common::segments(outcome.capture.as_deref().expect("a capture"));
    assert!(segments.iter().all(|s| s.ecn != 0));
}

#[test]
fn dctcp_halves_after_a_loss() {
    let link = json!({"rate_bps": 20_000_000, "delay_ns": 10 * MS, "limit_pkts": 50});
    let flows = json!([bulk("dctcp", None)]);
    let outcome = run(&dumbbell("linux-6", 10 * SECOND, &link, flows));
    let backoffs = &outcome.tables.backoffs;
    let losses: Vec<usize> = (0..backoffs.kind.len())
        .filter(|&i| backoffs.kind[i] == RECOVERY_KIND)
        .collect();
    assert!(losses.len() > 3, "{losses:?}");
    for i in losses {
        let (before, after) = (backoffs.cwnd_pkts[i], backoffs.ssthresh_pkts[i]);
        assert_eq!(after, before / 2);
    }
}

#[test]
fn abe_reduces_less_for_marks_and_as_before_for_losses() {
    for (control, beta_ecn, beta) in [("reno", 819, 512), ("cubic", 870, 717)] {
        for tunable in [0, beta_ecn] {
            // marks from 20 packets on; losses of a path with few errors
            let mut link = threshold(20_000_000, 20 * MS, 20, 1000);
            link["loss"] = json!(0.0001);
            let mut flow = bulk(control, None);
            flow["ecn"] = json!(["on", "on"]);
            flow["control"]["tunables"] = json!({"beta_ecn": tunable});
            let mut scenario = dumbbell("linux-6", 60 * SECOND, &link, json!([flow]));
            scenario["capture"] = Value::Null;
            let outcome = run(&scenario);
            let b = &outcome.tables.backoffs;
            let mut of_kind = [0, 0];
            for i in 0..b.kind.len() {
                let by_mark = b.kind[i] == CWR_KIND;
                let kept = if by_mark && tunable > 0 {
                    beta_ecn
                } else {
                    beta
                };
                let expected = (u64::from(b.cwnd_pkts[i]) * kept / 1024).max(2);
                // a loss in CWR reduces nothing more
                let is_first = i == 0 || b.time_ns[i] - b.time_ns[i - 1] > 100 * MS as i64;
                if is_first && [RECOVERY_KIND, CWR_KIND].contains(&b.kind[i]) {
                    assert_eq!(
                        u64::from(b.ssthresh_pkts[i]),
                        expected,
                        "{control} {tunable}"
                    );
                    of_kind[usize::from(by_mark)] += 1;
                }
            }
            assert!(of_kind[0] > 2 && of_kind[1] > 5, "{control}: {of_kind:?}");
        }
    }
}

#[test]
fn a_control_whose_header_is_in_the_ecn_bits_cannot_use_ecn() {
    let mut flow = bulk("vcp", None);
    flow["ecn"] = json!(["on", "passive"]);
    let link = wide_link(10_000_000, 10 * MS);
    let scenario = dumbbell("linux-6", SECOND, &link, json!([flow]));
    let error = headway_sim::run(&text(&scenario))
        .err()
        .expect("vcp has no ECN");
    let told =
        "flows[0].ecn: on is not allowed; off or passive: the header of vcp is in the ECN bits";
    assert!(error.to_string().contains(told), "{error}");
}
