//! The send buffer as in Linux: how much a writer can write, and when it wakes.

use crate::common::{dumbbell, run, wide_link, MS, SECOND};
use serde_json::{json, Value};

fn bulk(fields: &Value) -> Value {
    let mut flow = json!({"name": "bulk", "app": {"kind": "bulk"}, "control": {"name": "cubic"}});
    for (name, value) in fields.as_object().expect("fields") {
        flow[name] = value.clone();
    }
    flow
}

/// Smallest and largest number of packets in flight after `from_ns`.
fn in_flight(scenario: &Value, from_ns: u64) -> (u32, u32) {
    let state = run(scenario).tables.flow_state;
    let late = state
        .time_ns
        .iter()
        .zip(&state.inflight_pkts)
        .filter(|(&t, _)| t as u64 >= from_ns)
        .map(|(_, &pkts)| pkts);
    (late.clone().min().unwrap(), late.max().unwrap())
}

#[test]
fn a_full_buffer_is_refilled_when_a_third_of_it_is_free() {
    // Large segments of ten packets and more: 4 MiB hold about 2700 packets of 1448 bytes, and a
    // writer sleeps until two thirds are left. On Linux 6.18: 1807 to 2716.
    let link = json!({"rate_bps": 100_000_000, "delay_ns": 50 * MS, "limit_bytes": 5_000_000});
    let mut scenario = dumbbell("linux-6", 9 * SECOND, &link, json!([bulk(&json!({}))]));
    scenario["record"]["flows"] = json!(true);
    let (least, most) = in_flight(&scenario, 6 * SECOND);
    assert!((1780..1900).contains(&least), "{least}");
    assert!((2690..2750).contains(&most), "{most}");
}

#[test]
fn a_buffer_grows_between_two_sk_buffs_that_one_acknowledgement_lets_out() {
    // tcp_event_new_data_sent checks for room since 5.19: after the first of two sk_buffs cwnd
    // still has room, so the buffer grows and the writer is woken before its send queue is empty.
    // This determines how full the send queue is at the end of slow start. Two Reno flows on 6.18
    // have 1642 and 2530 packets at their first losses, and 1784 packets are dropped; where only
    // ACKs check for room, 1629, 2544 and 1455.
    let link = json!({"rate_bps": 100_000_000, "delay_ns": 25 * MS, "limit_bytes": 2_500_000});
    let flow = |start_ns: u64| {
        json!({"name": "reno", "app": {"kind": "bulk"}, "control": {"name": "reno"},
            "start_ns": start_ns})
    };
    let flows = json!([flow(2_514_388), flow(242_479)]);
    let outcome = run(&dumbbell("linux-6", 3 * SECOND, &link, flows));
    let at_losses = &outcome.tables.backoffs.cwnd_pkts[..2];
    assert!(at_losses[0].abs_diff(1642) <= 4, "{at_losses:?}");
    assert!(at_losses[1].abs_diff(2530) <= 4, "{at_losses:?}");
    let dropped: u64 = outcome.tables.link_counters.dropped_pkts.iter().sum();
    assert!(dropped.abs_diff(1784) <= 20, "{dropped}");
}

#[test]
fn in_linux_26_an_explicit_buffer_limits_the_data_in_flight() {
    let link = wide_link(100_000_000, 50 * MS);
    for buffer in [4608_u64, 50_000, 200_000] {
        let flow = bulk(&json!({"wmem_bytes": [4096, buffer, buffer]}));
        let mut scenario = dumbbell("linux-2.6", 8 * SECOND, &link, json!([flow]));
        scenario["record"]["flows"] = json!(true);
        let (_, most) = in_flight(&scenario, SECOND);
        // the writer exceeds the buffer's limit by less than one segment
        assert!(
            u64::from(most) <= (buffer + 1448 + 400) / 1448,
            "{buffer}: {most}"
        );
        let least = (buffer * 2 / 3) / (1448 + 400);
        assert!(u64::from(most) >= least, "{buffer}: {most}");
    }
}

