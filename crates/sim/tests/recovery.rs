//! How each stack version detects and repairs losses. Random loss with a searched seed loses
//! exactly the packets that a test needs. The expected behaviour is that of Linux 2.6.24 and 6.1
//! (net/ipv4/tcp_input.c, tcp_output.c, tcp_recovery.c) or of an RFC.

use crate::common::{bulk, dumbbell, find, on_the_wheel, run, wide_link, Trace, MS, SECOND};
use serde_json::{json, Value};

const STACKS: [&str; 2] = ["linux-2.6", "linux-6"];
const RTT: u64 = 60 * MS;
const SEGMENT: u64 = 1448;

/// A request of `segments` full segments over a path with an RTT of 60 ms that loses packets
/// towards the responder. The connection closes only after the one-byte response has arrived.
fn request(stack: &str, segments: u64, loss: f64, options: Value) -> Value {
    let mut flow = json!({"name": "request", "control": {"name": "reno"},
        "app": {"kind": "vectors", "epochs": [[segments * SEGMENT, 1, 0]]}});
    let more = options.as_object().expect("an object").clone();
    flow.as_object_mut().expect("an object").extend(more);
    let link = wide_link(100_000_000, RTT / 2);
    let mut scenario = dumbbell(stack, 60 * SECOND, &link, json!([flow]));
    scenario["topology"]["forward"]["loss"] = json!(loss);
    scenario
}

/// Numbers of the data segments that were lost, in the order of the losses. The first data segment
/// has number 0.
fn lost(trace: &Trace) -> Vec<u64> {
    trace
        .lost
        .iter()
        .map(|s| {
            if s.len == 0 {
                u64::MAX
            } else {
                (s.seq - 1) / SEGMENT
            }
        })
        .collect()
}

fn complete(trace: &Trace) -> bool {
    trace.outcome.tables.responses.flow.len() == 1
}

/// Times at which segment number `number` was sent or retransmitted.
fn times(trace: &Trace, number: u64) -> Vec<u64> {
    trace
        .copies(1 + number * SEGMENT)
        .iter()
        .map(|s| s.time_ns)
        .collect()
}

fn near(a: u64, b: u64, tolerance: u64) -> bool {
    a.abs_diff(b) <= tolerance
}

#[test]
fn three_duplicate_acks_cause_a_retransmission() {
    // RFC 5681, 3.2 asks for three duplicate ACKs. With SACK, Linux waits for three segments above
    // the hole (TCP_FASTRETRANS_THRESH).
    for stack in STACKS {
        for sack in [true, false] {
            let options = json!({"sack": sack, "delayed_ack": false});
            let scenario = request(stack, 40, 0.02, options);
            let trace = find(
                &scenario,
                1,
                |t| matches!(lost(t)[..], [n] if (10..20).contains(&n)),
            );
            let hole = lost(&trace)[0] * SEGMENT + 1;
            let resent_ns = times(&trace, lost(&trace)[0])[1];
            let duplicates = |before_ns: u64| {
                let acks = trace.acks().into_iter();
                acks.filter(|a| a.ack == hole && a.time_ns < before_ns)
                    .count()
                    - 1
            };
            assert_eq!(duplicates(resent_ns), 3, "{stack}, sack {sack}");
            assert_eq!(trace.repairs(), (0, 1), "{stack}, sack {sack}");
            assert!(complete(&trace));
        }
    }
}

#[test]
fn a_timeout_comes_200_ms_after_the_round_trip_time_and_doubles() {
    // TCP_RTO_MIN bounds the variance term from below. Each timeout doubles the next (RFC 6298,
    // 5.5). With one packet in flight, linux-6 sends a tail loss probe at the time of the first
    // timeout, and times out later.
    for stack in STACKS {
        let scenario = request(stack, 1, 0.4, json!({}));
        let trace = find(&scenario, 3, |t| lost(t) == [0, 0, 0]);
        let sent = times(&trace, 0);
        let gaps: Vec<_> = sent.windows(2).map(|w| w[1] - w[0]).collect();
        let rto = RTT + 200 * MS;
        let expected = if stack == "linux-2.6" {
            [rto, 2 * rto, 4 * rto]
        } else {
            [rto, rto, 2 * rto]
        };
        for (gap, expected) in gaps.iter().zip(expected) {
            let in_time = if stack == "linux-2.6" {
                near(*gap, expected, 3 * MS)
            } else {
                on_the_wheel(*gap, expected)
            };
            assert!(in_time, "{stack}: {gaps:?}");
        }
        let rtos = if stack == "linux-2.6" { 3 } else { 2 };
        assert_eq!(trace.repairs(), (rtos, 3), "{stack}");
        assert!(complete(&trace));
    }
}

