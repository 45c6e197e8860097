//! Any input to the scenario's parser and builder must not panic, and an error must be one line.
//!
//! `PROPTEST_CASES` sets the number of cases.

use crate::cases::cases;
use headway_sim::{Scenario, World};
use proptest::prelude::*;
use proptest::sample::{select, Index};
use serde_json::{json, Map, Value};

/// A scenario that contains every kind of object that a scenario can have.
fn valid() -> Value {
    let link = json!({"rate_bps": 1_000_000, "delay_ns": 10_000_000, "limit_bytes": 30_000,
        "limit_pkts": 20, "loss": 0.01, "duplicate": 0.01, "reorder": 0.01,
        "reorder_delay_ns": 1_000_000,
        "jitter": {"spread_ns": 1_000_000, "table": [-8192, 0, 8192], "correlation": 0.5,
            "reorder": true},
        "burst_loss": {"to_bad": 0.01, "to_good": 0.5, "loss_bad": 0.9, "loss_good": 0.001},
        "policer": {"rate_bps": 2_000_000, "burst_bytes": 15_000, "mark": true},
        "shaper": {"rate_bps": 900_000, "burst_bytes": 3000},
        "aggregation": {"interval_ns": 4_000_000, "packets": 8},
        "ack_thinning": {"keep_one_of": 4, "interval_ns": 1_000_000},
        "corruption": {"packet": 0.01}, "mtu": {"size_bytes": 1400, "icmp": true},
        "aqm": {"name": "red", "tunables": {"ecn": 1}},
        "vary": {"kind": "schedule", "steps": [[0, 1_000_000, 10_000_000],
            [500_000_000, 900_000, 20_000_000, {"jitter": "off",
                "shaper": {"rate_bps": 800_000, "burst_bytes": 3000}}]]},
        "routers": [{"name": "quick-start", "tunables": {"algorithm": 3, "slots": 4}}], "drop_ip_options": false});
    let named = |name: &str| {
        let mut link = link.clone();
        link["name"] = json!(name);
        link
    };
    let control = json!({"name": "cubic", "startup": "slow-start", "tunables": {}});
    let flow = |app: Value, control: Value| {
        json!({"name": "f", "app": app, "control": control, "sack": true, "timestamps": true,
            "delayed_ack": true, "nodelay": false, "start_ns": 0, "stop_ns": 900_000_000,
            "extra_delay_ns": 5, "route": [0], "reverse_route": [1]})
    };
    let mut relayed = flow(
        json!({"kind": "vectors", "epochs": [[1, 2, 3]]}),
        control.clone(),
    );
    relayed["relay"] = json!({"route": [2], "reverse_route": [0, 2]});
    json!({
        "seed": 1, "duration_ns": 1_000_000_000, "stack": "linux-6",
        "topology": {"links": [named("forward0"), named("reverse0"), named("third")],
            "access_rate_bps": 1_000_000_000, "access_delay_ns": 0},
        "flows": [
            flow(json!({"kind": "bulk", "bytes": 1000}), control.clone()),
            relayed,
            flow(json!({"kind": "pingpong", "request_bytes": 1, "mean_interval_ns": 1000}), control),
            flow(json!({"kind": "cbr", "ip_bytes": 186, "interval_ns": 20_000_000}), Value::Null),
            flow(json!({"kind": "requests", "codes": [1, 15], "mean_interval_ns": 50_000_000}),
                Value::Null),
        ],
        "checkpoints_ns": [500_000_000],
        "record": {"flows": true, "queue": true, "udp": true, "drops": true},
        "capture": {"link": "forward0", "snaplen_bytes": 0}
    })
}

/// Every location in a document, as a JSON pointer (RFC 6901).
fn places(value: &Value, at: &str, out: &mut Vec<String>) {
    out.push(at.to_string());
    match value {
        Value::Object(map) => map
            .iter()
            .for_each(|(k, v)| places(v, &format!("{at}/{k}"), out)),
        Value::Array(items) => items
            .iter()
            .enumerate()
            .for_each(|(i, v)| places(v, &format!("{at}/{i}"), out)),
        _ => {}
    }
}