#[test]
fn in_linux_6_a_running_writer_uses_up_the_window() {
    // tcp_sendmsg_locked checks for room only when an sk_buff begins, and fills the one that is
    // being sent. For 10 MB over 20 Mbit/s and 60 ms with a buffer of 64 KiB, ss on Linux 6.18
    // shows: up to 107 packets are in flight, which is all of cwnd, and sk_wmem_queued is 236,440.
    let link = json!({"rate_bps": 20_000_000, "delay_ns": 30 * MS, "limit_bytes": 150_000});
    let flow = bulk(&json!({"wmem_bytes": [4096, 65_536, 65_536]}));
    let mut scenario = dumbbell("linux-6", 10 * SECOND, &link, json!([flow]));
    scenario["record"]["flows"] = json!(true);
    let state = run(&scenario).tables.flow_state;
    let late = |&i: &usize| state.time_ns[i] as u64 > 3 * SECOND;
    let rows: Vec<_> = (0..state.time_ns.len()).filter(late).collect();
    let fullest = rows
        .iter()
        .max_by_key(|&&i| state.inflight_pkts[i])
        .unwrap();
    let (most, cwnd) = (state.inflight_pkts[*fullest], state.cwnd_pkts[*fullest]);
    assert!(
        most + 2 >= cwnd && (90..130).contains(&most),
        "{most} of {cwnd}"
    );
}

#[test]
fn the_first_flight_of_a_paced_startup_exceeds_the_default_buffer() {
    // tcp_init_buffer_space leaves 46,080 bytes. The writer stops after 33 packets, of which 11
    // have been sent. It continues when the pacing timer has raised the buffer to two of the
    // startup's windows. Linux 6.18, as ss shows it: 207,360 bytes before the first ACK, and 45
    // packets in flight.
    let link = wide_link(100_000_000, 50 * MS);
    let flow = |buffer: Option<u64>| {
        json!({"name": "fast", "app": {"kind": "bulk", "bytes": 1_000_000},
            "control": {"name": "cubic", "startup": "jump-start"}, "wmem_bytes": buffer.map(|bytes| [4096, bytes, bytes])})
    };
    let first = |buffer: Option<u64>| {
        let mut scenario = dumbbell("linux-6", 2 * SECOND, &link, json!([flow(buffer)]));
        // counts packets up to 2 ms before the first ACK of data: they belong to the handshake and
        // almost one round trip
        scenario["checkpoints_ns"] = json!([198 * MS]);
        run(&scenario).tables.flow_counters.sent_pkts[0]
    };
    // the startup limits its first flight to 65,535 bytes, which are 45 packets
    assert_eq!(first(None), 45);
    assert_eq!(first(Some(1 << 20)), 45);
}

#[test]
fn a_stopped_sender_still_delivers_its_buffer_and_nothing_else() {
    let link = wide_link(10_000_000, 50 * MS);
    for buffer in [100_000, 1_000_000] {
        let flow = bulk(&json!({"wmem_bytes": [4096, buffer, buffer], "stop_ns": 3 * SECOND}));
        let mut scenario = dumbbell("linux-6", 10 * SECOND, &link, json!([flow]));
        scenario["checkpoints_ns"] = json!([3 * SECOND]);
        scenario["record"]["flows"] = json!(true);
        let outcome = run(&scenario);
        let counters = &outcome.tables.flow_counters;
        let (then, end) = (counters.acked_bytes[0], counters.delivered_bytes[1]);
        assert_eq!(end, outcome.summary.flows[0].unique_bytes);
        let left = end - then;
        // what is left to send is at most a window, or a full buffer; the tolerance is two sk_buffs
        let state = &outcome.tables.flow_state;
        let window = u64::from(*state.cwnd_pkts.iter().max().unwrap()) * 1448;
        let most = window.max(buffer) + 2 * 66_000;
        assert!(left >= buffer / 2 && left <= most, "{buffer}: {left}");
    }
}

#[test]
fn a_transfer_larger_than_its_buffer_is_complete() {
    let link = wide_link(10_000_000, 20 * MS);
    for stack in ["linux-6", "linux-2.6"] {
        let flow = json!({"name": "t", "app": {"kind": "bulk", "bytes": 3_000_001},
            "control": {"name": "reno"}, "wmem_bytes": [4096, 4608, 4608]});
        let outcome = run(&dumbbell(stack, 300 * SECOND, &link, json!([flow])));
        assert_eq!(outcome.summary.flows[0].unique_bytes, 3_000_001, "{stack}");
        assert!(outcome.summary.flows[0].done_ns.is_some(), "{stack}");
    }
}
