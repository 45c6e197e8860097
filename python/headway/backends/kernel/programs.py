"""The command lines of a run's traffic programs, and the hosts that they run on."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from headway.backends.kernel import sites, web
from headway.backends.kernel.headwayctl import Headwayctl
from headway.backends.kernel.testbed import Testbed, is_real_time
from headway.experiment import (
    Bulk,
    Cbr,
    Exchanges,
    Experiment,
    Flow,
    Pages,
    Pingpong,
    Sessions,
    Site,
    Vectors,
)
from headway.experiment.directions import epochs, server_sends_more
from headway.registry import registry

_FIRST_PORT = 20_001
_GRACE_NS = 300_000_000
"""Receivers of datagrams run this much longer than senders, so that late datagrams do not count as
lost."""

_RESPONSE_APPS = Vectors | Exchanges | Sessions
"""Applications whose server sets the deadline. Sessions run as exchanges (traffic_files)."""


def port_of(index: int) -> int:
    """The port that a flow's server listens at."""
    return _FIRST_PORT + index


def _hint_values(flow: Flow, end: str) -> dict[str, int]:
    """The hints that the client or server (``end``) sets before its connection opens.

    As in the simulator, the end that sends more sets rate and volume. With ``announces`` or
    ``announces_first`` each end announces the volume that it will send. The end that responds, or
    the sender of a bulk transfer, sets the deadline.
    """
    values: dict[str, int | None] = {}
    if (end == "server") == server_sends_more(flow):
        values = {"initial-rate": flow.initial_rate, "data-volume": flow.data_volume}
    if (flow.announces or flow.announces_first) and isinstance(flow.app, _RESPONSE_APPS):
        announced = epochs(flow) if flow.announces else epochs(flow)[:1]
        values["data-volume"] = sum(epoch[end == "server"] for epoch in announced)
    elif (flow.announces or flow.announces_first) and isinstance(flow.app, Bulk):
        values["data-volume"] = flow.app.size
    # a Site's deadline needs no hint: the browser sends it in an HTTP header
    if (end == "server") == isinstance(flow.app, _RESPONSE_APPS) and not isinstance(flow.app, Site):
        values["deadline"] = flow.deadline
    return {name: value for name, value in values.items() if value}


def needs_hints(flow: Flow) -> bool:
    """Whether the flow's application sets hints, or its startup needs the volume of its writes."""
    control = flow.control
    startup = control and control.startup
    return sets_hints(flow) or bool(startup and registry().startup(startup).paces)


def needs_ecn(flow: Flow) -> bool:
    """Whether the flow's control negotiates ECN by itself, for which both ends must have it."""
    control = flow.control
    if control is None or control.kernel_own is not None:
        return False
    return "needs-ecn" in registry().control(control.name).flags


def sets_hints(flow: Flow) -> bool:
    """Whether an application of the flow uses the socket options of include/headway.h."""
    if isinstance(flow.app, Exchanges) and flow.app.table().deadline_ns.any():
        return True
    if isinstance(flow.app, Site) and flow.deadline:
        return True
    if isinstance(flow.app, Pages):
        return web.sets_hints(flow)
    return any(_hint_values(flow, end) for end in ("client", "server"))


def _read_options(flow: Flow) -> list[str]:
    """How the receiver of a bulk transfer reads."""
    if flow.read_rate is not None:
        return ["--read-rate", str(flow.read_rate)]
    if flow.read_size is not None:
        return ["--read-bytes", str(flow.read_size), "--read-interval", str(flow.read_interval)]
    return []


def _buffer_options(flow: Flow) -> list[str]:
    """Sizes of the buffers that both ends set (SO_RCVBUF, SO_SNDBUF)."""
    sizes = {"--rcvbuf": flow.rcvbuf, "--sndbuf": flow.sndbuf}
    return [part for name, size in sizes.items() if size for part in (name, str(size))]


def _hint_options(flow: Flow, end: str) -> list[str]:
    return [
        part
        for name, value in _hint_values(flow, end).items()
        for part in (f"--{name}", str(value))
    ]


