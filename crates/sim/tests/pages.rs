//! Web pages: objects that reveal other objects, over each version of HTTP.

use crate::common::{run, text, wide_link, world, MS, SECOND};
use headway_sim::Outcome;
use proptest::prelude::*;
use serde_json::{json, Value};

const NONE: u32 = u32::MAX;
const VERSIONS: [(&str, u32); 6] = [
    ("1.0", 1),
    ("1.0", 6),
    ("1.1", 1),
    ("1.1", 6),
    ("1.1-pipelined", 2),
    ("2", 1),
];

/// One page. Each object is given by its response size and the object that reveals it.
fn page(http: &str, connections: u32, objects: &[(u64, u32)]) -> Value {
    json!({
        "kind": "pages", "http": http, "connections": connections,
        "objects": [objects.len()], "think_ns": [0],
        "request_bytes": vec![300; objects.len()],
        "response_bytes": objects.iter().map(|o| o.0).collect::<Vec<_>>(),
        "after": objects.iter().map(|o| o.1).collect::<Vec<_>>(),
    })
}

/// A scenario with one user, who loads pages over 10 Mbit/s and 100 ms RTT.
fn user(app: &Value) -> Value {
    let link = wide_link(10_000_000, 50 * MS);
    json!({
        "duration_ns": 120 * SECOND, "stack": "linux-6",
        "topology": {"kind": "dumbbell", "forward": link, "reverse": link},
        "flows": [{"name": "user", "app": app, "control": {"name": "cubic"},
                   "start_ns": SECOND}]
    })
}

/// For each object, when it was requested and when it had arrived, counted from the flow's start.
fn times(outcome: &Outcome) -> Vec<(u64, u64)> {
    let rows = &outcome.tables.responses;
    let mut times = vec![(0, 0); rows.epoch.len()];
    for (at, &object) in rows.epoch.iter().enumerate() {
        let since = |ns: i64| ns as u64 - SECOND;
        times[object as usize] = (since(rows.start_ns[at]), since(rows.end_ns[at]));
    }
    times
}

fn load(app: &Value) -> Vec<(u64, u64)> {
    times(&run(&user(app)))
}

/// Whether a time is `trips` round trips, plus up to 20 ms for transmission.
fn is_trips(ns: u64, trips: u64) -> bool {
    (trips * 100 * MS..trips * 100 * MS + 20 * MS).contains(&ns)
}

#[test]
fn each_http_version_takes_its_number_of_round_trips() {
    // A small document, and three small pictures that it reveals.
    let objects = [(1000, NONE), (900, 0), (800, 0), (700, 0)];
    for (http, connections, trips) in [
        ("1.0", 1, [2, 4, 6, 8]),
        ("1.0", 6, [2, 4, 4, 4]),
        ("1.1", 1, [2, 3, 4, 5]),
        ("1.1", 2, [2, 3, 4, 4]),
        ("1.1", 6, [2, 3, 4, 4]),
        ("1.1-pipelined", 1, [2, 3, 3, 3]),
        ("2", 1, [2, 3, 3, 3]),
    ] {
        let times = load(&page(http, connections, &objects));
        for (object, &(_, arrived)) in times.iter().enumerate() {
            let wanted = trips[object];
            let told = format!("HTTP/{http}, {connections}: {object} after {arrived} ns");
            assert!(
                is_trips(arrived, wanted),
                "{told}, not {wanted} round trips"
            );
        }
        assert!(times[1..].iter().all(|t| t.0 >= times[0].1));
    }
}

#[test]
fn responses_of_http_2_share_the_connection_and_those_of_pipelining_come_in_order() {
    let objects = [(1000, NONE), (1_000_000, 0), (1000, 0)];
    let [two, pipelined] = ["2", "1.1-pipelined"].map(|http| load(&page(http, 1, &objects)));
    assert_eq!(two[2].0, two[1].0, "requested at the same time");
    assert!(two[2].1 + 500 * MS < two[1].1, "{two:?}");
    assert!(pipelined[2].1 >= pipelined[1].1, "{pipelined:?}");
    // Pipelining and HTTP/2 take equally long in total.
    let (last, other) = (two[1].1, pipelined[2].1);
    assert!(last.abs_diff(other) < 10 * MS, "{last} and {other}");
}