#[test]
fn a_lost_tail_is_probed_in_linux_6() {
    // RFC 8985, 7.2: the probe is sent two round trips after the last ACK. For a single segment it
    // waits until a delayed ACK could have arrived, but not longer than the timeout.
    for (tail, wait) in [(vec![19], RTT + 200 * MS), (vec![18, 19], 2 * RTT)] {
        let scenario = request("linux-6", 20, 0.05, json!({"delayed_ack": false}));
        let trace = find(&scenario, tail.len(), |t| lost(t) == tail);
        let sent = times(&trace, 19);
        assert!(
            on_the_wheel(sent[1] - sent[0] - RTT, wait),
            "{tail:?}: {sent:?}"
        );
        assert_eq!(trace.repairs(), (0, tail.len() as u64));
        // The probe repaired the loss, and the window is halved nevertheless.
        let [(_, _, before, after)] = trace.backoffs()[..] else {
            panic!("one reduction: {:?}", trace.backoffs());
        };
        assert_eq!(after, before / 2);
    }
}

/// A probe that new data arms is due at the latest when the oldest packet times out.
#[test]
fn a_probe_comes_no_later_than_the_timeout_of_the_oldest_packet() {
    let mut scenario = request("linux-6", 60, 0.0, json!({"delayed_ack": false}));
    // 12.1 ms per packet. The initial window leaves after one round trip, and the ACKs of its first
    // nine packets return.
    let (rate_bps, packet_ns) = (1_000_000, 12_112_000);
    scenario["topology"]["forward"]["rate_bps"] = json!(rate_bps);
    let outage_ns = 3 * RTT / 2 + 19 * packet_ns / 2;
    scenario["topology"]["reverse"]["vary"] = json!({"kind": "schedule", "steps": [
        [0, 100_000_000, RTT / 2], [outage_ns, 0, RTT / 2], [2 * SECOND, 100_000_000, RTT / 2]]});
    let trace = find(&scenario, 0, |_| true);
    let mut srtt_ns = RTT;
    for acked in 1..=9 {
        srtt_ns = (7 * srtt_ns + RTT + acked * packet_ns) / 8;
    }
    let oldest_ns = times(&trace, 9)[0];
    let after_ns = outage_ns + RTT / 2;
    let probe = trace.data().into_iter().find(|s| s.time_ns > after_ns);
    let waited_ns = probe.expect("a probe").time_ns - oldest_ns;
    assert!(
        on_the_wheel(waited_ns, srtt_ns + 200 * MS),
        "{waited_ns} {srtt_ns}"
    );
}

/// Copies of data from before a Recovery do not tell that its retransmissions were unnecessary. Here
/// a timeout is spurious, and the copies that it caused are reported during the next Recovery.
#[test]
fn copies_of_earlier_data_do_not_undo_a_recovery() {
    let down =
        json!({"name": "down", "rate_bps": 1_300_000, "delay_ns": 35 * MS, "limit_bytes": 18_000});
    let up = json!({"name": "up", "rate_bps": 220_000, "delay_ns": 35 * MS, "limit_pkts": 17,
        "ack_thinning": {"keep_one_of": 3, "interval_ns": 5 * MS}});
    let mut upload = bulk("reno", None);
    upload["start_ns"] = json!(110 * MS);
    upload["route"] = json!([1]);
    upload["reverse_route"] = json!([0]);
    let call =
        json!({"name": "call", "app": {"kind": "cbr", "ip_bytes": 100, "interval_ns": 20 * MS}});
    let scenario = json!({"stack": "linux-6", "duration_ns": 2 * SECOND,
        "topology": {"links": [down, up], "access_rate_bps": 1_000_000_000},
        "sysctls": {"tcp_timestamps": [0]}, "flows": [bulk("reno", None), upload, call]});
    let outcome = run(&scenario);
    let backoffs = &outcome.tables.backoffs;
    let rows = (0..backoffs.flow.len()).filter(|&row| backoffs.flow[row] == 0);
    let kinds: Vec<u8> = rows.map(|row| backoffs.kind[row]).collect();
    // a timeout, which F-RTO undoes, and a Recovery that stays
    assert_eq!(kinds, [1, 3, 0]);
}

