//! Converts a flow and its application to the form of the engine's scenario: the options of
//! [`FLOW_OPTIONS`] in SI units, under the scenario's field names.

use serde_json::{json, Map, Value as Json};

use super::fields::{algorithm, value, Fields};
use super::link::named;
use super::transfers;
use crate::algorithm::{plain, Known, KERNEL_OWN};
use crate::flow::{Kind, Value, FLOW_OPTIONS, OF_APPLICATION};
use crate::limits::{MAX_BYTES, MAX_MESSAGE_BYTES};
use crate::text::{quoted, Refused};

/// One direction of a VoIP call: IP bytes of a packet, and nanoseconds between packets (G.711 with
/// 160 bytes of voice).
pub const VOIP: (u32, u64) = (186, 20_000_000);

const ANY_SIZE: Kind = Kind::Size(0, MAX_BYTES);
const EXCHANGES_WITHOUT: &str = "needs data from a file or a workload, which was not passed";

type Field = (&'static str, &'static str, Kind);

/// Applications whose settings are numbers only. Each entry has the application's kind and its
/// fields; each field has its name in an experiment, its name in a scenario, and its type.
const APPS: [(&str, &[Field]); 4] = [
    ("bulk", &[("size", "bytes", Kind::Size(1, MAX_BYTES))]),
    (
        "cbr",
        &[
            ("packet", "ip_bytes", Kind::Size(29, 65_535)),
            ("interval", "interval_ns", Kind::Length),
            ("ecn", "ecn", Kind::Switch),
        ],
    ),
    (
        "pingpong",
        &[
            ("request", "request_bytes", Kind::Size(1, MAX_MESSAGE_BYTES)),
            ("mean_interval", "mean_interval_ns", Kind::Length),
        ],
    ),
    (
        "requests",
        &[("mean_interval", "mean_interval_ns", Kind::Length)],
    ),
];

/// The name that a flow's option has in a scenario, with its unit last.
fn scenario_name(option: &str, kind: Kind) -> String {
    let unit = match kind {
        Kind::Rate => "_bps",
        Kind::Time | Kind::Length => "_ns",
        Kind::Size(..) | Kind::Memory => "_bytes",
        _ => "",
    };
    match option {
        "read_size" => "read_bytes".to_owned(),
        "delay" => "extra_delay_ns".to_owned(),
        option => format!("{option}{unit}"),
    }
}

/// A flow's name: the name that the user gave, or the name of its control (or "voip", "cbr")
/// followed by the flow's number.
#[must_use]
pub fn flow_name(own: Option<&str>, control: Option<&str>, is_voip: bool, number: usize) -> String {
    match (own.filter(|own| !own.is_empty()), control, is_voip) {
        (Some(own), _, _) => own.to_owned(),
        (None, Some(control), _) => format!("{}-{number}", plain(control)),
        (None, None, true) => format!("voip-{number}"),
        (None, None, false) => format!("cbr-{number}"),
    }
}

/// Converts a flow to the scenario's form. `start_ns` gives the start of a flow that sets none. The
/// second result is the flow's application; None if the application's data is not in the document,
/// so that the caller must pass it.
pub(super) fn flow(
    fields: &Fields<'_>,
    number: usize,
    start_ns: impl FnOnce() -> u64,
    known: &Known,
) -> Result<(Map<String, Json>, Option<Json>), Refused> {
    // In the typed form these belong to the application and to the relay.
    let is_of_text = |name: &str| OF_APPLICATION.contains(&name) || name == "relay_control";
    let options = FLOW_OPTIONS.iter().filter(|(name, _)| !is_of_text(name));
    let names = options
        .clone()
        .map(|(name, _)| *name)
        .chain(["app", "control"]);
    fields.known(&names.collect::<Vec<_>>())?;
    let mut all = Map::new();
    let mut name = None;
    for (option, kind) in options {
        if *option == "relay" {
            if let Some(relay) = fields.get(option) {
                all.insert(
                    "relay".into(),
                    relay_fields(relay, &fields.place("relay"), known)?,
                );
            }
            continue;
        }
        let Some(value) = fields.value(option, *kind, known)? else {
            continue;
        };
        let value = match (*option, value) {
            ("name", Value::Text(text)) => {
                name = Some(text);
                continue;
            }
            ("ecn", Value::Text(text)) => {
                let (opener, responder) = text.split_once('/').unwrap_or((&text, &text));
                json!([opener, responder])
            }
            (_, value) => value.into(),
        };
        all.insert(scenario_name(option, *kind), value);
    }
    all.entry("start_ns").or_insert_with(|| start_ns().into());
    let control = match fields.get("control") {
        None => None,
        Some(written) => Some(control(written, &fields.place("control"), known)?),
    };
    let mut app = app(fields)?;
    if let (Some(app), Some(control)) = (&mut app, &control) {
        if app["kind"] == "transfers" {
            app["group"] = transfers::group(name.as_deref(), control);
        }
    }
    let voip = json!({ "kind": "cbr", "ip_bytes": VOIP.0, "interval_ns": VOIP.1 });
    let of_control = control
        .as_ref()
        .and_then(|control| control["name"].as_str());
    let name = flow_name(
        name.as_deref(),
        of_control,
        app.as_ref() == Some(&voip),
        number,
    );
    all.insert("name".into(), name.into());
    if let Some(control) = control {
        all.insert("control".into(), control);
    }
    Ok((all, app))
}