#[test]
fn a_server_processes_http_2_requests_in_parallel_and_pipelined_ones_in_turn() {
    let objects = [(1000, NONE), (1000, NONE), (1000, NONE)];
    let serve = |http: &str| {
        let mut app = page(http, 1, &objects);
        app["serve_ns"] = json!([300 * MS, 200 * MS, 100 * MS]);
        load(&app).iter().map(|t| t.1 / MS).collect::<Vec<_>>()
    };
    let near = |found: Vec<u64>, wanted: [u64; 3]| {
        let fits = found
            .iter()
            .zip(wanted)
            .all(|(&f, w)| (w..w + 15).contains(&f));
        assert!(fits, "{found:?}, not {wanted:?}");
    };
    near(serve("2"), [500, 400, 300]);
    near(serve("1.1-pipelined"), [500, 700, 800]);
    near(serve("1.1"), [500, 800, 1000]);
}

#[test]
fn pages_start_after_think_times_and_objects_after_their_waits() {
    let app = json!({
        "kind": "pages", "http": "1.1", "connections": 2, "objects": [2, 1],
        "think_ns": [3 * SECOND, 0], "request_bytes": [300, 300, 300],
        "response_bytes": [1000, 1000, 1000], "after": [NONE, 0, NONE],
        "start_ns": [20 * MS, 30 * MS, 0],
    });
    let times = load(&app);
    assert_eq!(times[0].0, 20 * MS);
    assert_eq!(times[1].0, times[0].1 + 30 * MS);
    assert_eq!(times[2].0, times[1].1 + 3 * SECOND);
    assert!(
        is_trips(times[2].1 - times[2].0, 1),
        "the connection is still open"
    );
}

/// Loads pages with a startup that knows how much the application is writing.
fn load_starting(startup: &str, app: &Value) -> Vec<(u64, u64)> {
    let mut scenario = user(app);
    scenario["flows"][0]["control"]["startup"] = json!(startup);
    scenario["flows"][0]["initial_rwnd_bytes"] = json!(1_000_000);
    scenario["flows"][0]["wmem_bytes"] = json!([4096, 4 << 20, 4 << 20]);
    times(&run(&scenario))
}

#[test]
fn the_head_of_a_response_of_http_2_is_all_that_a_startup_sees_at_first() {
    let took = |startup: &str, http: &str| {
        let times = load_starting(startup, &page(http, 1, &[(60_000, NONE)]));
        times[0].1
    };
    assert!(took("jump-start", "1.1") + 90 * MS < took("initial-start", "1.1"));
    let (fast, slow) = (took("jump-start", "2"), took("initial-start", "2"));
    assert!(fast.abs_diff(slow) < 2 * MS, "{fast} and {slow}");
}

#[test]
fn the_automatic_send_buffer_does_not_hold_back_a_server_of_http_2() {
    let mut scenario = user(&page("2", 1, &[(1000, NONE), (300_000, 0), (200_000, 0)]));
    let automatic = times(&run(&scenario));
    scenario["flows"][0]["wmem_bytes"] = json!([4096, 4 << 20, 4 << 20]);
    let largest = times(&run(&scenario));
    let last = |of: &[(u64, u64)]| of.iter().map(|t| t.1).max().unwrap();
    let (automatic, largest) = (last(&automatic), last(&largest));
    assert!(
        automatic.abs_diff(largest) < 2 * MS,
        "{automatic} and {largest}"
    );
}

#[test]
fn a_syn_leaves_before_the_requests_of_its_moment() {
    // The window of the first connection has grown to what 200 kB need, so the next response fills
    // the queue at once, for 80 ms. The SYN-ACK of the second connection is ahead of that response
    // in the queue.
    let objects = [(200_000, NONE), (100_000, 0), (1000, 0)];
    let times = load(&page("1.1", 2, &objects));
    assert_eq!(times[1].0, times[2].0);
    assert!(is_trips(times[2].1 - times[2].0, 2), "{times:?}");
}

