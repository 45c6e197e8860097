"""Rejects, before a run begins, what this backend or this machine's kernel does not support."""

from __future__ import annotations

import platform
import re
from pathlib import Path

from headway import mechanisms
from headway.backends.kernel import network, sites, traffic_files, web
from headway.backends.kernel.programs import sets_hints
from headway.backends.kernel.testbed import sides
from headway.errors import HeadwayError, KernelCannotError
from headway.experiment import (
    ACCURATE,
    Exchanges,
    Experiment,
    Flow,
    Pages,
    Pingpong,
    Requests,
    Site,
    Transfers,
)
from headway.mechanisms import gateway
from headway.registry import registry
from headway.workloads.exchange_file import check_live

_LARGE_WINDOW_SINCE = (6, 10)
_SMALL_WINDOW_BYTES = 65_535
_ACCURATE_ECN_SINCE = (7, 0)
_LARGEST_TCP_ECN = 2
"""The largest tcp_ecn without Accurate ECN."""
_AVAILABLE = Path("/proc/sys/net/ipv4/tcp_available_congestion_control")
_ATTACHED_BY_RUN = re.compile(r"hw[0-9a-f]+n[0-9a-f]+_")

_UNSUPPORTED_APPS = {
    Requests: "hosts ask for a rate with TCP only",
    Transfers: "only the simulator generates transfers",
}
"""Applications that the kernel backend does not support, with the reason."""


def _check_exchanges(name: str, flow: Flow, app: Exchanges) -> None:
    """Raise HeadwayError for exchanges that only the simulator supports."""
    connections = app.table().exchanges.size
    try:
        check_live(app.file)
    except ValueError as error:
        raise HeadwayError(f"kernel backend: {name}: exchanges: {error}") from None
    announces_volume = flow.announces or flow.announces_first
    if connections > 1 and announces_volume:
        raise HeadwayError(traffic_files.announces_error(name))


def _check_app(name: str, experiment: Experiment, flow: Flow) -> None:
    """Raise HeadwayError for an application, or its options, that this backend does not support."""
    for app, why in _UNSUPPORTED_APPS.items():
        if isinstance(flow.app, app):
            raise HeadwayError(f"kernel backend: {name}: {flow.app.kind}: {why}")
    if isinstance(flow.app, Site):
        sites.check(name, flow.app)
    if isinstance(flow.app, Pages):
        web.check(name, flow, flow.app)
    if isinstance(flow.app, Exchanges):
        _check_exchanges(name, flow, flow.app)
    if traffic_files.needs_file(flow):
        traffic_files.check(name, experiment, flow)


def _check_control(name: str, flow: Flow) -> None:
    """Raise KernelCannotError for a control that the kernel lacks or whose ECT it cannot send."""
    if flow.control is None:
        return
    own = flow.control.kernel_own
    if own and own not in (available := _available_controls()):
        raise KernelCannotError(
            f"kernel backend: {name}: this kernel has no control {own!r}; it has "
            f"{', '.join(available)} (`modprobe tcp_{own}` loads one that is a module)"
        )
    if not own and "ect1" in registry().control(flow.control.name).flags:
        raise KernelCannotError(
            f"kernel backend: {name}: {flow.control.name}: kernels send data with ECT(0), and this "
            "control needs ECT(1)"
        )


def check(experiment: Experiment) -> None:
    """Raise HeadwayError, naming the field, for what this backend does not support."""
    if network.is_network(experiment):
        network.check(experiment)
    elif _captures_hosts(experiment) and any(f.direction == "reverse" for f in experiment.flows):
        raise HeadwayError(
            "kernel backend: capture.link: 'hosts' is not allowed with direction=reverse in a "
            "dumbbell, whose hosts on the left do not open all flows; use a network"
        )
    if gateway.has_gateway(experiment):
        gateway.check(experiment)
    mechanisms.check(experiment, len(sides(experiment)))
    if int(experiment.sysctls.get("tcp_ecn", "0")) > _LARGEST_TCP_ECN:
        _check_accurate_ecn(f"sysctls: tcp_ecn={experiment.sysctls['tcp_ecn']}")
    for name, flow in zip(experiment.flow_names(), experiment.flows, strict=True):
        _check_control(name, flow)
        _check_app(name, experiment, flow)
        if flow.stabilize:
            raise HeadwayError(f"kernel backend: {name}: stabilize is not possible yet")
        if flow.extra_ack:
            raise HeadwayError(
                f"kernel backend: {name}: extra_ack: not possible yet; "
                "`headwayctl host window` does it outside of experiments"
            )
        if isinstance(flow.app, Pingpong) and sets_hints(flow):
            raise HeadwayError(
                f"kernel backend: {name}: initial_rate, data_volume and deadline are for bulk and "
                "vectors; the pingpong program sets no hints"
            )
        _check_socket_buffers(name, flow)
        if ACCURATE in (flow.ecn_of_ends or ()):
            _check_accurate_ecn(f"{name}: ecn: {ACCURATE}")
        window = flow.initial_rwnd
        if (
            window is not None
            and window > _SMALL_WINDOW_BYTES
            and _kernel_version() < _LARGE_WINDOW_SINCE
        ):
            raise KernelCannotError(
                f"kernel backend: {name}: initial_rwnd: Linux before 6.10 announces at "
                f"most {_SMALL_WINDOW_BYTES} B from the start; this is "
                f"{platform.release()}"
            )


def _check_accurate_ecn(asked: str) -> None:
    """Raise KernelCannotError if the kernel refuses Accurate ECN."""
    if _kernel_version() < _ACCURATE_ECN_SINCE:
        raise KernelCannotError(
            f"kernel backend: {asked} is not possible: Accurate ECN can be selected since Linux "
            f"7.0; this is {platform.release()}"
        )


def _check_socket_buffers(name: str, flow: Flow) -> None:
    """Raise HeadwayError if the flow's programs do not set SO_RCVBUF and SO_SNDBUF."""
    for option in ("rcvbuf", "sndbuf"):
        if getattr(flow, option) is None or not flow.is_tcp:
            continue
        if flow.relay is not None or isinstance(flow.app, Pages | Site):
            programs = "a relay's" if flow.relay is not None else f"those of {flow.app.kind}"
            raise HeadwayError(
                f"kernel backend: {name}: {option}: not with programs that do not set it, such as "
                f"{programs}; use rmem or wmem"
            )


def _captures_hosts(experiment: Experiment) -> bool:
    """Whether packets are captured at hosts."""
    return experiment.capture is not None and experiment.capture.link == "hosts"


def _available_controls() -> list[str]:
    """The controls that this kernel has loaded, without those of this backend's runs."""
    return [name for name in _AVAILABLE.read_text().split() if not _ATTACHED_BY_RUN.match(name)]


def _kernel_version() -> tuple[int, int]:
    """The running kernel's version."""
    major, minor = re.match(r"(\d+)\.(\d+)", platform.release()).groups()  # type: ignore[union-attr]
    return int(major), int(minor)
