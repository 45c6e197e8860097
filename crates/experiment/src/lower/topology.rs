//! Converts topologies to graphs and to the form of the engine's scenario. A dumbbell's fields
//! describe both of its directions.

use serde_json::{json, Value as Json};

use super::fields::Fields;
use super::link::{link, way_back, Way};
use super::link_fields::LINK;
use crate::algorithm::Known;
use crate::flow::Kind;
use crate::graph::Graph;
use crate::limits::{MAX_EDGES, MAX_HOPS};
use crate::path::{base_rtt_ns, halves_ns};
use crate::text::{quoted, Refused};

/// Fields that a dumbbell has in addition to those of its forward link.
const DUMBBELL: [&str; 5] = ["kind", "rtt", "reverse", "access_rate", "access_delay"];
const CHAIN: [&str; 4] = ["kind", "hops", "access_rate", "access_delay"];
const NETWORK: [&str; 6] = [
    "kind",
    "nodes",
    "edges",
    "ecmp",
    "access_rate",
    "access_delay",
];
const STAR: [&str; 5] = ["kind", "hosts", "edge", "access_rate", "access_delay"];
const LEAF_SPINE: [&str; 8] = [
    "kind",
    "leaves",
    "spines",
    "hosts",
    "host_edge",
    "spine_edge",
    "access_rate",
    "access_delay",
];
const ACCESS_RATE_BPS: u64 = 1_000_000_000;

/// What kind of network an experiment's topology is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// One bottleneck in each direction.
    Dumbbell,
    /// Routers in a row.
    Chain,
    /// Named nodes and edges.
    Network,
    /// Hosts around a hub.
    Star,
    /// Two layers of switches.
    LeafSpine,
}