#[test]
fn a_server_closes_after_its_request_limit_and_its_idle_timeout() {
    let objects = [(1000, NONE), (1000, 0), (1000, 1), (1000, 2)];
    let mut app = page("1.1", 1, &objects);
    let trips = |app: &Value| -> Vec<u64> {
        let times = load(app);
        times.iter().map(|t| (t.1 - t.0) / (100 * MS)).collect()
    };
    assert_eq!(trips(&app), [2, 1, 1, 1]);
    app["keepalive_requests"] = json!(2);
    assert_eq!(trips(&app), [2, 1, 2, 1]);
    app["keepalive_requests"] = json!(null);
    app["keepalive_timeout_ns"] = json!(SECOND);
    app["start_ns"] = json!([0, 900 * MS, 1100 * MS, 5 * SECOND]);
    assert_eq!(trips(&app), [2, 1, 2, 2]);
}

#[test]
fn a_request_that_arrives_after_the_server_has_closed_is_repeated() {
    let objects = [(1000, NONE), (1000, 0)];
    for http in ["1.1", "1.1-pipelined", "2"] {
        let mut app = page(http, 1, &objects);
        app["keepalive_timeout_ns"] = json!(SECOND);
        // The browser sends this request before the server's FIN arrives. The request reaches the
        // server after the server has sent its FIN.
        app["start_ns"] = json!([0, SECOND + 20 * MS]);
        let times = load(&app);
        assert_eq!(times[1].0, times[0].1 + SECOND + 20 * MS);
        let took = times[1].1 - times[1].0;
        // The browser repeats the request on a new connection. The time consists of the time until
        // the FIN arrives, a handshake, and the object.
        assert!((230 * MS..240 * MS).contains(&took), "HTTP/{http}: {took}");
    }
}

#[test]
fn after_the_flows_end_pending_requests_are_answered_and_none_is_sent() {
    let mut scenario = user(&page("1.1", 1, &[(400_000, NONE), (1000, NONE)]));
    scenario["flows"][0]["stop_ns"] = json!(SECOND + 300 * MS);
    let outcome = run(&scenario);
    assert_eq!(outcome.tables.responses.epoch, [0]);
    assert!(outcome.tables.responses.end_ns[0] > (SECOND + 400 * MS) as i64);
}

#[test]
fn only_connections_that_are_open_or_in_time_wait_need_sockets() {
    let pages = 500u32;
    let app = json!({
        "kind": "pages", "http": "1.0", "connections": 6, "objects": vec![8; pages as usize],
        "think_ns": vec![SECOND; pages as usize],
        "request_bytes": vec![100; 8 * pages as usize],
        "response_bytes": vec![2000; 8 * pages as usize],
        "after": (0..8 * pages).map(|i| if i % 8 == 0 { NONE } else { i / 8 * 8 }).collect::<Vec<_>>(),
    });
    let mut scenario = user(&app);
    scenario["duration_ns"] = json!(900 * SECOND);
    let mut world = world(&scenario);
    while world.step() {
        if world.events() % 4096 == 0 {
            world.check_invariants().unwrap();
        }
    }
    // A page takes 1.6 s and TIME_WAIT a minute, so about 38 pages with 8 pairs of sockets each
    // exist at a time.
    assert!(world.sockets() < 700, "{} sockets", world.sockets());
    assert_eq!(
        world.finish().tables.responses.epoch.len(),
        8 * pages as usize
    );
}

#[test]
fn invalid_columns_are_rejected_by_name() {
    let good = page("1.1", 6, &[(1000, NONE), (900, 0)]);
    for (field, value, said) in [
        (
            "connections",
            json!(7),
            "connections: 7 is not allowed; 1 to 6",
        ),
        ("http", json!("3"), "unknown variant `3`"),
        (
            "keepalive_requests",
            json!(0),
            "keepalive_requests: 0 is not allowed; at least 1",
        ),
        (
            "objects",
            json!([2, 0]),
            "objects: 2 of 2 pages is not allowed",
        ),
        (
            "objects",
            json!([3]),
            "request_bytes: 2 entries is not allowed; 3 entries",
        ),
        (
            "think_ns",
            json!([]),
            "think_ns: 0 entries is not allowed; 1 entries",
        ),
        (
            "response_bytes",
            json!([1, 0]),
            "response_bytes: 0 is not allowed; at least 1 byte",
        ),
        (
            "after",
            json!([NONE, 1]),
            "after[1]: 1 is not allowed; an earlier object",
        ),
        (
            "after",
            json!([1, NONE]),
            "after[0]: 1 is not allowed; an earlier object",
        ),
    ] {
        let mut app = good.clone();
        app[field] = value;
        let error = headway_sim::run(&text(&user(&app))).err().unwrap();
        assert!(error.to_string().contains(said), "{error}");
    }
    let error = headway_sim::run(&text(&user(&page("2", 2, &[(1, NONE)])))).err();
    let said = "connections: 2 is not allowed; 1 with HTTP/2";
    assert!(error.unwrap().to_string().contains(said));
}

