//! Routes through graphs: shortest delays, given routes, hashes over equal routes, and the errors
//! for invalid networks.

use headway_experiment::graph::{Ends, Graph, Routes};
use proptest::prelude::*;
use std::collections::BTreeSet;

const MS: u64 = 1_000_000;

fn network(nodes: &str, links: &[(&str, u64)]) -> Result<Graph, String> {
    let nodes = nodes.split_whitespace().map(str::to_owned).collect();
    let links: Vec<_> = links
        .iter()
        .map(|(between, ms)| ((*between).to_owned(), ms * MS, ms * MS))
        .collect();
    Graph::network(nodes, &links, false).map_err(|e| e.to_string())
}

/// A way over b of 3 ms, one over c of 2 ms, and a direct link of 9 ms.
fn diamond() -> Graph {
    let links = [("a-b", 1), ("b-d", 2), ("a-c", 1), ("c-d", 1), ("a-d", 9)];
    network("a b c d", &links).unwrap()
}

fn between<'a>(source: &'a str, destination: &'a str) -> Ends<'a> {
    Ends {
        source: Some(source),
        destination: Some(destination),
        ..Ends::default()
    }
}

/// The names of a route's links.
fn names(graph: &Graph, route: &[u32]) -> String {
    let name = |&number: &u32| graph.links()[number as usize].name.as_str();
    route.iter().map(name).collect::<Vec<_>>().join(" ")
}

#[test]
fn the_shortest_delay_determines_a_route_in_both_directions() {
    let mut graph = diamond();
    let routes = graph.routes(&between("a", "d"), 0, 1).unwrap();
    assert_eq!(names(&graph, &routes.there), "a-c c-d");
    assert_eq!(names(&graph, &routes.back), "d-c c-a");
    assert_eq!(graph.base_rtt_ns(), 2 * 2 * MS);
}

#[test]
fn of_equal_delays_the_fewest_links_count_and_then_the_names() {
    let shortcut = [("a-b", 1), ("b-d", 1), ("a-d", 2)];
    let mut graph = network("a b d", &shortcut).unwrap();
    let routes = graph.routes(&between("a", "d"), 0, 1).unwrap();
    assert_eq!(names(&graph, &routes.there), "a-d");
    let equal = [("a-z", 1), ("z-d", 1), ("a-c", 1), ("c-d", 1)];
    let mut graph = network("a z c d", &equal).unwrap();
    let routes = graph.routes(&between("a", "d"), 0, 1).unwrap();
    assert_eq!(names(&graph, &routes.there), "a-c c-d");
}

#[test]
fn a_given_route_replaces_the_shortest_one_in_its_direction_only() {
    let mut graph = diamond();
    let ends = Ends {
        route: Some("a-b-d"),
        ..between("a", "d")
    };
    let routes = graph.routes(&ends, 0, 1).unwrap();
    assert_eq!(names(&graph, &routes.there), "a-b b-d");
    assert_eq!(names(&graph, &routes.back), "d-c c-a");
}

#[test]
fn a_row_routes_between_hops_and_can_be_crossed_backwards() {
    let mut row = Graph::row(&[(1, 2), (3, 4), (5, 6)]);
    assert_eq!((row.base_rtt_ns(), row.links().len()), (21, 6));
    let mut ends = Ends {
        from_hop: 1,
        ..Ends::default()
    };
    let routes = row.routes(&ends, 0, 1).unwrap();
    let expected = Routes {
        there: vec![2, 4],
        back: vec![5, 3],
    };
    assert_eq!(routes, expected);
    assert_eq!(names(&row, &routes.there), "forward1 forward2");
    let (near, beyond) = routes.split(1);
    assert_eq!((near.there, near.back), (vec![2], vec![3]));
    assert_eq!((beyond.there, beyond.back), (vec![4], vec![5]));
    ends.is_reversed = true;
    let reversed = row.routes(&ends, 0, 1).unwrap();
    assert_eq!(
        (reversed.there, reversed.back),
        (expected.back, expected.there)
    );
}

#[test]
fn a_leaf_spine_spreads_flows_over_all_spines_by_a_hash() {
    let mut graph = Graph::leaf_spine((4, 4, 2), (MS, MS), (MS, MS)).unwrap();
    assert_eq!(graph.nodes().len(), 4 + 4 + 8);
    assert_eq!(graph.links().len(), 2 * (8 + 16));
    assert_eq!(graph.base_rtt_ns(), 8 * MS);
    let mut used = BTreeSet::new();
    let mut both_ways = BTreeSet::new();
    for flow in 0..64 {
        let routes = graph.routes(&between("host0", "host7"), flow, 1).unwrap();
        assert_eq!((routes.there.len(), routes.back.len()), (4, 4));
        used.insert(names(&graph, &routes.there[1..3]));
        both_ways.insert((routes.there[1], routes.back[1]));
        let again = graph.routes(&between("host0", "host7"), flow, 1).unwrap();
        assert_eq!(routes, again);
    }
    assert_eq!(used.len(), 4, "{used:?}");
    assert!(both_ways.len() > 8, "the directions are hashed separately");
    let near = graph.routes(&between("host0", "host1"), 0, 1).unwrap();
    assert_eq!(names(&graph, &near.there), "host0-leaf0 leaf0-host1");
}

