"""The hosts of a run on the kernel: network namespaces connected by the emulator."""

from __future__ import annotations

import contextlib
import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple, Self

from headway.backends.kernel import network
from headway.backends.kernel.headwayctl import Headwayctl
from headway.backends.sim import topology_fields
from headway.engine import engine
from headway.errors import HeadwayError
from headway.experiment import ACCURATE, Experiment, Flow
from headway.mechanisms import Mechanisms, gateway
from headway.mechanisms.routers import sends_header
from headway.units import Memory, parse_time

_SYSCTLS = (
    "net.ipv4.tcp_rmem",
    "net.ipv4.tcp_wmem",
    "net.ipv4.tcp_sack",
    "net.ipv4.tcp_timestamps",
    "net.ipv4.tcp_window_scaling",
    "net.ipv4.tcp_no_metrics_save",
    "net.ipv4.tcp_recovery",
    "net.ipv4.tcp_ecn",
    "net.ipv4.tcp_ecn_fallback",
    "net.ipv4.tcp_early_retrans",
    "net.ipv4.tcp_frto",
    "net.ipv4.tcp_slow_start_after_idle",
    "net.ipv4.tcp_moderate_rcvbuf",
    "net.ipv4.tcp_autocorking",
    "net.ipv4.tcp_tso_win_divisor",
    "net.ipv4.tcp_limit_output_bytes",
    "net.ipv4.tcp_notsent_lowat",
    "net.ipv4.tcp_pacing_ss_ratio",
    "net.ipv4.tcp_pacing_ca_ratio",
    "net.ipv4.tcp_rto_min_us",
    "net.core.default_qdisc",
)

_SETTINGS = {
    "tcp_rmem": "4096 131072 6291456",
    "tcp_wmem": "4096 16384 4194304",
}
"""Sysctls of every host, in addition to the testbed's: Linux's default buffers, as in stack
linux-6."""

_BUFFER_PER_WINDOW = 2
"""Linux reserves this many bytes of receive buffer per byte of window before the first segment."""
_MSS_BYTES = {True: 1448, False: 1460}
"""Bytes per unit of a route's option initrwnd (first receive window), with and without TCP
timestamps."""


def _emulated(link: dict[str, Any]) -> dict[str, Any]:
    """The emulator's fields of a link.

    Router algorithms are eBPF programs at the hosts' devices instead.
    """
    return {name: value for name, value in link.items() if name != "routers"}


def _both_ways(hop: Mapping[str, Any], numbers: tuple[int, int]) -> dict[str, Any]:
    """The emulator's fields of a hop's two directions, and their links' numbers in a trace.

    The numbers select the links' random numbers, which are those of the simulation.
    """
    ways = zip(("forward", "reverse"), numbers, strict=True)
    return {way: {"link": _emulated(hop[way]), "stream": number} for way, number in ways}


def _link_fields(experiment: Experiment) -> dict[str, Any]:
    """The emulator's fields of all links, and in a network the routes of each flow's hosts."""
    if network.is_network(experiment):
        forward, reverse, *further = [
            {"link": link} for link in topology_fields(experiment)["links"]
        ]
        routes = [{"there": there, "back": back} for there, back in experiment.all_routes()]
        return {"forward": forward, "reverse": reverse, "further": further, "routes": routes}
    link, ground = gateway.fields_of_legs(experiment)
    numbers = gateway.link_numbers(experiment)
    if ground is None:
        return _both_ways(link, numbers)
    # the numbers of the chain's other hop
    other = {0: 2, 1: 3, 2: 0, 3: 1}
    before = (other[numbers[0]], other[numbers[1]])
    return _both_ways(link, numbers) | {"ground": _both_ways(ground, before)}


def is_real_time(experiment: Experiment) -> bool:
    """Whether the programs on the hosts run with real-time priority."""
    links = [link for pair in network.link_pairs(experiment) for link in pair]
    return max(link.rate for link in links) <= engine.REAL_TIME_MAX_BPS