/// Random pages of a few objects: response size, server's time, revealing object, waiting time.
fn some_pages() -> impl Strategy<Value = Vec<Vec<(u64, u64, u32, u64)>>> {
    let object = (1u64..60_000, 0u64..80, any::<u32>(), 0u64..300);
    prop::collection::vec(prop::collection::vec(object, 1..9), 1..5)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// The properties must hold for any losses, and whenever the server closes.
    #[test]
    fn every_object_arrives_once_and_after_what_reveals_it(
        pages in some_pages(),
        think_ms in prop::sample::select(vec![0u64, 1, 400, 1000, 3000]),
        requests in prop::option::of(1u32..5),
        timeout_ms in prop::option::of(prop::sample::select(vec![1u64, 50, 100, 300, 1000])),
        loss in prop::sample::select(vec![0.0, 0.02]),
        stack in prop::sample::select(vec!["linux-6", "linux-2.6"]),
        seed in any::<u32>(),
    ) {
        let mut after = Vec::new();
        for page in &pages {
            let first = after.len() as u32;
            for (at, object) in (0u32..).zip(page) {
                let of = object.2 % (at + 1);
                after.push(if of == at { NONE } else { first + of });
            }
        }
        let all: Vec<_> = pages.iter().flatten().collect();
        for (http, connections) in VERSIONS {
            let app = json!({
                "kind": "pages", "http": http, "connections": connections,
                "keepalive_requests": requests,
                "keepalive_timeout_ns": timeout_ms.map(|ms| ms * MS),
                "objects": pages.iter().map(Vec::len).collect::<Vec<_>>(),
                "think_ns": vec![think_ms * MS; pages.len()],
                "request_bytes": vec![300; all.len()],
                "response_bytes": all.iter().map(|o| o.0).collect::<Vec<_>>(),
                "serve_ns": all.iter().map(|o| o.1 * MS).collect::<Vec<_>>(),
                "start_ns": all.iter().map(|o| o.3 * MS).collect::<Vec<_>>(),
                "after": after,
            });
            let mut scenario = user(&app);
            scenario["stack"] = json!(stack);
            scenario["seed"] = json!(seed);
            scenario["duration_ns"] = json!(600 * SECOND);
            scenario["topology"]["reverse"]["loss"] = json!(loss);
            let outcome = run(&scenario);
            let mut objects = outcome.tables.responses.epoch.clone();
            objects.sort_unstable();
            prop_assert_eq!(objects, (0..all.len() as u32).collect::<Vec<_>>(), "HTTP/{}", http);
            let times = times(&outcome);
            let mut first = 0;
            let mut begins = 0;
            for page in &pages {
                let own = first..first + page.len();
                for at in own.clone() {
                    let of = after[at];
                    let revealed = if of == NONE { begins } else { times[of as usize].1 };
                    let wait = all[at].3 * MS;
                    prop_assert!(times[at].0 >= revealed + wait, "HTTP/{}: object {}", http, at);
                    let least = 100 * MS + all[at].1 * MS;
                    prop_assert!(times[at].1 >= times[at].0 + least);
                }
                begins = own.clone().map(|at| times[at].1).max().unwrap() + think_ms * MS;
                first = own.end;
            }
            let again = run(&scenario);
            prop_assert_eq!(outcome.summary.events, again.summary.events);
            prop_assert_eq!(outcome.tables.responses.end_ns, again.tables.responses.end_ns);
        }
    }
}
