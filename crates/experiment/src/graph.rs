//! Networks as graphs: nodes, directed links, and the routes of flows.
//!
//! An edge joins two nodes with two links, one per direction, which have consecutive numbers. A
//! route is a list of link numbers. A flow's route is the one with the shortest delay. Of routes
//! with the same delay it is the one with the fewest links, and of these the first by the names of
//! its nodes. With `ecmp` a hash of the flow chooses among the routes that have the same delay and
//! number of links.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};
use std::sync::OnceLock;

use crate::limits::{MAX_EDGES, MAX_HOPS, MAX_NODES, MAX_NODE_CHARS};
use crate::text::{quoted, shorten, Refused};

/// Separates the names of nodes in the name of a link and in a route.
pub const BETWEEN: char = '-';

/// A directed link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    /// The link's name in the trace.
    pub name: String,
    /// Number of the node at which the link begins.
    pub from: usize,
    /// Number of the node at which the link ends.
    pub to: usize,
    /// Propagation delay.
    pub delay_ns: u64,
}

/// Delay and number of links of the shortest route from a node.
type Distance = Option<(u64, u32)>;

/// Nodes and directed links.
#[derive(Clone, Debug)]
pub struct Graph {
    nodes: Vec<String>,
    /// The number of each node by its name.
    numbers: BTreeMap<String, usize>,
    links: Vec<Link>,
    /// Per node: the links that leave it, sorted by the names of the nodes at their ends.
    leaving: Vec<Vec<u32>>,
    /// Per node: the links that end there.
    entering: Vec<Vec<u32>>,
    /// Whether the nodes are routers in a row, where flows enter and leave at hops.
    is_row: bool,
    /// Whether flows that name no nodes lead from one of the hosts to host 0.
    is_star: bool,
    ecmp: bool,
    /// Distances to the nodes that were destinations so far.
    distances: BTreeMap<usize, Vec<Distance>>,
    base_rtt_ns: OnceLock<u64>,
}

/// The fields of a flow that determine its routes.
#[derive(Clone, Copy, Debug, Default)]
pub struct Ends<'a> {
    /// Router of a row where the flow enters.
    pub from_hop: usize,
    /// Router of a row where the flow leaves; None: the last one.
    pub to_hop: Option<usize>,
    /// Whether the flow's opener is at the far end of a row.
    pub is_reversed: bool,
    /// Node of the opener.
    pub source: Option<&'a str>,
    /// Node of the other end.
    pub destination: Option<&'a str>,
    /// Nodes from the source to the destination.
    pub route: Option<&'a str>,
    /// Nodes from the destination to the source.
    pub reverse_route: Option<&'a str>,
}

/// The routes of a flow whose scenario gives none: the first link there, and the second link back.
pub const DEFAULT_ROUTES: ([u32; 1], [u32; 1]) = ([0], [1]);

/// The routes of a flow in both directions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Routes {
    /// Numbers of the links from the opener to the other end.
    pub there: Vec<u32>,
    /// Numbers of the links back.
    pub back: Vec<u32>,
}

impl Routes {
    /// Splits routes behind the first `hops` links: those between the opener and a relay, and those
    /// between the relay and the other end. Both directions must pass the relay.
    #[must_use]
    pub fn split(&self, hops: usize) -> (Routes, Routes) {
        let (near, beyond) = self.there.split_at(hops);
        let (far, back) = self.back.split_at(self.back.len() - hops);
        let routes = |there: &[u32], back: &[u32]| Routes {
            there: there.to_vec(),
            back: back.to_vec(),
        };
        (routes(near, back), routes(beyond, far))
    }
}

impl Graph {
    /// Routers in a row, from the delays of each hop's forward and reverse link. A dumbbell has one
    /// hop.
    #[must_use]
    pub fn row(delays_ns: &[(u64, u64)]) -> Graph {
        let nodes = (0..=delays_ns.len()).map(|node| node.to_string()).collect();
        let mut links = vec![];
        for (hop, (there_ns, back_ns)) in delays_ns.iter().enumerate() {
            for (way, from, to, delay_ns) in [
                ("forward", hop, hop + 1, *there_ns),
                ("reverse", hop + 1, hop, *back_ns),
            ] {
                let name = format!("{way}{hop}");
                links.push(Link {
                    name,
                    from,
                    to,
                    delay_ns,
                });
            }
        }
        Graph {
            is_row: true,
            ..Graph::of(nodes, links)
        }
    }

