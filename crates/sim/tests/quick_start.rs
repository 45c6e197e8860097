//! Quick-Start between hosts and routers: which router answers requests, how the option changes on
//! its path, and what is recorded.

use crate::common::{answering, router_counter, router_events, run, text, MS, SECOND};
use headway_sim::{Outcome, Scenario};
use headway_wire::ipv4_options::QuickStart;
use headway_wire::pcapng::{Block, Reader};
use headway_wire::Ipv4View;
use serde_json::{json, Value};

fn link(quick_start: &Value) -> Value {
    json!({"rate_bps": 10_000_000, "delay_ns": 10 * MS, "limit_pkts": 50,
        "routers": answering(quick_start)})
}

fn requests(codes: &[u8], mean_interval_ns: u64) -> Value {
    json!({"name": "requests", "app":
        {"kind": "requests", "codes": codes, "mean_interval_ns": mean_interval_ns}})
}

fn cbr(ip_bytes: u32, interval_ns: u64) -> Value {
    json!({"name": "cbr", "app":
        {"kind": "cbr", "ip_bytes": ip_bytes, "interval_ns": interval_ns}})
}

fn chain(links: &[Value], flows: &Value, capture: &str) -> Value {
    let hops: Vec<Value> = links
        .iter()
        .map(|l| json!({"forward": l, "reverse": {"rate_bps": 10_000_000}}))
        .collect();
    json!({"duration_ns": 10 * SECOND, "topology": {"kind": "chain", "hops": hops},
        "flows": flows, "capture": {"link": capture}})
}

/// IP TTL and Quick-Start option of every captured packet that has the option.
fn options(outcome: &Outcome) -> Vec<(u8, QuickStart)> {
    let capture = outcome.capture.as_deref().expect("a capture");
    let mut found = Vec::new();
    for block in Reader::new(capture) {
        let Block::Packet(packet) = block.expect("a well formed file") else {
            continue;
        };
        let ip = Ipv4View::parse(packet.bytes).expect("an IPv4 packet");
        ip.verify_checksum().expect("the IPv4 checksum");
        if let Some(option) = ip.option().expect("a well formed option") {
            found.push((ip.ttl(), option));
        }
    }
    found
}

fn request(option: QuickStart) -> (u8, u8, u32) {
    let QuickStart::Request {
        rate_code,
        ttl,
        nonce,
    } = option
    else {
        panic!("{option:?}")
    };
    (rate_code, ttl, nonce)
}

/// Each request twice: in the capture before the first router and in the capture after it.
fn at_both_ends(quick_start: &Value) -> Vec<[(u8, QuickStart); 2]> {
    let links = [link(quick_start), link(&Value::Null)];
    let flows = json!([requests(&[3, 6, 8], 50 * MS)]);
    let before = options(&run(&chain(&links, &flows, "forward0")));
    let behind = options(&run(&chain(&links, &flows, "forward1")));
    assert!(behind.len() > 100 && before.len() - behind.len() <= 1);
    before.into_iter().zip(behind).map(Into::into).collect()
}

#[test]
fn a_participating_router_keeps_the_ttl_difference_and_the_lower_nonce() {
    let (mut lowered, mut denied) = (0, 0);
    for [(ttl, before), (ttl_behind, behind)] in at_both_ends(&json!({"slots": 4})) {
        assert_eq!((ttl, ttl_behind), (64, 63));
        let (asked, qs_ttl, nonce) = request(before);
        let (granted, qs_ttl_behind, nonce_behind) = request(behind);
        assert!(granted <= asked);
        if granted == 0 {
            assert_eq!((qs_ttl_behind, nonce_behind), (0, 0));
            denied += 1;
            continue;
        }
        assert_eq!(
            ttl_behind.wrapping_sub(qs_ttl_behind),
            ttl.wrapping_sub(qs_ttl)
        );
        let redrawn = ((1 << (2 * asked)) - 1) & !((1 << (2 * granted)) - 1);
        assert_eq!((nonce ^ nonce_behind) & !redrawn, 0);
        lowered += u32::from(granted < asked);
    }
    assert!(
        lowered > 10 && denied > 10,
        "{lowered} lowered, {denied} denied"
    );
}

#[test]
fn the_ttl_difference_shows_a_router_that_does_not_participate() {
    for [(ttl, before), (ttl_behind, behind)] in at_both_ends(&Value::Null) {
        assert_eq!(before, behind);
        let qs_ttl = request(before).1;
        assert_ne!(ttl.wrapping_sub(qs_ttl), ttl_behind.wrapping_sub(qs_ttl));
    }
}