/// Values at the limits of what a field may hold.
fn odd_value() -> impl Strategy<Value = Value> {
    let edges = [
        0,
        1,
        2,
        28,
        29,
        u64::from(u32::MAX),
        1 << 32,
        1 << 53,
        1 << 62,
        1 << 63,
        u64::MAX,
    ];
    prop_oneof![
        4 => select(edges.to_vec()).prop_map(Value::from),
        1 => any::<u64>().prop_map(Value::from),
        1 => any::<i64>().prop_map(Value::from),
        1 => any::<f64>().prop_map(Value::from),
        1 => Just(Value::Null),
        1 => any::<bool>().prop_map(Value::from),
        1 => "[a-z\n-]{0,12}".prop_map(Value::from),
        1 => Just(json!([])),
        1 => Just(Value::Object(Map::new())),
        1 => Just(json!([[18_446_744_073_709_551_615_u64, 1, 1], [1, 1, 18_446_744_073_709_551_615_u64]])),
    ]
}

/// Parses, builds and briefly runs a scenario. Returns whether it was accepted.
fn survives(text: &str) -> Result<bool, TestCaseError> {
    let built = Scenario::from_json(text).and_then(|s| World::new(&s));
    match built {
        Ok(mut world) => {
            for _ in 0..500 {
                if !world.step() {
                    break;
                }
            }
            world.check_invariants().map_err(TestCaseError::fail)?;
            world.finish();
            Ok(true)
        }
        Err(error) => {
            let line = error.to_string();
            prop_assert!(!line.is_empty() && !line.contains('\n'), "{line:?}");
            Ok(false)
        }
    }
}

#[test]
fn the_unmutated_scenario_is_valid() {
    assert!(survives(&valid().to_string()).unwrap());
}

proptest! {
    #![proptest_config(cases(500))]

    #[test]
    fn arbitrary_text_is_rejected_with_one_line(text in "\\PC{0,200}") {
        survives(&text)?;
    }

    #[test]
    fn a_scenario_with_changed_bytes_does_not_panic(
        changes in proptest::collection::vec((any::<Index>(), any::<u8>()), 1..4),
        cut in proptest::option::of(any::<Index>()),
    ) {
        let mut bytes = valid().to_string().into_bytes();
        for (at, byte) in changes {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        if let Some(cut) = cut {
            bytes.truncate(cut.index(bytes.len()));
        }
        survives(&String::from_utf8_lossy(&bytes))?;
    }

    #[test]
    fn a_scenario_with_odd_values_does_not_panic(
        changes in proptest::collection::vec((any::<Index>(), odd_value()), 1..4),
    ) {
        let mut scenario = valid();
        for (at, value) in changes {
            let mut all = vec![];
            places(&scenario, "", &mut all);
            let place = &all[at.index(all.len())];
            *scenario.pointer_mut(place).expect("a listed location") = value;
        }
        survives(&scenario.to_string())?;
    }

    #[test]
    fn a_scenario_with_an_extra_or_a_missing_field_does_not_panic(
        at in any::<Index>(), name in "[a-z_]{1,12}", value in odd_value(), remove in any::<bool>(),
    ) {
        let mut scenario = valid();
        let mut all = vec![];
        places(&scenario, "", &mut all);
        all.retain(|p| scenario.pointer(p).is_some_and(Value::is_object));
        let place = &all[at.index(all.len())];
        let map = scenario.pointer_mut(place).and_then(Value::as_object_mut).expect("an object");
        if remove {
            let key = map.keys().nth(at.index(map.len().max(1))).cloned();
            key.map(|key| map.remove(&key));
            survives(&scenario.to_string())?;
        } else {
            let is_new = !map.contains_key(&name);
            let free = place.ends_with("tunables");
            map.insert(name.clone(), value);
            let accepted = survives(&scenario.to_string())?;
            prop_assert!(!(accepted && is_new && !free), "the unknown field {name} was accepted");
        }
    }
}
