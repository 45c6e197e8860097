//! From an experiment, as the JSON of Python's typed model, to a scenario of the engine: quantities in SI
//! units, queue limits in bytes or packets, a link each way, a start for every flow.
//!
//! What stands in files and what workloads make (exchanges, sessions) is brought along by who calls;
//! what the typed models have judged as a whole is not judged again, but no value passes that is
//! none.

mod fields;
mod flow;
mod link;

use std::collections::BTreeMap;

use serde_json::value::RawValue;
use serde_json::{json, Map, Value as Json};

use crate::algorithm::Known;
use crate::flow::{Kind, Value};
use crate::start;
use crate::text::{shorten, Refused};
use fields::Fields;

pub use flow::{flow_name, VOIP};
pub use link::{topology, Topology, MIRRORED};

/// Equal parts of what follows the warm-up, between which counters are read.
pub const BATCHES: u64 = 10;
/// What a trace may keep.
pub const RECORDS: [&str; 4] = ["flows", "queue", "udp", "drops"];
const STACK: &str = "linux-6";
const WHOLE: [&str; 10] = [
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
];

/// What is asked of a run beside what the experiment says.
#[derive(Clone, Debug)]
pub struct Asked {
    /// Ends of the batches of a digest, if one is wanted.
    pub digest_at_ns: Option<Vec<u64>>,
    /// Whether a trace is wanted.
    pub trace: bool,
}

/// When counters are read, sorted: at the warm-up, at the ends of the batches, at every sample.
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

/// The scenario of an experiment, as JSON. `apps` brings along the applications of flows by their
/// numbers, as a scenario has them.
///
/// # Errors
/// One line that names the field, its value and what is allowed.
pub fn scenario<'a>(
    document: &str,
    known: &Known,
    apps: impl Fn(usize) -> Option<&'a str>,
    asked: Asked,
) -> Result<String, Refused> {
    // flows are read one by one: there may be very many
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
    let mut world = json!({
        "seed": seed,
        "duration_ns": duration_ns,
        "stack": stack,
        "topology": topology(fields.need("topology")?, known)?.fields(),
        "checkpoints_ns": checkpoints_ns(duration_ns, length("warmup", Kind::Time)?, sample_ns),
        "record": record(&fields)?,
    });
    if let Some(capture) = fields.get("capture") {
        world["capture"] = captured(capture)?;
    }
    if let Some(digest_at_ns) = asked.digest_at_ns {
        world["digest_at_ns"] = digest_at_ns.into();
    }
    if !asked.trace {
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
        let (lowered, app) = flow::flow(&fields, number, drawn, known)?;
        text += &Json::Object(lowered).to_string();
        text.pop();
        text += ",\"app\":";
        match (app, apps(number)) {
            (Some(app), _) => text += &app.to_string(),
            (None, Some(brought)) => text += brought,
            (None, None) => return Err(flow::without(&fields)),
        }
        text.push('}');
    }
    text += "]}";
    Ok(text)
}

/// A document without its flows, and those as they are written.
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

/// What an experiment's file says of its path: the topology and the seed.
///
/// # Errors
/// One line that names the field, its value and what is allowed.
pub fn path_of(document: &str, known: &Known) -> Result<(Topology, u64), Refused> {
    let (map, _) = parts(document)?;
    let whole = Json::Object(map);
    let fields = Fields::of(&whole, "")?;
    Ok((topology(fields.need("topology")?, known)?, seed(&fields)?))
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
    let is_kept = |name: &str| kept.is_none_or(|kept| kept.iter().any(|one| one == name));
    Ok(RECORDS
        .iter()
        .map(|name| ((*name).to_owned(), is_kept(name).into()))
        .collect::<Map<_, Json>>()
        .into())
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