#[test]
fn a_lost_tail_times_out_in_linux_26_and_the_window_collapses() {
    // The retransmission timer restarts with the last ACK. When it expires, tcp_enter_loss sets
    // cwnd to one packet.
    let scenario = request("linux-2.6", 20, 0.05, json!({}));
    let trace = find(&scenario, 1, |t| lost(t) == [19]);
    let sent = times(&trace, 19);
    assert_eq!(trace.repairs(), (1, 1));
    assert!(
        near(sent[1] - sent[0], 2 * RTT + 200 * MS, 45 * MS),
        "{sent:?}"
    );
    let [(at_ns, 1, before, ssthresh)] = trace.backoffs()[..] else {
        panic!("one timeout: {:?}", trace.backoffs());
    };
    assert_eq!(ssthresh, (before / 2).max(2));
    assert_eq!(trace.cwnd_at(at_ns), 1);
    assert!(complete(&trace));
}

/// Loses two segments of a window, far enough apart to leave two holes.
fn two_holes(stack: &str, sack: bool) -> (Trace, u64, u64) {
    let scenario = request(stack, 80, 0.02, json!({"sack": sack, "delayed_ack": false}));
    let trace = find(&scenario, 2, |t| {
        matches!(lost(t)[..], [a, b] if a >= 32 && a + 2 <= b && b <= a + 6 && b < 58)
            && times(t, lost(t)[1])[0] < times(t, lost(t)[0])[0] + RTT / 2
    });
    let holes = lost(&trace);
    let resent = [times(&trace, holes[0])[1], times(&trace, holes[1])[1]];
    (trace, resent[0], resent[1])
}

#[test]
fn with_sack_both_holes_of_a_window_are_repaired_in_one_round_trip() {
    // FACK marks packets lost by their distance from the highest SACK (tcp_update_scoreboard), RACK
    // by their transmission time.
    for stack in STACKS {
        let (trace, first, second) = two_holes(stack, true);
        assert!(second - first < RTT / 2, "{stack}: {} ns", second - first);
        assert_eq!(trace.repairs(), (0, 2), "{stack}");
        assert!(complete(&trace));
    }
}

#[test]
fn without_sack_newreno_repairs_one_hole_per_round_trip() {
    // RFC 6582, 3.2 step 3: the partial ACK reveals the next hole.
    for stack in STACKS {
        let (trace, first, second) = two_holes(stack, false);
        assert!(
            near(second - first, RTT, 2 * MS),
            "{stack}: {} ns",
            second - first
        );
        assert_eq!(trace.repairs(), (0, 2), "{stack}");
        assert!(complete(&trace));
    }
}

#[test]
fn without_sack_duplicate_acks_are_not_delayed() {
    // Without SACK, the sender counts duplicate ACKs, so none is delayed (__tcp_ack_snd_check).
    // With SACK, most of them are merged.
    for sack in [true, false] {
        let options = json!({"sack": sack, "delayed_ack": sack});
        let trace = find(
            &request("linux-6", 120, 0.01, options),
            1,
            |t| matches!(lost(t)[..], [a] if (60..70).contains(&a)),
        );
        let hole = 1 + lost(&trace)[0] * SEGMENT;
        let again_ns = times(&trace, lost(&trace)[0])[1];
        let acks = trace
            .segments
            .iter()
            .filter(|s| !s.outbound && s.ack == hole);
        // Each packet that was sent before the retransmission and arrives after the hole causes a
        // duplicate ACK.
        let above = trace
            .data()
            .iter()
            .filter(|d| d.seq > hole && d.time_ns < again_ns)
            .count();
        let duplicates = acks.count() - 1;
        if sack {
            assert!(duplicates < above / 2, "{duplicates} for {above} packets");
        } else {
            assert!(duplicates >= above, "{duplicates} for {above} packets");
        }
    }
}