    /// Nodes and edges: the names of both nodes as "a-b", and the delay in each direction.
    ///
    /// # Errors
    /// One line that names the field, its value and what is allowed.
    pub fn network(
        nodes: Vec<String>,
        edges: &[(String, u64, u64)],
        ecmp: bool,
    ) -> Result<Graph, Refused> {
        let numbers = numbered(&nodes)?;
        if edges.is_empty() || edges.len() > MAX_EDGES {
            return Err(Refused::new(format!(
                "edges: {} is not allowed; 1 to {MAX_EDGES} edges",
                edges.len()
            )));
        }
        let mut links = vec![];
        let mut known = BTreeSet::new();
        for (index, (between, there_ns, back_ns)) in edges.iter().enumerate() {
            let refuse = |what: &str| {
                let between = shorten(&quoted(between));
                Refused::new(format!("edges[{index}].between: {between} {what}"))
            };
            let ends = between.split_once(BETWEEN);
            let (one, other) =
                ends.ok_or_else(|| refuse("is not allowed; two nodes, for example a-b"))?;
            let number = |name: &str| {
                let number = numbers.get(name).copied();
                number.ok_or_else(|| {
                    let name = shorten(&quoted(name));
                    refuse(&format!("is not allowed; nodes has no {name}"))
                })
            };
            let (from, to) = (number(one)?, number(other)?);
            if from == to {
                return Err(refuse("is not allowed; an edge joins two different nodes"));
            }
            if !known.insert((from.min(to), from.max(to))) {
                return Err(refuse("is not allowed; another edge joins these nodes"));
            }
            links.extend(pair(&nodes, from, to, (*there_ns, *back_ns)));
        }
        Ok(Graph {
            ecmp,
            ..Graph::of(nodes, links)
        })
    }

    /// Hosts "host0", "host1", ... around the node "hub". Delays are those from a host to the hub and
    /// back. Flows that name no nodes lead to host 0, each from another host.
    ///
    /// # Errors
    /// One line if the number of hosts is not allowed.
    pub fn star(hosts: usize, delays_ns: (u64, u64)) -> Result<Graph, Refused> {
        if !(2..MAX_NODES).contains(&hosts) {
            let most = MAX_NODES - 1;
            let line = format!("hosts: {hosts} is not allowed; 2 to {most} hosts");
            return Err(Refused::new(line));
        }
        let mut nodes = vec!["hub".to_owned()];
        nodes.extend((0..hosts).map(|host| format!("host{host}")));
        let links = (1..=hosts).flat_map(|host| pair(&nodes, host, 0, delays_ns));
        let links = links.collect();
        Ok(Graph {
            is_star: true,
            ..Graph::of(nodes, links)
        })
    }

    /// Leaves "leaf0", ..., each linked to every spine, "spine0", ..., and to `hosts` hosts of its
    /// own, "host0", ...: hosts 0 to `hosts` - 1 are at leaf 0. Delays are those from a host to its
    /// leaf and back, and from a leaf to a spine and back. The links of hosts come first. A hash
    /// spreads flows over the spines.
    ///
    /// # Errors
    /// One line if one of the numbers is not allowed.
    pub fn leaf_spine(
        (leaves, spines, hosts): (usize, usize, usize),
        host_ns: (u64, u64),
        spine_ns: (u64, u64),
    ) -> Result<Graph, Refused> {
        for (name, number) in [("leaves", leaves), ("spines", spines), ("hosts", hosts)] {
            if !(1..=MAX_NODES).contains(&number) {
                let line = format!("{name}: {number} is not allowed; 1 to {MAX_NODES}");
                return Err(Refused::new(line));
            }
        }
        let (nodes, edges) = (leaves + spines + leaves * hosts, leaves * (spines + hosts));
        if nodes > MAX_NODES || edges > MAX_EDGES {
            return Err(Refused::new(format!(
                "leaves: {leaves} with {spines} spines and {hosts} hosts each have {nodes} nodes \
                 and {edges} edges; at most {MAX_NODES} and {MAX_EDGES}"
            )));
        }
        let named = |name: &'static str, count| (0..count).map(move |n| format!("{name}{n}"));
        let mut nodes: Vec<String> = named("leaf", leaves).collect();
        nodes.extend(named("spine", spines));
        nodes.extend(named("host", leaves * hosts));
        let first_host = leaves + spines;
        let mut links = vec![];
        for host in 0..leaves * hosts {
            links.extend(pair(&nodes, first_host + host, host / hosts, host_ns));
        }
        for leaf in 0..leaves {
            for spine in leaves..first_host {
                links.extend(pair(&nodes, leaf, spine, spine_ns));
            }
        }
        Ok(Graph {
            ecmp: true,
            ..Graph::of(nodes, links)
        })
    }

