//! Converts links to the form of the engine's scenario.

use serde_json::{json, Map, Value as Json};

use super::effects::{lowered_effect, EFFECT_NAMES};
use super::fields::{algorithm, tunables, Fields};
use super::link_fields::{LINK, MIRRORED};
use super::vary::lowered_vary;
use crate::algorithm::{Known, Named};
use crate::flow::{Kind, Value};
use crate::queue::{parse_buffer, Limit};
use crate::text::Refused;

const KEEP: &str = "keep";
const ECN: &[&str] = &[
    KEEP,
    "bleach",
    "drop-syn",
    "clear-flags",
    "strip-option",
    "zero-option",
];

/// The fields of the document that describe one direction of a link, and the delay of that
/// direction.
pub(super) type Way<'a> = (Fields<'a>, u64);

/// The fields of the reverse link: those in `reverse`, or a copy of the forward link's fields.
pub(super) fn way_back<'a>(
    fields: &Fields<'a>,
    there: Fields<'a>,
    mirrored_ns: u64,
    at: &'a str,
) -> Result<Way<'a>, Refused> {
    let Some(reverse) = fields.get("reverse") else {
        return Ok((there.only(&MIRRORED), mirrored_ns));
    };
    let back = Fields::of(reverse, at)?;
    back.known(&LINK)?;
    let delay_ns = back.needed("delay", Kind::Time)?;
    Ok((back, delay_ns))
}

/// Lowers a link.
pub(super) fn link(
    (fields, delay_ns): Way<'_>,
    base_rtt_ns: u64,
    known: &Known,
) -> Result<Json, Refused> {
    let rate_bps = fields.needed("rate", Kind::Rate)?;
    let room = match fields.need("buffer")? {
        Json::String(text) => parse_buffer(text),
        other => Err(Refused::new(format!(
            "{other} has no unit; write it as text, queue limit in \
             B, kB, MB, GB, KiB, MiB, GiB, pkts, BDP"
        ))),
    };
    let limit = room.and_then(|room| room.limit(rate_bps, base_rtt_ns, ""));
    let (limit_name, limit) = match limit.map_err(|e| fields.refuse("buffer", e))? {
        Limit::Bytes(bytes) => ("limit_bytes", bytes),
        Limit::Packets(pkts) => ("limit_pkts", pkts),
    };
    let aqm = match fields.get("aqm") {
        None => None,
        Some(written) => {
            let find = |name: &str, options: &[(&str, &str)]| known.queue_of(name, options);
            Some(algorithm(written, &fields.place("aqm"), find)?)
        }
    };
    let mut all = Map::new();
    let mut set = |name: &str, value: Json| all.insert(name.to_owned(), value);
    set("rate_bps", rate_bps.into());
    set("delay_ns", delay_ns.into());
    set(limit_name, limit.into());
    set(
        "aqm",
        aqm.map_or_else(|| json!({ "name": "drop-tail", "tunables": {} }), named),
    );
    for name in ["loss", "duplicate", "reorder"] {
        set(name, fields.probability(name)?.into());
    }
    let held_ns = fields.number("reorder_delay", Kind::Time)?.unwrap_or(0);
    set("reorder_delay_ns", held_ns.into());
    for name in EFFECT_NAMES {
        if let Some(written) = fields.get(name) {
            set(name, lowered_effect(name, written, &fields.place(name))?);
        }
    }
    let routers = routers(&fields, known)?;
    if !routers.is_empty() {
        set("routers", routers.into());
    }
    for name in ["routers_at_arrival", "drop_ip_options"] {
        if fields.is_on(name)? {
            set(name, true.into());
        }
    }
    match fields.value("ecn", Kind::Word(ECN), known)? {
        Some(Value::Text(ecn)) if ecn != KEEP => drop(set("ecn", ecn.into())),
        _ => {}
    }
    if let Some(written) = fields.get("vary") {
        let place = fields.place("vary");
        set("vary", lowered_vary(written, rate_bps, delay_ns, &place)?);
    }
    Ok(all.into())
}

pub(super) fn named(named: Named) -> Json {
    let tunables: Map<String, Json> = named
        .tunables
        .into_iter()
        .map(|(n, v)| (n, v.into()))
        .collect();
    match named.startup {
        None => json!({ "name": named.name, "tunables": tunables }),
        Some(startup) => {
            json!({ "name": named.name, "startup": startup, "tunables": tunables })
        }
    }
}

/// The router that the field `quick_start` describes, followed by the routers of the field
/// `routers`.
fn routers(fields: &Fields<'_>, known: &Known) -> Result<Vec<Json>, Refused> {
    let mut all = vec![];
    let at = fields.place("quick_start");
    let off = |written: &&Json| {
        !matches!(written.as_str(), Some("off")) && **written != Json::Bool(false)
    };
    if let Some(written) = fields.get("quick_start").filter(off) {
        let given = match written {
            Json::Bool(true) => vec![],
            Json::String(on) if on == "on" => vec![],
            written => tunables(written, &at)?,
        };
        let options: Vec<(&str, &str)> = given.iter().map(|(n, v)| (*n, v.as_str())).collect();
        let router = known.router("quick-start", &options);
        all.push(named(
            router.map_err(|e| Refused::new(format!("{at}: {e}")))?,
        ));
    }
    for (number, written) in fields
        .list("routers")?
        .unwrap_or_default()
        .iter()
        .enumerate()
    {
        let at = format!("{}[{number}]", fields.place("routers"));
        all.push(named(algorithm(written, &at, |name, options| {
            known.router(name, options)
        })?));
    }
    Ok(all)
}
