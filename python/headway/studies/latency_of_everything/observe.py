"""Run: what a control and a queue make of the link, in a few numbers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from headway import metrics
from headway.claims import Evidence
from headway.metrics.windows import counter_change
from headway.studies.latency_of_everything.experiments import BASE_MS, key
from headway.trace import Trace

BULK = 0
"""Number of the bulk flow, and of the forward link."""
PACKET_BYTES = 1500


@dataclass(frozen=True)
class Latency:
    """One trial, after the warm-up. Induced delay is what a datagram takes beyond an empty path."""

    induced_median_ms: float
    induced_p95_ms: float
    induced_max_ms: float
    utilization: float
    goodput_kbps: float
    queue_pkts: float
    """Mean over time of the bytes in the queue, in packets of 1500."""
    drops: int
    voip_loss: float


Found = Evidence[Latency]


def observe(trace: Trace) -> Latency:
    """One trial."""
    induced_ms = metrics.owd_us(trace) / 1e3 - BASE_MS
    lost = metrics.lost_pkts(trace)
    return Latency(
        induced_median_ms=float(np.median(induced_ms)) if induced_ms.size else np.nan,
        induced_p95_ms=float(np.quantile(induced_ms, 0.95)) if induced_ms.size else np.nan,
        induced_max_ms=float(np.max(induced_ms)) if induced_ms.size else np.nan,
        utilization=metrics.utilization(trace),
        goodput_kbps=metrics.goodput_bps(trace, BULK) / 1e3,
        queue_pkts=_mean_queue_pkts(trace),
        drops=metrics.drops_pkts(trace),
        voip_loss=lost / max(lost + induced_ms.size, 1),
    )


def _mean_queue_pkts(trace: Trace) -> float:
    start_ns, end_ns = window = metrics.window_of(trace)
    byte_us = counter_change(trace, "link", BULK, "queue_byte_us", window)
    return byte_us / ((end_ns - start_ns) / 1e3) / PACKET_BYTES


def mean(
    found: Found, control: str, queue: str, runs: int, value: Callable[[Latency], float]
) -> float:
    """Of all runs. Raises MissingTrialError."""
    return float(np.mean([value(found[key(control, queue, run)]) for run in range(1, runs + 1)]))


def runs_of(found: Found, control: str, queue: str) -> int:
    """How many runs there are evidence of; at least 1, so that none is told as missing."""
    run = 1
    while key(control, queue, run + 1) in found:
        run += 1
    return run
