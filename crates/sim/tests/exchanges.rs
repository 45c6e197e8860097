//! Exchanges from a file: connections open when they are due, and exchanges can wait for others.

use crate::common::{run, text, wide_link, world, MS, SECOND};
use serde_json::{json, Value};

const NONE: u32 = u32::MAX;

/// One host pair with this application, over 10 Mbit/s and 100 ms RTT.
fn pair(app: &Value) -> Value {
    let link = wide_link(10_000_000, 50 * MS);
    json!({
        "duration_ns": 60 * SECOND, "stack": "linux-6",
        "topology": {"kind": "dumbbell", "forward": link, "reverse": link},
        "flows": [{"name": "pair", "app": app, "control": {"name": "cubic"},
                   "start_ns": SECOND}]
    })
}

#[test]
fn an_exchange_begins_when_its_predecessor_is_over_and_its_connection_is_free() {
    // The exchanges are a document; two pictures on separate connections, one of which has a start
    // time later than the end of the document; and a last picture on the first connection, which
    // waits for another picture.
    let page = json!({
        "kind": "exchanges",
        "start_ns": [0, 3 * SECOND, 0], "exchanges": [2, 1, 1],
        "request_bytes": [300, 200, 300, 300], "response_bytes": [10_000, 1000, 400_000, 50_000],
        "think_ns": [30 * MS, 0, 10 * MS, 0],
        "after": [NONE, 2, 0, 0],
    });
    let rows = run(&pair(&page)).tables.responses;
    let at = |epoch: u32| rows.epoch.iter().position(|&e| e == epoch).unwrap();
    let (asked, done) = (
        |epoch| rows.start_ns[at(epoch)] as u64,
        |epoch| rows.end_ns[at(epoch)] as u64,
    );
    assert_eq!(rows.epoch.len(), 4);
    assert_eq!(asked(0), SECOND);
    // The response time of the first exchange on a connection includes the handshake.
    assert!((200 * MS..260 * MS).contains(&(done(0) - asked(0))));
    assert_eq!(asked(3), done(0) + 30 * MS);
    assert_eq!(asked(2), 4 * SECOND, "it begins at its start time");
    assert_eq!(asked(1), done(2) + 10 * MS, "it waits for the picture");
    assert!(
        done(1) - asked(1) < 110 * MS,
        "the connection is still open"
    );
}

#[test]
fn vectors_on_several_connections_equal_exchanges_that_wait_for_each_other() {
    let epochs = [
        (300, 40_000, 100 * MS),
        (500, 9000, 50 * MS),
        (200, 100_000, 20 * MS),
        (400, 0, 10 * MS),
        (900, 300, 0),
    ];
    let connections = [2u32, 1, 2];
    let vectors = json!({"kind": "vectors", "epochs": epochs, "connections": connections});
    let exchanges = json!({
        "kind": "exchanges", "start_ns": [0, 0, 0], "exchanges": connections,
        "request_bytes": epochs.map(|e| e.0), "response_bytes": epochs.map(|e| e.1),
        "think_ns": epochs.map(|e| e.2), "after": [NONE, NONE, 1, 2, NONE],
    });
    let (one, other) = (run(&pair(&vectors)), run(&pair(&exchanges)));
    let (one_rows, other_rows) = (one.tables.responses, other.tables.responses);
    assert_eq!(one_rows.epoch, [0, 1, 2, 3, 4]);
    assert_eq!(one_rows.epoch, other_rows.epoch);
    assert_eq!(one_rows.start_ns, other_rows.start_ns);
    assert_eq!(one_rows.end_ns, other_rows.end_ns);
    assert_eq!(one.summary.events, other.summary.events);
}

#[test]
fn the_deadline_of_an_exchange_overrides_that_of_the_flow() {
    let with = |deadlines: &[u64]| {
        let mut scenario = pair(&json!({
            "kind": "exchanges", "start_ns": [0], "exchanges": [2],
            "request_bytes": [300, 300], "response_bytes": [100_000, 100_000],
            "think_ns": [0, 0], "deadline_ns": deadlines,
        }));
        scenario["flows"][0]["control"]["startup"] = json!("mega-start");
        scenario["flows"][0]["initial_rwnd_bytes"] = json!(1 << 20);
        scenario["flows"][0]["deadline_ns"] = json!(20 * SECOND);
        let rows = run(&scenario).tables.responses;
        (rows.end_ns[0] - rows.start_ns[0]) as u64
    };
    // The startup decides by the time until the deadline whether a fast start is needed.
    assert_eq!(with(&[0, 0]), with(&[]));
    assert_eq!(with(&[20 * SECOND, 0]), with(&[]));
    assert!(with(&[220 * MS, 0]) + 50 * MS < with(&[]));
}

#[test]
fn a_thousand_connections_need_only_the_sockets_of_the_open_ones() {
    // Ten chains of a hundred connections each; in a chain, each connection opens a second after
    // the previous one.
    let n = 1000;
    let after: Vec<u32> = (0..n).map(|i| if i < 10 { NONE } else { i - 10 }).collect();
    let page = json!({
        "kind": "exchanges", "start_ns": vec![0; n as usize], "exchanges": vec![1; n as usize],
        "request_bytes": vec![100; n as usize], "response_bytes": vec![2000; n as usize],
        "think_ns": vec![SECOND; n as usize], "after": after,
    });
    let mut scenario = pair(&page);
    scenario["duration_ns"] = json!(300 * SECOND);
    let mut world = world(&scenario);
    while world.step() {
        if world.events() % 4096 == 0 {
            world.check_invariants().unwrap();
        }
    }
    // Sockets are free again after TIME_WAIT, a minute, so each chain needs sockets for about fifty
    // connections.
    assert!(world.sockets() < 1100, "{} sockets", world.sockets());
    assert_eq!(world.finish().tables.responses.epoch.len(), n as usize);
}

#[test]
fn invalid_columns_are_rejected_by_name() {
    let good = json!({
        "kind": "exchanges", "start_ns": [0], "exchanges": [2], "request_bytes": [1, 1],
        "response_bytes": [1, 1], "think_ns": [0, 0],
    });
    for (field, value, said) in [
        (
            "after",
            json!([NONE, 1]),
            "after[1]: 1 is not allowed; an exchange that does not itself wait",
        ),
        (
            "after",
            json!([2, NONE]),
            "after[0]: 2 is not allowed; must be less than the number",
        ),
        (
            "after",
            json!([NONE]),
            "after: 1 entries is not allowed; none or one per exchange, 2",
        ),
        (
            "deadline_ns",
            json!([1]),
            "deadline_ns: 1 entries is not allowed",
        ),
        (
            "request_bytes",
            json!([1]),
            "request_bytes: 1 entries is not allowed",
        ),
        ("start_ns", json!([u64::MAX]), "at most 10 years"),
    ] {
        let mut bad = good.clone();
        bad[field] = value;
        let error = headway_sim::run(&text(&pair(&bad)))
            .err()
            .unwrap()
            .to_string();
        assert!(error.contains(said) && !error.contains('\n'), "{error}");
    }
    assert!(headway_sim::run(&text(&pair(&good))).is_ok());
}
