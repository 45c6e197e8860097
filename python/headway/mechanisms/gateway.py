"""A gateway between two legs of a path: a chain of two hops, with the relay ``headwayctl pep``.

The testbed's link is the leg behind the gateway in the direction of the data, such as a satellite
link: the second hop, or the first if servers send more than they receive. In the latter case the
testbed is *turned*: clients are the hosts on the right. The proxy keeps addresses and ports of both
ends, so that traffic programs, packet log and sampler work as on a dumbbell. The trace has the two
links of that hop. Without a relay the gateway is a plain router.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from typing import Any

from headway.backends.kernel.headwayctl import Child, Headwayctl
from headway.backends.sim import topology_fields
from headway.errors import HeadwayError
from headway.experiment import Bulk, Control, Exchanges, Experiment, Flow, Link, Relay, Vectors
from headway.experiment.directions import server_sends_more

HOST = "gateway"
NEAR, FAR = "ground", "sat"
"""The gateway's two devices: towards the sender of the data, and towards its receiver (over the
satellite)."""
CONTROL = -1
"""In mappings from flow numbers to controls, the key of the relay's control."""
_OTHER = {"left": "right", "right": "left"}
LINKS = ("forward0", "reverse0", "forward1", "reverse1")


def has_gateway(experiment: Experiment) -> bool:
    """Whether the experiment has a gateway.

    A chain with a relay or with routers needs one. Another chain of two hops has one if all flows
    cross both hops.
    """
    if experiment.topology.kind != "chain":
        return False
    hops = experiment.topology.links()
    flows = experiment.flows
    if any(flow.relay is not None for flow in flows):
        return True
    if any(link.all_routers() for hop in hops for link in hop):
        return True
    return len(hops) == 2 and all(
        _crosses(flow, len(hops)) and flow.direction != "reverse" for flow in flows
    )


def _crosses(flow: Flow, hops: int) -> bool:
    """Whether a flow crosses all hops of a chain."""
    return flow.from_hop == 0 and flow.to_hop in (None, hops)


def is_reversed(experiment: Experiment) -> bool:
    """Whether the clients are on the testbed's right, because servers send more data."""
    return has_gateway(experiment) and any(map(server_sends_more, experiment.flows))


def gateway_precedes_link(experiment: Experiment) -> bool:
    """Whether flows pass the gateway first, and then the testbed's (logged) link."""
    return has_gateway(experiment) and not is_reversed(experiment)


def side(experiment: Experiment, side: str) -> str:
    """The testbed's side for a flow's opener (``side`` "left") or its other end ("right")."""
    return _OTHER[side] if is_reversed(experiment) else side


def links(experiment: Experiment) -> tuple[Link, Link]:
    """The forward and the reverse link of the hop that is the testbed's link."""
    hops = experiment.topology.links()
    forward, reverse = hops[0] if is_reversed(experiment) else hops[-1]
    return (reverse, forward) if is_reversed(experiment) else (forward, reverse)


def link_numbers(experiment: Experiment) -> tuple[int, int]:
    """The numbers in a trace of the testbed's forward and reverse link."""
    if is_reversed(experiment):
        return 1, 0
    return (2, 3) if has_gateway(experiment) else (0, 1)


def captured_link(experiment: Experiment, link: str) -> str:
    """The emulator's name of the link whose packets are captured.

    Raises HeadwayError if the capture is of the leg before the testbed's link.
    """
    if not has_gateway(experiment) or link in ("bottleneck", "hosts"):
        return link
    names = [LINKS[number] for number in link_numbers(experiment)]
    if link not in names:
        raise HeadwayError(
            f"kernel backend: capture.link: {link!r} is not allowed; with a gateway choose from "
            f"bottleneck, {', '.join(names)}"
        )
    return LINKS[names.index(link)]


def fields_of_legs(
    experiment: Experiment,
) -> tuple[Mapping[str, Any], Mapping[str, Any] | None]:
    """The emulator's fields of the testbed's link, and of the leg before it (or None)."""
    links = topology_fields(experiment)["links"]
    both = zip(links[::2], links[1::2], strict=True)
    legs = [{"forward": there, "reverse": back} for there, back in both]
    if not has_gateway(experiment):
        return legs[0], None
    before, last = legs
    if is_reversed(experiment):
        before, last = (
            {"forward": hop["reverse"], "reverse": hop["forward"]} for hop in (last, before)
        )
    return last, before


