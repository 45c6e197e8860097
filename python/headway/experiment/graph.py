"""Graphs of topologies, which the engine makes. The latest ones are cached."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

from headway.engine import engine

if TYPE_CHECKING:
    from headway._engine import Graph
else:
    Graph = engine.Graph

__all__ = ["Graph", "leaf_spine_graph", "network_graph", "row_graph", "star_graph"]

_ROWS, _NETWORKS = 64, 4
"""Numbers of cached graphs: rows, and networks of each kind. A network keeps the distances between
its nodes, which are up to 100 MB."""


@functools.lru_cache(maxsize=_ROWS)
def row_graph(delays_ns: tuple[tuple[int, int], ...]) -> Graph:
    """Routers in a row, from the delays in ns of each hop's forward and reverse link."""
    return engine.Graph.row(list(delays_ns))


@functools.lru_cache(maxsize=_NETWORKS)
def network_graph(
    nodes: tuple[str, ...], edges: tuple[tuple[str, int, int], ...], ecmp: bool
) -> Graph:
    """Named nodes and edges ("a-b", and the delay in ns in each direction).

    Raises ValueError with a one-line message.
    """
    return engine.Graph.network(list(nodes), list(edges), ecmp)


@functools.lru_cache(maxsize=_NETWORKS)
def star_graph(hosts: int, delays_ns: tuple[int, int]) -> Graph:
    """Hosts around a hub, with the delays in ns of their links to the hub and back.

    Raises ValueError with a one-line message.
    """
    return engine.Graph.star(hosts, delays_ns)


@functools.lru_cache(maxsize=_NETWORKS)
def leaf_spine_graph(
    leaves: int, spines: int, hosts: int, host_ns: tuple[int, int], spine_ns: tuple[int, int]
) -> Graph:
    """Leaves, spines and hosts, with delays in ns: host to leaf and back, leaf to spine and back.

    Raises ValueError with a one-line message.
    """
    return engine.Graph.leaf_spine(leaves, spines, hosts, host_ns, spine_ns)
