"""Quick-Start on the hosts and links of the kernel backend: attaching programs, reading counters.

The router of a link is a program at the sending host's device. Like the simulator's router in front
of a link, it measures the traffic that enters the emulated link, and answers requests. The sending
host must be the only one that sends into the link.
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
"""The hosts that send into the forward and the reverse link."""
_MTU_BYTES = 1500
_OPTION_BYTES = 8


def has_routers(experiment: Experiment) -> bool:
    """Whether a link of the testbed has a router that answers Quick-Start requests."""
    return any(link.quick_start is not None for link in gateway.links(experiment))


def requesters(experiment: Experiment) -> list[int]:
    """The numbers of the flows whose senders send Quick-Start requests."""
    return [
        index
        for index, flow in enumerate(experiment.flows)
        if flow.control is not None and flow.control.startup == STARTUP
    ]


def check(experiment: Experiment, hosts: int) -> None:
    """Raise HeadwayError for options that Quick-Start does not support here.

    ``hosts`` is the number of hosts on each side.
    """
    if not has_routers(experiment):
        return
    if hosts > 1:
        raise HeadwayError(
            "kernel backend: quick_start: the router is at the device of the only host that sends "
            "into its link, so flows may not differ in delay, sack, timestamps, delayed_ack, "
            "rmem, wmem, initial_rwnd, willing_rate or ecn"
        )
    without = any(link.quick_start is None for link in gateway.links(experiment))
    if without and requesters(experiment):
        raise HeadwayError(
            "kernel backend: quick_start: must be set on both links or on none: the emulator does "
            "not decrease the IP TTL, so hosts cannot notice a router without Quick-Start"
        )


_PROTOCOL = "quick-start"
"""Name of the router algorithm, and key of a flow's Quick-Start counters."""


class QuickStart:
    """Quick-Start on the hosts of a testbed; removing the hosts also removes its programs."""

    name = _PROTOCOL

    def __init__(self, ctl: Ctl, experiment: Experiment, namespaces: Mapping[str, str]) -> None:
        self._ctl = ctl
        self._experiment = experiment
        self._namespaces = namespaces
        self._is_on = has_routers(experiment)
        self._status: Mapping[str, Any] = {}

    def attach(self, willing_bps: int | None) -> None:
        """Attach the programs of both hosts and of both links' routers.

        As receivers, the hosts accept rates up to ``willing_bps``; None accepts any rate.
        """
        if not self._is_on:
            return
        for host in _SENDERS:
            at = ["--netns", self._namespaces[host], "--dev", _DEVICE]
            most = [] if willing_bps is None else ["--at-most", f"{max(willing_bps, 1)}bit"]
            self._ctl.run("host", "quick-start", *at, *most)
        # attach the router after the host's program, so that the host adds a request to a packet
        # before the router sees the packet
        for host, link in zip(_SENDERS, gateway.links(self._experiment), strict=True):
            if link.quick_start is None:
                continue
            settings = [f"--set={name}={value}" for name, value in link.quick_start.items()]
            self._ctl.run(
                "router", "attach", _PROTOCOL, "--netns", self._namespaces[host], "--dev", _DEVICE,
                "--rate", f"{link.rate}bit", *settings,
            )  # fmt: skip

    def route_options(self) -> list[str]:
        """Options of the hosts' routes: a smaller MTU, so that full packets fit with the option."""
        if not (self._is_on and requesters(self._experiment)):
            return []
        return ["mtu", "lock", str(_MTU_BYTES - _OPTION_BYTES)]

    def read(self) -> None:
        """Read the counters, before the testbed is removed."""
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
        """Counters and remarks of both hosts and of both links' routers, left before right."""
        return dict(self._status)

    def of_flow(self, index: int) -> Mapping[str, Mapping[str, int | str | None]]:
        """A flow's requests, grants and failure, from the hosts' counters.

        The counters are sums over all flows, so the values are unknown if several flows send
        requests.
        """
        requesting = requesters(self._experiment)
        if index not in requesting or not self._status:
            return {}
        if len(requesting) > 1:
            return {_PROTOCOL: dict.fromkeys(("requests", "grants", "used", "lies"))}
        counters = [host["counters"] for host in self._status["hosts"] if host is not None]
        total = {name: sum(own[name] for own in counters) for name in counters[0]}
        failure = next((text for name, text in _FAILURES.items() if total[name]), None)
        counts = {
            "requests": total["requests"],
            "grants": total["grants"],
            "used": None,
            "lies": total["nonce_forged"] + total["inflated"],
        }
        return {_PROTOCOL: counts | ({"failure": failure} if failure else {})}

    def router_counters(self) -> list[Mapping[str, int | None]]:
        """The routers' counters at the end of the run."""
        end_ns = self._experiment.duration
        return [
            row
            for link, router in enumerate(self._status.get("routers", ()))
            if router is not None
            for row in counter_rows(self._experiment, end_ns, link, _PROTOCOL, router["counters"])
        ]


def on_testbed(ctl: Ctl, experiment: Experiment, namespaces: Mapping[str, str]) -> QuickStart:
    """Quick-Start on this testbed."""
    return QuickStart(ctl, experiment, namespaces)


_FAILURES = {
    "nonce_forged": "nonce forged",
    "inflated": "inflated",
    "ttl_differs": "TTL differs",
    "lost": "lost",
    "refused": "refused",
    "unanswered": "unanswered",
}
"""A host's counters of failed requests, worst failure first, with the simulator's text for each."""
