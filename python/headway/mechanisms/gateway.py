"""A gateway between two legs: relays of a chain of two hops, as ``headwayctl pep`` does them.

The first hop is the leg before the gateway, the second the testbed's link. Both ends of what the
proxy splits keep their addresses and ports, so that programs, log and sampler are those of a
dumbbell; the trace's links are the second hop's two.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from typing import Any

from headway.backends.kernel.headwayctl import Child, Headwayctl
from headway.errors import HeadwayError
from headway.experiment import Bulk, Control, Experiment, Link

HOST = "gateway"
NEAR, FAR = "ground", "sat"
"""Its devices: towards the senders, and towards the receivers."""
CONTROL = -1
"""Among the numbers of flows, that of the relay's control."""
LINKS = ("forward0", "reverse0", "forward1", "reverse1")


def is_between(experiment: Experiment) -> bool:
    """Whether there is one."""
    return experiment.topology.kind == "chain"


def links_before(experiment: Experiment) -> int:
    """Numbers of links that are not logged: those of the hop before the gateway."""
    return 2 if is_between(experiment) else 0


def links(experiment: Experiment) -> Sequence[Link]:
    """Those of the testbed's link, forward and reverse, with or without a gateway."""
    return experiment.topology.links()[-1]


def fields_of_link(fields: Mapping[str, Any]) -> Mapping[str, Any]:
    """Of a topology's, those of the hop that the testbed's link is."""
    last: Mapping[str, Any] = fields["hops"][-1] if "hops" in fields else fields
    return last


def control(experiment: Experiment) -> Control | None:
    """What controls the relay's connections; None without a gateway."""
    if not is_between(experiment):
        return None
    flow = experiment.flows[0]
    return (flow.relay and flow.relay.control) or flow.control


def check(experiment: Experiment) -> None:
    """Raises HeadwayError for a chain that is no gateway between two legs."""
    prefix = "kernel backend: topology: a chain is possible only of two hops with a relay between"
    if len(experiment.topology.links()) != 2:
        raise HeadwayError(f"{prefix} them")
    first = experiment.flows[0].relay
    for name, flow in zip(experiment.flow_names(), experiment.flows, strict=True):
        if flow.relay is None or flow.relay != first:
            raise HeadwayError(f"{prefix} them, the same for all flows; {name} has another or none")
        if not isinstance(flow.app, Bulk):
            raise HeadwayError(f"kernel backend: {name}: a relay is for bulk transfers only")
    before, (_, back) = experiment.topology.links()
    if any(link.routers for link in (*before, back)):
        raise HeadwayError(
            "kernel backend: routers: with a relay possible only where its data leaves, in the "
            "second hop's forward link"
        )


class Proxy:
    """The proxy on the gateway, for as long as the context lasts."""

    def __init__(self, ctl: Headwayctl, name: str, command: list[str]) -> None:
        self._ctl = ctl
        self._name = name
        self._command = command
        self._child: Child | None = None

    def start(self, control: str) -> None:
        """Begin to take connections. Raises HeadwayError."""
        self._child = Child(
            [*self._command, self._ctl.path, "pep", "run", "--name", self._name,
             "--client-dev", NEAR, "--server-dev", FAR, "--server-cc", control],
            "proxy",
        )  # fmt: skip
        self._child.wait_ready(f"proxy {self._name} takes")

    def check(self) -> None:
        """Raises HeadwayError if it has ended."""
        if self._child is not None and self._child.ended():
            self._child.result(1.0)
            raise HeadwayError("proxy: ended before the run did")

    def kill(self) -> None:
        """End it, in order where that is possible; harmless the second time."""
        if self._child is None:
            return
        if not self._child.ended():
            with contextlib.suppress(HeadwayError):
                self._ctl.run("pep", "stop", self._name, "--within", "0s")
        self._child.kill()
        self._child = None
