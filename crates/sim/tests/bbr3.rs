//! BBR version 3 (draft-ietf-ccwg-bbr of 3 August 2026): the test cases of the draft's appendix,
//! and its behaviour on simple paths. Tests read the control's state after every ACK from the
//! trace. To change the path when the control enters a state, a test runs the scenario twice: the
//! first run shows when that happens, and the second one is the same until then.

mod behaviour;
mod cases;

use crate::common::{bulk, dumbbell, run, wide_link, MS, SECOND};
use headway_sim::Outcome;
use serde_json::{json, Value};
use std::collections::HashMap;
use std::sync::OnceLock;

const MBIT: u64 = 1_000_000;
/// IP bytes of a full packet.
const PKT_BYTES: u64 = 1500;
/// Value of a reading that has no bound.
const NONE: u64 = u32::MAX as u64;

/// Names of the control's readings, and the index of each.
fn columns() -> &'static HashMap<&'static str, usize> {
    static COLUMNS: OnceLock<HashMap<&'static str, usize>> = OnceLock::new();
    COLUMNS.get_or_init(|| {
        let control = headway_algorithms::control("bbr3").expect("a control");
        let names = control.readings.iter().map(|reading| reading.name);
        names.enumerate().map(|(at, name)| (name, at)).collect()
    })
}

/// The names of the control's states.
fn states() -> Vec<&'static str> {
    let control = headway_algorithms::control("bbr3").expect("a control");
    control.readings[columns()["state"]]
        .unit
        .split('|')
        .collect()
}

/// The control's readings after an ACK.
#[derive(Clone, Debug, Default)]
struct Row {
    time_ns: u64,
    state: &'static str,
    values: Vec<u64>,
}

impl Row {
    fn get(&self, name: &str) -> u64 {
        self.values[columns()[name]]
    }

    fn is_full(&self) -> bool {
        self.get("full_bw_reached") == 1
    }

    /// Bandwidth-delay product of the control's model, in packets, rounded up.
    fn bdp_pkts(&self, bw: &str) -> u64 {
        let bits = self.get(bw) * self.get("min_rtt_us") / 1_000_000;
        bits.div_ceil(8 * PKT_BYTES)
    }
}

/// Consecutive ACKs in the same state: the state, and the rows.
type Span<'a> = (&'static str, &'a [Row]);

struct Run {
    outcome: Outcome,
    rows: Vec<Row>,
}

impl Run {
    /// Runs a scenario with the readings of flow 0.
    fn of(scenario: &Value) -> Run {
        let mut scenario = scenario.clone();
        scenario["record"] = json!({"controls": true, "flows": false, "udp": false});
        scenario["capture"] = Value::Null;
        let outcome = run(&scenario);
        let (table, states) = (&outcome.tables.readings, states());
        let mut rows: Vec<Row> = vec![];
        for i in (0..table.flow.len()).filter(|&i| table.flow[i] == 0) {
            if table.reading[i] == 0 {
                rows.push(Row {
                    time_ns: table.time_ns[i] as u64,
                    state: states[table.value[i] as usize],
                    values: vec![],
                });
            }
            rows.last_mut().expect("a row").values.push(table.value[i]);
        }
        Run { outcome, rows }
    }

