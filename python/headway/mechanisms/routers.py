"""A link's router algorithms, as programs at the devices of the hosts that send into it.

The emulator has no routers: what is about to enter a link passes the program at its sender's
device, one for all senders of a link, as in the simulator all of them pass the router before it.
The program's queue is a virtual one of the link's rate and room. Where a control owns a header,
hosts let it out whole: in the two ECN bits, and in ACKs that are full of SACK blocks.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from headway.errors import HeadwayError
from headway.experiment import Experiment, Flow
from headway.mechanisms import gateway
from headway.mechanisms.counters import counter_rows
from headway.registry import registry

if TYPE_CHECKING:
    from headway.mechanisms import Ctl

_DEVICE = "hw0"
_SIDES = ("left", "right")
"""Who sends into the forward and into the reverse link, where no gateway does."""


def sends_header(flow: Flow) -> bool:
    """Whether the flow's control owns a header, which all its packets with data carry."""
    control = flow.control
    if control is None or control.kernel_own is not None:
        return False
    return registry().control(control.name).header is not None


def check(experiment: Experiment, hosts: int) -> None:  # noqa: ARG001
    """Raises HeadwayError for what cannot be done, with any number of ``hosts``."""
    for link in gateway.links(experiment):
        if link.routers and link.vary is not None:
            raise HeadwayError(
                "kernel backend: routers: not possible before a link that varies; they are told "
                "one rate"
            )
    first: dict[str, str] = {}
    for control in (flow.control for flow in experiment.flows if sends_header(flow)):
        assert control is not None
        written = control.model_dump_json()
        if first.setdefault(control.name, written) != written:
            raise HeadwayError(
                f"kernel backend: {control.name}: its header is sent by one control at a time, so "
                "flows may not differ in its tunables or startup"
            )


class Routers:
    """What takes part on the hosts of a testbed; it goes with them."""

    name = "routers"

    def __init__(self, ctl: Ctl, experiment: Experiment, namespaces: Mapping[str, str]) -> None:
        self._ctl = ctl
        self._experiment = experiment
        self._namespaces = namespaces
        self._status: list[dict[str, Any] | None] = []
        self._headers: list[Mapping[str, Any]] = []

    def _senders(self, side: str) -> tuple[list[str], str]:
        """The namespaces of who sends, and their device."""
        if side == "left" and gateway.HOST in self._namespaces:
            return [self._namespaces[gateway.HOST]], gateway.FAR
        namespaces = self._namespaces.items()
        return [netns for host, netns in namespaces if host.startswith(side)], _DEVICE

    def attach(self, willing_bps: int | None) -> None:  # noqa: ARG002
        """Hosts let headers out whole; then both links get their routers, in order."""
        if any(map(sends_header, self._experiment.flows)):
            for netns in self._namespaces.values():
                self._ctl.run("host", "headers", "--netns", netns, "--dev", _DEVICE)
        lowered, _ = gateway.fields_of_legs(self._experiment)
        for way, side, link in zip(
            ("forward", "reverse"), _SIDES, gateway.links(self._experiment), strict=True
        ):
            if not link.routers:
                continue
            senders, device = self._senders(side)
            at = [part for netns in senders for part in ("--netns", netns)]
            room = lowered[way].get("limit_bytes")
            for router in link.routers:
                settings = [f"--set={name}={value}" for name, value in router.tunables.items()]
                self._ctl.run(
                    "router", "attach", router.name, *at, "--dev", device,
                    "--rate", f"{link.rate}bit", *(["--queue", f"{room}B"] if room else []),
                    *settings,
                )  # fmt: skip

    def route_options(self) -> list[str]:
        """What routes need: nothing; TCP itself makes room for its options."""
        return []

    def read(self) -> None:
        """Keep what was counted, before the testbed goes."""
        if not any(link.routers for link in gateway.links(self._experiment)):
            return
        status = self._ctl.json("status", "--json")
        places = link_places(self._experiment, self._namespaces)
        numbers = gateway.link_numbers(self._experiment)
        for number, link in zip(numbers, gateway.links(self._experiment), strict=True):
            for router in link.routers:
                name = registry().router(router.name).name
                found = (
                    one
                    for one in status["routers"]
                    if one["name"] == name and places.get(one["place"]) == number
                )
                told = next(found, None)
                self._status.append(told and {"link": number, **told})
        self._headers = status["endpoints"]

    def meta(self) -> Mapping[str, Any]:
        """What routers and endpoints counted, by the names that they declare."""
        if not self._status:
            return {}
        return {"links": self._status, "headers": self._headers}

    def of_flow(self, index: int) -> Mapping[str, Mapping[str, int | str | None]]:
        """That a flow's fall-backs are not known: endpoints count what all of a control did."""
        flow = self._experiment.flows[index]
        if flow.control is None or not sends_header(flow):
            return {}
        return {flow.control.name: {"fall_backs": None}}

    def router_counters(self) -> list[Mapping[str, int | None]]:
        """What the routers counted, at the end of the run."""
        end_ns = self._experiment.duration
        return [
            row
            for router in self._status
            if router is not None
            for row in counter_rows(
                self._experiment, end_ns, router["link"], router["name"], router["counters"]
            )
        ]


def link_places(experiment: Experiment, namespaces: Mapping[str, str]) -> dict[str, int]:
    """The link that each host's device sends into."""
    if gateway.HOST in namespaces:
        return {
            f"{namespaces[gateway.HOST]}:{gateway.FAR}": gateway.link_numbers(experiment)[0],
        }
    return {
        f"{netns}:{_DEVICE}": number
        for number, side in enumerate(_SIDES)
        for host, netns in namespaces.items()
        if host.startswith(side)
    }


def read_on_the_way(
    experiment: Experiment, namespaces: Mapping[str, str], readings: Iterable[Mapping[str, Any]]
) -> list[Mapping[str, int | None]]:
    """Rows of router_counters from what ``headwayctl router watch`` read, times as it has them."""
    links = link_places(experiment, namespaces)
    return [
        row
        for one in readings
        for row in counter_rows(
            experiment, one["time_ns"], links[one["place"]], one["name"], one["counters"]
        )
    ]


def watching(namespaces: Mapping[str, str]) -> list[str]:
    """Arguments of headwayctl that reads the routers of these hosts again and again."""
    if gateway.HOST in namespaces:
        return ["router", "watch", "--dev", gateway.FAR, "--netns", namespaces[gateway.HOST]]
    at = [part for netns in namespaces.values() for part in ("--netns", netns)]
    return ["router", "watch", "--dev", _DEVICE, *at]


def on_testbed(ctl: Ctl, experiment: Experiment, namespaces: Mapping[str, str]) -> Routers:
    """Its part in a testbed."""
    return Routers(ctl, experiment, namespaces)
