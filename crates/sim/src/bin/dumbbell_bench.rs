//! Benchmark of the engine: N bulk flows over a dumbbell that records only counters. Prints one
//! JSON line.

use headway_sim::{Scenario, World};
use std::time::Instant;

/// On the bottleneck's forward link each flow sends one SYN, the last ACK of the handshake, and
/// otherwise full-size data packets.
const USAGE: &str = "usage: dumbbell_bench [--flows N] [--duration-s S] [--control NAME] \
                     [--stack NAME] [--rate-bps R] [--router NAME] [--aqm NAME] [--json]";

fn value<T: std::str::FromStr>(args: &[String], name: &str, default: T) -> T {
    let Some(at) = args.iter().position(|a| a == name) else {
        return default;
    };
    args.get(at + 1)
        .and_then(|v| v.parse().ok())
        .unwrap_or_else(|| {
            eprintln!("{name}: a value is missing or not allowed; {USAGE}");
            std::process::exit(2)
        })
}

/// A bottleneck with 50 ms RTT and one bandwidth-delay product of buffer (417 packets at 100
/// Mbit/s). Each flow has a pair of hosts with 1 Gbit/s access links. The flows' start times are
/// spread over one second. The forward link may have a router algorithm and a queue discipline
/// other than drop-tail.
fn scenario(
    flows: usize,
    duration_s: f64,
    control: &str,
    stack: &str,
    rate_bps: u64,
    router: &str,
    aqm: &str,
) -> String {
    let bdp_bytes = rate_bps / 8 / 20;
    let link = serde_json::json!({
        "rate_bps": rate_bps, "delay_ns": 25_000_000, "limit_pkts": bdp_bytes.div_ceil(1500)
    });
    let mut forward = link.clone();
    if !router.is_empty() {
        forward["routers"] = serde_json::json!([{ "name": router }]);
    }
    if !aqm.is_empty() {
        forward["aqm"] = serde_json::json!({ "name": aqm });
    }
    let flow = |i: usize| {
        serde_json::json!({
            "name": format!("flow{i}"), "app": {"kind": "bulk"}, "control": {"name": control},
            "start_ns": 1_000_000_000 * i / flows
        })
    };
    serde_json::json!({
        "duration_ns": (duration_s * 1e9) as u64,
        "stack": stack,
        "topology": {"links": [forward, link]},
        "flows": (0..flows).map(flow).collect::<Vec<_>>(),
        "record": {"flows": false, "queue": false, "udp": false, "drops": false}
    })
    .to_string()
}

fn peak_rss_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|l| l.strip_prefix("VmHWM:"));
    let kib = line.and_then(|l| l.trim().strip_suffix("kB")?.trim().parse::<u64>().ok());
    kib.unwrap_or(0) * 1024
}

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    if args.iter().any(|a| a == "--help") {
        println!("{USAGE}");
        return;
    }
    let flows: usize = value(&args, "--flows", 10);
    let duration_s: f64 = value(&args, "--duration-s", 60.0);
    let control: String = value(&args, "--control", "cubic".into());
    let stack: String = value(&args, "--stack", "linux-6".into());
    let rate_bps: u64 = value(&args, "--rate-bps", 100_000_000);
    let router: String = value(&args, "--router", String::new());
    let aqm: String = value(&args, "--aqm", String::new());
    let text = scenario(flows, duration_s, &control, &stack, rate_bps, &router, &aqm);
    let parsed = Scenario::from_json(&text);
    let world = parsed.and_then(|scenario| World::new(&scenario));
    let mut world = world.unwrap_or_else(|error| {
        eprintln!("{error}");
        std::process::exit(2)
    });
    let start = Instant::now();
    while world.step() {}
    let wall_s = start.elapsed().as_secs_f64();
    let events = world.events();
    let data_pkts = world.link_sent_pkts(0).saturating_sub(2 * flows as u64);
    println!(
        "{}",
        serde_json::json!({
            "flows": flows,
            "data_pkts": data_pkts,
            "events": events,
            "wall_s": wall_s,
            "pkts_per_s": data_pkts as f64 / wall_s,
            "ns_per_pkt": wall_s * 1e9 / data_pkts.max(1) as f64,
            "peak_rss_bytes": peak_rss_bytes(),
        })
    );
}
