"""A network on the testbed: one emulator carries all links, and each flow has two hosts of its own.

A packet crosses the links of its flow's route, which the engine finds as for the simulator. Nodes
are not hosts: only the flows' ends are real. A dumbbell has the testbed's two links instead, and a
chain with a relay or with routers has a gateway (``headway.mechanisms.gateway``).
"""

from __future__ import annotations

from headway.backends.kernel.records import Routes
from headway.errors import HeadwayError
from headway.experiment import Experiment, Link, Schedule, named_links
from headway.mechanisms import gateway
from headway.units import format_rate

MAX_NODES = 16
"""Most nodes of a network. The emulator's log has one byte for the number of a link, and 16 nodes
have at most 240 links."""
MAX_FLOWS = 100
"""Most flows in a network: the testbed's limit of hosts on each side."""
MAX_BPS = 200_000_000
"""Highest rate of a link in a network. Above it, emulator and programs do without real-time
priority, and the emulator is late for a packet at every link of its route."""


def is_network(experiment: Experiment) -> bool:
    """Whether one emulator carries all links of the experiment, by routes."""
    return experiment.topology.kind != "dumbbell" and not gateway.has_gateway(experiment)


def link_pairs(experiment: Experiment) -> list[tuple[Link, Link]]:
    """The emulator's links, in pairs of both directions; with a gateway only the logged pair."""
    if is_network(experiment):
        return experiment.topology.links()
    return [gateway.links(experiment)]


def link_names(experiment: Experiment) -> tuple[str, ...]:
    """The names of the links that the emulator logs, in the order of their numbers in the log."""
    return tuple(named_links(experiment.topology)) if is_network(experiment) else gateway.LINKS[:2]


def logged_routes(experiment: Experiment) -> Routes:
    """The routes of all flows over the links that the emulator logs."""
    if gateway.has_gateway(experiment):
        return [((0,), (1,))] * len(experiment.flows)
    return list(experiment.all_routes())


def check(experiment: Experiment) -> None:
    """Raise HeadwayError, naming the field, for a network that the testbed does not support."""
    nodes = len(experiment.topology.graph().nodes)
    if nodes > MAX_NODES:
        raise HeadwayError(
            f"kernel backend: topology: {nodes} nodes are not allowed; at most {MAX_NODES}"
        )
    if len(experiment.flows) > MAX_FLOWS:
        raise HeadwayError(
            f"kernel backend: flows: {len(experiment.flows)} are not allowed; at most {MAX_FLOWS} "
            "in a network, where each flow has hosts of its own"
        )
    for name, link in named_links(experiment.topology).items():
        rates_bps = [link.rate]
        if isinstance(link.vary, Schedule):
            rates_bps = [step.rate for step in link.vary.steps]
        if (rate_bps := max(rates_bps)) > MAX_BPS:
            raise HeadwayError(
                f"kernel backend: topology: {name}: rate: {format_rate(rate_bps)} is not allowed; "
                f"at most {format_rate(MAX_BPS)} in a network"
            )
        if routers := link.all_routers():
            raise HeadwayError(
                f"kernel backend: topology: {name}: routers: {routers[0].name} is not allowed; "
                "only a dumbbell and a chain with a gateway can have routers"
            )