#[test]
fn without_sack_a_duplicate_ack_with_one_packet_in_flight_lowers_the_threshold() {
    // tcp_check_reno_reordering: with one packet in flight, a duplicate ACK exceeds what one hole
    // explains, and the threshold becomes one packet. From then on the first duplicate ACK
    // indicates a loss. The network duplicates data and loses nothing. With some seeds a duplicate
    // arrives while one packet is in flight.
    for (sack, again) in [(true, 0..1), (false, 20..1000)] {
        let mut link = wide_link(10_000_000, 20 * MS);
        link["duplicate"] = json!(0.2);
        let epochs: Vec<_> = (0..40)
            .map(|i| [if i < 20 { 1000 } else { 60_000 }, 1, 0])
            .collect();
        let flow = json!({"name": "requests", "control": {"name": "reno"}, "sack": sack,
            "app": {"kind": "vectors", "epochs": epochs}});
        let mut scenario = dumbbell("linux-6", 60 * SECOND, &link, json!([flow]));
        scenario["topology"]["reverse"]["duplicate"] = json!(0.2);
        let repairs = (1..9).map(|seed| {
            scenario["seed"] = json!(seed);
            Trace::of(&scenario).repairs()
        });
        let (timeouts, copies): (Vec<_>, Vec<_>) = repairs.unzip();
        assert_eq!(timeouts, [0; 8], "sack {sack}");
        let most = copies.iter().max().expect("eight");
        assert!(again.contains(most), "sack {sack}: {copies:?}");
    }
}

#[test]
fn a_lost_retransmission_is_repaired_without_a_timeout() {
    // Linux 2.6.24 finds the loss by SACKs for data sent after the retransmission
    // (tcp_mark_lost_retrans), Linux 6.1 by RACK.
    for stack in STACKS {
        let scenario = request(stack, 120, 0.02, json!({}));
        let trace = find(
            &scenario,
            2,
            |t| matches!(lost(t)[..], [a, b] if a == b && (40..90).contains(&a)),
        );
        let sent = times(&trace, lost(&trace)[0]);
        assert_eq!(trace.repairs(), (0, 2), "{stack}");
        assert!(sent[2] - sent[1] < 2 * RTT, "{stack}: {sent:?}");
        assert!(complete(&trace));
    }
}

/// One recovery in congestion avoidance, caused by one drop at a full queue.
struct OneRecovery {
    trace: Trace,
    start_ns: u64,
    end_ns: u64,
    /// cwnd before the recovery, and ssthresh after its reduction.
    before: u32,
    ssthresh: u32,
    /// cwnd after every change during the recovery.
    windows: Vec<u32>,
}

fn one_recovery(stack: &str) -> OneRecovery {
    // A full queue may drop both packets of a large segment, so search for the first queue limit
    // with which only one packet is dropped.
    let recoveries = (50..60).map(|limit_pkts| {
        let link = json!({"rate_bps": 10_000_000, "delay_ns": RTT / 2, "limit_pkts": limit_pkts});
        let flows = json!([bulk("reno", None)]);
        Trace::of(&dumbbell(stack, 20 * SECOND, &link, flows))
    });
    let last_start_ns = |trace: &Trace| trace.backoffs().last().expect("a recovery").0;
    let trace = recoveries
        .into_iter()
        .find(|trace| {
            let start_ns = last_start_ns(trace);
            let near = start_ns - SECOND..start_ns + SECOND;
            trace
                .lost
                .iter()
                .filter(|s| near.contains(&s.time_ns))
                .count()
                == 1
        })
        .expect("a queue that loses one packet");
    let backoffs = trace.backoffs();
    let [.., (start_ns, 0, before, ssthresh)] = backoffs[..] else {
        panic!("a recovery: {backoffs:?}");
    };
    let states = &trace.outcome.tables.flow_state;
    let first = states.time_ns.partition_point(|&t| (t as u64) < start_ns);
    let inside = states.state[first..]
        .iter()
        .take_while(|&&s| s == 3)
        .count();
    let windows = states.cwnd_pkts[first..first + inside].to_vec();
    let end_ns = states.time_ns[first + inside] as u64;
    OneRecovery {
        trace,
        start_ns,
        end_ns,
        before,
        ssthresh,
        windows,
    }
}

