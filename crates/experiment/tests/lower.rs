//! Conversion of an experiment to a scenario: quantities in SI units, links in both directions,
//! start times; and the errors for invalid documents.

use headway_experiment::algorithm::{Algorithm, Known, Tunable};
use headway_experiment::lower::{
    checkpoints_ns, crossed, path_of, scenario, topology, Outputs, Shape,
};
use headway_experiment::start::start_ns;
use headway_experiment::testbed;
use serde_json::{json, Value as Json};

fn known() -> Known {
    let algorithm = |name: &str, startup: Option<&str>, tunable: Option<&str>| Algorithm {
        name: name.into(),
        startup: startup.map(str::to_owned),
        tunables: tunable
            .map(|name| Tunable {
                name: name.into(),
                unit: "bool".into(),
                min: 0,
                max: 1,
            })
            .into_iter()
            .collect(),
    };
    Known {
        controls: vec![algorithm("reno", Some("slow-start"), None)],
        startups: vec![algorithm("slow-start", None, None)],
        queues: vec![
            algorithm("drop-tail", None, None),
            algorithm("red", None, Some("ecn")),
        ],
        routers: vec![algorithm("quick-start", None, Some("fair"))],
        load_file: None,
        stacks: vec!["linux-6".into()],
    }
}

fn dumbbell() -> Json {
    json!({ "kind": "dumbbell", "rate": "10 Mbit/s", "rtt": "7 ns", "buffer": "40 pkts" })
}

fn experiment() -> Json {
    json!({
        "topology": dumbbell(),
        "flows": [{ "control": "reno" }, { "control": { "name": "reno" }, "start": "2 s" }],
        "duration": "10 s",
        "start_spread": "1 s",
        "seed": 5,
    })
}

fn lower(document: &Json) -> Result<Json, String> {
    let outputs = Outputs {
        digest_at_ns: None,
        trace: true,
    };
    let text = scenario(&document.to_string(), &known(), |_| None, outputs);
    text.map(|text| serde_json::from_str(&text).unwrap())
        .map_err(|e| e.to_string())
}

#[test]
fn a_scenario_has_numbers_in_si_units_and_a_start_for_every_flow() {
    let made = lower(&experiment()).unwrap();
    assert_eq!(made["duration_ns"], 10_000_000_000_u64);
    assert_eq!(made["flows"][0]["start_ns"], start_ns(5, 0, 1_000_000_000));
    assert_eq!(made["flows"][1]["start_ns"], 2_000_000_000_u64);
    assert_eq!(made["flows"][1]["name"], "reno-1");
    assert_eq!(made["flows"][0]["app"], json!({ "kind": "bulk" }));
    let [there, back] = [0, 1].map(|link| &made["topology"]["links"][link]);
    assert_eq!(
        (&there["name"], &back["name"]),
        (&json!("forward0"), &json!("reverse0"))
    );
    assert_eq!(there["limit_pkts"], 40);
    assert_eq!(
        (&there["delay_ns"], &back["delay_ns"]),
        (&json!(3), &json!(4))
    );
    assert_eq!(made["record"]["drops"], true);
}

#[test]
fn the_reverse_link_mirrors_rate_and_limit_but_no_disturbance() {
    let mut path = dumbbell();
    path["buffer"] = json!("2 BDP");
    path["rtt"] = json!("40 ms");
    path["access_delay"] = json!("2500 us");
    path["aqm"] = json!("red:ecn=on");
    path["loss"] = json!("1%");
    path["quick_start"] = json!(true);
    let made = topology(&path, &known()).unwrap();
    assert_eq!(made.base_rtt_ns, 50_000_000);
    let [there, back] = &made.links[..] else {
        panic!("two links")
    };
    assert_eq!(there["limit_bytes"], 125_000);
    assert_eq!(back["limit_bytes"], 125_000);
    assert_eq!(
        there["aqm"],
        json!({ "name": "red", "tunables": { "ecn": 1 } })
    );
    assert_eq!(back["aqm"]["name"], "drop-tail");
    assert_eq!((&there["loss"], &back["loss"]), (&json!(0.01), &json!(0.0)));
    assert_eq!(there["routers"], back["routers"]);
    assert_eq!(there["routers"][0]["name"], "quick-start");
}

