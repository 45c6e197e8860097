//! Converts topologies and links to the form of the engine's scenario. A dumbbell's fields describe
//! both of its directions.

use serde_json::{json, Map, Value as Json};

use super::fields::{algorithm, tunables, Fields};
use crate::algorithm::{Known, Named};
use crate::flow::{Kind, Value};
use crate::limits::MAX_HOPS;
use crate::path::{base_rtt_ns, halves_ns};
use crate::queue::{parse_buffer, Limit};
use crate::text::{quoted, Refused};

/// Fields of the forward link that the reverse link copies by default: its rate and queue limit,
/// and the behaviour of routers and middleboxes. Queue management, disturbances and changes are not
/// copied.
pub const MIRRORED: [&str; 6] = [
    "rate",
    "buffer",
    "quick_start",
    "routers",
    "drop_ip_options",
    "ecn",
];

const LINK: [&str; 13] = [
    "rate",
    "delay",
    "buffer",
    "aqm",
    "loss",
    "duplicate",
    "reorder",
    "reorder_delay",
    "quick_start",
    "routers",
    "drop_ip_options",
    "ecn",
    "vary",
];
/// Fields of a dumbbell that its links do not have.
const DUMBBELL: [&str; 5] = ["kind", "rtt", "reverse", "access_rate", "access_delay"];
const CHAIN: [&str; 4] = ["kind", "hops", "access_rate", "access_delay"];
const KEEP: &str = "keep";
const ECN: &[&str] = &[KEEP, "bleach", "drop-syn"];
const ACCESS_RATE_BPS: u64 = 1_000_000_000;
/// How a schedule writes that a link is down, in the place of a rate.
const DOWN: &str = "down";

/// The network between the hosts, in SI units.
#[derive(Clone, Debug, PartialEq)]
pub struct Topology {
    /// Whether the topology is a chain of routers; false: a dumbbell.
    pub is_chain: bool,
    /// Forward and reverse link of each hop, in the scenario's form.
    pub hops: Vec<(Json, Json)>,
    /// Rate of the access links.
    pub access_rate_bps: u64,
    /// Delay of the access links, in each direction.
    pub access_delay_ns: u64,
    /// Base RTT of the path, with which bandwidth-delay products are computed.
    pub base_rtt_ns: u64,
}

impl Topology {
    /// The topology in the form of the scenario.
    #[must_use]
    pub fn fields(self) -> Json {
        let mut all = json!({
            "kind": if self.is_chain { "chain" } else { "dumbbell" },
            "access_rate_bps": self.access_rate_bps,
            "access_delay_ns": self.access_delay_ns,
        });
        let both = |(forward, reverse)| json!({ "forward": forward, "reverse": reverse });
        let mut hops: Vec<Json> = self.hops.into_iter().map(both).collect();
        if self.is_chain {
            all["hops"] = hops.into();
        } else if let Some(only) = hops.pop() {
            let Json::Object(only) = only else { return all };
            all.as_object_mut().expect("made so").extend(only);
        }
        all
    }
}

/// The fields of the document that describe one direction of a link, and the delay of that
/// direction.
type Way<'a> = (Fields<'a>, u64);

/// Reads the topology of an experiment.
///
/// # Errors
/// One line that names the field, its value and what is allowed.
pub fn topology(written: &Json, known: &Known) -> Result<Topology, Refused> {
    let fields = Fields::of(written, "topology")?;
    let is_chain = match fields.text("kind")? {
        Some("dumbbell") => false,
        Some("chain") => true,
        None => return Err(fields.refuse("kind", "is missing; allowed: dumbbell, chain")),
        Some(other) => {
            let what = format!("unknown kind {}; allowed: dumbbell, chain", quoted(other));
            return Err(Refused::new(format!("topology: {what}")));
        }
    };
    let places: Vec<[String; 3]> = places(&fields, is_chain)?;
    let hops: Vec<(Way<'_>, Way<'_>)> = if is_chain {
        fields.known(&CHAIN)?;
        let hops = fields.list("hops")?.unwrap_or_default();
        let ways = hops.iter().zip(&places);
        ways.map(|(hop, places)| chained(hop, places))
            .collect::<Result<_, _>>()?
    } else {
        let without_delay = LINK.iter().copied().filter(|name| *name != "delay");
        fields.known(&without_delay.chain(DUMBBELL).collect::<Vec<_>>())?;
        let (there_ns, back_ns) = halves_ns(fields.needed("rtt", Kind::Time)?);
        let back = way_back(&fields, fields, back_ns, &places[0][2])?;
        vec![((fields, there_ns), back)]
    };
    let access =
        |name, kind, absent| Ok::<_, Refused>(fields.number(name, kind)?.unwrap_or(absent));
    let access_rate_bps = access("access_rate", Kind::Rate, ACCESS_RATE_BPS)?;
    let access_delay_ns = access("access_delay", Kind::Time, 0)?;
    let delays = hops.iter().map(|((_, there), (_, back))| (*there, *back));
    let base_rtt_ns = base_rtt_ns(delays, access_delay_ns);
    let both = |(there, back): (Way<'_>, Way<'_>)| {
        let [there, back] = [there, back].map(|way| link(way, base_rtt_ns, known));
        Ok((there?, back?))
    };
    Ok(Topology {
        is_chain,
        hops: hops.into_iter().map(both).collect::<Result<_, Refused>>()?,
        access_rate_bps,
        access_delay_ns,
        base_rtt_ns,
    })
}