class _Side(NamedTuple):
    """Settings of the two hosts of a flow; flows with different settings need different hosts."""

    flow: int | None
    """Number of the flow in a network, where each flow has hosts of its own; None elsewhere."""
    delay_ns: int
    sack: bool
    timestamps: bool
    delayed_ack: bool
    rmem: Memory | None
    wmem: Memory | None
    initial_rwnd: int | None
    willing_bps: int | None
    ecn: tuple[str, str] | None
    """Of the host on the left, and of the one on the right."""
    frto: bool | None
    packets_apart: bool
    """Whether the hosts send each packet separately, without segmentation offload
    (gso_max_segs 1)."""


def _opener(experiment: Experiment, flow: Flow) -> str:
    """The side of the flow's opener. In a network, openers are on the left."""
    if flow.direction == "reverse" and not network.is_network(experiment):
        return "right"
    return gateway.side(experiment, "left")


def _side(flow: Flow, number: int | None, opener: str) -> _Side:
    ecn = flow.ecn_of_ends
    return _Side(
        number,
        flow.delay,
        flow.sack,
        flow.timestamps,
        flow.delayed_ack or not flow.is_tcp,
        flow.rmem,
        flow.wmem,
        flow.initial_rwnd,
        flow.willing_rate,
        (ecn[1], ecn[0]) if ecn and opener == "right" else ecn,
        flow.frto,
        sends_header(flow),
    )


def sides(experiment: Experiment) -> list[_Side]:
    """The different settings of the flows' hosts.

    Flows with equal settings share one host on each side, except in a network.
    """
    return list(dict.fromkeys(_side_of_each(experiment)))


def _side_of_each(experiment: Experiment) -> list[_Side]:
    """The settings of each flow's hosts."""
    is_network = network.is_network(experiment)
    return [
        _side(flow, number if is_network else None, _opener(experiment, flow))
        for number, flow in enumerate(experiment.flows)
    ]


_TCP_ECN = {"off": 0, "on": 1, "passive": 2, ACCURATE: 3}
_TCP_FRTO = {False: 0, True: 2}
"""Values of net.ipv4.tcp_frto. 2 is Linux's default; tcp_enter_loss only distinguishes 0 from other
values."""


def _common(experiment: Experiment) -> dict[str, str]:
    """Sysctls of all hosts of an experiment, by their names in net.ipv4."""
    return {**_SETTINGS, **experiment.sysctls}


def _settings(experiment: Experiment, side: _Side, *, is_left: bool) -> list[str]:
    """Sysctls of one host, in addition to the sysctls that all hosts have."""
    settings: dict[str, int | str] = {}
    if side.ecn is not None:
        settings["tcp_ecn"] = _TCP_ECN[side.ecn[0 if is_left else 1]]
    if side.frto is not None:
        settings["tcp_frto"] = _TCP_FRTO[side.frto]
    if not side.sack:
        settings["tcp_sack"] = 0
    if not side.timestamps:
        settings["tcp_timestamps"] = 0
    if side.rmem is not None:
        settings["tcp_rmem"] = " ".join(map(str, side.rmem))
    elif side.initial_rwnd is not None:
        least, usual, most = map(int, _common(experiment)["tcp_rmem"].split())
        first = max(_BUFFER_PER_WINDOW * side.initial_rwnd, usual)
        settings["tcp_rmem"] = f"{least} {first} {max(first, most)}"
    if side.wmem is not None:
        settings["tcp_wmem"] = " ".join(map(str, side.wmem))
    return [f"net.ipv4.{name}={value}" for name, value in settings.items()]


def _of_all_routes(experiment: Experiment) -> dict[str, str]:
    """The attributes of all routes, as `ip route` takes them: a time in ms, without a space."""
    attributes = dict(experiment.route_attributes)
    if rto_min := attributes.get("rto_min"):
        attributes["rto_min"] = f"{parse_time(rto_min) // 10**6}ms"
    return attributes