#[test]
fn effects_written_as_text_and_as_fields_are_the_same() {
    let mut path = dumbbell();
    path["jitter"] = json!("2ms:distribution=normal:reorder=on");
    path["shaper"] = json!({ "rate": "1 Mbit/s", "burst": "3 kB" });
    path["reverse"] = json!({ "rate": "1 Mbit/s", "delay": "1 ms", "buffer": "9 pkts",
        "jitter": { "spread": "2 ms", "distribution": "normal", "table": null, "reorder": true },
        "shaper": "1Mbit/s:burst=3kB" });
    let made = topology(&path, &known()).unwrap();
    let jitter = json!({ "spread_ns": 2_000_000, "distribution": "normal", "reorder": true });
    let shaper = json!({ "rate_bps": 1_000_000, "burst_bytes": 3000 });
    for link in &made.links {
        assert_eq!((&link["jitter"], &link["shaper"]), (&jitter, &shaper));
    }
    for (text, line) in [
        (
            "2ms:reorder",
            "topology.jitter: 'reorder': write OPTION=VALUE",
        ),
        ("2ms:spread=3ms", "topology.jitter: spread is given twice"),
        (
            "2ms:table=a.dist",
            "topology.jitter.table: 'a.dist' is not allowed; a list",
        ),
    ] {
        path["jitter"] = json!(text);
        let error = topology(&path, &known()).unwrap_err().to_string();
        assert!(error.starts_with(line), "{error}");
    }
}

#[test]
fn a_step_keeps_what_it_does_not_name() {
    let mut path = dumbbell();
    let off = json!({ "start": "2 s", "rate": "5 Mbit/s", "delay": "9 ns", "jitter": "off" });
    let steps = json!([{ "start": "0 s", "jitter": "2ms" }, { "start": "1 s", "rate": "down" }, off,
        { "start": "3 s", "shaper": "1Mbit/s:burst=3kB", "delay": null }]);
    path["vary"] = json!({ "kind": "schedule", "steps": steps });
    let made = topology(&path, &known()).unwrap();
    let jitter = json!({ "jitter": { "spread_ns": 2_000_000 } });
    let shaper = json!({ "shaper": { "rate_bps": 1_000_000, "burst_bytes": 3000 } });
    let second = 1_000_000_000_u64;
    assert_eq!(
        made.links[0]["vary"]["steps"],
        json!([
            [0, 10_000_000, 3, jitter],
            [second, 0, 3],
            [2 * second, 5_000_000, 9, { "jitter": "off" }],
            [3 * second, 5_000_000, 9, shaper]
        ])
    );
    path["vary"] = json!({ "kind": "mahimahi", "opportunities_ms": [3],
        "steps": [{ "start": "1 s", "jitter": "2ms" }] });
    let made = topology(&path, &known()).unwrap();
    let expected =
        json!({ "kind": "mahimahi", "opportunities_ms": [3], "steps": [[second, jitter]] });
    assert_eq!(made.links[0]["vary"], expected);
}

#[test]
fn a_step_refuses_what_cannot_change() {
    let refused = |kind: &str, step: Json| {
        let mut path = dumbbell();
        path["vary"] = json!({ "kind": kind, "opportunities_ms": [3], "steps": [step] });
        if kind == "schedule" {
            path["vary"]
                .as_object_mut()
                .unwrap()
                .remove("opportunities_ms");
        }
        topology(&path, &known()).unwrap_err().to_string()
    };
    for (kind, step, said) in [
        (
            "schedule",
            json!({ "start": "0 s", "buffer": "9 pkts" }),
            "topology.vary.steps[0].buffer: cannot change during a run; allowed: start, rate, delay, \
             jitter",
        ),
        (
            "mahimahi",
            json!({ "start": "0 s", "rate": "9 Mbit/s" }),
            "topology.vary.steps[0].rate: cannot change during a run; allowed: start, jitter",
        ),
        (
            "schedule",
            json!({ "start": "0 s", "jiter": "2ms" }),
            "topology.vary.steps[0].jiter: no such field; nearest: jitter",
        ),
        (
            "schedule",
            json!({ "start": "0 s", "jitter": "2" }),
            "topology.vary.steps[0].jitter.spread: ",
        ),
        (
            "schedule",
            json!({ "jitter": "2ms" }),
            "topology.vary.steps[0].start: is missing",
        ),
    ] {
        let error = refused(kind, step);
        assert!(error.starts_with(said), "{error}");
        assert_eq!(error.lines().count(), 1);
    }
}

