//! Host pairs with many connections.

use crate::common::{asked, run, text, wide_link, world, MS, SECOND};
use headway_sim::Scenario;
use serde_json::{json, Value};

/// One host pair with these sessions, over 10 Mbit/s and 100 ms RTT.
fn pair(duration_ns: u64, limit_pkts: u64, sessions: &Value) -> Value {
    let mut link = wide_link(10_000_000, 50 * MS);
    link["limit_pkts"] = json!(limit_pkts);
    json!({
        "duration_ns": duration_ns, "stack": "linux-2.6",
        "topology": {"kind": "dumbbell", "forward": link, "reverse": link},
        "flows": [{"name": "pair", "app": sessions, "control": {"name": "reno"}}],
        "record": {"flows": false, "queue": false, "udp": false, "drops": false}
    })
}

fn many(sessions: u64, gap_ns: u64, response_bytes: u64, persistent: bool) -> Value {
    let n = sessions as usize;
    json!({
        "kind": "sessions", "persistent": persistent,
        "start_ns": (0..sessions).map(|i| i * gap_ns).collect::<Vec<_>>(),
        "exchanges": vec![2; n],
        "request_bytes": vec![300; 2 * n], "response_bytes": vec![response_bytes; 2 * n],
        "think_ns": vec![500 * MS; 2 * n],
    })
}

#[test]
fn a_session_takes_the_round_trips_of_its_messages() {
    let outcome = run(&pair(5 * SECOND, 1000, &many(1, SECOND, 1000, false)));
    let rows = &outcome.tables.responses;
    assert_eq!(rows.epoch, [0, 1]);
    // The request is sent after the handshake. The response takes one more round trip and its
    // transmission time.
    assert!((100 * MS..102 * MS).contains(&(rows.start_ns[0] as u64)));
    for i in 0..2 {
        let took_ns = (rows.end_ns[i] - rows.start_ns[i]) as u64;
        assert!((100 * MS..103 * MS).contains(&took_ns), "{took_ns}");
    }
    assert_eq!((rows.start_ns[1] - rows.end_ns[0]) as u64, 500 * MS);
}

#[test]
fn the_servers_time_delays_the_response() {
    let mut sessions = many(1, SECOND, 1000, false);
    sessions["serve_ns"] = json!([70 * MS, 0]);
    let rows = run(&pair(5 * SECOND, 1000, &sessions)).tables.responses;
    let took_ns = |i: usize| (rows.end_ns[i] - rows.start_ns[i]) as u64;
    // In the session with a processing time the server acknowledges the request in a packet of its
    // own, so there is one more packet.
    let extra_ns = took_ns(0) - took_ns(1);
    assert!((69 * MS..71 * MS).contains(&extra_ns), "{extra_ns}");
}

#[test]
fn an_exchange_with_an_empty_message_takes_one_way() {
    let mut sessions = many(1, SECOND, 0, false);
    sessions["request_bytes"] = json!([300, 0]);
    sessions["response_bytes"] = json!([0, 300]);
    let rows = run(&pair(5 * SECOND, 1000, &sessions)).tables.responses;
    for i in 0..2 {
        let took_ns = (rows.end_ns[i] - rows.start_ns[i]) as u64;
        assert!((50 * MS..52 * MS).contains(&took_ns), "{took_ns}");
    }
}

#[test]
fn every_connection_has_a_handshake_and_persistent_sessions_only_one() {
    let starts = |persistent| {
        let sessions = many(3, 2 * SECOND, 1000, persistent);
        let rows = run(&pair(10 * SECOND, 1000, &sessions)).tables.responses;
        assert_eq!(rows.epoch, [0, 1, 2, 3, 4, 5]);
        [rows.start_ns[2], rows.start_ns[4]].map(|ns| ns as u64)
    };
    for (i, start_ns) in (1..).zip(starts(false)) {
        let late_ns = start_ns - i * 2 * SECOND;
        assert!((100 * MS..102 * MS).contains(&late_ns), "{late_ns}");
    }
    assert_eq!(starts(true), [2 * SECOND, 4 * SECOND]);
}