#[test]
fn a_star_has_its_hosts_around_one_hub() {
    let mut graph = Graph::star(8, (MS, 2 * MS)).unwrap();
    let routes = graph.routes(&between("host7", "host0"), 0, 1).unwrap();
    assert_eq!(names(&graph, &routes.there), "host7-hub hub-host0");
    assert_eq!(graph.base_rtt_ns(), 6 * MS);
    let of_flow = |flow| graph.routes(&Ends::default(), flow, 1).unwrap().there;
    let routes: Vec<_> = (0..8).map(of_flow).collect();
    assert_eq!(names(&graph, &routes[0]), "host1-hub hub-host0");
    assert_eq!(names(&graph, &routes[6]), "host7-hub hub-host0");
    assert_eq!(routes[7], routes[0]);
}

#[test]
fn the_number_of_hosts_is_limited() {
    let star = |hosts| Graph::star(hosts, (1, 1)).unwrap_err().to_string();
    assert_eq!(star(1), "hosts: 1 is not allowed; 2 to 2047 hosts");
    assert_eq!(star(2048), "hosts: 2048 is not allowed; 2 to 2047 hosts");
    let fabric = |numbers| {
        let made = Graph::leaf_spine(numbers, (1, 1), (1, 1));
        made.unwrap_err().to_string()
    };
    assert_eq!(fabric((4, 0, 4)), "spines: 0 is not allowed; 1 to 2048");
    assert_eq!(
        fabric((128, 64, 16)),
        "leaves: 128 with 64 spines and 16 hosts each have 2240 nodes and 10240 edges; at most 2048 \
         and 8192"
    );
}

#[test]
fn an_invalid_network_is_refused_with_the_field_and_its_value() {
    for (nodes, links, line) in [
        (
            "a",
            vec![("a-a", 1)],
            "nodes: 1 is not allowed; 2 to 2048 nodes",
        ),
        (
            "a b a",
            vec![("a-b", 1)],
            "nodes[2]: 'a' is not allowed; nodes[0] has this name, too",
        ),
        (
            "a b-c",
            vec![("a-b", 1)],
            "nodes[1]: 'b-c' is not allowed; 1 to 40 letters, digits",
        ),
        ("a b", vec![], "edges: 0 is not allowed; 1 to 8192 edges"),
        (
            "a b",
            vec![("ab", 1)],
            "edges[0].between: 'ab' is not allowed; two nodes",
        ),
        (
            "a b",
            vec![("a-c", 1)],
            "edges[0].between: 'a-c' is not allowed; nodes has no 'c'",
        ),
        (
            "a b",
            vec![("b-b", 1)],
            "edges[0].between: 'b-b' is not allowed; an edge joins two",
        ),
        (
            "a b",
            vec![("a-b", 1), ("b-a", 2)],
            "edges[1].between: 'b-a' is not allowed; another edge joins these nodes",
        ),
    ] {
        let error = network(nodes, &links).unwrap_err();
        assert!(error.starts_with(line), "{error}");
    }
}

#[test]
fn an_invalid_flow_is_refused_with_the_field_and_its_value() {
    let mut links = vec![("a-b", 1), ("b-c", 1), ("c-a", 1), ("x-y", 1)];
    let mut graph = network("a b c x y", &links).unwrap();
    let mut refused = |ends: Ends| graph.routes(&ends, 0, 1).unwrap_err().to_string();
    let with = |route| Ends {
        route: Some(route),
        ..between("a", "c")
    };
    for (ends, line) in [
        (between("a", "x"), "destination: no route leads from a to x"),
        (
            between("a", "a"),
            "destination: 'a' is not allowed; it is the source, too",
        ),
        (
            between("a", "q"),
            "destination: 'q' is not a node; allowed: a, b, c, x, y",
        ),
        (
            Ends::default(),
            "source: is missing; a flow in a network needs it",
        ),
        (
            with("a-b-a-c"),
            "route: 'a-b-a-c' is not allowed; it passes a twice",
        ),
        (
            with("a-x-c"),
            "route: 'a-x-c' is not allowed; no edge joins a and x",
        ),
        (
            with("a-b"),
            "route: 'a-b' is not allowed; it must lead from a to c",
        ),
        (
            with("a-?-c"),
            "route: 'a-?-c' is not allowed; '?' is not a node",
        ),
        (
            Ends {
                to_hop: Some(1),
                ..between("a", "c")
            },
            "to_hop: only a chain has hops; give source and destination",
        ),
        (
            Ends {
                is_reversed: true,
                ..between("a", "c")
            },
            "direction: 'reverse' is not allowed; swap source and destination",
        ),
    ] {
        assert_eq!(refused(ends), line);
    }
    let long: Vec<String> = (0..66).map(|node| format!("n{node}")).collect();
    let row: Vec<String> = (0..65).map(|n| format!("n{n}-n{}", n + 1)).collect();
    links = row.iter().map(|name| (name.as_str(), 1)).collect();
    let mut graph = network(&long.join(" "), &links).unwrap();
    let error = graph.routes(&between("n0", "n65"), 0, 1).unwrap_err();
    assert_eq!(
        error.to_string(),
        "destination: more than 64 links lead from n0 to n65"
    );
    let mut row = Graph::row(&[(1, 1)]);
    let mut refused = |ends: Ends| row.routes(&ends, 0, 1).unwrap_err().to_string();
    assert_eq!(
        refused(between("a", "b")),
        "source: 'a' is not allowed; only a network has named nodes"
    );
    assert_eq!(
        refused(Ends {
            from_hop: 1,
            ..Ends::default()
        }),
        "from_hop: 1 is not allowed; must be less than to_hop, 1"
    );
    assert_eq!(
        refused(Ends {
            to_hop: Some(2),
            ..Ends::default()
        }),
        "to_hop: 2 is not allowed; at most 1"
    );
}

