//! Replaces the fields of a flow that say where it enters and leaves the network by its routes, which
//! are lists of link numbers.

use serde_json::{Map, Value as Json};

use crate::graph::{Ends, Graph, Routes};
use crate::text::Refused;

/// The routes of a flow that has no such fields in the scenario.
const DEFAULT: ([u32; 1], [u32; 1]) = ([0], [1]);

/// Sets the routes of a flow in the scenario's form, and those behind its relay. `at` is the flow's
/// place in the document, `number` its number.
pub(super) fn set(
    flow: &mut Map<String, Json>,
    at: &str,
    graph: &mut Graph,
    number: usize,
    seed: u64,
) -> Result<(), Refused> {
    let hop = |hop: Option<Json>| hop.and_then(|hop| hop.as_u64()).map(|hop| hop as usize);
    let ends = Ends {
        from_hop: hop(flow.remove("from_hop")).unwrap_or(0),
        to_hop: hop(flow.remove("to_hop")),
        ..Ends::default()
    };
    let routes = graph.routes(&ends, number, seed);
    let routes = routes.map_err(|e| Refused::new(format!("{at}.{e}")))?;
    let Some(relay) = flow.get_mut("relay").and_then(Json::as_object_mut) else {
        if (&routes.there[..], &routes.back[..]) != (&DEFAULT.0, &DEFAULT.1) {
            insert(flow, routes);
        }
        return Ok(());
    };
    let at_hop = hop(relay.remove("at_hop")).unwrap_or(0);
    let crossed = at_hop.saturating_sub(ends.from_hop);
    if crossed == 0 || crossed >= routes.there.len() {
        let (from, to) = (ends.from_hop, ends.from_hop + routes.there.len());
        return Err(Refused::new(format!(
            "{at}.relay.at_hop: {at_hop} is not allowed; between from_hop, {from}, and to_hop, {to}"
        )));
    }
    let (near, beyond) = routes.split(crossed);
    insert(relay, beyond);
    insert(flow, near);
    Ok(())
}

fn insert(place: &mut Map<String, Json>, routes: Routes) {
    place.insert("route".into(), routes.there.into());
    place.insert("reverse_route".into(), routes.back.into());
}
