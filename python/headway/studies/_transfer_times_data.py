"""Schemes, sizes and paths of the study transfer-times, and what table 6.1 gives for each."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from headway.experiment import Flow
from headway.models import startup
from headway.models._checks import Floats
from headway.models.startup import StartupPath
from headway.studies.common import lab

RTTS_MS = (50, 100, 200)
"""Of the simulations; figures 6.38 and 6.39 have more lines from the equations."""
SIZES_BYTES = tuple(
    float(size)
    for size in (
        *(1e3, 1.5e3, 2e3, 3e3, 5e3, 7e3, 10e3, 14e3, 20e3, 30e3, 40e3, 50e3, 65e3, 80e3),
        *(100e3, 115e3, 135e3, 150e3, 200e3, 300e3, 500e3, 700e3),
        *(1e6, 1.5e6, 2e6, 3e6, 5e6, 7e6, 10e6),
    )
)
QUICK_SIZES_BYTES = (1e3, 5e3, 10e3, 30e3, 50e3, 100e3, 115e3, 135e3, 150e3, 300e3, 1e6, 5e6, 10e6)
QS_RATE_BPS = 5.12e6
MEGA_RATE_BPS = 10e6

BUFFERS_PKTS = (1000, 10_000)
"""The thesis' queue, and one that holds all: the equations know no loss, and with the first slow
start overshoots at the end of some of the largest transfers."""

TOLERANCE, TOLERANCE_S = 0.03, 0.005
"""A simulated time agrees with table 6.1 within 3 % or 5 ms, whichever is more."""

TARGET_SIZE_BYTES = 100e3
TARGETS_S = (0.1, 0.15, 0.25, 0.27, 0.3, 0.35, 0.4, 0.5, 0.7, 1.0, 1.5, 2.0)

CAPACITY_SIZE_BYTES = 1e6
"""Of figure 6.40; the thesis does not print its own. Slow start takes "of the order of 2 s"."""
CAPACITIES_BPS = (2e6, 5e6, 10e6, 20e6, 39e6, 43e6, 47e6, 79e6, 90e6, 200e6, 500e6, 1000e6)


EARLY, LATE = "quick-start", "quick-start-late"


@dataclass(frozen=True)
class Scheme:
    """One way to start: what a flow says, and what table 6.1 says."""

    label: str
    control: str
    response_s: Callable[[Floats, StartupPath], Floats]


SCHEMES: dict[str, Scheme] = {
    "slow-start": Scheme(
        "Slow-Start",
        f"{lab.CONTROL}+slow-start",
        lambda s, path: startup.slow_start_response_s(s, path=path),
    ),
    "initial-start": Scheme(
        "Initial-Start",
        f"{lab.CONTROL}+initial-start",
        lambda s, path: startup.slow_start_response_s(s, path=path, window_pkts=10),
    ),
    "jump-start": Scheme(
        "Jump-Start",
        f"{lab.CONTROL}+jump-start",
        lambda s, path: startup.jump_start_response_s(s, path=path),
    ),
    "mega-start": Scheme(
        "Mega-Start",
        f"{lab.CONTROL}+mega-start",
        lambda s, path: startup.paced_response_s(s, path=path, rate_bps=MEGA_RATE_BPS),
    ),
    EARLY: Scheme(
        "Quick-Start, early",
        lab.quick_start(QS_RATE_BPS, early=True),
        lambda s, path: startup.paced_response_s(s, path=path, rate_bps=QS_RATE_BPS),
    ),
    LATE: Scheme(
        "Quick-Start, late",
        lab.quick_start(QS_RATE_BPS, early=False),
        lambda s, path: startup.late_quick_start_response_s(s, path=path, rate_bps=QS_RATE_BPS),
    ),
}


def model_s(scheme: str, sizes: Floats, rtt_ms: float, rate_bps: float = lab.LINK_BPS) -> Floats:
    """Table 6.1 for a scheme on the lab's path."""
    return SCHEMES[scheme].response_s(sizes, lab.model_path(rate_bps=rate_bps, rtt_ms=rtt_ms))


def flow(scheme: str, size_bytes: float, start_s: float) -> Flow:
    """One download with a scheme's startup, on hosts that support it."""
    return lab.requests(
        [size_bytes],
        control=SCHEMES[scheme].control,
        start_s=start_s,
        receive_window=None if scheme == lab.SLOW_START else lab.RECEIVE_WINDOW,
        data_volume_bytes=size_bytes if scheme == EARLY else None,
    )


def agrees(measured_s: Floats, expected_s: Floats) -> Floats:
    """Where a simulated time is within the tolerance, as booleans."""
    off = np.abs(measured_s - expected_s)
    return np.asarray(off <= np.maximum(TOLERANCE * expected_s, TOLERANCE_S))


