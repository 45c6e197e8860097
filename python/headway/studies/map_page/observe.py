"""Run: the loading times of a trial's visits."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from headway.metrics.stats import Array
from headway.trace import Trace


@dataclass(frozen=True)
class Loads:
    """Loading times in s as the browser measures them, a visit's volume, and a picture."""

    load_s: Array
    volume_bytes: float
    picture: str = ""

    @property
    def median_s(self) -> float:
        """Median over the visits."""
        return float(np.median(self.load_s)) if self.load_s.size else float("nan")

    @property
    def interval_s(self) -> tuple[float, float]:
        """The median's interval: the second and the last but one of ten (98 %), else the ends."""
        if not self.load_s.size:
            return float("nan"), float("nan")
        ordered = np.sort(self.load_s)
        inner = 1 if ordered.size >= 10 else 0
        return float(ordered[inner]), float(ordered[-1 - inner])


def observe(trace: Trace) -> Loads:
    """One trial."""
    told = trace.meta["visits"]["0"]
    loads = np.array([visit["load_ms"] / 1e3 for visit in told["visits"]], dtype=np.float64)
    delivered = trace["flow_counters"].sort("time_ns")["delivered_bytes"][-1]
    return Loads(loads, delivered / max(len(loads), 1), told["picture"])
