"""Run: what is kept of each transfer."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import polars as pl

from headway.experiment import Bulk
from headway.metrics.stats import Array
from headway.models.quick_start import RATES_BPS
from headway.studies.capacity_error.experiments import RTT_S
from headway.studies.common import lab
from headway.trace import Trace
from headway.units import NS_PER_S

FULL = 0.95
"""Part of the link's rate at which it counts as full."""
HELD_S = 1.0
"""For so long it has to stay full."""


@dataclass(frozen=True)
class Transfer:
    """How a transfer went."""

    granted_bps: float
    """What its request got; 0: denied; NaN: it did not ask."""
    times_s: Array
    """Ends of slots of 200 ms."""
    rates_bps: Array
    """IP rate of the link in each."""
    acked_s: Array
    """When the sender's counters were read."""
    acked_bytes: Array
    """Acknowledged by then."""
    full_after_s: float
    """When the link was full for :data:`HELD_S`; NaN: never."""
    drops_s: Array
    """When the queue dropped a packet."""
    timeouts: int
    """Retransmission timeouts."""
    size_bytes: float

    def delivered_after_s(self, size_bytes: float) -> float:
        """When so many bytes were acknowledged, interpolated; seconds. NaN: never."""
        times = np.concatenate([[0.0], self.acked_s])
        sums = np.concatenate([[0.0], self.acked_bytes])
        if not sums[-1] >= size_bytes:
            return math.nan
        index = int(np.searchsorted(sums, size_bytes))
        part = (size_bytes - sums[index - 1]) / (sums[index] - sums[index - 1])
        return float(times[index - 1] + part * (times[index] - times[index - 1]))

    @property
    def duration_s(self) -> float:
        """Until all of it was acknowledged, seconds; NaN: never."""
        return self.delivered_after_s(self.size_bytes)

    def early_drops(self, rounds: int) -> int:
        """Packets that were dropped in the first round trips of 200 ms."""
        return int((self.drops_s < rounds * RTT_S).sum())


def observe(_key: str, trace: Trace) -> Transfer:
    """One trial."""
    times_s, rates_bps = lab.link_rate(trace, 0)
    rows = trace["flow_counters"].filter(pl.col("flow") == 0).sort("time_ns")
    app = trace.experiment.flows[0].app
    assert isinstance(app, Bulk)
    return Transfer(
        _granted_bps(trace),
        times_s,
        rates_bps,
        rows["time_ns"].to_numpy() / NS_PER_S,
        rows["acked_bytes"].to_numpy().astype(np.float64),
        _full_after_s(times_s, rates_bps, trace.experiment.topology.links()[0][0].rate),
        trace["drops"]["time_ns"].to_numpy() / NS_PER_S,
        int(rows["rtos"].max() or 0),  # type: ignore[arg-type]
        float(app.size or math.nan),
    )


def _granted_bps(trace: Trace) -> float:
    rows = trace["approvals"].sort("time_ns")
    return float(RATES_BPS[rows["granted_code"][0]]) if rows.height else math.nan


def _full_after_s(times_s: Array, rates_bps: Array, link_bps: float) -> float:
    full = rates_bps >= FULL * link_bps
    held = round(HELD_S / RTT_S)
    for index in range(full.size - held + 1):
        if full[index : index + held].all():
            return float(times_s[index])
    return math.nan