@dataclass(frozen=True)
class Programs:
    """The command lines of both ends of all flows; times are of CLOCK_MONOTONIC."""

    ctl: Headwayctl
    testbed: Testbed
    experiment: Experiment
    controls: Mapping[int, str]
    folder: Path
    start_ns: int

    @property
    def end_ns(self) -> int:
        """Time at which the run ends at the latest; it ends earlier if all transfers are done."""
        return self.start_ns + self.experiment.duration

    def receiver(self, index: int, flow: Flow) -> list[str]:
        """The command of the flow's receiver, on the host that the flow is sent to."""
        return self.testbed.command(
            self.testbed.host(index, is_opener=False), *self._receiver(index, flow)
        )

    def sender(self, index: int, flow: Flow) -> list[str]:
        """The command of the flow's sender, on the host that the flow is sent from."""
        return self.testbed.command(
            self.testbed.host(index, is_opener=True), *self._sender(index, flow)
        )

    def _program(self, name: str) -> list[str]:
        command = [self.ctl.path, "traffic", name, "--die-with-parent"]
        return [*command, "--real-time"] if is_real_time(self.experiment) else command

    def _receiver(self, index: int, flow: Flow) -> list[str]:
        at = f"{self.testbed.address(index)}:{port_of(index)}"
        out = str(self.folder / f"received{index}")
        if isinstance(flow.app, Pages):
            web_folder = self.folder / f"web{index}"
            return [*web.server(flow.app, flow, at, self.controls[index], web_folder)]
        if isinstance(flow.app, Vectors | Exchanges):
            return [
                *self._program("vectors-server"), "--address", at,
                *self._vectors(index, flow, flow.app, "server"), "--end", str(self.end_ns),
                *self._received_option(index, flow, "server"),
            ]  # fmt: skip
        if isinstance(flow.app, Site):
            return [
                *sites.server(flow.app), "--address", at, "--control", self.controls[index],
                *_hint_options(flow, "server"), *(["--targets"] if flow.deadline else []),
                "--until", str(self.folder / f"sent{index}"), "--end", str(self.end_ns),
            ]  # fmt: skip
        if isinstance(flow.app, Pingpong):
            return [
                *self._program("pingpong-server"), "--address", at,
                *self._pingpong(index, flow, flow.app), "--end", str(self.end_ns), "--out", out,
            ]  # fmt: skip
        kind, end_ns = "bulk-receive", self.end_ns
        if isinstance(flow.app, Cbr):
            kind, end_ns = "cbr-receive", self.end_ns + _GRACE_NS
        options = []
        if not isinstance(flow.app, Cbr):
            options = _buffer_options(flow)
            if needs_ecn(flow):
                options += ["--control", self.controls[index]]
        return [
            *self._program(kind), "--listen", at, "--out", out, "--end", str(end_ns),
            *_read_options(flow), *options,
        ]  # fmt: skip

    def _vectors(self, index: int, flow: Flow, app: Vectors | Exchanges, end: str) -> list[str]:
        command = [
            *(("--file", str(app.file)) if isinstance(app, Exchanges)
              else ("--epochs", json.dumps(app.epochs))),
            "--control", self.controls[index], *_hint_options(flow, end), *_buffer_options(flow),
        ]  # fmt: skip
        return [*command, "--nodelay"] if flow.nodelay else command

    def _received_option(self, index: int, flow: Flow, end: str) -> list[str]:
        """The option to record received data, for the end that receives the most data."""
        counts = "client" if server_sends_more(flow) else "server"
        return ["--received", str(self.folder / f"received{index}")] if end == counts else []

    def _pingpong(self, index: int, flow: Flow, app: Pingpong) -> list[str]:
        command = [
            "--bytes", str(app.request), "--mean-interval-ns", str(app.mean_interval),
            "--seed", str(self.experiment.seed), "--flow", str(index),
            "--control", self.controls[index], *_buffer_options(flow),
        ]  # fmt: skip
        return [*command, "--nodelay"] if flow.nodelay else command

    def _sender(self, index: int, flow: Flow) -> list[str]:
        to = f"{self.testbed.address(index)}:{port_of(index)}"
        start_ns = self.start_ns + self.experiment.start_times_ns()[index]
        stop_ns = min(
            self.end_ns, self.start_ns + flow.stop if flow.stop is not None else self.end_ns
        )
        out = str(self.folder / f"sent{index}")
        if isinstance(flow.app, Pages):
            return [
                *web.client(flow.app, flow, to, self.controls[index]), "--start", str(start_ns),
                "--stop", str(stop_ns), "--end", str(self.end_ns), "--out", out,
                "--received", str(self.folder / f"received{index}"),
            ]  # fmt: skip
        if isinstance(flow.app, Vectors | Exchanges):
            # connections that are open at ``stop_ns`` continue their exchanges, as in the simulator
            end_ns = self.end_ns if isinstance(flow.app, Exchanges) else stop_ns
            return [
                *self._program("vectors-client"), "--address", to,
                *self._vectors(index, flow, flow.app, "client"), "--start", str(start_ns),
                "--stop", str(stop_ns), "--end", str(end_ns), "--out", out,
                *self._received_option(index, flow, "client"),
            ]  # fmt: skip
        if isinstance(flow.app, Site):
            target = ["--deadline-ms", str(flow.deadline // 10**6)] if flow.deadline else []
            return [
                *sites.visitor(flow.app), "--address", to, *target,
                "--start", str(start_ns), "--stop", str(stop_ns), "--out", out,
                "--received", str(self.folder / f"received{index}"),
                "--picture", str(self.folder / f"picture{index}"),
            ]  # fmt: skip
        if isinstance(flow.app, Pingpong):
            return [
                *self._program("pingpong-client"), "--address", to,
                *self._pingpong(index, flow, flow.app), "--start", str(start_ns),
                "--stop", str(stop_ns), "--end", str(self.end_ns), "--out", out,
            ]  # fmt: skip
        if isinstance(flow.app, Cbr):
            return [
                *self._program("cbr-send"), "--to", to, "--ip-bytes", str(flow.app.packet),
                "--interval-ns", str(flow.app.interval), "--start", str(start_ns),
                "--stop", str(stop_ns), "--out", out, *(["--ecn"] if flow.app.ecn else []),
            ]  # fmt: skip
        assert isinstance(flow.app, Bulk)
        command = [
            *self._program("bulk-send"), "--to", to, "--control", self.controls[index],
            "--start", str(start_ns), "--stop", str(stop_ns), "--end", str(self.end_ns),
            *_hint_options(flow, "client"), *_buffer_options(flow),
        ]  # fmt: skip
        if flow.nodelay:
            command.append("--nodelay")
        return command if flow.app.size is None else [*command, "--bytes", str(flow.app.size)]
