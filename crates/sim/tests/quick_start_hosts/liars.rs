//! Receivers that lie, and how often the nonce reveals them.

use super::{flow, link};
use crate::common::{asked, dumbbell, run, MS, SECOND};
use serde_json::{json, Value};

/// On each of many connections, a receiver that lies as `receiver` says requests code 8 through a
/// router that grants `max_code`. Returns how many receivers are believed and how many are caught.
fn judged(max_code: u8, receiver: &Value) -> (u64, u64) {
    const RUNS: u64 = 4;
    let flows: Vec<Value> = (0..LIARS / RUNS)
        .map(|i| {
            let mut liar = flow(12_000, json!({"qs_fit_data": 0}), receiver);
            liar["name"] = json!(format!("liar{i}"));
            liar["start_ns"] = json!(i * MS);
            liar
        })
        .collect();
    // the router can grant the sum of all requests
    let link = link(
        20,
        10_000,
        json!({"max_code": max_code, "capacity_kbps": 4_000_000}),
    );
    let mut scenario = dumbbell("linux-6", SECOND, &link, json!(flows));
    scenario["capture"] = Value::Null;
    scenario["record"] = json!({"flows": false, "queue": false});
    let (mut believed, mut caught) = (0, 0);
    for seed in 0..RUNS {
        scenario["seed"] = json!(seed);
        for flow in run(&scenario).summary.flows {
            believed += asked(&flow, "grants");
            caught += asked(&flow, "lies");
        }
    }
    (believed, caught)
}

const LIARS: u64 = 2_000;

/// RFC 4782 section 3.4: to claim a higher rate, a receiver has to guess the part of the nonce that
/// it does not know, two bits for each code.
#[test]
fn receivers_that_lie_are_caught_with_the_probability_of_the_unknown_nonce_bits() {
    let honest = judged(6, &json!({}));
    assert_eq!(honest, (LIARS, 0));
    let lies = [
        // the router has replaced the nonce bits of the claimed codes by random ones, so the
        // receiver guesses them
        (6, json!({"inflates_codes": 1}), 1),
        (5, json!({"inflates_codes": 2}), 2),
        (5, json!({"inflates_codes": 3}), 3),
        // the receiver guesses all bits of the nonce up to the code that it claims
        (1, json!({"forges_nonce": true}), 1),
        (2, json!({"forges_nonce": true}), 2),
        (1, json!({"inflates_codes": 2, "forges_nonce": true}), 3),
        (8, json!({"forges_nonce": true}), 8),
    ];
    for (max_code, receiver, guesses) in lies {
        let (believed, caught) = judged(max_code, &receiver);
        assert_eq!(believed + caught, LIARS, "{receiver}: each has a verdict");
        let p = 0.25_f64.powi(guesses);
        let expected = LIARS as f64 * p;
        let sigma = (expected * (1.0 - p)).sqrt();
        assert!(
            (believed as f64 - expected).abs() < 4.5 * sigma.max(0.5),
            "{receiver} over a router that grants {max_code}: {believed}, not {expected}"
        );
    }
}
