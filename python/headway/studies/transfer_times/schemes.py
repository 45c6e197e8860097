"""Setup: the startups that are compared, and their response times by table 6.1."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from headway.experiment import Flow
from headway.models import startup
from headway.models._checks import Floats
from headway.models.startup import StartupPath
from headway.studies.common import lab

QS_RATE_BPS = 5.12e6
MEGA_RATE_BPS = 10e6

TOLERANCE, TOLERANCE_S = 0.03, 0.005
"""A simulated time agrees with table 6.1 within 3 % or 5 ms, whichever is more."""

BASE = lab.SLOW_START
EARLY, LATE = "quick-start", "quick-start-late"


@dataclass(frozen=True)
class Scheme:
    """A startup: a flow's control, and its response time by table 6.1."""

    label: str
    control: str
    response_s: Callable[[Floats, StartupPath], Floats]


SCHEMES: dict[str, Scheme] = {
    BASE: Scheme(
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
    """One download with a scheme's startup."""
    return lab.requests(
        [size_bytes],
        control=SCHEMES[scheme].control,
        start_s=start_s,
        receive_window=None if scheme == BASE else lab.RECEIVE_WINDOW,
        data_volume_bytes=size_bytes if scheme == EARLY else None,
    )


def agrees(measured_s: Floats, expected_s: Floats) -> Floats:
    """Where a simulated time is within the tolerance, as booleans."""
    off = np.abs(measured_s - expected_s)
    return np.asarray(off <= np.maximum(TOLERANCE * expected_s, TOLERANCE_S))