    /// Nodes with names that differ, and links.
    fn of(nodes: Vec<String>, links: Vec<Link>) -> Graph {
        let numbers = nodes.iter().cloned().zip(0..).collect();
        let mut leaving = vec![vec![]; nodes.len()];
        let mut entering = vec![vec![]; nodes.len()];
        for (number, link) in (0..).zip(&links) {
            leaving[link.from].push(number);
            entering[link.to].push(number);
        }
        for own in &mut leaving {
            own.sort_by_key(|&number: &u32| &nodes[links[number as usize].to]);
        }
        Graph {
            nodes,
            numbers,
            links,
            leaving,
            entering,
            is_row: false,
            is_star: false,
            ecmp: false,
            distances: BTreeMap::new(),
            base_rtt_ns: OnceLock::new(),
        }
    }

    /// Names of the nodes.
    #[must_use]
    pub fn nodes(&self) -> &[String] {
        &self.nodes
    }

    /// The links. Routes refer to a link by its index in this list.
    #[must_use]
    pub fn links(&self) -> &[Link] {
        &self.links
    }

    /// Whether the nodes are routers in a row, where flows enter and leave at hops.
    #[must_use]
    pub fn is_row(&self) -> bool {
        self.is_row
    }

    /// Propagation delay of a round trip over the longest of the shortest routes between two nodes.
    /// In a row, this is the sum over all hops. Access links are not included.
    #[must_use]
    pub fn base_rtt_ns(&self) -> u64 {
        *self.base_rtt_ns.get_or_init(|| self.longest_rtt_ns())
    }

    fn longest_rtt_ns(&self) -> u64 {
        let nodes = self.nodes.len();
        let to: Vec<_> = (0..nodes).map(|node| self.distances(node)).collect();
        let pairs = (0..nodes).flat_map(|node| (0..node).map(move |other| (node, other)));
        let rtts_ns = pairs.filter_map(|(node, other)| {
            let ((there_ns, _), (back_ns, _)) = (to[other][node]?, to[node][other]?);
            Some(there_ns.saturating_add(back_ns))
        });
        rtts_ns.max().unwrap_or(0)
    }

    /// The routes of a flow. `flow` is its number. It and the seed of the experiment determine the
    /// choices of `ecmp`.
    ///
    /// # Errors
    /// One line that names the flow's field, its value and what is allowed.
    pub fn routes(&mut self, ends: &Ends, flow: usize, seed: u64) -> Result<Routes, Refused> {
        if self.is_row {
            return self.routes_in_row(ends);
        }
        if ends.from_hop != 0 || ends.to_hop.is_some() {
            let name = if ends.from_hop == 0 {
                "to_hop"
            } else {
                "from_hop"
            };
            let line = format!("{name}: only a chain has hops; give source and destination");
            return Err(Refused::new(line));
        }
        if ends.is_reversed {
            let line = "direction: 'reverse' is not allowed; swap source and destination";
            return Err(Refused::new(line.to_owned()));
        }
        let (source, destination) = match (ends.source, ends.destination) {
            (None, None) if self.is_star => {
                // nodes are the hub, host 0, and the others
                let hosts = self.nodes.len() - 1;
                (2 + flow % (hosts - 1), 1)
            }
            (source, destination) => {
                let source = self.node("source", source)?;
                (source, self.node("destination", destination)?)
            }
        };
        if source == destination {
            let node = quoted(&self.nodes[source]);
            let line = format!("destination: {node} is not allowed; it is the source, too");
            return Err(Refused::new(line));
        }
        let mut route = |name: &str, given: Option<&str>, from, to, way| match given {
            Some(text) => self.given(name, text, from, to),
            None => self.shortest(from, to, hash(seed, flow as u64, way)),
        };
        Ok(Routes {
            there: route("route", ends.route, source, destination, 0)?,
            back: route("reverse_route", ends.reverse_route, destination, source, 1)?,
        })
    }

