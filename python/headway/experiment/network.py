"""Networks: any graph of nodes and links."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import Any, Literal, Self

from pydantic import Field, field_validator, model_validator

from headway.engine import engine
from headway.errors import ExperimentError
from headway.experiment.apps import Transfers
from headway.experiment.flow import Flow
from headway.experiment.graph import Graph, leaf_spine_graph, network_graph, star_graph
from headway.experiment.path import Chain, Dumbbell, Hop, Link
from headway.spec import (
    Given,
    Rate,
    Spec,
    Time,
    Written,  # noqa: F401 - see Given
    default,
)
from headway.units import NS_PER_S


class Edge(Hop):
    """Two links that join two nodes, one in each direction.

    ``between`` names the nodes, written "a-b" or as a pair. ``forward`` leads from the first node
    to the second. ``reverse`` None mirrors it as a dumbbell's does. Traces name the links "a-b" and
    "b-a".
    """

    between: Given[str, str | tuple[str, str]]

    @field_validator("between", mode="before")
    @classmethod
    def _join(cls, value: Any) -> Any:
        if isinstance(value, tuple | list) and len(value) == 2:
            return "-".join(map(str, value))
        return value


class Network(Spec):
    """Nodes, and edges that join them. Each flow has a ``source`` and a ``destination`` node.

    A flow takes the route with the shortest propagation delay in each direction, or its own
    ``route`` and ``reverse_route``. Of routes with the same delay it takes the one with the fewest
    links, and of these the first by the names of its nodes. With ``ecmp`` a hash of the flow and
    the seed chooses among the routes with the same delay and number of links. Hosts have access
    links to their nodes, as in a dumbbell.
    """

    kind: Literal["network"] = "network"
    nodes: Given[tuple[str, ...], Sequence[str]] = Field(min_length=2, max_length=engine.MAX_NODES)
    edges: Given[tuple[Edge, ...], Sequence[Edge]] = Field(
        min_length=1, max_length=engine.MAX_EDGES
    )
    ecmp: bool = False
    access_rate: Rate = default(10**9)
    access_delay: Time = default(0)

    @model_validator(mode="after")
    def _check_names(self) -> Self:
        self.graph()
        return self

    def links(self) -> list[tuple[Link, Link]]:
        """Each edge's forward and reverse link."""
        return [edge.links() for edge in self.edges]

    def graph(self) -> Graph:
        """The nodes and links, which find the routes of flows."""
        edges = tuple((edge.between, *_delays_ns(edge)) for edge in self.edges)
        return network_graph(self.nodes, edges, self.ecmp)


class Star(Spec):
    """Hosts "host0", "host1", ... around a node "hub", each with one edge: incast.

    ``edge`` leads from a host to the hub. A flow without ``source`` and ``destination`` leads to
    "host0": the first one from "host1", the second one from "host2", and so on.
    """

    kind: Literal["star"] = "star"
    hosts: int = Field(ge=1, le=engine.MAX_NODES)
    edge: Hop
    access_rate: Rate = default(10**9)
    access_delay: Time = default(0)

    @model_validator(mode="after")
    def _check_numbers(self) -> Self:
        self.graph()
        return self

    def links(self) -> list[tuple[Link, Link]]:
        """For each host, its link to the hub and the one back."""
        return [self.edge.links()] * self.hosts

    def graph(self) -> Graph:
        """The nodes and links, which find the routes of flows."""
        return star_graph(self.hosts, _delays_ns(self.edge))


class LeafSpine(Spec):
    """A network of two layers: each of the ``leaves`` has an edge to each of the ``spines``.

    Each leaf also has ``hosts`` hosts of its own; the nodes are "leaf0", "spine0", "host0" and so
    on, and hosts 0 to ``hosts`` - 1 are at leaf 0. ``host_edge`` leads from a host to its leaf,
    ``spine_edge`` from a leaf to a spine. A hash of the flow and the seed chooses its spine in each
    direction (ECMP).
    """

    kind: Literal["leaf-spine"] = "leaf-spine"
    leaves: int = Field(ge=1, le=engine.MAX_NODES)
    spines: int = Field(ge=1, le=engine.MAX_NODES)
    hosts: int = Field(ge=1, le=engine.MAX_NODES)
    host_edge: Hop
    spine_edge: Hop
    access_rate: Rate = default(10**9)
    access_delay: Time = default(0)

    @model_validator(mode="after")
    def _check_numbers(self) -> Self:
        self.graph()
        return self

    def links(self) -> list[tuple[Link, Link]]:
        """The links of each host's edge, then those between each leaf and each spine."""
        of_hosts = [self.host_edge.links()] * (self.leaves * self.hosts)
        return of_hosts + [self.spine_edge.links()] * (self.leaves * self.spines)

    def graph(self) -> Graph:
        """The nodes and links, which find the routes of flows."""
        edges = (_delays_ns(self.host_edge), _delays_ns(self.spine_edge))
        return leaf_spine_graph(self.leaves, self.spines, self.hosts, *edges)


Topology = Dumbbell | Chain | Network | Star | LeafSpine
"""The network between the hosts."""


def _delays_ns(hop: Hop) -> tuple[int, int]:
    there, back = hop.links()
    return there.delay, back.delay


def named_links(topology: Topology) -> dict[str, Link]:
    """The links by their names in traces: "forward0", "reverse0", ..., or in a network "a-b"."""
    names = (name for name, _, _ in topology.graph().links)
    return dict(zip(names, chain.from_iterable(topology.links()), strict=True))


def all_to_all(flow: Flow | str, hosts: Sequence[str]) -> list[Flow]:
    """Flows of transfers from each of ``hosts`` to each other one, in the order of the hosts.

    ``flow`` describes what one host sends: its load or arrivals are divided among the other hosts.
    Without a name the flows are one group of their control. Raises ExperimentError for a flow
    without transfers, with think times, or for fewer than two hosts.
    """
    made = Flow.model_validate(flow)
    app = made.app
    if not isinstance(app, Transfers) or app.think is not None:
        raise ExperimentError(f"flow: {app.kind} is not allowed; transfers with load or arrivals")
    if len(hosts) < 2:
        raise ExperimentError(f"hosts: {len(hosts)} are not allowed; at least 2")
    others = len(hosts) - 1
    change: dict[str, object] = {}
    if app.load is not None:
        change["load"] = app.load / others
    if app.arrivals is not None:
        change["arrivals"] = f"{NS_PER_S / engine.parse_arrivals(app.arrivals) / others:.12g}/s"
    app = Transfers.model_validate({**app.model_dump(mode="json"), **change})
    return [
        made.model_copy(update={"app": app, "source": one, "destination": other})
        for one in hosts
        for other in hosts
        if one != other
    ]


def routes_of(graph: Graph, flow: Flow, number: int, seed: int) -> tuple[list[int], list[int]]:
    """Numbers of the links from a flow's opener to its other end, and of those back.

    ``number`` is the flow's number. Raises ValueError, which names the flow's field.
    """
    most = engine.MAX_HOPS + 1  # the engine refuses this and all larger numbers
    return graph.routes(
        from_hop=min(flow.from_hop, most),
        to_hop=None if flow.to_hop is None else min(flow.to_hop, most),
        is_reversed=flow.direction == "reverse",
        source=flow.source,
        destination=flow.destination,
        route=flow.route,
        reverse_route=flow.reverse_route,
        flow=number,
        seed=seed,
    )
