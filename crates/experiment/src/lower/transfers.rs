//! Converts transfers that arrive during the run to the form of the engine's scenario. A load
//! becomes the mean time between arrivals, once the flow's route is known.

use serde_json::{json, Map, Value as Json};

use super::fields::Fields;
use super::topology::Topology;
use crate::algorithm::{plain, Known};
use crate::arrivals::{interval_of_load_ns, parse_load};
use crate::flow::{Kind, Value, CONSTANT};
use crate::graph::DEFAULT_ROUTES;
use crate::sizes::Sizes;
use crate::text::Refused;

/// Converts the application. A load stays in the field `load` until [`set_interval`].
pub(super) fn app(fields: &Fields<'_>) -> Result<Json, Refused> {
    fields.known(&["kind", "sizes", "arrivals", "load", "think", "spacing"])?;
    fields.need("sizes")?;
    let sizes = fields.text("sizes")?.unwrap_or_default();
    Sizes::parse(sizes).map_err(|e| fields.refuse("sizes", e))?;
    let mut all = Map::new();
    all.insert("kind".into(), "transfers".into());
    all.insert("sizes".into(), sizes.into());
    let think_ns = fields.number("think", Kind::Length)?;
    all.insert("closed".into(), think_ns.is_some().into());
    let is_constant = fields.text("spacing")? == Some(CONSTANT);
    all.insert("constant".into(), is_constant.into());
    if let Some(load) = fields.get("load") {
        let text = load
            .as_str()
            .map_or_else(|| load.to_string(), str::to_owned);
        let load = parse_load(&text).map_err(|e| fields.refuse("load", e))?;
        all.insert("load".into(), load.into());
        return Ok(all.into());
    }
    let interval_ns = match think_ns {
        Some(think_ns) => think_ns,
        None => {
            fields.need("arrivals")?;
            match fields.value("arrivals", Kind::Arrivals, &Known::default())? {
                Some(Value::Number(interval_ns)) => interval_ns,
                _ => return Err(fields.refuse("arrivals", "a rate such as 50/s")),
            }
        }
    };
    all.insert("interval_ns".into(), interval_ns.into());
    Ok(all.into())
}

/// Replaces the load of transfers by the mean time between arrivals. `flow` is the flow in the
/// scenario's form, with its routes.
pub(super) fn set_interval(
    app: &mut Json,
    flow: &Map<String, Json>,
    path: &Topology,
    at: &str,
) -> Result<(), Refused> {
    let Some(load) = app.as_object_mut().and_then(|all| all.remove("load")) else {
        return Ok(());
    };
    let refuse = |e: Refused| Refused::new(format!("{at}.app.load: {e}"));
    let sizes = Sizes::parse(app["sizes"].as_str().unwrap_or_default()).map_err(refuse)?;
    let load = load.as_f64().unwrap_or_default();
    let rate_bps = slowest_bps(flow, path);
    let interval_ns = interval_of_load_ns(load, sizes.mean_bytes(), rate_bps).map_err(refuse)?;
    app["interval_ns"] = interval_ns.into();
    Ok(())
}

/// The group of a flow's transfers: the flow's own name, or its control with the startup that it
/// names.
pub(super) fn group(own: Option<&str>, control: &Json) -> Json {
    let text = |name: &str| control[name].as_str();
    json!(match (own, text("name"), text("startup")) {
        (Some(own), _, _) => own.to_owned(),
        (None, Some(control), Some(startup)) => format!("{}+{startup}", plain(control)),
        (None, control, _) => plain(control.unwrap_or_default()).to_owned(),
    })
}

/// Rate of the slowest link or shaper that the flow's data crosses, access links included.
fn slowest_bps(flow: &Map<String, Json>, path: &Topology) -> u64 {
    let near = flow.get("route");
    let beyond = flow.get("relay").and_then(|relay| relay.get("route"));
    let given = [near, beyond].into_iter().flatten();
    let mut route: Vec<u64> = given
        .filter_map(Json::as_array)
        .flatten()
        .filter_map(Json::as_u64)
        .collect();
    if near.is_none() {
        route.extend(DEFAULT_ROUTES.0.map(u64::from));
    }
    let links = route.iter().map(|&link| &path.links[link as usize]);
    let rates = links.flat_map(|link| [&link["rate_bps"], &link["shaper"]["rate_bps"]]);
    rates
        .filter_map(Json::as_u64)
        .fold(path.access_rate_bps, u64::min)
}