fn control(written: &Json, at: &str, known: &Known) -> Result<Json, Refused> {
    let made = algorithm(written, at, |name, options| known.control(name, options))?;
    if made.name.starts_with(KERNEL_OWN) {
        return Err(Refused::new(format!(
            "{}: the simulator does not have the kernel's own controls; it needs backend kernel",
            made.name
        )));
    }
    Ok(named(made))
}

fn relay_fields(written: &Json, at: &str, known: &Known) -> Result<Json, Refused> {
    let least = Kind::Whole(1);
    if let Json::Number(_) | Json::String(_) = written {
        return match value(written, least, known) {
            Ok(Value::Number(at_hop)) => Ok(json!({ "at_hop": at_hop })),
            Ok(_) => Err(Refused::new(format!("{at}: a router's number"))),
            Err(e) => Err(Refused::new(format!("{at}: {e}"))),
        };
    }
    let fields = Fields::of(written, at)?;
    fields.known(&["at_hop", "control", "stack"])?;
    let mut all = Map::new();
    all.insert("at_hop".into(), fields.needed("at_hop", least)?.into());
    if let Some(written) = fields.get("control") {
        let control = control(written, &fields.place("control"), known)?;
        all.insert("control".into(), control);
    }
    if let Some(Value::Text(stack)) = fields.value("stack", Kind::Stack, known)? {
        all.insert("stack".into(), stack.into());
    }
    Ok(all.into())
}

/// Converts an application to the scenario's form. None for exchanges or pages, whose data is in a
/// file, and for sessions, which a workload generates.
fn app(flow: &Fields<'_>) -> Result<Option<Json>, Refused> {
    let at = flow.place("app");
    let Some(written) = flow.get("app") else {
        return Ok(Some(json!({ "kind": "bulk" })));
    };
    let fields = Fields::of(written, &at)?;
    let kind = fields.text("kind")?.unwrap_or_default();
    if ["exchanges", "pages", "sessions"].contains(&kind) {
        return Ok(None);
    }
    if kind == "vectors" {
        return vectors(&fields).map(Some);
    }
    if kind == "transfers" {
        return transfers::app(&fields).map(Some);
    }
    let Some((_, known)) = APPS.iter().find(|(name, _)| *name == kind) else {
        let what = format!(
            "unknown kind {}; allowed: bulk, cbr, vectors, exchanges, pages, pingpong, sessions, \
             requests, transfers",
            quoted(kind)
        );
        return Err(flow.refuse("app", what));
    };
    let codes = (kind == "requests").then_some("codes");
    let names = known
        .iter()
        .map(|(name, ..)| *name)
        .chain(["kind"])
        .chain(codes);
    fields.known(&names.collect::<Vec<_>>())?;
    let mut all = Map::new();
    all.insert("kind".into(), kind.into());
    for (name, of_scenario, what) in *known {
        let value = match fields.value(name, *what, &Known::default())? {
            Some(Value::Number(number)) => number.into(),
            Some(Value::Switch(true)) => true.into(),
            None if kind != "bulk" && *what != Kind::Switch => {
                return fields.need(name).map(|_| None);
            }
            _ => continue,
        };
        all.insert((*of_scenario).into(), value);
    }
    if let Some(codes) = codes {
        all.insert(codes.into(), fields.need(codes)?.clone());
    }
    Ok(Some(all.into()))
}

fn vectors(fields: &Fields<'_>) -> Result<Json, Refused> {
    fields.known(&["kind", "epochs", "connections"])?;
    let kinds = [ANY_SIZE, ANY_SIZE, Kind::Time];
    let epochs = fields
        .list("epochs")?
        .unwrap_or_default()
        .iter()
        .enumerate();
    let epoch = |(number, epoch): (usize, &Json)| {
        let refuse = |what: String| fields.refuse(&format!("epochs[{number}]"), what);
        let parts = epoch.as_array().filter(|parts| parts.len() == kinds.len());
        let parts = parts.ok_or_else(|| {
            refuse(format!(
                "{epoch} is not allowed; a request, a response, a think time"
            ))
        })?;
        let number = |(part, kind)| match value(part, kind, &Known::default()) {
            Ok(Value::Number(number)) => Ok(Json::from(number)),
            Ok(_) => Ok(Json::Null),
            Err(e) => Err(refuse(e.to_string())),
        };
        parts
            .iter()
            .zip(kinds)
            .map(number)
            .collect::<Result<Vec<_>, _>>()
    };
    let epochs = epochs.map(epoch).collect::<Result<Vec<_>, Refused>>()?;
    let connections = fields.list("connections")?.unwrap_or_default();
    Ok(json!({ "kind": "vectors", "epochs": epochs, "connections": connections }))
}

/// The error for an application whose data the caller did not pass.
pub(super) fn without(fields: &Fields<'_>) -> Refused {
    fields.refuse("app", EXCHANGES_WITHOUT)
}
