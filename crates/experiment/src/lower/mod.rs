//! Converts ("lowers") an experiment, given as the JSON of Python's typed model, to a scenario of
//! the engine: quantities in SI units, queue limits in bytes or packets, a link for each direction,
//! a start for every flow.
//!
//! The caller passes data from files and from workloads (exchanges, sessions). This module checks
//! each value. It does not check relations between fields, because the typed models have checked
//! them.

mod effects;
mod fields;
mod flow;
mod link;
mod link_fields;
mod route;
mod topology;
mod transfers;
mod vary;

use std::collections::BTreeMap;

use serde_json::value::RawValue;
use serde_json::{json, Map, Value as Json};

use crate::algorithm::Known;
use crate::flow::{Kind, Value};
use crate::graph::Routes;
use crate::host::{Table, OF_ROUTES, OF_SYSCTLS};
use crate::start;
use crate::text::{shorten, Refused};
use fields::Fields;

pub use effects::{effect_of_text, lowered_effect, EFFECT_NAMES};
pub use flow::{flow_name, VOIP};
pub use link_fields::{LINK, MIRRORED};
pub use topology::{topology, Shape, Topology};
pub use vary::{lowered_vary, CHANGING_EFFECTS};

/// Number of equal parts ("batches") of the run after the warm-up, at whose ends counters are read.
pub const BATCHES: u64 = 10;
/// Tables that a trace can have.
pub const RECORDS: [&str; 5] = ["flows", "queue", "udp", "drops", CONTROLS];
/// The tables that a trace has unless the experiment selects others.
pub const RECORDS_BY_DEFAULT: [&str; 4] = ["flows", "queue", "udp", "drops"];
const CONTROLS: &str = "controls";
const STACK: &str = "linux-6";
const WHOLE: [&str; 12] = [
    "topology",
    "flows",
    "duration",
    "warmup",
    "stack",
    "seed",
    "start_spread",
    "sample",
    "record",
    "capture",
    OF_SYSCTLS.field,
    OF_ROUTES.field,
];

/// The requested output of a run, which is not part of the experiment.
#[derive(Clone, Debug)]
pub struct Outputs {
    /// Times at which the batches end, if a digest is requested.
    pub digest_at_ns: Option<Vec<u64>>,
    /// Whether a trace is requested.
    pub trace: bool,
}

/// Sorted times at which counters are read: the end of the warm-up, the ends of the batches, and
/// every sample.
#[must_use]
pub fn checkpoints_ns(duration_ns: u64, warmup_ns: u64, sample_ns: Option<u64>) -> Vec<u64> {
    let span_ns = duration_ns.saturating_sub(warmup_ns);
    let mut all: Vec<u64> = (0..BATCHES)
        .map(|k| warmup_ns + span_ns * k / BATCHES)
        .collect();
    if let Some(sample_ns) = sample_ns.filter(|ns| *ns > 0) {
        all.extend(
            (1..)
                .map(|k| k * sample_ns)
                .take_while(|ns| *ns < duration_ns),
        );
    }
    all.sort_unstable();
    all.dedup();
    all
}

/// Converts an experiment to a scenario, as JSON. For a flow whose application is not in the
/// document, `apps` returns the application in the scenario's form, given the flow's number.
///
/// # Errors
/// One line that names the field, its value and what is allowed.
pub fn scenario<'a>(
    document: &str,
    known: &Known,
    apps: impl Fn(usize) -> Option<&'a str>,
    outputs: Outputs,
) -> Result<String, Refused> {
    // flows are converted one by one, because an experiment may have very many
    let (map, flows) = parts(document)?;
    let whole = Json::Object(map);
    let fields = Fields::of(&whole, "")?;
    let length = |name, kind| fields.number(name, kind).map(Option::unwrap_or_default);
    let duration_ns = fields.needed("duration", Kind::Length)?;
    let seed = seed(&fields)?;
    let spread_ns = length("start_spread", Kind::Time)?;
    let sample_ns = fields.number("sample", Kind::Length)?;
    let stack = match fields.value("stack", Kind::Stack, known)? {
        Some(Value::Text(stack)) => stack,
        _ => STACK.to_owned(),
    };
    let mut path = topology(fields.need("topology")?, known)?;
    let mut world = json!({
        "seed": seed,
        "duration_ns": duration_ns,
        "stack": stack,
        "topology": path.fields(),
        "checkpoints_ns": checkpoints_ns(duration_ns, length("warmup", Kind::Time)?, sample_ns),
        "record": record(&fields)?,
    });
    if let Some(capture) = fields.get("capture") {
        world["capture"] = captured(capture)?;
    }
    for table in [OF_SYSCTLS, OF_ROUTES] {
        if let Some(written) = fields.get(table.field) {
            world[table.field] = settings(written, table)?;
        }
    }
    if let Some(digest_at_ns) = outputs.digest_at_ns {
        world["digest_at_ns"] = digest_at_ns.into();
    }
    if !outputs.trace {
        world["trace"] = false.into();
    }
    let mut text = world.to_string();
    text.pop();
    text += ",\"flows\":[";
    for (number, flow) in flows.iter().enumerate() {
        if number > 0 {
            text.push(',');
        }
        let at = format!("flows[{number}]");
        let flow: Json = json_of(flow.get(), &at)?;
        let fields = Fields::of(&flow, &at)?;
        let drawn = || start::start_ns(seed, number, spread_ns);
        let (mut lowered, mut app) = flow::flow(&fields, number, drawn, known)?;
        route::set(&mut lowered, &at, &mut path.graph, number, seed)?;
        if let Some(app) = &mut app {
            transfers::set_interval(app, &lowered, &path, &at)?;
        }
        text += &Json::Object(lowered).to_string();
        text.pop();
        text += ",\"app\":";
        match (app, apps(number)) {
            (Some(app), _) => text += &app.to_string(),
            (None, Some(text_of_app)) => text += text_of_app,
            (None, None) => return Err(flow::without(&fields)),
        }
        text.push('}');
    }
    text += "]}";
    Ok(text)
}

