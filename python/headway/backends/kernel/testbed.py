"""The hosts of a run on the kernel: network namespaces joined by the emulator."""

from __future__ import annotations

import contextlib
import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple, Self

from headway.backends.kernel.headwayctl import Headwayctl
from headway.errors import HeadwayError
from headway.experiment import Experiment, Flow
from headway.mechanisms import Mechanisms, gateway
from headway.mechanisms.routers import sends_header

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
    "net.core.default_qdisc",
)

_MOST_RECEIVE_BYTES = 6_291_456
_SETTINGS = (
    f"net.ipv4.tcp_rmem=4096 131072 {_MOST_RECEIVE_BYTES}",
    "net.ipv4.tcp_wmem=4096 16384 4194304",
)
"""What every host is set to beside the testbed's own settings: Linux's usual buffers, which are
those of stack linux-6."""


_LEAST_RECEIVE_BYTES = 131_072
_BUFFER_PER_WINDOW = 2
"""Bytes of receive buffer per byte of window, before Linux has seen a segment."""
_MSS_BYTES = {True: 1448, False: 1460}
"""In which Linux counts a route's first window (initrwnd), with and without timestamps."""


def _emulated(link: dict[str, Any]) -> dict[str, Any]:
    """A link for the emulator: its router is a program at a host's device instead."""
    return {name: value for name, value in link.items() if name != "routers"}


def _both_ways(hop: Mapping[str, Any]) -> dict[str, Any]:
    """Both directions of a hop, for the emulator."""
    return {way: {"link": _emulated(hop[way])} for way in ("forward", "reverse")}


_REAL_TIME_BPS = 200_000_000
"""Up to here the emulator is real-time, too (crates/emulator/src/config.rs), and cores idle."""


def is_real_time(experiment: Experiment) -> bool:
    """Whether the programs on its hosts are real-time."""
    return max(link.rate for link in gateway.links(experiment)) <= _REAL_TIME_BPS


class _Side(NamedTuple):
    """What a host of its own is needed for."""

    delay_ns: int
    sack: bool
    timestamps: bool
    delayed_ack: bool
    receive_buffer: int | None
    send_buffer: int | None
    receive_window: int | None
    willing_bps: int | None
    ecn: tuple[str, str] | None
    frto: bool | None
    packets_apart: bool
    """Each packet leaves as a segment of its own (gso_max_segs 1)."""


def _side(flow: Flow) -> _Side:
    return _Side(
        flow.delay,
        flow.sack,
        flow.timestamps,
        flow.delayed_ack or not flow.is_tcp,
        flow.receive_buffer,
        flow.send_buffer,
        flow.receive_window,
        flow.willing_rate,
        flow.ecn_of_ends,
        flow.frto,
        sends_header(flow),
    )


def sides(experiment: Experiment) -> list[_Side]:
    """The hosts of its flows: those of the same settings share one on either side."""
    return list(dict.fromkeys(_side(flow) for flow in experiment.flows))


_TCP_ECN = {"off": 0, "on": 1, "passive": 2}
_TCP_FRTO = {False: 0, True: 2}
"""Linux's default is 2; tcp_enter_loss asks for any but 0."""


def _settings(side: _Side, is_opener: bool) -> list[str]:
    """What a host is set to that differs from every host's."""
    settings = []
    if side.ecn is not None:
        settings.append(f"net.ipv4.tcp_ecn={_TCP_ECN[side.ecn[0 if is_opener else 1]]}")
    if side.frto is not None:
        settings.append(f"net.ipv4.tcp_frto={_TCP_FRTO[side.frto]}")
    if not (side.sack and side.timestamps):
        settings += [
            f"net.ipv4.tcp_sack={int(side.sack)}",
            f"net.ipv4.tcp_timestamps={int(side.timestamps)}",
        ]
    receive_bytes = side.receive_buffer
    if receive_bytes is None and side.receive_window is not None:
        receive_bytes = max(_BUFFER_PER_WINDOW * side.receive_window, _LEAST_RECEIVE_BYTES)
    if receive_bytes is not None:
        most = max(receive_bytes, _MOST_RECEIVE_BYTES)
        settings.append(f"net.ipv4.tcp_rmem=4096 {receive_bytes} {most}")
    if side.send_buffer is not None:
        settings.append(f"net.ipv4.tcp_wmem=4096 {side.send_buffer} {side.send_buffer}")
    return settings


def _route_options(side: _Side) -> list[str]:
    """What its routes say: the first window; that every segment with data is acknowledged."""
    options = []
    if side.receive_window is not None:
        options += ["initrwnd", str(math.ceil(side.receive_window / _MSS_BYTES[side.timestamps]))]
    if not side.delayed_ack:
        options += ["quickack", "1"]
    return options