/// The delay of the shortest route, by Floyd and Warshall's algorithm.
fn shortest_ns(graph: &Graph) -> Vec<Vec<Option<u64>>> {
    let n = graph.nodes().len();
    let mut all = vec![vec![None; n]; n];
    (0..n).for_each(|node| all[node][node] = Some(0));
    for link in graph.links() {
        all[link.from][link.to] = Some(link.delay_ns);
    }
    for via in 0..n {
        for from in 0..n {
            for to in 0..n {
                if let (Some(near), Some(far)) = (all[from][via], all[via][to]) {
                    let known = all[from][to].unwrap_or(u64::MAX);
                    all[from][to] = Some(known.min(near + far));
                }
            }
        }
    }
    all
}

proptest! {
    /// In any graph, a route is connected, crosses no node twice and has the shortest delay, with
    /// and without a hash.
    #[test]
    fn routes_are_connected_and_shortest(
        n in 2usize..9,
        links in prop::collection::vec((0usize..9, 0usize..9, 0u64..4, 0u64..4), 1..20),
        ecmp in any::<bool>(), flow in 0usize..5,
    ) {
        let nodes: Vec<String> = (0..n).map(|node| format!("n{node}")).collect();
        let mut known = BTreeSet::new();
        let links: Vec<_> = links
            .into_iter()
            .filter(|(a, b, ..)| a != b && *a < n && *b < n && known.insert((*a.min(b), *a.max(b))))
            .map(|(a, b, there, back)| (format!("n{a}-n{b}"), there, back))
            .collect();
        prop_assume!(!links.is_empty());
        let mut graph = Graph::network(nodes, &links, ecmp).unwrap();
        for (from, expected) in shortest_ns(&graph).into_iter().enumerate() {
            for (to, expected) in expected.into_iter().enumerate().filter(|(to, _)| *to != from) {
                let (source, destination) = (format!("n{from}"), format!("n{to}"));
                let routes = graph.routes(&between(&source, &destination), flow, 7);
                let Some(delay_ns) = expected else {
                    prop_assert!(routes.is_err());
                    continue;
                };
                let there = routes.unwrap().there;
                let mut at = from;
                let mut passed = BTreeSet::from([from]);
                let mut sum_ns = 0;
                for number in there {
                    let link = &graph.links()[number as usize];
                    prop_assert_eq!(link.from, at);
                    at = link.to;
                    prop_assert!(passed.insert(at));
                    sum_ns += link.delay_ns;
                }
                prop_assert_eq!((at, sum_ns), (to, delay_ns));
            }
        }
    }

    /// Any text as names and routes is accepted or refused with one line.
    #[test]
    fn any_text_is_refused_with_one_line(
        name in "\\PC{0,9}|[a-c-]{0,5}", between_nodes in "\\PC{0,9}|[a-c-]{0,5}",
        route in "\\PC{0,9}|[a-c-]{0,9}", source in "[a-d]?",
    ) {
        let nodes = vec!["a".to_owned(), "b".to_owned(), name];
        let links = [(between_nodes, 1, 1), ("a-b".to_owned(), 1, 1)];
        let line = match Graph::network(nodes, &links, true) {
            Err(error) => error.to_string(),
            Ok(mut graph) => {
                let ends = Ends { route: Some(&route), ..between(&source, "b") };
                match graph.routes(&ends, 0, 1) {
                    Err(error) => error.to_string(),
                    Ok(_) => "accepted".to_owned(),
                }
            }
        };
        prop_assert!(!line.is_empty() && !line.contains('\n'), "{line:?}");
    }
}
