"""Mechanisms that hosts and routers of a live testbed take part in, each in its own module.

The kernel backend asks for all of them together and knows none by name: what cannot be done, what
is attached for an experiment, what routes need, and what was counted when it is over. Where a
relay's proxy stands, and what runs it, is in ``gateway``, which both know.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Protocol

from headway.experiment import Experiment
from headway.mechanisms import quick_start, routers


class Ctl(Protocol):
    """What a mechanism asks of headwayctl."""

    def run(self, *arguments: str) -> Any:
        """Runs a command to its end."""

    def json(self, *arguments: str) -> Any:
        """Runs a command and reads the JSON that it prints."""


class Mechanism(Protocol):
    """One mechanism's part in a testbed; it goes with the hosts."""

    name: str

    def attach(self, willing_bps: int | None) -> None:
        """Attach what takes part, which takes up to ``willing_bps`` as a receiver."""

    def route_options(self) -> list[str]:
        """What routes need."""

    def read(self) -> None:
        """Keep what was counted, before the testbed goes."""

    def meta(self) -> Mapping[str, Any]:
        """What was counted, for the trace's meta data; empty: it took no part."""

    def of_flow(self, index: int) -> Mapping[str, Mapping[str, int | str | None]]:
        """What a flow's sender counted (``headway.trace.FlowSummary.protocols``)."""

    def router_counters(self) -> list[Mapping[str, int | None]]:
        """Rows of the table of that name."""


_MODULES = (quick_start, routers)


def check(experiment: Experiment, hosts: int) -> None:
    """Raises HeadwayError for what cannot be done with ``hosts`` hosts on either side."""
    for module in _MODULES:
        module.check(experiment, hosts)


class Mechanisms:
    """All of them on one testbed."""

    def __init__(self, ctl: Ctl, experiment: Experiment, namespaces: Mapping[str, str]) -> None:
        self._experiment, self._namespaces = experiment, namespaces
        self._all: list[Mechanism] = [
            module.on_testbed(ctl, experiment, namespaces) for module in _MODULES
        ]

    def attach(self, willing_bps: int | None) -> None:
        """Attach whatever the experiment asks for."""
        for one in self._all:
            one.attach(willing_bps)

    def route_options(self) -> list[str]:
        """What routes need."""
        return [option for one in self._all for option in one.route_options()]

    def read(self) -> None:
        """Keep what was counted, before the testbed goes."""
        for one in self._all:
            one.read()

    def meta(self) -> dict[str, Any]:
        """What was counted, by mechanism; of those that took part."""
        return {one.name: dict(meta) for one in self._all if (meta := one.meta())}

    def of_flow(self, index: int) -> dict[str, dict[str, int | str | None]]:
        """What a flow's sender counted, by protocol."""
        return {
            protocol: dict(told)
            for one in self._all
            for protocol, told in one.of_flow(index).items()
        }

    def watching(self) -> list[str]:
        """Arguments of headwayctl that reads all routers again and again; none: there are none."""
        links = [link for path in self._experiment.topology.links() for link in path]
        if not any(link.all_routers() for link in links):
            return []
        return routers.watching(self._namespaces)

    def router_counters(self, readings: Iterable[Mapping[str, Any]]) -> dict[str, list[int | None]]:
        """Columns of the table of that name: what was read on the way, and at the end."""
        rows = routers.read_on_the_way(self._experiment, self._namespaces, readings)
        rows += [row for one in self._all for row in one.router_counters()]
        names = ("time_ns", "link", "algorithm", "name", "value")
        return {name: [row[name] for row in rows] for name in names}
