"""Start times of transfers that follow each other closely, because a kernel runs in real time."""

from collections.abc import Sequence

import numpy as np

from headway.models import startup
from headway.studies.common import lab

_FIRST_S = 0.3
_LONGEST, _GAP_S = 1.15, 0.5
"""Each transfer is assumed to take at most _LONGEST times slow start's time by table 6.1. The link
is then idle for _GAP_S, which is longer than the slots in which the routers of ``lab.path`` meter.
"""


def in_turn(sizes_bytes: Sequence[float], rtt_ms: float) -> tuple[list[float], float]:
    """Start times of downloads of these sizes on the lab's path, and the last end; seconds."""
    path = lab.model_path(rtt_ms=rtt_ms)
    lengths_s = _LONGEST * startup.slow_start_response_s(np.array(sizes_bytes), path=path) + _GAP_S
    # The model does not include the handshake.
    ends_s = _FIRST_S + np.cumsum(lengths_s + path.rtt_s)
    return [_FIRST_S, *(float(end_s) for end_s in ends_s[:-1])], float(ends_s[-1])