#[test]
fn a_session_on_a_persistent_connection_waits_its_turn() {
    // Each session takes about 1.2 s; they start 0.4 s apart.
    let rows = run(&pair(20 * SECOND, 1000, &many(4, 400 * MS, 1000, true)))
        .tables
        .responses;
    assert_eq!(rows.epoch.len(), 8);
    for i in 1..8 {
        assert!(rows.start_ns[i] >= rows.end_ns[i - 1]);
    }
}

/// Losses in both directions, which also hit SYNs and FINs.
#[test]
fn sockets_are_reused_and_all_bytes_are_counted_once() {
    let (sessions, response) = (2000u64, 20_000u64);
    let mut scenario = pair(700 * SECOND, 20, &many(sessions, 200 * MS, response, false));
    for way in ["forward", "reverse"] {
        scenario["topology"][way]["loss"] = json!(0.02);
    }
    let mut world = world(&scenario);
    let mut events = 0u64;
    while world.step() {
        events += 1;
        if events % 1000 == 0 {
            world.check_invariants().unwrap();
        }
    }
    // A connection lasts for some seconds and TIME_WAIT, so only a few hundred of the 2000
    // connections exist at the same time.
    assert!(world.sockets() < 1000, "{} sockets", world.sockets());
    let outcome = world.finish();
    assert_eq!(outcome.tables.responses.epoch.len() as u64, 2 * sessions);
    let counters = &outcome.tables.flow_counters;
    assert_eq!(
        counters.delivered_bytes.last(),
        Some(&(2 * sessions * response))
    );
    assert_eq!(counters.acked_bytes, counters.delivered_bytes);
    assert_eq!(
        outcome.summary.flows[0].unique_bytes,
        2 * sessions * response
    );
    assert!(counters.retransmits_pkts[0] > 0 && outcome.summary.flows[0].recoveries > 0);
}

#[test]
fn invalid_columns_are_rejected_by_name() {
    let refused = |change: &dyn Fn(&mut Value), words: &str| {
        let mut scenario = pair(SECOND, 10, &many(2, SECOND, 10, false));
        change(&mut scenario);
        let error = Scenario::from_json(&text(&scenario)).unwrap_err().0;
        assert!(error.contains(words) && !error.contains('\n'), "{error}");
    };
    let app = |name: &'static str, value: Value| {
        move |s: &mut Value| s["flows"][0]["app"][name] = value.clone()
    };
    refused(
        &app("exchanges", json!([1])),
        "flows[0].app.exchanges: 1 entries",
    );
    refused(
        &app("exchanges", json!([0, 4])),
        "flows[0].app.exchanges: 0",
    );
    refused(
        &app("start_ns", json!([2, 1])),
        "flows[0].app.start_ns[1]: 1",
    );
    refused(
        &app("think_ns", json!([1])),
        "flows[0].app.think_ns: 1 entries",
    );
    refused(
        &app("serve_ns", json!([1])),
        "flows[0].app.serve_ns: 1 entries",
    );
    refused(
        &app("request_bytes", json!([u64::MAX, 1, 1, 1])),
        "request_bytes",
    );
    refused(&|s| s["capture"] = json!({"link": "bottleneck"}), "capture");
    refused(
        &|s| s["flows"][0]["extra_delay_ns"] = json!(30 * SECOND),
        "one-way delay",
    );
}

/// The option of a request makes the first packet of a response shorter than a full one. Nagle's
/// rule must not treat this packet as a small segment, which would make the rest of the response
/// wait.
#[test]
fn a_quick_start_request_does_not_delay_the_rest_of_a_response() {
    let mut scenario = pair(5 * SECOND, 1000, &many(1, SECOND, 2000, false));
    scenario["flows"][0]["control"] = json!({
        "name": "reno", "startup": "quick-start",
        "tunables": {"qs_activation": 3, "qs_min_bytes": 1000, "qs_fit_data": 0}
    });
    let outcome = run(&scenario);
    assert!(asked(&outcome.summary.flows[0], "requests") > 0);
    let rows = &outcome.tables.responses;
    for i in 0..2 {
        let took_ns = (rows.end_ns[i] - rows.start_ns[i]) as u64;
        assert!((100 * MS..105 * MS).contains(&took_ns), "{took_ns}");
    }
}