def relay(experiment: Experiment) -> Relay | None:
    """The relay, which is the same for all flows; None without a proxy."""
    return experiment.flows[0].relay if has_gateway(experiment) else None


def control(experiment: Experiment) -> Control | None:
    """The control of the relay's connections over the testbed's link; None without a proxy."""
    through = relay(experiment)
    return None if through is None else through.control or experiment.flows[0].control


def check(experiment: Experiment) -> None:
    """Raise HeadwayError for a chain that is not a gateway between two legs."""
    hops = experiment.topology.links()
    if len(hops) != 2:
        raise HeadwayError(
            f"kernel backend: topology: {len(hops)} hops are not allowed with relays or routers; "
            "such a chain must have two hops, with a relay or a router between them"
        )
    first = experiment.flows[0]
    for name, flow in zip(experiment.flow_names(), experiment.flows, strict=True):
        if flow.relay != first.relay:
            raise HeadwayError(
                f"kernel backend: relay: must be the same for all flows with a gateway; {name} has "
                "a different relay or none"
            )
        if flow.relay is not None and not isinstance(flow.app, Bulk | Vectors | Exchanges):
            raise HeadwayError(
                f"kernel backend: {name}: a relay is for bulk transfers, vectors and exchanges only"
            )
        if flow.direction == "reverse":
            raise HeadwayError(
                f"kernel backend: {name}: direction: 'reverse' is not allowed with a gateway; "
                "forward"
            )
        if not _crosses(flow, len(hops)):
            raise HeadwayError(
                f"kernel backend: {name}: with a gateway, flows must cross both hops"
            )
        if server_sends_more(flow) != server_sends_more(first):
            raise HeadwayError(
                f"kernel backend: {name}: with a gateway, either all clients or all servers must "
                "send more than they receive"
            )
    if experiment.capture is not None:
        captured_link(experiment, experiment.capture.link)
    ahead = links(experiment)[0]
    every = [link for hop in hops for link in hop]
    if any(link.routers for link in every if link is not ahead):
        raise HeadwayError(
            "kernel backend: routers: with a gateway, only the link from the gateway to the data's "
            "receiver can have routers: the second hop's forward link, or the first hop's reverse "
            "link if servers send more than clients"
        )
    if any(link.quick_start for link in every):
        raise HeadwayError(
            "kernel backend: quick_start: not possible with a gateway: the emulator does not "
            "decrease the IP TTL, so hosts cannot notice a router without Quick-Start"
        )


class Proxy:
    """The proxy on the gateway, for as long as the context lasts."""

    def __init__(
        self, ctl: Headwayctl, name: str, command: list[str], *, is_reversed: bool = False
    ) -> None:
        self._ctl = ctl
        self._clients, self._servers = (FAR, NEAR) if is_reversed else (NEAR, FAR)
        self._controlled = "--client-cc" if is_reversed else "--server-cc"
        self._name = name
        self._command = command
        self._child: Child | None = None

    def start(self, control: str) -> None:
        """Start the proxy, and wait until it accepts connections. Raises HeadwayError."""
        self._child = Child(
            [*self._command, self._ctl.path, "pep", "run", "--name", self._name,
             "--client-dev", self._clients, "--server-dev", self._servers,
             self._controlled, control],
            "proxy",
        )  # fmt: skip
        self._child.wait_ready(f"proxy {self._name} takes")

    def check(self) -> None:
        """Raise HeadwayError if the proxy has ended."""
        if self._child is not None and self._child.ended():
            self._child.result(1.0)
            raise HeadwayError("proxy: ended before the run did")

    def kill(self) -> None:
        """Stop the proxy, or kill the proxy if it does not stop; a second call does nothing."""
        if self._child is None:
            return
        if not self._child.ended():
            with contextlib.suppress(HeadwayError):
                self._ctl.run("pep", "stop", self._name, "--within", "0s")
        self._child.kill()
        self._child = None
