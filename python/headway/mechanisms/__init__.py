"""Mechanisms of hosts and routers on a live testbed, each in its own module.

A mechanism is for example Quick-Start or XCP. The kernel backend uses all mechanisms through this
interface and names none of them. It rejects unsupported options, attaches the programs that an
experiment needs, gets the routes' options, and reads counters at the end. ``gateway`` says on which
host a relay's proxy runs, and with which command.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Protocol

from headway.experiment import Experiment
from headway.mechanisms import quick_start, routers


class Ctl(Protocol):
    """The interface to headwayctl that mechanisms use."""

    def run(self, *arguments: str) -> Any:
        """Run a command to its end."""

    def json(self, *arguments: str) -> Any:
        """Run a command and parse the JSON that it prints."""


class Mechanism(Protocol):
    """One mechanism on a testbed. Its programs are removed together with the hosts."""

    name: str

    def attach(self, willing_bps: int | None) -> None:
        """Attach the programs.

        Receivers accept Quick-Start rates up to ``willing_bps``; None: any.
        """

    def route_options(self) -> list[str]:
        """Options that the hosts' routes need for the mechanism, such as a smaller MTU."""

    def read(self) -> None:
        """Read the counters, before the testbed is removed."""

    def meta(self) -> Mapping[str, Any]:
        """Counters for the trace's metadata; empty if the mechanism was not used."""

    def of_flow(self, index: int) -> Mapping[str, Mapping[str, int | str | None]]:
        """Counters of a flow's sender (``headway.trace.FlowSummary.protocols``)."""

    def router_counters(self) -> list[Mapping[str, int | None]]:
        """Rows of the table ``router_counters``."""


_MODULES = (quick_start, routers)


def check(experiment: Experiment, hosts: int) -> None:
    """Raise HeadwayError for options that no mechanism supports with ``hosts`` hosts per side."""
    for module in _MODULES:
        module.check(experiment, hosts)


class Mechanisms:
    """All mechanisms on one testbed."""

    def __init__(self, ctl: Ctl, experiment: Experiment, namespaces: Mapping[str, str]) -> None:
        self._experiment, self._namespaces = experiment, namespaces
        self._all: list[Mechanism] = [
            module.on_testbed(ctl, experiment, namespaces) for module in _MODULES
        ]

    def attach(self, willing_bps: int | None) -> None:
        """Attach all programs that the experiment needs."""
        for one in self._all:
            one.attach(willing_bps)

    def route_options(self) -> list[str]:
        """Options that the hosts' routes need for all mechanisms."""
        return [option for one in self._all for option in one.route_options()]

    def read(self) -> None:
        """Read all counters, before the testbed is removed."""
        for one in self._all:
            one.read()

    def meta(self) -> dict[str, Any]:
        """Counters of the mechanisms that were used, by the mechanism's name."""
        return {one.name: dict(meta) for one in self._all if (meta := one.meta())}

    def of_flow(self, index: int) -> dict[str, dict[str, int | str | None]]:
        """Counters of a flow's sender, by protocol."""
        return {
            protocol: dict(counters)
            for one in self._all
            for protocol, counters in one.of_flow(index).items()
        }

    def watch_command(self) -> list[str]:
        """Arguments of the headwayctl command that watches all routers; empty without routers."""
        links = [link for path in self._experiment.topology.links() for link in path]
        if not any(link.all_routers() for link in links):
            return []
        return routers.watch_command(self._namespaces)

    def router_counters(self, readings: Iterable[Mapping[str, Any]]) -> dict[str, list[int | None]]:
        """Columns of the table ``router_counters``: readings during the run and at its end."""
        rows = routers.watched_counters(self._experiment, self._namespaces, readings)
        rows += [row for one in self._all for row in one.router_counters()]
        names = ("time_ns", "link", "algorithm", "name", "value")
        return {name: [row[name] for row in rows] for name in names}