/// Epochs of equal size, split into connections; `connections` has the number of epochs of each
/// connection.
fn in_turn(connections: &[u32], think_ns: u64, response_bytes: u64) -> Value {
    let epochs = connections.iter().sum::<u32>() as usize;
    json!({"kind": "vectors", "connections": connections,
        "epochs": vec![json!([300, response_bytes, think_ns]); epochs]})
}

#[test]
fn epochs_on_separate_connections_each_wait_for_a_handshake() {
    let took = |connections: &[u32]| {
        let vectors = in_turn(connections, 500 * MS, 1000);
        let rows = run(&pair(10 * SECOND, 1000, &vectors)).tables.responses;
        assert_eq!(rows.epoch, [0, 1, 2, 3]);
        assert_eq!(rows.start_ns[0], 0);
        for i in 1..4 {
            // The next connection opens after the think time.
            assert_eq!((rows.start_ns[i] - rows.end_ns[i - 1]) as u64, 500 * MS);
        }
        let took_ns = |i: usize| rows.end_ns[i] - rows.start_ns[i];
        [0, 1, 2, 3].map(|i| (took_ns(i) + 50_000_000) / 100_000_000)
    };
    // In round trips.
    assert_eq!(took(&[1, 1, 1, 1]), [2, 2, 2, 2]);
    assert_eq!(took(&[1, 3]), [2, 2, 1, 1]);
    assert_eq!(took(&[3, 1]), [2, 1, 1, 2]);
}

#[test]
fn an_explicit_single_connection_equals_the_default() {
    let mut scenario = pair(60 * SECOND, 20, &in_turn(&[6], 300 * MS, 70_000));
    scenario["topology"]["reverse"]["loss"] = json!(0.02);
    let named = run(&scenario);
    scenario["flows"][0]["app"]["connections"] = json!([]);
    let whole = run(&scenario);
    assert_eq!(named.summary.flows[0].kind, "vectors");
    assert_eq!(named.tables.responses.end_ns, whole.tables.responses.end_ns);
    assert_eq!(
        named.tables.flow_counters.sent_pkts,
        whole.tables.flow_counters.sent_pkts
    );
}

#[test]
fn connections_in_turn_use_few_sockets_and_stop_with_the_flow() {
    let mut scenario = pair(900 * SECOND, 20, &in_turn(&[1; 1000], 100 * MS, 20_000));
    for way in ["forward", "reverse"] {
        scenario["topology"][way]["loss"] = json!(0.02);
    }
    let mut world = world(&scenario);
    while world.step() {}
    world.check_invariants().unwrap();
    // One connection is open, and the connections of the last minute are in TIME_WAIT.
    assert!(world.sockets() < 400, "{} sockets", world.sockets());
    let outcome = world.finish();
    assert_eq!(outcome.tables.responses.epoch.len(), 1000);
    let counters = &outcome.tables.flow_counters;
    assert_eq!(counters.delivered_bytes.last(), Some(&20_000_000));
    assert_eq!(counters.acked_bytes, counters.delivered_bytes);

    scenario["flows"][0]["stop_ns"] = json!(20 * SECOND);
    let stopped = run(&scenario).tables.responses;
    assert!(stopped.start_ns.iter().all(|&ns| (ns as u64) < 20 * SECOND));
    assert!((10..100).contains(&stopped.epoch.len()));
}

#[test]
fn connections_that_do_not_add_up_to_the_epochs_are_rejected() {
    for (connections, value) in [
        (json!([1, 1]), "[1, 1]"),
        (json!([3, 0]), "[3, 0]"),
        (json!([4]), "[4]"),
    ] {
        let mut vectors = in_turn(&[3], 0, 10);
        vectors["connections"] = connections;
        let text = text(&pair(SECOND, 10, &vectors));
        let error = Scenario::from_json(&text).unwrap_err().0;
        assert_eq!(
            error,
            format!("flows[0].app.connections: {value} is not allowed; at least 1 each, 3 in all")
        );
    }
    let mut captured = pair(SECOND, 10, &in_turn(&[1, 1], 0, 10));
    captured["capture"] = json!({"link": "bottleneck"});
    let error = Scenario::from_json(&text(&captured)).unwrap_err().0;
    assert!(error.starts_with("capture"), "{error}");
}
