//! Python's class `Graph`: the nodes and links of a topology, and the routes of flows.

use headway_experiment::graph::{self, Ends};
use headway_experiment::path;
use pyo3::prelude::*;

use crate::error::invalid;

/// Raises ValueError if a text cannot name a node, or the nodes of a route.
#[pyfunction]
pub(crate) fn check_nodes(text: &str) -> PyResult<()> {
    graph::check_nodes(text).map_err(invalid)
}

/// Nodes and directed links. Methods that find routes raise ValueError with one line.
#[pyclass(module = "headway._engine")]
pub(crate) struct Graph(graph::Graph);

#[pymethods]
impl Graph {
    /// Routers in a row, from the delays of each hop's forward and reverse link.
    #[staticmethod]
    fn row(delays_ns: Vec<(u64, u64)>) -> Graph {
        Graph(graph::Graph::row(&delays_ns))
    }

    /// Nodes, and for each edge the names of both nodes as "a-b" and its delays.
    #[staticmethod]
    fn network(nodes: Vec<String>, edges: Vec<(String, u64, u64)>, ecmp: bool) -> PyResult<Graph> {
        let made = graph::Graph::network(nodes, &edges, ecmp);
        made.map(Graph).map_err(invalid)
    }

    /// Hosts around a hub, with the delays of their links to the hub and back.
    #[staticmethod]
    fn star(hosts: usize, delays_ns: (u64, u64)) -> PyResult<Graph> {
        let made = graph::Graph::star(hosts, delays_ns);
        made.map(Graph).map_err(invalid)
    }

    /// Leaves, spines, and hosts at each leaf, with the delays of a host's links to its leaf and
    /// back, and of a leaf's links to a spine and back.
    #[staticmethod]
    fn leaf_spine(
        leaves: usize,
        spines: usize,
        hosts: usize,
        host_ns: (u64, u64),
        spine_ns: (u64, u64),
    ) -> PyResult<Graph> {
        let made = graph::Graph::leaf_spine((leaves, spines, hosts), host_ns, spine_ns);
        made.map(Graph).map_err(invalid)
    }

    #[getter]
    fn is_row(&self) -> bool {
        self.0.is_row()
    }

    #[getter]
    fn nodes(&self) -> Vec<String> {
        self.0.nodes().to_vec()
    }

    /// Name, begin and end of each link; the ends are numbers of nodes.
    #[getter]
    fn links(&self) -> Vec<(String, usize, usize)> {
        let links = self.0.links().iter();
        links
            .map(|link| (link.name.clone(), link.from, link.to))
            .collect()
    }

    fn base_rtt_ns(&self, access_delay_ns: u64) -> u64 {
        path::base_rtt_ns(&self.0, access_delay_ns)
    }

    /// The link numbers of a flow's route and of its reverse route.
    #[expect(clippy::too_many_arguments, reason = "the fields of a flow")]
    #[pyo3(signature = (*, from_hop, to_hop, is_reversed, source, destination, route, reverse_route, flow, seed))]
    fn routes(
        &mut self,
        from_hop: usize,
        to_hop: Option<usize>,
        is_reversed: bool,
        source: Option<&str>,
        destination: Option<&str>,
        route: Option<&str>,
        reverse_route: Option<&str>,
        flow: usize,
        seed: u64,
    ) -> PyResult<(Vec<u32>, Vec<u32>)> {
        let ends = Ends {
            from_hop,
            to_hop,
            is_reversed,
            source,
            destination,
            route,
            reverse_route,
        };
        let routes = self.0.routes(&ends, flow, seed).map_err(invalid)?;
        Ok((routes.there, routes.back))
    }
}