impl Shape {
    const ALL: [(&'static str, Shape); 5] = [
        ("dumbbell", Shape::Dumbbell),
        ("chain", Shape::Chain),
        ("network", Shape::Network),
        ("star", Shape::Star),
        ("leaf-spine", Shape::LeafSpine),
    ];

    fn names() -> String {
        Shape::ALL.map(|(name, _)| name).join(", ")
    }
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

/// The names of an edge's nodes as "a-b", and its delay in each direction.
type NamedEdge = (String, u64, u64);

/// A connection's place in the document, and the places of its forward and its reverse link.
type Places = [String; 3];

/// Reads the topology of an experiment.
///
/// # Errors
/// One line that names the field, its value and what is allowed.
pub fn topology(written: &Json, known: &Known) -> Result<Topology, Refused> {
    let fields = Fields::of(written, "topology")?;
    let shape = shape(&fields)?;
    let places = places(&fields, shape)?;
    let pairs: Vec<Pair<'_>> = match shape {
        Shape::Dumbbell => vec![dumbbell(&fields, &places[0])?],
        Shape::Chain => listed(&fields, &CHAIN, "hops", &[], &places)?,
        Shape::Network => listed(&fields, &NETWORK, "edges", &["between"], &places)?,
        Shape::Star => named(&fields, &STAR, &["edge"], &places)?,
        Shape::LeafSpine => named(&fields, &LEAF_SPINE, &["host_edge", "spine_edge"], &places)?,
    };
    let access =
        |name, kind, absent| Ok::<_, Refused>(fields.number(name, kind)?.unwrap_or(absent));
    let access_rate_bps = access("access_rate", Kind::Rate, ACCESS_RATE_BPS)?;
    let access_delay_ns = access("access_delay", Kind::Time, 0)?;
    let (graph, of_edges) = graph(&fields, shape, &pairs)?;
    let base_rtt_ns = base_rtt_ns(&graph, access_delay_ns);
    let mut lowered = vec![];
    for (there, back) in &pairs {
        lowered.push([there, back].map(|way| link(*way, base_rtt_ns, known)));
    }
    let mut links = vec![];
    for (number, named) in graph.links().iter().enumerate() {
        let mut link = lowered[of_edges[number / 2]][number % 2].clone()?;
        link["name"] = named.name.as_str().into();
        links.push(link);
    }
    Ok(Topology {
        shape,
        graph,
        links,
        access_rate_bps,
        access_delay_ns,
        base_rtt_ns,
    })
}

fn shape(fields: &Fields<'_>) -> Result<Shape, Refused> {
    let Some(kind) = fields.text("kind")? else {
        let line = format!("is missing; allowed: {}", Shape::names());
        return Err(fields.refuse("kind", line));
    };
    let found = Shape::ALL.iter().find(|(name, _)| *name == kind);
    found.map(|(_, shape)| *shape).ok_or_else(|| {
        let (kind, names) = (quoted(kind), Shape::names());
        Refused::new(format!("topology: unknown kind {kind}; allowed: {names}"))
    })
}

/// The graph of a topology, and for each edge the index of its links in `pairs`.
fn graph(
    fields: &Fields<'_>,
    shape: Shape,
    pairs: &[Pair<'_>],
) -> Result<(Graph, Vec<usize>), Refused> {
    let delays_ns: Vec<_> = pairs
        .iter()
        .map(|((_, there_ns), (_, back_ns))| (*there_ns, *back_ns))
        .collect();
    let number = |name| {
        fields
            .needed(name, Kind::Whole(1))
            .map(|number| number as usize)
    };
    let each = (0..pairs.len()).collect();
    let placed =
        |made: Result<Graph, Refused>| made.map_err(|e| Refused::new(format!("{}.{e}", fields.at)));
    Ok(match shape {
        Shape::Dumbbell | Shape::Chain => (Graph::row(&delays_ns), each),
        Shape::Network => {
            let (nodes, edges) = named_nodes(fields, &delays_ns)?;
            let graph = Graph::network(nodes, &edges, fields.is_on("ecmp")?);
            (placed(graph)?, each)
        }
        Shape::Star => {
            let hosts = number("hosts")?;
            (placed(Graph::star(hosts, delays_ns[0]))?, vec![0; hosts])
        }
        Shape::LeafSpine => {
            let numbers = (number("leaves")?, number("spines")?, number("hosts")?);
            let graph = Graph::leaf_spine(numbers, delays_ns[0], delays_ns[1]);
            let host_edges = numbers.0.saturating_mul(numbers.2);
            let of_edges = (0..MAX_EDGES).map(|edge| usize::from(edge >= host_edges));
            (placed(graph)?, of_edges.collect())
        }
    })
}

/// The nodes of a network, and its edges, which have these delays.
fn named_nodes(
    fields: &Fields<'_>,
    delays_ns: &[(u64, u64)],
) -> Result<(Vec<String>, Vec<NamedEdge>), Refused> {
    let mut nodes = vec![];
    for node in fields.list("nodes")?.unwrap_or_default() {
        let name = node.as_str();
        nodes.push(
            name.ok_or_else(|| fields.refuse("nodes", "a list of names"))?
                .to_owned(),
        );
    }
    let mut edges = vec![];
    let written = fields.list("edges")?.unwrap_or_default();
    for (index, (edge, delays_ns)) in written.iter().zip(delays_ns).enumerate() {
        let at = format!("{}.edges[{index}]", fields.at);
        let edge = Fields::of(edge, &at)?;
        edge.need("between")?;
        let between = edge.text("between")?.unwrap_or_default().to_owned();
        edges.push((between, delays_ns.0, delays_ns.1));
    }
    Ok((nodes, edges))
}

/// The places of the pairs of links that a topology has in the document.
fn places(fields: &Fields<'_>, shape: Shape) -> Result<Vec<Places>, Refused> {
    let of = |at: String| {
        let ways = [format!("{at}.forward"), format!("{at}.reverse")];
        let [there, back] = ways;
        [at, there, back]
    };
    let all = |name: &str, most: usize| {
        let count = fields.list(name)?.unwrap_or_default().len();
        if !(1..=most).contains(&count) {
            let line = format!("{count} is not allowed; 1 to {most} {name}");
            return Err(fields.refuse(name, line));
        }
        let place = |index| of(format!("{}.{name}[{index}]", fields.at));
        Ok((0..count).map(place).collect())
    };
    match shape {
        Shape::Dumbbell => {
            let at = fields.at.to_owned();
            Ok(vec![[at.clone(), at, fields.place("reverse")]])
        }
        Shape::Chain => all("hops", MAX_HOPS),
        Shape::Network => all("edges", MAX_EDGES),
        Shape::Star => Ok(vec![of(fields.place("edge"))]),
        Shape::LeafSpine => Ok(vec![
            of(fields.place("host_edge")),
            of(fields.place("spine_edge")),
        ]),
    }
}

/// The pairs of links in the list `list`. `known` are the topology's fields, and `more` those of a
/// pair in addition to both directions.
fn listed<'a>(
    fields: &Fields<'a>,
    known: &[&str],
    list: &str,
    more: &[&str],
    places: &'a [Places],
) -> Result<Vec<Pair<'a>>, Refused> {
    fields.known(known)?;
    let all = fields.list(list)?.unwrap_or_default();
    let pairs = all.iter().zip(places).map(|(one, at)| pair(one, at, more));
    pairs.collect()
}

/// The pairs of links in the fields `names`. `known` are the topology's fields.
fn named<'a>(
    fields: &Fields<'a>,
    known: &[&str],
    names: &[&str],
    places: &'a [Places],
) -> Result<Vec<Pair<'a>>, Refused> {
    fields.known(known)?;
    let pairs = names.iter().zip(places);
    pairs
        .map(|(name, at)| pair(fields.need(name)?, at, &[]))
        .collect()
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