/// The document without its flows, and the flows as JSON text that is not parsed yet.
fn parts(document: &str) -> Result<(Map<String, Json>, Vec<&RawValue>), Refused> {
    let raw: BTreeMap<String, &RawValue> = json_of(document, "experiment")?;
    let mut map = Map::new();
    let mut flows = vec![];
    for (name, part) in raw {
        if name == "flows" {
            flows = json_of(part.get(), "flows")?;
        } else {
            map.insert(name.clone(), json_of(part.get(), &name)?);
        }
    }
    let whole = Json::Object(map);
    Fields::of(&whole, "")?.known(&WHOLE)?;
    let Json::Object(map) = whole else {
        unreachable!("an object was made")
    };
    Ok((map, flows))
}

fn json_of<'a, T: serde::Deserialize<'a>>(text: &'a str, at: &str) -> Result<T, Refused> {
    serde_json::from_str(text)
        .map_err(|e| Refused::new(format!("{at}: {}", shorten(&e.to_string()))))
}

/// Reads the topology and the seed of an experiment's file.
///
/// # Errors
/// One line that names the field, its value and what is allowed.
pub fn path_of(document: &str, known: &Known) -> Result<(Topology, u64), Refused> {
    let (map, _) = parts(document)?;
    let whole = Json::Object(map);
    let fields = Fields::of(&whole, "")?;
    Ok((topology(fields.need("topology")?, known)?, seed(&fields)?))
}

/// A network, and the flows that cross it.
#[derive(Clone, Debug)]
pub struct Crossed {
    /// The network.
    pub topology: Topology,
    /// Seed of the experiment.
    pub seed: u64,
    /// For each flow, its routes, and the delay that it adds to the path in each direction.
    pub flows: Vec<(Routes, u64)>,
}

/// Reads the topology, the seed and the flows' routes from an experiment's file.
///
/// # Errors
/// One line that names the field, its value and what is allowed.
pub fn crossed(document: &str, known: &Known) -> Result<Crossed, Refused> {
    let (mut topology, seed) = path_of(document, known)?;
    let (_, written) = parts(document)?;
    let mut flows = vec![];
    for (number, flow) in written.iter().enumerate() {
        let at = format!("flows[{number}]");
        let flow: Json = json_of(flow.get(), &at)?;
        let (mut lowered, _) = flow::flow(&Fields::of(&flow, &at)?, number, || 0, known)?;
        if lowered.contains_key("relay") {
            let line = format!("{at}.relay: is not allowed; a network has no relays");
            return Err(Refused::new(line));
        }
        let (routes, ..) = route::take(&mut lowered, &at, &mut topology.graph, number, seed)?;
        let delay_ns = lowered.get("extra_delay_ns").and_then(Json::as_u64);
        flows.push((routes, delay_ns.unwrap_or(0)));
    }
    Ok(Crossed {
        topology,
        seed,
        flows,
    })
}

fn seed(fields: &Fields<'_>) -> Result<u64, Refused> {
    match fields.number("seed", Kind::Whole(0))? {
        None => Ok(1),
        Some(seed) if i64::try_from(seed).is_ok() => Ok(seed),
        Some(seed) => Err(fields.refuse("seed", format!("{seed} is not allowed; 0 to 2**63 - 1"))),
    }
}

fn record(fields: &Fields<'_>) -> Result<Json, Refused> {
    let kept = fields.list("record")?;
    if let Some(other) = kept
        .unwrap_or_default()
        .iter()
        .find(|one| !RECORDS.iter().any(|r| *one == r))
    {
        let what = format!("{other} is not allowed; {}", RECORDS.join(", "));
        return Err(fields.refuse("record", what));
    }
    let is_kept = |name: &str| match kept {
        Some(kept) => kept.iter().any(|one| one == name),
        None => RECORDS_BY_DEFAULT.contains(&name),
    };
    // a table that is seldom selected does not change the scenarios without it
    Ok(RECORDS
        .iter()
        .filter(|name| **name != CONTROLS || is_kept(name))
        .map(|name| ((*name).to_owned(), is_kept(name).into()))
        .collect::<Map<_, Json>>()
        .into())
}

/// Converts settings of hosts, each to a list of numbers.
fn settings(written: &Json, table: Table) -> Result<Json, Refused> {
    let at = |e: Refused| Refused::new(format!("{}.{e}", table.field));
    let mut all = Map::new();
    for (name, value) in fields::tunables(written, table.field)? {
        let (setting, numbers) = table.parse(name, &value).map_err(at)?;
        all.insert(setting.name.into(), numbers.into());
    }
    Ok(all.into())
}

fn captured(written: &Json) -> Result<Json, Refused> {
    let fields = Fields::of(written, "capture")?;
    fields.known(&["link", "snaplen"])?;
    let whole = Kind::Size(0, u64::from(u32::MAX));
    Ok(json!({
        "link": fields.text("link")?.unwrap_or("bottleneck"),
        "snaplen_bytes": fields.number("snaplen", whole)?.unwrap_or(0),
    }))
}
