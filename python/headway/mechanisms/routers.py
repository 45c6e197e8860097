"""A link's router algorithms, as programs at the devices of the hosts that send into it.

The emulator has no routers. Packets that enter a link pass a program at their sender's device
instead. All senders of a link share one program, as they share the router in front of the link in
the simulator. The program's queue is virtual, with the link's rate and limit. If a control has a
protocol header, another program at the devices lets hosts send the header in the two ECN bits, and
in ACKs that are full of SACK blocks.
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
"""The sides whose hosts send into the forward and the reverse link, without a gateway."""

_PACKET_BYTES = 1500
"""A virtual queue's limit is in bytes. One in packets counts as so many full packets."""


def sends_header(flow: Flow) -> bool:
    """Whether the flow's control has a protocol header, which all its data packets carry."""
    control = flow.control
    if control is None or control.kernel_own is not None:
        return False
    return registry().control(control.name).header is not None


def check(experiment: Experiment, hosts: int) -> None:  # noqa: ARG001
    """Raise HeadwayError for what routers do not support, with any number of ``hosts``."""
    for link in gateway.links(experiment):
        if link.routers and link.vary is not None:
            raise HeadwayError(
                "kernel backend: routers: not possible at a link that varies; routers are given "
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
    """The router programs on the hosts of a testbed; they are removed with the hosts."""

    name = "routers"

    def __init__(self, ctl: Ctl, experiment: Experiment, namespaces: Mapping[str, str]) -> None:
        self._ctl = ctl
        self._experiment = experiment
        self._namespaces = namespaces
        self._status: list[dict[str, Any] | None] = []
        self._headers: list[Mapping[str, Any]] = []

    def _senders(self, side: str) -> tuple[list[str], str]:
        """The senders' namespaces, and the device that they send through."""
        if side == "left" and gateway.HOST in self._namespaces:
            return [self._namespaces[gateway.HOST]], gateway.FAR
        namespaces = self._namespaces.items()
        return [netns for host, netns in namespaces if host.startswith(side)], _DEVICE

    def attach(self, willing_bps: int | None) -> None:  # noqa: ARG002
        """Let hosts send complete headers, then attach the routers of both links in order."""
        if any(map(sends_header, self._experiment.flows)):
            for netns in self._namespaces.values():
                self._ctl.run("host", "headers", "--netns", netns, "--dev", _DEVICE)
        legs_fields, _ = gateway.fields_of_legs(self._experiment)
        for way, side, link in zip(
            ("forward", "reverse"), _SIDES, gateway.links(self._experiment), strict=True
        ):
            if not link.routers:
                continue
            senders, device = self._senders(side)
            at = [part for netns in senders for part in ("--netns", netns)]
            fields = legs_fields[way]
            room = fields.get("limit_bytes") or _PACKET_BYTES * fields.get("limit_pkts", 0)
            for router in link.routers:
                settings = [f"--set={name}={value}" for name, value in router.tunables.items()]
                self._ctl.run(
                    "router", "attach", router.name, *at, "--dev", device,
                    "--rate", f"{link.rate}bit", *(["--queue", f"{room}B"] if room else []),
                    *settings,
                )  # fmt: skip

    def route_options(self) -> list[str]:
        """Options of the hosts' routes: none, since TCP reserves room for TCP options."""
        return []

    def read(self) -> None:
        """Read the counters, before the testbed is removed."""
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
                router_status = next(found, None)
                self._status.append(router_status and {"link": number, **router_status})
        self._headers = status["endpoints"]

    def meta(self) -> Mapping[str, Any]:
        """Counters of routers and endpoints, by their declared names."""
        if not self._status:
            return {}
        return {"links": self._status, "headers": self._headers}

    def of_flow(self, index: int) -> Mapping[str, Mapping[str, int | str | None]]:
        """A flow's fall-backs: unknown, since endpoints count them over all flows of a control."""
        flow = self._experiment.flows[index]
        if flow.control is None or not sends_header(flow):
            return {}
        return {flow.control.name: {"fall_backs": None}}

    def router_counters(self) -> list[Mapping[str, int | None]]:
        """The routers' counters at the end of the run."""
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


def watched_counters(
    experiment: Experiment, namespaces: Mapping[str, str], readings: Iterable[Mapping[str, Any]]
) -> list[Mapping[str, int | None]]:
    """Rows of router_counters from the readings and times of ``headwayctl router watch``."""
    links = link_places(experiment, namespaces)
    return [
        row
        for one in readings
        for row in counter_rows(
            experiment, one["time_ns"], links[one["place"]], one["name"], one["counters"]
        )
    ]


def watch_command(namespaces: Mapping[str, str]) -> list[str]:
    """Arguments of the headwayctl command that watches the routers of these hosts."""
    if gateway.HOST in namespaces:
        return ["router", "watch", "--dev", gateway.FAR, "--netns", namespaces[gateway.HOST]]
    at = [part for netns in namespaces.values() for part in ("--netns", netns)]
    return ["router", "watch", "--dev", _DEVICE, *at]


def on_testbed(ctl: Ctl, experiment: Experiment, namespaces: Mapping[str, str]) -> Routers:
    """The routers on this testbed."""
    return Routers(ctl, experiment, namespaces)
