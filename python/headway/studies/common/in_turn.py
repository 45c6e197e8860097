"""Transfers one after the other on one path, as soon as each is over: a kernel's time is real."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from headway.models import startup
from headway.studies.common import lab

_FIRST_S = 0.3
_LONGEST, _GAP_S = 1.15, 0.5
"""A transfer is over after so many times what table 6.1 gives for slow start; then an idle link,
for longer than the slots in which the routers of ``lab.path`` meter."""


def in_turn(sizes_bytes: Sequence[float], rtt_ms: float) -> tuple[list[float], float]:
    """When downloads of these sizes start on the lab's path, and when the last is over; s."""
    path = lab.model_path(rtt_ms=rtt_ms)
    lengths_s = _LONGEST * startup.slow_start_response_s(np.array(sizes_bytes), path=path) + _GAP_S
    # a handshake is no part of what the model counts
    ends_s = _FIRST_S + np.cumsum(lengths_s + path.rtt_s)
    return [_FIRST_S, *(float(end_s) for end_s in ends_s[:-1])], float(ends_s[-1])