#[test]
fn rate_halving_reduces_cwnd_by_a_packet_per_second_ack_down_to_ssthresh() {
    // tcp_cwnd_down of 2.6.24: from W to W/2 in one window of ACKs.
    let r = one_recovery("linux-2.6");
    assert_eq!(r.ssthresh, r.before / 2);
    let falls = r.windows[1..]
        .windows(2)
        .all(|w| w[0] == w[1] || w[0] == w[1] + 1);
    assert!(falls, "{:?}", r.windows);
    let after = r.trace.cwnd_at(r.end_ns);
    // Neither the lost packet nor the packets that were delivered before it cause ACKs in the
    // recovery.
    assert!(
        (r.ssthresh - 4..=r.ssthresh).contains(&after),
        "{} to {after}",
        r.before
    );
    assert_eq!(r.trace.repairs().0, 0);
}

#[test]
fn prr_sends_in_proportion_and_ends_at_ssthresh() {
    // RFC 6937: packets sent / packets delivered = ssthresh / cwnd before.
    let r = one_recovery("linux-6");
    assert_eq!(r.ssthresh, r.before / 2);
    let after = r.trace.cwnd_at(r.end_ns);
    assert!(
        (r.ssthresh..=r.ssthresh + 1).contains(&after),
        "{} to {after}",
        r.before
    );
    let data = r.trace.data();
    let middle_ns = r.start_ns + (r.end_ns - r.start_ns) / 2;
    for (until_ns, share) in [(middle_ns, 0.5), (r.end_ns, 1.0)] {
        let sent = data
            .iter()
            .filter(|d| (r.start_ns..until_ns).contains(&d.time_ns))
            .count();
        let expected = share * f64::from(r.ssthresh);
        assert!(
            (sent as f64 - expected).abs() < 4.0,
            "{sent} packets, not {expected}"
        );
    }
    assert_eq!(r.trace.repairs().0, 0);
}

#[test]
fn reordering_alone_does_not_keep_the_window_down() {
    // 2.6 undoes reductions that timestamps or D-SACK show to be wrong (tcp_may_undo), and learns
    // the reordering distance. RACK waits for a quarter of the RTT after it has seen reordering, so
    // it has nothing to undo.
    for stack in STACKS {
        let mut link = json!({"rate_bps": 10_000_000, "delay_ns": RTT / 2, "limit_pkts": 60});
        let bulk_over = |link: &Value| {
            let mut scenario = dumbbell(stack, 20 * SECOND, link, json!([bulk("reno", None)]));
            scenario["topology"]["reverse"]["reorder"] = json!(0);
            scenario["capture"] = Value::Null;
            let outcome = crate::common::run(&scenario);
            let delivered = outcome.tables.flow_counters.delivered_bytes[0];
            (delivered, outcome.summary.flows[0].clone())
        };
        let (clean, calm) = bulk_over(&link);
        link["reorder"] = json!(0.01);
        link["reorder_delay_ns"] = json!(10 * MS);
        let (reordered, flow) = bulk_over(&link);
        let kept = flow.recoveries.saturating_sub(flow.undos);
        assert!(kept <= calm.recoveries + 1, "{stack}: {kept} reductions");
        assert_eq!(flow.undos > 0, stack == "linux-2.6", "{stack}");
        assert!(
            reordered * 100 > clean * 90,
            "{stack}: {reordered} of {clean}"
        );
    }
}