    fn routes_in_row(&self, ends: &Ends) -> Result<Routes, Refused> {
        let named = [
            ("source", ends.source),
            ("destination", ends.destination),
            ("route", ends.route),
            ("reverse_route", ends.reverse_route),
        ];
        if let Some((name, Some(text))) = named.iter().find(|(_, given)| given.is_some()) {
            return Err(Refused::new(format!(
                "{name}: {} is not allowed; only a network has named nodes",
                shorten(&quoted(text))
            )));
        }
        let hops = self.links.len() / 2;
        let (from, to) = (ends.from_hop, ends.to_hop.unwrap_or(hops));
        if to > hops {
            let line = format!("to_hop: {to} is not allowed; at most {hops}");
            return Err(Refused::new(line));
        }
        if from >= to {
            let line = format!("from_hop: {from} is not allowed; must be less than to_hop, {to}");
            return Err(Refused::new(line));
        }
        let (from, to) = (from as u32, to as u32);
        let there = (from..to).map(|hop| 2 * hop).collect();
        let back = (from..to).rev().map(|hop| 2 * hop + 1).collect();
        Ok(if ends.is_reversed {
            Routes {
                there: back,
                back: there,
            }
        } else {
            Routes { there, back }
        })
    }

    /// The number of the node that a field names.
    fn node(&self, field: &str, name: Option<&str>) -> Result<usize, Refused> {
        let name = name.ok_or_else(|| {
            Refused::new(format!("{field}: is missing; a flow in a network needs it"))
        })?;
        self.numbers.get(name).copied().ok_or_else(|| {
            let name = shorten(&quoted(name));
            Refused::new(format!(
                "{field}: {name} is not a node; {}",
                self.some_nodes()
            ))
        })
    }

    fn some_nodes(&self) -> String {
        const SHOWN: usize = 8;
        let more = if self.nodes.len() > SHOWN {
            ", ..."
        } else {
            ""
        };
        let few: Vec<&str> = self.nodes.iter().map(String::as_str).take(SHOWN).collect();
        format!("allowed: {}{more}", few.join(", "))
    }

    /// The route that a field gives as the names of its nodes.
    fn given(&self, field: &str, text: &str, from: usize, to: usize) -> Result<Vec<u32>, Refused> {
        let refuse = |what: String| {
            let text = shorten(&quoted(text));
            Refused::new(format!("{field}: {text} is not allowed; {what}"))
        };
        let mut nodes = vec![];
        for name in text.split(BETWEEN) {
            let node = self.numbers.get(name).copied().ok_or_else(|| {
                let name = shorten(&quoted(name));
                refuse(format!("{name} is not a node"))
            })?;
            if nodes.contains(&node) {
                return Err(refuse(format!("it passes {name} twice")));
            }
            nodes.push(node);
        }
        let ends = (nodes.first() == Some(&from), nodes.last() == Some(&to));
        if ends != (true, true) {
            let (from, to) = (&self.nodes[from], &self.nodes[to]);
            return Err(refuse(format!("it must lead from {from} to {to}")));
        }
        if nodes.len() > MAX_HOPS + 1 {
            return Err(refuse(format!("at most {MAX_HOPS} links")));
        }
        let link = |pair: &[usize]| {
            let to = |number: &&u32| self.links[**number as usize].to == pair[1];
            self.leaving[pair[0]]
                .iter()
                .find(to)
                .copied()
                .ok_or_else(|| {
                    let (from, to) = (&self.nodes[pair[0]], &self.nodes[pair[1]]);
                    refuse(format!("no edge joins {from} and {to}"))
                })
        };
        nodes.windows(2).map(link).collect()
    }