def _route_options(experiment: Experiment, side: _Side) -> list[str]:
    """Options of a host's routes: the attributes of all routes, and those that the flow needs."""
    options = _of_all_routes(experiment)
    if side.initial_rwnd is not None:
        timestamps = side.timestamps and experiment.sysctls.get("tcp_timestamps") != "0"
        options["initrwnd"] = str(math.ceil(side.initial_rwnd / _MSS_BYTES[timestamps]))
    if not side.delayed_ack:
        options["quickack"] = "1"
    return [part for pair in options.items() for part in pair]


class Testbed:
    """Hosts in namespaces, connected by the emulator while the context is open."""

    def __init__(self, ctl: Headwayctl, experiment: Experiment, name: str, folder: Path) -> None:
        self._ctl = ctl
        self._name = name
        self._folder = folder
        self.log = folder / "log" / "packets.bin"
        self._capture = folder / "capture.pcapng"
        self.summary: Mapping[str, Any] = {}
        self._is_up = False
        self._hosts: dict[str, Mapping[str, Any]] = {}
        of_flows = _side_of_each(experiment)
        self._sides = list(dict.fromkeys(of_flows))
        numbers = {side: number for number, side in enumerate(self._sides, 1)}
        self._pairs = [numbers[side] for side in of_flows]
        """For each flow, the number of its pair of hosts."""
        self._experiment = experiment
        self.mechanisms: Mechanisms | None = None
        self._config = self._fields(experiment)

    def _fields(self, experiment: Experiment) -> dict[str, Any]:
        capture = experiment.capture
        return {
            "seed": experiment.seed,
            **_link_fields(experiment),
            "extra_delay_ns": [side.delay_ns for side in self._sides],
            "access_delay_ns": experiment.topology.access_delay,
            "access_rate_bps": experiment.topology.access_rate,
            "capture": capture
            and {
                "file": str(self._capture),
                "link": gateway.captured_link(self._experiment, capture.link),
                "snaplen_bytes": capture.snaplen,
            },
        }

    def __enter__(self) -> Self:
        config = self._folder / "emulator.json"
        config.write_text(json.dumps(self._config), encoding="utf-8")
        settings = [
            part
            for name, value in _common(self._experiment).items()
            for part in ("--sysctl", f"net.ipv4.{name}={value}")
        ]
        self._is_up = True  # set before the set-up, so that a failed set-up is removed, too
        try:
            state = self._ctl.json(
                "testbed", "up", "--name", self._name, "--config", str(config),
                "--hosts", str(len(self._sides)), "--log", str(self.log.parent),
                *settings, "--json",
            )  # fmt: skip
            self._hosts = {host["name"]: host for host in state["hosts"]}
            self.mechanisms = Mechanisms(
                self._ctl, self._experiment, {name: self.netns(name) for name in self._hosts}
            )
            self._set_up_hosts(self.mechanisms.route_options())
            self.mechanisms.attach(self._sides[0].willing_bps)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        # if the removal fails, keep the earlier error of the run, which is more useful
        with contextlib.suppress(HeadwayError):
            self.down()

    def down(self) -> None:
        """Remove the testbed and keep the emulator's summary; a second call does nothing."""
        if self._is_up:
            self._is_up = False
            [removed] = self._ctl.json("testbed", "down", self._name, "--json")["removed"]
            self.summary = removed["summary"] or {}

    def begin(self, start_ns: int) -> None:
        """Start the schedules of varying links at ``start_ns`` (CLOCK_MONOTONIC)."""
        paths = [self._config["forward"], self._config["reverse"]]
        paths += self._config.get("further", [])
        if any("vary" in path["link"] for path in paths):
            self._ctl.run("testbed", "begin", self._name, "--at", str(start_ns))

    def host(self, index: int, *, is_opener: bool) -> str:
        """The name of the host of a flow's opener, or of its other end."""
        opener = _opener(self._experiment, self._experiment.flows[index])
        is_left = is_opener == (opener == "left")
        return f"{'left' if is_left else 'right'}{self._pairs[index]}"

    def address(self, index: int) -> str:
        """The address that a flow is sent to."""
        address: str = self._hosts[self.host(index, is_opener=False)]["address"]
        return address

    def command(self, host: str, *arguments: str) -> list[str]:
        """The command line that runs a program on a host."""
        return [self._ctl.path, *self._exec(host), *arguments]

    def run_on(self, host: str, *arguments: str) -> str:
        """Run a program on a host to its end; returns its output."""
        return self._ctl.run(*self._exec(host), *arguments)

    def _exec(self, host: str) -> list[str]:
        return ["testbed", "exec", "--name", self._name, host, "--"]

    def netns(self, host: str) -> str:
        """The host's network namespace, as ``ip netns`` names it."""
        name: str = self._hosts[host]["namespace"]
        return name

    def offloads(self) -> Mapping[str, bool]:
        """Offloads of the hosts' network devices, by ethtool's names; the same on all hosts."""
        offloads: Mapping[str, bool] = self._hosts["left1"]["offloads"]
        return offloads

    def capture(self) -> bytes | None:
        """The capture, after the testbed has ended; None if the experiment has none."""
        return self._capture.read_bytes() if self._config["capture"] else None

    def proxy(self) -> gateway.Proxy | None:
        """The gateway's proxy, which has the testbed's name; None without a relay."""
        if gateway.relay(self._experiment) is None:
            return None
        command = [self._ctl.path, *self._exec(gateway.HOST)]
        if is_real_time(self._experiment):
            command.insert(command.index(gateway.HOST), "--real-time")
        is_reversed = gateway.is_reversed(self._experiment)
        return gateway.Proxy(self._ctl, self._name, command, is_reversed=is_reversed)

    def _set_up_hosts(self, route_options: list[str]) -> None:
        if gateway.HOST in self._hosts:
            openers = gateway.side(self._experiment, "left")
            settings = _settings(self._experiment, self._sides[0], is_left=openers == "left")
            if settings:
                self.run_on(gateway.HOST, "sysctl", "-qw", *settings)
            # the relay's sockets have the options of the flow's hosts
            if options := _route_options(self._experiment, self._sides[0]):
                self._change_routes(gateway.HOST, options)
            if self._sides[0].packets_apart:
                self._send_apart(gateway.HOST, gateway.NEAR, gateway.FAR)
        for number, side in enumerate(self._sides, 1):
            options = [*route_options, *_route_options(self._experiment, side)]
            for host in (f"left{number}", f"right{number}"):
                is_left = host.startswith("left")
                settings = _settings(self._experiment, side, is_left=is_left)
                if settings:
                    self.run_on(host, "sysctl", "-qw", *settings)
                if options:
                    self._change_routes(host, options)
                if side.packets_apart:
                    self._send_apart(host, "hw0")

    def _send_apart(self, host: str, *devices: str) -> None:
        """Send each packet separately, so that each gets its own header as in the simulator."""
        for device in devices:
            self.run_on(host, "ip", "link", "set", "dev", device, "gso_max_segs", "1")

    def _change_routes(self, host: str, options: list[str]) -> None:
        for route in self.run_on(host, "ip", "-o", "route", "show").splitlines():
            self.run_on(host, "ip", "route", "change", *route.split(), *options)

    def sysctls(self) -> dict[str, str]:
        """Sysctls of the first sender's host; names that this kernel lacks are left out."""
        text = self.run_on("left1", "sysctl", "-e", *_SYSCTLS)
        pairs = (line.partition(" = ") for line in text.splitlines())
        return {name: " ".join(value.split()) for name, _, value in pairs if value}