#[test]
fn answers_are_recorded_with_the_state_of_the_router() {
    // in addition to the requests, the link carries 5 Mbit/s of data
    let links = [link(
        &json!({"interval_ms": 200, "threshold_permille": 900}),
    )];
    let flows = json!([cbr(1250, 2 * MS), requests(&[5, 6], 100 * MS)]);
    let outcome = run(&chain(&links, &flows, "forward0"));
    let rows = router_events(&outcome.tables);
    assert_eq!(rows.len() as u64, outcome.summary.flows[1].datagrams);
    let rate = |code: u64| if code == 0 { 0 } else { 40_000u64 << code };
    let mut grants = Vec::new();
    for (link, time_ns, flow, told) in &rows {
        let [asked, code, usage_bps, outstanding_bps] = told[..] else {
            panic!("{told:?}");
        };
        assert_eq!((*link, *flow), (0, 1));
        let slot = *time_ns as u64 / (200 * MS);
        if slot > 0 {
            // requests have 36 bytes
            assert!((5_000_000..5_030_000).contains(&usage_bps), "{usage_bps}");
        }
        let expected: u64 = grants
            .iter()
            .filter(|g: &&(u64, u64)| g.0 + 2 > slot)
            .map(|g| g.1)
            .sum();
        assert_eq!(outstanding_bps, expected);
        let left = 9_000_000u64.saturating_sub(usage_bps + expected);
        let granted = rate(code);
        assert!(granted <= left);
        assert!(granted == rate(asked) || rate(code + 1).max(80_000) > left);
        grants.push((slot, granted));
    }
    let c = &outcome.tables.router_counters;
    assert!(c.time_ns.iter().all(|&t| t == 10 * SECOND as i64));
    let last = |name| router_counter(&outcome.tables, name)[0];
    assert_eq!(last("requests"), rows.len() as u64);
    assert_eq!(last("grants") + last("denials"), last("requests"));
    assert!(last("denials") > 0 && last("lowered") > 0);
    assert_eq!(last("granted_bps"), grants.iter().map(|g| g.1).sum::<u64>());
    assert_eq!(last("interval_ns"), 200 * MS);
}

#[test]
fn the_load_counts_offered_packets_including_dropped_ones() {
    // 20 Mbit/s are offered to a link of 10 Mbit/s, so half is dropped
    let links = [link(&json!({"interval_ms": 200}))];
    let flows = json!([cbr(1250, MS / 2), requests(&[1], 100 * MS)]);
    let outcome = run(&chain(&links, &flows, "forward0"));
    let rows = router_events(&outcome.tables);
    let last = rows.last().expect("requests").3[2];
    assert!((20_000_000..20_030_000).contains(&last), "{last}");
    assert!(rows[20..].iter().all(|row| row.3[1] == 0));
}

#[test]
fn a_link_may_drop_packets_with_ip_options() {
    let mut strict = link(&Value::Null);
    strict["drop_ip_options"] = json!(true);
    let flows = json!([cbr(1250, 10 * MS), requests(&[7], 20 * MS)]);
    let outcome = run(&chain(&[strict], &flows, "forward0"));
    let drops = &outcome.tables.drops;
    assert!(drops.reason.iter().all(|&r| r == 3) && drops.flow.iter().all(|&f| f == 1));
    assert_eq!(drops.flow.len() as u64, outcome.summary.flows[1].datagrams);
    let lost = outcome.tables.udp.owd_ns.iter().filter(|&&d| d < 0).count();
    assert_eq!(lost, drops.flow.len(), "data passes");
}

#[test]
fn a_checkpoint_does_not_change_answers() {
    let links = [link(&json!({"interval_ms": 70, "estimator": 1}))];
    let mut flows = json!([cbr(1250, 2 * MS), requests(&[5, 6, 7], 30 * MS)]);
    flows[1]["start_ns"] = json!(SECOND / 3);
    let mut scenario = chain(&links, &flows, "forward0");
    let plain = run(&scenario);
    scenario["checkpoints_ns"] = json!((1..300).map(|i| i * 33 * MS).collect::<Vec<_>>());
    let counted = run(&scenario);
    assert_eq!(plain.tables.router_events, counted.tables.router_events);
    let load = router_counter(&counted.tables, "usage_bps");
    assert!(
        load.windows(2).filter(|w| w[0] != w[1]).count() > 100,
        "the load over time"
    );
}

#[test]
fn an_invalid_router_is_rejected_with_one_line() {
    let said = |links: &[Value], flows: &Value| {
        let text = text(&chain(links, flows, "forward0"));
        match headway_sim::run(&text) {
            Ok(_) => panic!("accepted {text}"),
            Err(error) => error.to_string(),
        }
    };
    let fine = json!([requests(&[7], MS)]);
    assert_eq!(
        said(&[link(&json!({"slots": 17}))], &fine),
        "forward0.routers: tunable slots = 17: must be 0 to 16 slots"
    );
    assert_eq!(
        said(&[link(&Value::Null)], &json!([requests(&[16], MS)])),
        "flows[0].app.codes: 16 is not allowed; 1 to 15 as a rate code"
    );
    let mut queue = link(&Value::Null);
    queue["aqm"] = json!({"name": "quick-start"});
    assert_eq!(
        said(&[queue], &fine),
        "forward0.aqm: unknown queue discipline \"quick-start\"; did you mean drop-tail or fq or \
         fq_pie?"
    );
    assert!(Scenario::from_json("{\"quick_start\": 1}").is_err());
}