    /// The shortest route between two nodes. `hash` chooses among equal ones if the graph has
    /// `ecmp`.
    fn shortest(&mut self, from: usize, to: usize, hash: u64) -> Result<Vec<u32>, Refused> {
        if !self.distances.contains_key(&to) {
            let distances = self.distances(to);
            self.distances.insert(to, distances);
        }
        let distances = &self.distances[&to];
        let refuse = |what: &str| {
            let (from, to) = (&self.nodes[from], &self.nodes[to]);
            Err(Refused::new(format!(
                "destination: {what} from {from} to {to}"
            )))
        };
        match distances[from] {
            None => return refuse("no route leads"),
            Some((_, hops)) if hops as usize > MAX_HOPS => {
                return refuse(&format!("more than {MAX_HOPS} links lead"));
            }
            Some(_) => {}
        }
        let mut route = vec![];
        let mut node = from;
        while node != to {
            let is_next = |number: &&u32| {
                let link = &self.links[**number as usize];
                let rest = distances[link.to];
                rest.map(|(ns, hops)| (ns.saturating_add(link.delay_ns), hops + 1))
                    == distances[node]
            };
            let equal: Vec<u32> = self.leaving[node].iter().filter(is_next).copied().collect();
            let chosen = match self.ecmp {
                true => mixed(hash ^ node as u64) as usize % equal.len(),
                false => 0,
            };
            route.push(equal[chosen]);
            node = self.links[equal[chosen] as usize].to;
        }
        Ok(route)
    }

    /// Each node's distance to the node `to` (Dijkstra's algorithm, from the destination).
    fn distances(&self, to: usize) -> Vec<Distance> {
        let mut distances: Vec<Distance> = vec![None; self.nodes.len()];
        let mut next = BinaryHeap::from([Reverse(((0, 0), to))]);
        while let Some(Reverse((distance, node))) = next.pop() {
            if distances[node].is_some() {
                continue;
            }
            distances[node] = Some(distance);
            for link in self.entering[node].iter().map(|&n| &self.links[n as usize]) {
                if distances[link.from].is_none() {
                    let ns = distance.0.saturating_add(link.delay_ns);
                    next.push(Reverse(((ns, distance.1 + 1), link.from)));
                }
            }
        }
        distances
    }
}

/// Whether a character can be part of a node's name.
fn is_of_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_' || c == '.'
}

/// Checks the text of one node or of a route: its characters and its length.
///
/// # Errors
/// One line with the text and what is allowed.
pub fn check_nodes(text: &str) -> Result<(), Refused> {
    let longest = (MAX_HOPS + 1) * (MAX_NODE_CHARS + 1);
    let is_allowed = |c: char| is_of_name(c) || c == BETWEEN;
    if text.is_empty() || text.len() > longest || !text.chars().all(is_allowed) {
        let text = shorten(&quoted(text));
        let line = format!("{text} is not allowed; names of nodes, for example a or a-b-c");
        return Err(Refused::new(line));
    }
    Ok(())
}

/// The number of each node by its name, after checking the names.
fn numbered(nodes: &[String]) -> Result<BTreeMap<&str, usize>, Refused> {
    if !(2..=MAX_NODES).contains(&nodes.len()) {
        return Err(Refused::new(format!(
            "nodes: {} is not allowed; 2 to {MAX_NODES} nodes",
            nodes.len()
        )));
    }
    let mut numbers = BTreeMap::new();
    for (number, name) in nodes.iter().enumerate() {
        let refuse = |allowed: String| {
            let name = shorten(&quoted(name));
            Refused::new(format!("nodes[{number}]: {name} is not allowed; {allowed}"))
        };
        if name.is_empty() || name.len() > MAX_NODE_CHARS || !name.chars().all(is_of_name) {
            return Err(refuse(format!(
                "1 to {MAX_NODE_CHARS} letters, digits, underscores or dots"
            )));
        }
        if let Some(other) = numbers.insert(name.as_str(), number) {
            return Err(refuse(format!("nodes[{other}] has this name, too")));
        }
    }
    Ok(numbers)
}

/// Both links between two nodes.
fn pair(nodes: &[String], from: usize, to: usize, delays_ns: (u64, u64)) -> [Link; 2] {
    let link = |from: usize, to: usize, delay_ns| Link {
        name: format!("{}{BETWEEN}{}", nodes[from], nodes[to]),
        from,
        to,
        delay_ns,
    };
    [link(from, to, delays_ns.0), link(to, from, delays_ns.1)]
}

/// A hash of a flow and a direction (0 or 1).
fn hash(seed: u64, flow: u64, way: u64) -> u64 {
    mixed(mixed(seed) ^ (2 * flow + way))
}

/// The finalizer of SplitMix64 (Steele, Lea and Flood 2014).
fn mixed(value: u64) -> u64 {
    let mut z = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}
