//! Converts topologies to graphs and to the form of the engine's scenario. A dumbbell's fields
//! describe both of its directions.

use serde_json::{json, Value as Json};

use super::fields::Fields;
use super::link::{link, way_back, Way, LINK};
use crate::algorithm::Known;
use crate::flow::Kind;
use crate::graph::Graph;
use crate::limits::MAX_HOPS;
use crate::path::{base_rtt_ns, halves_ns};
use crate::text::{quoted, Refused};

/// Fields that a dumbbell has in addition to those of its forward link.
const DUMBBELL: [&str; 5] = ["kind", "rtt", "reverse", "access_rate", "access_delay"];
const CHAIN: [&str; 4] = ["kind", "hops", "access_rate", "access_delay"];
const KINDS: &str = "dumbbell, chain";
const ACCESS_RATE_BPS: u64 = 1_000_000_000;

/// What kind of network an experiment's topology is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// One bottleneck in each direction.
    Dumbbell,
    /// Routers in a row.
    Chain,
}

/// The network between the hosts, in SI units.
#[derive(Clone, Debug)]
pub struct Topology {
    /// The kind of network.
    pub shape: Shape,
    /// Nodes, links and delays.
    pub graph: Graph,
    /// The links in the scenario's form, in the order of the graph's links.
    pub links: Vec<Json>,
    /// Rate of the access links.
    pub access_rate_bps: u64,
    /// Delay of the access links, in each direction.
    pub access_delay_ns: u64,
    /// Base RTT from which bandwidth-delay products are computed.
    pub base_rtt_ns: u64,
}

impl Topology {
    /// The topology in the form of the scenario.
    #[must_use]
    pub fn fields(&self) -> Json {
        json!({
            "links": self.links,
            "access_rate_bps": self.access_rate_bps,
            "access_delay_ns": self.access_delay_ns,
        })
    }
}

/// The forward and the reverse link of a connection between two nodes.
type Pair<'a> = (Way<'a>, Way<'a>);

/// A connection's place in the document, and the places of its forward and its reverse link.
type Places = [String; 3];

/// Reads the topology of an experiment.
///
/// # Errors
/// One line that names the field, its value and what is allowed.
pub fn topology(written: &Json, known: &Known) -> Result<Topology, Refused> {
    let fields = Fields::of(written, "topology")?;
    let shape = match fields.text("kind")? {
        Some("dumbbell") => Shape::Dumbbell,
        Some("chain") => Shape::Chain,
        None => return Err(fields.refuse("kind", format!("is missing; allowed: {KINDS}"))),
        Some(other) => {
            let what = format!("unknown kind {}; allowed: {KINDS}", quoted(other));
            return Err(Refused::new(format!("topology: {what}")));
        }
    };
    let places: Vec<Places> = places(&fields, shape)?;
    let pairs: Vec<Pair<'_>> = match shape {
        Shape::Dumbbell => vec![dumbbell(&fields, &places[0])?],
        Shape::Chain => {
            fields.known(&CHAIN)?;
            let hops = fields.list("hops")?.unwrap_or_default();
            let pairs = hops.iter().zip(&places).map(|(hop, at)| pair(hop, at, &[]));
            pairs.collect::<Result<_, _>>()?
        }
    };
    let access =
        |name, kind, absent| Ok::<_, Refused>(fields.number(name, kind)?.unwrap_or(absent));
    let access_rate_bps = access("access_rate", Kind::Rate, ACCESS_RATE_BPS)?;
    let access_delay_ns = access("access_delay", Kind::Time, 0)?;
    let delays_ns: Vec<_> = pairs
        .iter()
        .map(|((_, there_ns), (_, back_ns))| (*there_ns, *back_ns))
        .collect();
    let graph = Graph::row(&delays_ns);
    let base_rtt_ns = base_rtt_ns(&graph, access_delay_ns);
    let ways = pairs.iter().flat_map(|(there, back)| [there, back]);
    let links = ways.zip(graph.links()).map(|(way, named)| {
        let mut link = link(*way, base_rtt_ns, known)?;
        link["name"] = named.name.as_str().into();
        Ok(link)
    });
    let links = links.collect::<Result<_, Refused>>()?;
    Ok(Topology {
        shape,
        graph,
        links,
        access_rate_bps,
        access_delay_ns,
        base_rtt_ns,
    })
}

/// The places of all connections between nodes.
fn places(fields: &Fields<'_>, shape: Shape) -> Result<Vec<Places>, Refused> {
    if shape == Shape::Dumbbell {
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

/// Both directions of a dumbbell, whose forward link's fields are its own.
fn dumbbell<'a>(fields: &Fields<'a>, places: &'a Places) -> Result<Pair<'a>, Refused> {
    let without_delay = LINK.iter().copied().filter(|name| *name != "delay");
    fields.known(&without_delay.chain(DUMBBELL).collect::<Vec<_>>())?;
    let (there_ns, back_ns) = halves_ns(fields.needed("rtt", Kind::Time)?);
    let back = way_back(fields, *fields, back_ns, &places[2])?;
    Ok(((*fields, there_ns), back))
}

/// Both directions of a connection, which is an object with the fields `forward`, `reverse` and
/// those in `more`.
fn pair<'a>(written: &'a Json, places: &'a Places, more: &[&str]) -> Result<Pair<'a>, Refused> {
    let fields = Fields::of(written, &places[0])?;
    fields.known(&[&["forward", "reverse"], more].concat())?;
    let there = Fields::of(fields.need("forward")?, &places[1])?;
    there.known(&LINK)?;
    let there_ns = there.needed("delay", Kind::Time)?;
    let back = way_back(&fields, there, there_ns, &places[2])?;
    Ok(((there, there_ns), back))
}