#[test]
fn counters_are_read_once_at_the_warm_up_and_at_each_batch_and_sample() {
    assert_eq!(
        checkpoints_ns(100, 0, None),
        (0..10).map(|k| k * 10).collect::<Vec<_>>()
    );
    let sampled = checkpoints_ns(100, 50, Some(25));
    assert_eq!(sampled, [25, 50, 55, 60, 65, 70, 75, 80, 85, 90, 95]);
}

#[test]
fn errors_are_one_line_and_name_the_place() {
    let told = |change: fn(&mut Json), line: &str| {
        let mut document = experiment();
        change(&mut document);
        let error = lower(&document).unwrap_err();
        assert!(error.contains(line), "{error}");
        assert_eq!(error.lines().count(), 1);
    };
    let rate = "topology.rate: 10 has no unit; write it as text, rate in bit/s, kbit/s, Mbit/s";
    told(|d| d["topology"]["rate"] = json!(10), rate);
    let rate = "topology.rate: '10' has no unit; allowed: bit/s, kbit/s, Mbit/s, Gbit/s";
    told(|d| d["topology"]["rate"] = json!("10"), rate);
    told(
        |d| d["topology"]["rtt"] = json!(50),
        "topology.rtt: 50 has no unit",
    );
    told(
        |d| d["topology"]["buffer"] = json!(9),
        "topology.buffer: 9 has no unit",
    );
    told(
        |d| d["topology"]["rat"] = json!(1),
        "topology.rat: no such field; nearest: rate",
    );
    told(
        |d| d["topology"]["kind"] = json!("ring"),
        "unknown kind 'ring'; allowed: dumbbell",
    );
    told(|d| d["topology"]["loss"] = json!(1), "topology.loss: ");
    told(
        |d| d["topology"]["aqm"] = json!("rde"),
        "topology.aqm: unknown queue discipline",
    );
    told(|d| d["duration"] = json!(null), "duration: is missing");
    told(|d| d["seed"] = json!(-1), "seed: ");
    told(
        |d| d["flows"][1]["delay"] = json!(3),
        "flows[1].delay: 3 has no unit",
    );
    told(
        |d| d["flows"][1]["sak"] = json!(true),
        "flows[1].sak: no such field; nearest: sack",
    );
    told(
        |d| d["flows"][0]["control"] = json!("kernel:bbr"),
        "it needs backend kernel",
    );
    told(
        |d| d["flows"][0]["app"] = json!({ "kind": "sessions" }),
        "flows[0].app: needs data from",
    );
    told(|d| d["flows"] = json!("reno"), "flows: ");
    told(
        |d| d["record"] = json!(["drop"]),
        "record: \"drop\" is not allowed; flows, queue",
    );
}

/// Flows from the first to the second node of a triangle, the second one by the third node.
fn triangle() -> Json {
    let edge = |between: &str| {
        let link = json!({ "rate": "10 Mbit/s", "delay": "1 ms", "buffer": "40 pkts" });
        json!({ "between": between, "forward": link })
    };
    let ends = json!({ "control": "reno", "source": "a", "destination": "b" });
    let mut around = ends.clone();
    around["route"] = "a-c-b".into();
    around["delay"] = "3 ms".into();
    json!({
        "topology": {
            "kind": "network",
            "nodes": ["a", "b", "c"],
            "edges": [edge("a-b"), edge("b-c"), edge("c-a")],
        },
        "flows": [ends, around],
        "duration": "1 s",
    })
}

#[test]
fn a_testbed_gets_the_routes_of_the_scenario() {
    let document = triangle();
    let made = crossed(&document.to_string(), &known()).unwrap();
    let scenario = lower(&document).unwrap();
    assert_eq!(scenario["flows"][1]["route"], json!([5, 3]));
    for (flow, (routes, delay_ns)) in made.flows.iter().enumerate() {
        let of_scenario = &scenario["flows"][flow];
        // a flow with the default routes has none in its scenario
        if flow > 0 {
            assert_eq!(of_scenario["route"], json!(routes.there));
            assert_eq!(of_scenario["reverse_route"], json!(routes.back));
            assert_eq!(of_scenario["extra_delay_ns"], json!(delay_ns));
        }
    }
    assert_eq!(made.flows[0].0.there, [0]);
    assert_eq!(made.topology.links.len(), 6);
    let mut relayed = document;
    relayed["flows"][1]["relay"] = json!({ "at_hop": 1 });
    let error = crossed(&relayed.to_string(), &known()).unwrap_err();
    assert!(error.to_string().contains("flows[1].relay: is not allowed"));
}