#[test]
fn a_retransmission_that_is_lost_after_a_timeout_starts_a_recovery() {
    // The kernel starts this recovery when RACK marks the retransmission lost (FLAG_LOST_RETRANS),
    // instead of waiting for the next timeout. The recovery reduces the window once more.
    const LOSS: u8 = 4;
    const RECOVERY: u8 = 3;
    let mut found = 0;
    for seed in 0..40 {
        let mut link = wide_link(10_000_000, 20 * MS);
        link["loss"] = json!(0.08);
        let mut scenario = dumbbell("linux-6", 20 * SECOND, &link, json!([bulk("reno", None)]));
        scenario["seed"] = json!(seed);
        scenario["capture"] = json!(null);
        let tables = run(&scenario).tables;
        let states = &tables.flow_state;
        let backoffs = &tables.backoffs;
        for i in 1..states.time_ns.len() {
            if (states.state[i - 1], states.state[i]) != (LOSS, RECOVERY) {
                continue;
            }
            let row = (0..backoffs.time_ns.len())
                .find(|&row| backoffs.time_ns[row] == states.time_ns[i] && backoffs.kind[row] == 0)
                .expect("a recovery is a row");
            let before = backoffs.cwnd_pkts[row];
            assert_eq!(backoffs.ssthresh_pkts[row], (before / 2).max(2));
            found += 1;
        }
    }
    assert!(found > 10, "{found}");
}

#[test]
fn a_recovery_whose_first_retransmission_is_paced_is_not_undone() {
    // When the recovery starts, no retransmission has been sent yet. It must not be undone as if
    // D-SACKs had arrived for all retransmissions (tcp_init_undo).
    for (rtt_ms, pkts) in [(20, 4), (40, 4), (60, 4), (100, 4), (100, 6), (200, 4)] {
        let link = json!({"rate_bps": 1_000_000, "delay_ns": rtt_ms * MS / 2, "limit_pkts": pkts});
        let back = wide_link(1_000_000_000, rtt_ms * MS / 2);
        let mut scenario = dumbbell("linux-6", 10 * SECOND, &link, json!([bulk("bbr", None)]));
        scenario["topology"]["reverse"] = back;
        scenario["topology"]["access_rate_bps"] = json!(1_000_000_000);
        let outcome = run(&scenario);
        let kinds = &outcome.tables.backoffs.kind;
        let what = format!("{rtt_ms} ms, {pkts} packets: {kinds:?}");
        assert!(kinds.contains(&0), "{what}");
        assert!(!kinds.contains(&1) && !kinds.contains(&3), "{what}");
    }
}

#[test]
fn without_sack_an_original_that_fills_a_hole_raises_the_reordering_threshold() {
    // tcp_check_sack_reordering: the distance goes up to the last packet sent. From then on, that
    // many duplicate ACKs indicate no loss. Nothing is lost here; with a threshold that stays at 3,
    // 6365 packets would be retransmitted.
    let mut link = wide_link(50_000_000, 100 * MS);
    link["reorder"] = json!(0.002);
    link["reorder_delay_ns"] = json!(40 * MS);
    let mut flow = bulk("reno", None);
    flow["sack"] = json!(false);
    let scenario = dumbbell("linux-6", 20 * SECOND, &link, json!([flow]));
    let (timeouts, copies) = Trace::of(&scenario).repairs();
    assert_eq!(timeouts, 0);
    assert!(copies < 50, "{copies}");
}

#[test]
fn hystart_uses_rtts_of_acks_that_only_sack() {
    // tcp_clean_rtx_queue calls pkts_acked for every ACK. cwnd falls below ssthresh in Recovery.
    // There the delays of SACKed packets end slow start at 56 packets, as on Linux 6.18.
    let mut link = wide_link(1_000_000, 115 * MS);
    link["limit_pkts"] = json!(23);
    let mut flow = bulk("cubic", Some(250_000));
    flow["control"]["startup"] = json!("hystart");
    let mut scenario = dumbbell("linux-6", 3 * SECOND, &link, json!([flow]));
    scenario["capture"] = json!(null);
    let states = run(&scenario).tables.flow_state;
    let recovery = headway_algorithms::CaState::Recovery as u8;
    let mut ssthresh_pkts: Vec<_> = (0..states.time_ns.len())
        .filter(|&i| states.state[i] == recovery)
        .map(|i| states.ssthresh_pkts[i])
        .collect();
    ssthresh_pkts.dedup();
    assert!(ssthresh_pkts.starts_with(&[60, 56]), "{ssthresh_pkts:?}");
}
