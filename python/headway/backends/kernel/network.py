"""A network on the testbed: one emulator carries all links, and each flow has two hosts of its own.

A packet crosses the links of its flow's route, which the engine finds as for the simulator. Nodes
are not hosts: only the flows' ends are real. A dumbbell has the testbed's two links instead, and a
chain with a relay or with routers has a gateway (``headway.mechanisms.gateway``).
"""

from __future__ import annotations

from headway.backends.kernel.records import Routes
from headway.engine import engine
from headway.errors import HeadwayError
from headway.experiment import Experiment, Link, named_links
from headway.mechanisms import gateway


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
    try:
        engine.check_testbed(experiment.topology.model_dump_json(), len(experiment.flows))
    except ValueError as error:
        raise HeadwayError(f"kernel backend: {error}") from None