#[test]
fn a_testbed_refuses_a_network_in_one_line() {
    type Change = fn(&mut Json);
    let refused: [(Change, usize, &str); 5] = [
        (|_| {}, 101, "flows: 101 are not allowed; at most 100"),
        (
            |t| t["nodes"] = (0..17).map(|node| format!("n{node}")).collect(),
            1,
            "topology: 17 nodes are not allowed; at most 16",
        ),
        (
            |t| t["edges"][0]["forward"]["rate"] = "201 Mbit/s".into(),
            1,
            "topology: n0-n1: rate: 201 Mbit/s is not allowed; at most 200 Mbit/s",
        ),
        (
            |t| {
                t["edges"][0]["reverse"] = t["edges"][0]["forward"].clone();
                let steps = json!([{ "start": "0 s", "rate": "1 Gbit/s", "delay": "1 ms" }]);
                t["edges"][0]["reverse"]["vary"] = json!({ "kind": "schedule", "steps": steps });
            },
            1,
            "topology: n1-n0: rate: 1 Gbit/s is not allowed",
        ),
        (
            |t| t["edges"][0]["forward"]["routers"] = json!(["quick-start"]),
            1,
            "topology: n0-n1: routers: quick-start is not allowed",
        ),
    ];
    for (change, flows, said) in refused {
        let mut written = json!({
            "kind": "network",
            "nodes": ["n0", "n1"],
            "edges": [triangle()["topology"]["edges"][0]],
        });
        written["edges"][0]["between"] = "n0-n1".into();
        testbed::check(&topology(&written, &known()).unwrap(), 100).unwrap();
        change(&mut written);
        let made = topology(&written, &known()).unwrap();
        let error = testbed::check(&made, flows).unwrap_err().to_string();
        assert!(error.starts_with(said), "{error}");
        assert_eq!(error.lines().count(), 1);
    }
}

#[test]
fn the_path_can_be_read_alone_with_the_seed() {
    let (path, seed) = path_of(&experiment().to_string(), &known()).unwrap();
    assert_eq!(
        (path.links.len(), path.shape, seed),
        (2, Shape::Dumbbell, 5)
    );
}

#[test]
fn settings_of_hosts_become_lists_of_numbers() {
    let mut document = experiment();
    document["sysctls"] = json!({ "net.ipv4.tcp_rmem": "4096 65536\t131072", "tcp_sack": 0 });
    document["route_attributes"] = json!({ "rto_min": "50 ms", "initcwnd": 20 });
    let lowered = lower(&document).unwrap();
    assert_eq!(
        lowered["sysctls"],
        json!({ "tcp_rmem": [4096, 65_536, 131_072], "tcp_sack": [0] })
    );
    assert_eq!(
        lowered["route_attributes"],
        json!({ "rto_min": [50_000_000], "initcwnd": [20] })
    );
    document["sysctls"] = json!({ "tcp_fack": 1 });
    let refused = lower(&document).unwrap_err();
    assert!(
        refused
            .starts_with("sysctls.tcp_fack: the simulator does not model this sysctl; it models"),
        "{refused}"
    );
}

#[test]
fn buffers_become_bytes() {
    let mut document = experiment();
    document["flows"][0]["rmem"] = json!("4 KiB/64 KiB/6 MiB");
    document["flows"][0]["sndbuf"] = json!("32 KiB");
    let lowered = lower(&document).unwrap();
    assert_eq!(
        lowered["flows"][0]["rmem_bytes"],
        json!([4096, 65_536, 6 << 20])
    );
    assert_eq!(lowered["flows"][0]["sndbuf_bytes"], json!(32_768));
    // the typed model has converted former names
    document["flows"][0]["send_buffer"] = json!("32 KiB");
    assert!(lower(&document).unwrap_err().contains("no such field"));
}
