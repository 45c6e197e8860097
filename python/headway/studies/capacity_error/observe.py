"""Run: what is kept of each transfer."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import polars as pl

from headway import metrics
from headway.claims import Evidence
from headway.metrics.stats import Array
from headway.models.quick_start import RATES_BPS
from headway.studies.capacity_error.experiments import RTT_S
from headway.studies.common import lab
from headway.trace import Trace
from headway.units import NS_PER_S

Kind = TypeVar("Kind")
FULL = 0.95
"""Part of the link's rate at which it counts as full."""
HELD_S = 1.0
"""For so long it has to stay full."""


@dataclass(frozen=True)
class Transfer:
    """How the first 30 s of a long transfer went."""

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
    timeouts: float
    """Retransmission timeouts by the time at which the link was full."""

    def delivered_after_s(self, size_bytes: float) -> float:
        """When so many bytes were acknowledged, interpolated; seconds. NaN: never."""
        times = np.concatenate([[0.0], self.acked_s])
        sums = np.concatenate([[0.0], self.acked_bytes])
        if not sums[-1] >= size_bytes:
            return math.nan
        index = int(np.searchsorted(sums, size_bytes))
        part = (size_bytes - sums[index - 1]) / (sums[index] - sums[index - 1])
        return float(times[index - 1] + part * (times[index] - times[index - 1]))

    def early_drops(self, rounds: int) -> int:
        """Packets that were dropped in the first round trips."""
        return int((self.drops_s < rounds * RTT_S).sum())


@dataclass(frozen=True)
class LongTransfer:
    """How a transfer over the long path went."""

    granted_bps: float
    took_s: float
    """From the connection's opening until the answer to all of it was there; NaN: it was not."""
    drops: float
    timeouts: float


Row = Transfer | LongTransfer


@dataclass(frozen=True)
class Found:
    """Both kinds of trials, under their own keys."""

    cases: Evidence[Transfer]
    long: Evidence[LongTransfer]


def gather(rows: Mapping[str, Row]) -> Found:
    """All rows, told apart by what they are."""

    def of(kind: type[Kind]) -> Evidence[Kind]:
        return Evidence({key: row for key, row in rows.items() if isinstance(row, kind)})

    return Found(of(Transfer), of(LongTransfer))


def observe(key: str, trace: Trace) -> Row:
    """One trial."""
    return _long(trace) if key.startswith("long-") else _case(trace)


def _case(trace: Trace) -> Transfer:
    times_s, rates_bps = lab.link_rate(trace, 0)
    rows = trace["flow_counters"].filter(pl.col("flow") == 0).sort("time_ns")
    full_s = _full_after_s(times_s, rates_bps, trace.experiment.topology.links()[0][0].rate)
    by_then = rows["time_ns"] / NS_PER_S <= full_s if math.isfinite(full_s) else None
    rtos = rows["rtos"] if by_then is None else rows["rtos"].filter(by_then)
    return Transfer(
        _granted_bps(trace),
        times_s,
        rates_bps,
        rows["time_ns"].to_numpy() / NS_PER_S,
        rows["acked_bytes"].to_numpy().astype(np.float64),
        full_s,
        trace["drops"]["time_ns"].to_numpy() / NS_PER_S,
        float(rtos[-1]),
    )


def _long(trace: Trace) -> LongTransfer:
    responses = trace["responses"]
    took_ns = responses["end_ns"][0] - responses["start_ns"][0] if responses.height else math.nan
    return LongTransfer(
        _granted_bps(trace),
        took_ns / NS_PER_S,
        float(trace["drops"].height),
        float(trace["flow_counters"].filter(pl.col("flow") == 0).sort("time_ns")["rtos"][-1]),
    )


def _granted_bps(trace: Trace) -> float:
    rows = metrics.router_events(trace, "quick-start").sort("time_ns")
    return float(RATES_BPS[rows["granted_code"][0]]) if rows.height else math.nan


def _full_after_s(times_s: Array, rates_bps: Array, link_bps: float) -> float:
    full = rates_bps >= FULL * link_bps
    held = round(HELD_S / RTT_S)
    for index in range(full.size - held + 1):
        if full[index : index + held].all():
            return float(times_s[index])
    return math.nan