/// For each hop, its place in the document, and the places of its forward and its reverse link.
fn places(fields: &Fields<'_>, is_chain: bool) -> Result<Vec<[String; 3]>, Refused> {
    if !is_chain {
        let at = fields.at.to_owned();
        return Ok(vec![[at.clone(), at, fields.place("reverse")]]);
    }
    let hops = fields.list("hops")?.unwrap_or_default().len();
    if !(1..=MAX_HOPS).contains(&hops) {
        let line = format!("{hops} is not allowed; 1 to {MAX_HOPS} hops");
        return Err(fields.refuse("hops", line));
    }
    let of = |hop| {
        let at = format!("{}.hops[{hop}]", fields.at);
        [at.clone(), format!("{at}.forward"), format!("{at}.reverse")]
    };
    Ok((0..hops).map(of).collect())
}

fn chained<'a>(hop: &'a Json, places: &'a [String; 3]) -> Result<(Way<'a>, Way<'a>), Refused> {
    let fields = Fields::of(hop, &places[0])?;
    fields.known(&["forward", "reverse"])?;
    let there = Fields::of(fields.need("forward")?, &places[1])?;
    there.known(&LINK)?;
    let there_ns = there.needed("delay", Kind::Time)?;
    let back = way_back(&fields, there, there_ns, &places[2])?;
    Ok(((there, there_ns), back))
}

/// The fields of the reverse link: those in `reverse`, or a copy of the forward link's fields.
fn way_back<'a>(
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
fn link((fields, delay_ns): Way<'_>, base_rtt_ns: u64, known: &Known) -> Result<Json, Refused> {
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
    let routers = routers(&fields, known)?;
    if !routers.is_empty() {
        set("routers", routers.into());
    }
    if fields.is_on("drop_ip_options")? {
        set("drop_ip_options", true.into());
    }
    match fields.value("ecn", Kind::Word(ECN), known)? {
        Some(Value::Text(ecn)) if ecn != KEEP => drop(set("ecn", ecn.into())),
        _ => {}
    }
    if let Some(written) = fields.get("vary") {
        set("vary", vary(written, &fields.place("vary"))?);
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

/// Converts changes of rate and delay to the scenario's form. The document must include the content
/// of files, because this function opens none.
fn vary(written: &Json, at: &str) -> Result<Json, Refused> {
    let fields = Fields::of(written, at)?;
    let kind = fields.text("kind")?.unwrap_or_default();
    if kind == "mahimahi" {
        fields.known(&["kind", "opportunities_ms"])?;
        return Ok(written.clone());
    }
    if kind != "schedule" {
        let what = format!("{} is not allowed; schedule, mahimahi", quoted(kind));
        return Err(fields.refuse("kind", what));
    }
    fields.known(&["kind", "steps"])?;
    let steps = fields.list("steps")?.unwrap_or_default().iter().enumerate();
    let step = |(number, step): (usize, &Json)| {
        let at = format!("{at}.steps[{number}]");
        let step = Fields::of(step, &at)?;
        step.known(&["start", "rate", "delay"])?;
        let rate_bps = match step.need("rate")? {
            Json::String(down) if down == DOWN => 0,
            _ => step.needed("rate", Kind::Rate)?,
        };
        let [start_ns, delay_ns] = ["start", "delay"].map(|name| step.needed(name, Kind::Time));
        Ok(json!([start_ns?, rate_bps, delay_ns?]))
    };
    let steps = steps.map(step).collect::<Result<Vec<_>, Refused>>()?;
    Ok(json!({ "kind": kind, "steps": steps }))
}