CAPACITY_SCHEMES = ("slow-start", "jump-start", "quick-start", "quick-start-5", "quick-start-b")
"""Figure 6.40. Quick-Start asks for the capacity, or for 5.12 Mbit/s; with QS-b, too."""
CAPACITY_WINDOW = "1100000 B"
"""Announced from the start there: the whole transfer."""


def capacity_flow(scheme: str, rate_bps: float) -> Flow:
    """One download over a path of ``rate_bps``."""
    early = scheme.startswith("quick-start")
    asked_bps = rate_bps if scheme == "quick-start" else min(QS_RATE_BPS, rate_bps)
    control = SCHEMES[scheme].control if not early else lab.quick_start(asked_bps, early=True)
    return lab.requests(
        [CAPACITY_SIZE_BYTES],
        control=control + (":qs_ssthresh=1" if scheme == "quick-start-b" else ""),
        receive_window=None if scheme == lab.SLOW_START else CAPACITY_WINDOW,
        data_volume_bytes=CAPACITY_SIZE_BYTES if early else None,
    )


TARGET_SCHEMES = ("slow-start", "initial-start", "jump-start", "mega-start", "quick-start-late")
"""Figure 7.4."""


def target_rate_bps(target_s: float) -> float | None:
    """Eq. 7.1: the IP rate that meets a target, Q = s / (T - d); None if no rate can."""
    path = lab.model_path()
    if target_s <= path.rtt_s:
        return None
    return TARGET_SIZE_BYTES / (target_s - path.rtt_s) * 8 * path.mtu_bytes / path.mss_bytes


def target_control(scheme: str, target_s: float) -> str:
    """The control of a transfer whose application has a target for its response time."""
    rate_bps = target_rate_bps(target_s)
    if scheme == "mega-start":
        if rate_bps is None:
            return SCHEMES["slow-start"].control
        return f"{SCHEMES[scheme].control}:ms_rate_kbps={max(rate_bps / 1e3, 1):.0f}"
    if scheme == "quick-start-late":
        if rate_bps is None:
            return SCHEMES["slow-start"].control
        return lab.quick_start(rate_bps, early=False)
    return SCHEMES[scheme].control


PIECES_BYTES = (100_000, 10_000, 4_000)
"""What an application writes at a time, the first all of what is timed."""
PIECES_SCHEMES = ("slow-start", "jump-start")
PIECES_GAP = "100 us"


def pieces_flow(scheme: str, piece_bytes: int) -> Flow:
    """An upload written piece by piece. Small pieces go on until the end, each echoed."""
    app: dict[str, str] = {"kind": "bulk", "size": f"{piece_bytes} B"}
    if piece_bytes < PIECES_BYTES[0]:
        app = {"kind": "pingpong", "request": f"{piece_bytes} B", "mean_interval": PIECES_GAP}
    return Flow.model_validate(
        {
            "app": app,
            "control": SCHEMES[scheme].control,
            "receive_buffer": lab.RECEIVE_BUFFER,
            "receive_window": lab.RECEIVE_WINDOW,
            "extra_ack": True,
            "start": "0 s",
        }
    )


@dataclass(frozen=True)
class Results:
    """All response times, seconds; NaN where a transfer did not complete."""

    sizes_bytes: Floats
    times_s: Mapping[tuple[str, int, int], Floats]
    """By scheme, RTT in ms and queue in packets; shape (sizes,)."""
    by_capacity_s: Mapping[str, Floats]
    """By scheme; shape (CAPACITIES_BPS,)."""
    by_target_s: Mapping[str, Floats]
    """By scheme; shape (TARGETS_S,)."""
    window3_s: Floats
    """Slow start from the 3 packets of Linux 2.6.24 at 200 ms; shape (sizes,)."""
    by_piece_s: Mapping[str, Floats]
    """From the handshake until the first of PIECES_BYTES has come; by scheme, shape (PIECES,)."""
    bursts: int
    """Bursts of a Jump-Start of 45 packets in its first round trip."""
    recovered: tuple[int, int, int]
    """A lossy Jump-Start: packets paced, sent again, cwnd after recovery."""

    def times(self, scheme: str, rtt_ms: int = 200, buffer_pkts: int = BUFFERS_PKTS[0]) -> Floats:
        """Times over the sizes."""
        return self.times_s[scheme, rtt_ms, buffer_pkts]

    def at(self, scheme: str, size_bytes: float, rtt_ms: int = 200) -> float:
        """The time of one size."""
        (index,) = np.flatnonzero(self.sizes_bytes == size_bytes)
        return float(self.times(scheme, rtt_ms)[index])

    def speedup(self, scheme: str, rtt_ms: int = 200) -> Floats:
        """Slow start's times over this scheme's."""
        return self.times("slow-start", rtt_ms) / self.times(scheme, rtt_ms)
