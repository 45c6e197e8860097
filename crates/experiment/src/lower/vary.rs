//! Converts changes of a link during a run to the form of the engine's scenario.

use serde_json::{json, Map, Value as Json};

use super::effects::lowered_effect;
use super::fields::Fields;
use super::link_fields::LINK;
use crate::flow::Kind;
use crate::text::{quoted, Refused};

/// How a step writes that a link is down, in the place of a rate.
const DOWN: &str = "down";
/// How a step writes that an effect ends, in the place of the effect.
const OFF: &str = "off";
/// The effects that a step may change.
pub const CHANGING_EFFECTS: [&str; 5] =
    ["jitter", "burst_loss", "policer", "shaper", "aggregation"];
/// Fields of a step apart from effects; a step of a Mahimahi trace has only the first.
const STEP: [&str; 3] = ["start", "rate", "delay"];
const TRACE_STEP: [&str; 1] = [STEP[0]];

/// Converts a link's changes. What a step does not name stays as it is; before the first step that
/// names it, it is the link's own. The document must include the content of files, because this
/// function opens none.
///
/// # Errors
/// One line that names the field, its value and what is allowed.
pub fn lowered_vary(
    written: &Json,
    own_bps: u64,
    own_delay_ns: u64,
    at: &str,
) -> Result<Json, Refused> {
    let fields = Fields::of(written, at)?;
    let kind = fields.text("kind")?.unwrap_or_default();
    let is_trace = match kind {
        "schedule" => false,
        "mahimahi" => true,
        _ => {
            let what = format!("{} is not allowed; schedule, mahimahi", quoted(kind));
            return Err(fields.refuse("kind", what));
        }
    };
    fields.known(if is_trace {
        &["kind", "opportunities_ms", "steps"]
    } else {
        &["kind", "steps"]
    })?;
    let (mut rate_bps, mut delay_ns) = (own_bps, own_delay_ns);
    let mut steps = vec![];
    for (number, step) in fields.list("steps")?.unwrap_or_default().iter().enumerate() {
        let place = format!("{}[{number}]", fields.place("steps"));
        let step = Fields::of(step, &place)?;
        check_names(&step, if is_trace { &TRACE_STEP } else { &STEP })?;
        let start_ns = step.needed("start", Kind::Time)?;
        match step.get("rate") {
            None => {}
            Some(Json::String(down)) if down == DOWN => rate_bps = 0,
            Some(_) => rate_bps = step.needed("rate", Kind::Rate)?,
        }
        if let Some(new_ns) = step.number("delay", Kind::Time)? {
            delay_ns = new_ns;
        }
        let switches = switches(&step)?;
        let mut lowered = match is_trace {
            true => vec![json!(start_ns)],
            false => vec![json!(start_ns), json!(rate_bps), json!(delay_ns)],
        };
        if is_trace || !switches.is_empty() {
            lowered.push(switches.into());
        }
        steps.push(Json::from(lowered));
    }
    let mut all = Map::new();
    all.insert("kind".to_owned(), kind.into());
    if is_trace {
        let opportunities_ms = fields.need("opportunities_ms")?;
        all.insert("opportunities_ms".to_owned(), opportunities_ms.clone());
    }
    if !is_trace || !steps.is_empty() {
        all.insert("steps".to_owned(), steps.into());
    }
    Ok(all.into())
}

/// Refuses fields that a step does not have, and says which fields of a link cannot change.
fn check_names(step: &Fields<'_>, own: &[&str]) -> Result<(), Refused> {
    let allowed: Vec<&str> = own.iter().chain(&CHANGING_EFFECTS).copied().collect();
    for name in LINK.iter().filter(|name| !allowed.contains(name)) {
        if step.get(name).is_some() {
            let allowed = allowed.join(", ");
            let what = format!("cannot change during a run; allowed: {allowed}");
            return Err(step.refuse(name, what));
        }
    }
    step.known(&allowed)
}

fn switches(step: &Fields<'_>) -> Result<Map<String, Json>, Refused> {
    let mut all = Map::new();
    for name in CHANGING_EFFECTS {
        let Some(written) = step.get(name) else {
            continue;
        };
        let switch = match written {
            Json::String(off) if off == OFF => written.clone(),
            _ => lowered_effect(name, written, &step.place(name))?,
        };
        all.insert(name.to_owned(), switch);
    }
    Ok(all)
}