class Testbed:
    """Hosts in namespaces joined by the emulator, for as long as the context lasts."""

    def __init__(self, ctl: Headwayctl, experiment: Experiment, name: str, folder: Path) -> None:
        self._ctl = ctl
        self._name = name
        self._folder = folder
        self.log = folder / "log" / "packets.bin"
        self._capture = folder / "capture.pcapng"
        self.summary: Mapping[str, Any] = {}
        self._is_up = False
        self._hosts: dict[str, Mapping[str, Any]] = {}
        self._sides = sides(experiment)
        self._experiment = experiment
        self.mechanisms: Mechanisms | None = None
        self._config = self._fields(experiment)

    def _fields(self, experiment: Experiment) -> dict[str, Any]:
        link, ground = gateway.fields_of_legs(experiment)
        # a packet crosses an access link at either end
        access_ns = 2 * experiment.topology.access_delay
        capture = experiment.capture
        return {
            "seed": experiment.seed,
            **_both_ways(link),
            **({"ground": _both_ways(ground)} if ground is not None else {}),
            "extra_delay_ns": [access_ns + side.delay_ns for side in self._sides],
            "access_rate_bps": experiment.topology.access_rate,
            "capture": capture
            and {
                "file": str(self._capture),
                "link": capture.link,
                "snaplen_bytes": capture.snaplen,
            },
        }

    def __enter__(self) -> Self:
        config = self._folder / "emulator.json"
        config.write_text(json.dumps(self._config), encoding="utf-8")
        settings = [part for value in _SETTINGS for part in ("--sysctl", value)]
        self._is_up = True  # a half-made one is taken down as well
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
        with contextlib.suppress(HeadwayError):  # what failed before says more
            self.down()

    def down(self) -> None:
        """Take it down and keep the emulator's summary. Harmless the second time."""
        if self._is_up:
            self._is_up = False
            [removed] = self._ctl.json("testbed", "down", self._name, "--json")["removed"]
            self.summary = removed["summary"] or {}

    def begin(self, start_ns: int) -> None:
        """Links that change do so from that time on (CLOCK_MONOTONIC)."""
        if any("vary" in self._config[way]["link"] for way in ("forward", "reverse")):
            self._ctl.run("testbed", "begin", self._name, "--at", str(start_ns))

    def host(self, flow: Flow, side: str) -> str:
        """The flow's host on the "left" (where it is sent from) or "right", by its name here."""
        there = gateway.side(self._experiment, side)
        return f"{there}{self._sides.index(_side(flow)) + 1}"

    def address(self, flow: Flow) -> str:
        """Where the flow is sent to."""
        address: str = self._hosts[self.host(flow, "right")]["address"]
        return address

    def command(self, host: str, *arguments: str) -> list[str]:
        """The command line that runs a program on a host."""
        return [self._ctl.path, *self._exec(host), *arguments]

    def run_on(self, host: str, *arguments: str) -> str:
        """Run a program on a host to its end; what it printed."""
        return self._ctl.run(*self._exec(host), *arguments)

    def _exec(self, host: str) -> list[str]:
        return ["testbed", "exec", "--name", self._name, host, "--"]

    def netns(self, host: str) -> str:
        """The host's network namespace, as ``ip netns`` names it."""
        name: str = self._hosts[host]["namespace"]
        return name

    def offloads(self) -> Mapping[str, bool]:
        """What the hosts' devices take off TCP's hands, by ethtool's names; all are alike."""
        offloads: Mapping[str, bool] = self._hosts["left1"]["offloads"]
        return offloads

    def capture(self) -> bytes | None:
        """The captured packets, once the testbed is down; None if none were asked for."""
        return self._capture.read_bytes() if self._config["capture"] else None

    def proxy(self) -> gateway.Proxy | None:
        """That of the gateway, if flows go through one; it has the testbed's name."""
        if gateway.relay(self._experiment) is None:
            return None
        command = [self._ctl.path, *self._exec(gateway.HOST)]
        if is_real_time(self._experiment):
            command.insert(command.index(gateway.HOST), "--real-time")
        is_turned = gateway.is_turned(self._experiment)
        return gateway.Proxy(self._ctl, self._name, command, is_turned=is_turned)

    def _set_up_hosts(self, route_options: list[str]) -> None:
        if gateway.HOST in self._hosts:
            settings = _settings(self._sides[0], is_opener=True)
            if settings:
                self.run_on(gateway.HOST, "sysctl", "-qw", *settings)
        openers = gateway.side(self._experiment, "left")
        for number, side in enumerate(self._sides, 1):
            options = [*route_options, *_route_options(side)]
            for host in (f"left{number}", f"right{number}"):
                settings = _settings(side, is_opener=host.startswith(openers))
                if settings:
                    self.run_on(host, "sysctl", "-qw", *settings)
                if options:
                    self._change_routes(host, options)
                if side.packets_apart:
                    # each packet has a header of its own, as in the simulator
                    self.run_on(host, "ip", "link", "set", "dev", "hw0", "gso_max_segs", "1")

    def _change_routes(self, host: str, options: list[str]) -> None:
        for route in self.run_on(host, "ip", "-o", "route", "show").splitlines():
            self.run_on(host, "ip", "route", "change", *route.split(), *options)

    def sysctls(self) -> dict[str, str]:
        """What the first sender's host is set to; a name this kernel lacks is left out."""
        text = self.run_on("left1", "sysctl", "-e", *_SYSCTLS)
        pairs = (line.partition(" = ") for line in text.splitlines())
        return {name: " ".join(value.split()) for name, _, value in pairs if value}
