"""Quick-Start on the kernel's hosts and links: what is attached, and what it counted.

A link's router is the program at the sending host's device: it meters what is about to enter the
emulated link, and answers requests, as the simulator's router before the link does. That host is
the only one which sends into the link.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from headway.errors import HeadwayError
from headway.experiment import Experiment
from headway.mechanisms import gateway
from headway.mechanisms.counters import counter_rows

if TYPE_CHECKING:
    from headway.mechanisms import Ctl

STARTUP = "quick-start"
_DEVICE = "hw0"
_SENDERS = ("left1", "right1")
"""Who sends into the forward and into the reverse link."""
_MTU_BYTES = 1500
_OPTION_BYTES = 8


def takes_part(experiment: Experiment) -> bool:
    """Whether its links answer requests."""
    return any(link.quick_start is not None for link in gateway.links(experiment))


def askers(experiment: Experiment) -> list[int]:
    """The flows whose senders ask for rates."""
    return [
        index
        for index, flow in enumerate(experiment.flows)
        if flow.control is not None and flow.control.startup == STARTUP
    ]


def check(experiment: Experiment, hosts: int) -> None:
    """Raises HeadwayError for what cannot be done with ``hosts`` hosts on either side."""
    if not takes_part(experiment):
        return
    if hosts > 1:
        raise HeadwayError(
            "kernel backend: quick_start: the router is at the device of the only host that sends "
            "into its link, so flows may not differ in delay, sack, timestamps, delayed_ack, "
            "receive_buffer, send_buffer, receive_window, willing_rate or ecn"
        )
    if askers(experiment) and any(link.quick_start is None for link in gateway.links(experiment)):
        raise HeadwayError(
            "kernel backend: quick_start: of the two links one has no router, which the emulator "
            "does not show in the IP TTL; both or none"
        )


_PROTOCOL = "quick-start"
"""The name of the router algorithm, and of what flows count of it."""


class QuickStart:
    """What takes part on the hosts of a testbed; it goes with them."""

    name = _PROTOCOL

    def __init__(self, ctl: Ctl, experiment: Experiment, namespaces: Mapping[str, str]) -> None:
        self._ctl = ctl
        self._experiment = experiment
        self._namespaces = namespaces
        self._is_on = takes_part(experiment)
        self._status: Mapping[str, Any] = {}

    def attach(self, willing_bps: int | None) -> None:
        """Both hosts take part, up to ``willing_bps`` as receivers, and both links."""
        if not self._is_on:
            return
        for host in _SENDERS:
            at = ["--netns", self._namespaces[host], "--dev", _DEVICE]
            most = [] if willing_bps is None else ["--at-most", f"{max(willing_bps, 1)}bit"]
            self._ctl.run("host", "quick-start", *at, *most)
        # after the host's program: a request is there when the router sees its packet
        for host, link in zip(_SENDERS, gateway.links(self._experiment), strict=True):
            if link.quick_start is None:
                continue
            settings = [f"--set={name}={value}" for name, value in link.quick_start.items()]
            self._ctl.run(
                "router", "attach", _PROTOCOL, "--netns", self._namespaces[host], "--dev", _DEVICE,
                "--rate", f"{link.rate}bit", *settings,
            )  # fmt: skip

    def route_options(self) -> list[str]:
        """What routes need: room for the option in packets that are full otherwise."""
        if not (self._is_on and askers(self._experiment)):
            return []
        return ["mtu", "lock", str(_MTU_BYTES - _OPTION_BYTES)]

    def read(self) -> None:
        """Keep what was counted, before the testbed goes."""
        if not self._is_on:
            return
        status = self._ctl.json("status", "--json")
        ours = [router for router in status["routers"] if router["name"] == _PROTOCOL]
        places = [f"{self._namespaces[host]}:{_DEVICE}" for host in _SENDERS]
        self._status = {
            kind: [next((one for one in all_of_it if one["place"] == at), None) for at in places]
            for kind, all_of_it in (("hosts", status["quick_start_hosts"]), ("routers", ours))
        }

    def meta(self) -> Mapping[str, Any]:
        """What hosts and routers counted, and what the hosts' counters mean; left, then right."""
        return dict(self._status)

    def of_flow(self, index: int) -> Mapping[str, Mapping[str, int | str | None]]:
        """A flow's requests, grants and failure, where counters of hosts tell: it asked alone."""
        asking = askers(self._experiment)
        if index not in asking or not self._status:
            return {}
        if len(asking) > 1:
            return {_PROTOCOL: dict.fromkeys(("requests", "grants", "used", "lies"))}
        counters = [host["counters"] for host in self._status["hosts"] if host is not None]
        total = {name: sum(own[name] for own in counters) for name in counters[0]}
        failure = next((said for name, said in _FAILURES.items() if total[name]), None)
        told = {
            "requests": total["requests"],
            "grants": total["grants"],
            "used": None,
            "lies": total["nonce_forged"] + total["inflated"],
        }
        return {_PROTOCOL: told | ({"failure": failure} if failure else {})}

    def router_counters(self) -> list[Mapping[str, int | None]]:
        """What the routers counted, at the end of the run."""
        end_ns = self._experiment.duration
        return [
            row
            for link, router in enumerate(self._status.get("routers", ()))
            if router is not None
            for row in counter_rows(self._experiment, end_ns, link, _PROTOCOL, router["counters"])
        ]


def on_testbed(ctl: Ctl, experiment: Experiment, namespaces: Mapping[str, str]) -> QuickStart:
    """Its part in a testbed."""
    return QuickStart(ctl, experiment, namespaces)


_FAILURES = {
    "nonce_forged": "nonce forged",
    "inflated": "inflated",
    "ttl_differs": "TTL differs",
    "lost": "lost",
    "refused": "refused",
    "unanswered": "unanswered",
}
"""Counters of a host that end its asking, the worst first, and the simulator's words for them."""
