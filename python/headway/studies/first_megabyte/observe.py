"""Run: the times of each startup's downloads."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from headway.metrics.stats import Array
from headway.trace import Trace


@dataclass(frozen=True)
class Downloads:
    """The downloads of one startup."""

    times_ms: Array
    """From the opening of the connection to the last byte, of complete downloads."""

    @property
    def median_ms(self) -> float:
        """NaN if none ended."""
        return float(np.median(self.times_ms)) if self.times_ms.size else float("nan")


def observe(trace: Trace) -> Downloads:
    """One trial."""
    rows = trace["responses"].sort("flow")
    return Downloads(((rows["end_ns"] - rows["start_ns"]) / 1e6).to_numpy().astype(np.float64))
