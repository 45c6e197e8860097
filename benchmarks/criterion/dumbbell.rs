//! The dumbbell of the project's speed target: 100 Mbit/s, 50 ms, a buffer of 417
//! packets, N bulk flows with SACK, timestamps and delayed ACKs; two simulated
//! seconds after all have started. Throughput is in delivered data packets.

use criterion::{criterion_group, criterion_main, BatchSize, BenchmarkId, Criterion, Throughput};
use headway_sim::{Scenario, World};
use serde_json::json;

const SECOND: u64 = 1_000_000_000;
/// All flows start within this time; it is not measured.
const WARMUP_NS: u64 = SECOND;
const MEASURED_NS: u64 = 2 * SECOND;

fn scenario(flows: u64) -> Scenario {
    let link = json!({"rate_bps": 100_000_000, "delay_ns": 25_000_000, "limit_pkts": 417});
    let flow = |i: u64| {
        json!({"name": format!("flow{i}"), "app": {"kind": "bulk"},
            "control": {"name": "cubic"}, "start_ns": WARMUP_NS * i / flows})
    };
    let text = json!({
        "duration_ns": WARMUP_NS + MEASURED_NS,
        "topology": {"kind": "dumbbell", "forward": link, "reverse": link},
        "flows": (0..flows).map(flow).collect::<Vec<_>>(),
        "record": {"flows": false, "queue": false, "udp": false, "drops": false}
    });
    Scenario::from_json(&text.to_string()).expect("a valid scenario")
}

/// A world in which every flow has started.
fn warm(scenario: &Scenario) -> World {
    let mut world = World::new(scenario).expect("a valid scenario");
    while world.net.now_ns < WARMUP_NS && world.step() {}
    world
}

fn dumbbell(c: &mut Criterion) {
    let mut group = c.benchmark_group("dumbbell");
    for flows in [1, 10, 100] {
        let scenario = scenario(flows);
        let mut world = warm(&scenario);
        let before = world.link_sent_pkts(0);
        while world.step() {}
        group.throughput(Throughput::Elements(world.link_sent_pkts(0) - before));
        let id = BenchmarkId::from_parameter(flows);
        group.bench_with_input(id, &scenario, |b, scenario| {
            b.iter_batched(
                || warm(scenario),
                |mut world| {
                    while world.step() {}
                    world
                },
                BatchSize::LargeInput,
            );
        });
    }
    group.finish();
}

criterion_group! {
    name = benches;
    config = Criterion::default().sample_size(20);
    targets = dumbbell
}
criterion_main!(benches);