    fn spans(&self) -> Vec<Span<'_>> {
        let parts = self.rows.chunk_by(|a, b| a.state == b.state);
        parts.map(|rows| (rows[0].state, rows)).collect()
    }

    /// The first row in this state, not before `from_ns`.
    fn first(&self, state: &str, from_ns: u64) -> &Row {
        let rows = &mut self.rows.iter().filter(|row| row.time_ns >= from_ns);
        let found = rows.find(|row| row.state == state);
        found.unwrap_or_else(|| panic!("no {state} from {from_ns} ns: {:?}", self.order()))
    }

    /// The first row after `from_ns` in another state than this one.
    fn after(&self, state: &str, from_ns: u64) -> &Row {
        let rows = &mut self.rows.iter().filter(|row| row.time_ns >= from_ns);
        let found = rows.find(|row| row.state != state);
        found.unwrap_or_else(|| panic!("only {state} from {from_ns} ns: {:?}", self.order()))
    }

    /// When the control first enters this state, not before `from_ns`.
    fn enters(&self, state: &str, from_ns: u64) -> u64 {
        let spans = self.spans();
        let at = |span: &Span| span.1[0].time_ns;
        let found = spans.iter().find(|s| s.0 == state && at(s) >= from_ns);
        found.map_or_else(|| panic!("never {state}: {:?}", self.order()), at)
    }

    /// The states in order, with the milliseconds at which they begin, for messages.
    fn order(&self) -> Vec<String> {
        let spans = self.spans();
        let all = spans
            .iter()
            .map(|s| format!("{} {}", s.0, s.1[0].time_ns / MS));
        all.collect()
    }

    /// Drops of the forward link that happened in an interval.
    fn drops(&self, from_ns: u64, to_ns: u64) -> usize {
        let drops = &self.outcome.tables.drops;
        let times = (0..drops.link.len()).filter(|&i| drops.link[i] == 0);
        let times = times.map(|i| drops.time_ns[i] as u64);
        times.filter(|t| (from_ns..to_ns).contains(t)).count()
    }
}

/// A path with this rate, round trip and queue. The queue of the way back is long.
struct Path {
    rate_bps: u64,
    rtt_ns: u64,
    limit_pkts: u64,
}

impl Path {
    fn bdp_pkts(&self) -> u64 {
        let bits = u128::from(self.rate_bps) * u128::from(self.rtt_ns) / u128::from(SECOND);
        (bits as u64).div_ceil(8 * PKT_BYTES)
    }

    fn link(&self) -> Value {
        json!({"rate_bps": self.rate_bps, "delay_ns": self.rtt_ns / 2,
            "limit_pkts": self.limit_pkts})
    }

    /// The path's link, whose rate becomes `rate_bps` and whose delay `delay_ns` at `at_ns`.
    fn changed(&self, at_ns: u64, rate_bps: u64, delay_ns: u64) -> Value {
        let mut link = self.link();
        link["vary"] = json!({"kind": "schedule", "steps": [
            [0, self.rate_bps, self.rtt_ns / 2], [at_ns, rate_bps, delay_ns]]});
        link
    }

    /// The link, whose rate becomes `rate_bps` at `at_ns`.
    fn slowed(&self, at_ns: u64, rate_bps: u64) -> Value {
        self.changed(at_ns, rate_bps, self.rtt_ns / 2)
    }

    /// One flow over `forward`.
    fn scenario(&self, duration_ns: u64, forward: &Value, flow: Value) -> Value {
        let mut scenario = dumbbell("linux-6", duration_ns, forward, json!([flow]));
        scenario["topology"]["reverse"] = wide_link(1_000 * MBIT, self.rtt_ns / 2);
        scenario["topology"]["access_rate_bps"] = json!(100_000 * MBIT);
        scenario
    }

    /// A bulk flow over the path as it is.
    fn bulk(&self, duration_ns: u64) -> Value {
        self.scenario(duration_ns, &self.link(), bulk("bbr3", None))
    }
}

/// A flow that first sends `bulk_bytes` and then messages of so many bytes, each of which waits
/// for an answer to the previous one, so that the application limits the flow.
fn messages(bulk_bytes: u64, message_bytes: u64, count: usize) -> Value {
    let mut epochs = vec![json!([bulk_bytes.max(1), 1, 0])];
    epochs.extend(std::iter::repeat_n(json!([message_bytes, 1, 0]), count));
    json!({"name": "f", "app": {"kind": "vectors", "epochs": epochs},
        "control": {"name": "bbr3"}})
}

/// Datagrams that need so many percent of the path's rate, from `at_ns` on for 400 ms.
fn burst(path: &Path, at_ns: u64, percent: u64) -> Value {
    let interval_ns = 8 * PKT_BYTES * SECOND * 100 / (percent * path.rate_bps);
    json!({"name": "burst", "start_ns": at_ns, "stop_ns": at_ns + 400 * MS,
        "app": {"kind": "cbr", "ip_bytes": PKT_BYTES, "interval_ns": interval_ns}})
}
