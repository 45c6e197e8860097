//! Replaces the fields of a flow that say where it enters and leaves the network by its routes,
//! which are lists of link numbers.

use serde_json::{Map, Value as Json};

use crate::flow::REVERSE;
use crate::graph::{Ends, Graph, Routes, DEFAULT_ROUTES};
use crate::text::Refused;

/// Finds the routes of a flow, and removes the fields that determine them. `at` is the flow's place
/// in the document, `number` its number. Also returns the hop of a row where the flow enters, and
/// whether its opener is at the far end.
pub(super) fn take(
    flow: &mut Map<String, Json>,
    at: &str,
    graph: &mut Graph,
    number: usize,
    seed: u64,
) -> Result<(Routes, usize, bool), Refused> {
    let is_reversed = flow.remove("direction").is_some_and(|way| way == REVERSE);
    let names = ["source", "destination", "route", "reverse_route"].map(|name| flow.remove(name));
    let [source, destination, route, reverse_route] = names
        .each_ref()
        .map(|name| name.as_ref().and_then(Json::as_str));
    let ends = Ends {
        from_hop: hop(flow.remove("from_hop")).unwrap_or(0),
        to_hop: hop(flow.remove("to_hop")),
        is_reversed,
        source,
        destination,
        route,
        reverse_route,
    };
    let routes = graph.routes(&ends, number, seed);
    let routes = routes.map_err(|e| Refused::new(format!("{at}.{e}")))?;
    Ok((routes, ends.from_hop, is_reversed))
}

/// The number of a router, written as JSON.
fn hop(hop: Option<Json>) -> Option<usize> {
    hop.and_then(|hop| hop.as_u64()).map(|hop| hop as usize)
}

/// Sets the routes of a flow in the scenario's form, and those behind its relay. The arguments are
/// those of [`take`].
pub(super) fn set(
    flow: &mut Map<String, Json>,
    at: &str,
    graph: &mut Graph,
    number: usize,
    seed: u64,
) -> Result<(), Refused> {
    let (routes, from_hop, is_reversed) = take(flow, at, graph, number, seed)?;
    let Some(relay) = flow.get_mut("relay").and_then(Json::as_object_mut) else {
        if routes.there != DEFAULT_ROUTES.0 || routes.back != DEFAULT_ROUTES.1 {
            insert(flow, routes);
        }
        return Ok(());
    };
    let refuse = |what: String| Err(Refused::new(format!("{at}.relay{what}")));
    if !graph.is_row() {
        return refuse(": only a chain can have relays".to_owned());
    }
    let at_hop = hop(relay.remove("at_hop")).unwrap_or(0);
    let (from, to) = (from_hop, from_hop + routes.there.len());
    if at_hop <= from || at_hop >= to {
        let allowed = format!("between from_hop, {from}, and to_hop, {to}");
        return refuse(format!(".at_hop: {at_hop} is not allowed; {allowed}"));
    }
    let crossed = if is_reversed {
        to - at_hop
    } else {
        at_hop - from
    };
    let (near, beyond) = routes.split(crossed);
    insert(relay, beyond);
    insert(flow, near);
    Ok(())
}

fn insert(place: &mut Map<String, Json>, routes: Routes) {
    place.insert("route".into(), routes.there.into());
    place.insert("reverse_route".into(), routes.back.into());
}
