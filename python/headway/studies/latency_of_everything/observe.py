"""Run: reduce a trial to delay, utilization and queue."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from headway import metrics
from headway.claims import Evidence
from headway.experiment import Experiment, Voip
from headway.metrics.stats import or_nan, weighted_distribution
from headway.metrics.windows import counter_change, held_values
from headway.studies.latency_of_everything.experiments import key
from headway.trace import Trace
from headway.units import BITS_PER_BYTE, NS_PER_S

BULK = 0
"""Number of the bulk flow, and of the forward link."""
PACKET_BYTES = 1500


@dataclass(frozen=True)
class Latency:
    """One trial, after the warm-up. Induced delay is a datagram's delay beyond an empty path."""

    induced_median_ms: float
    induced_p95_ms: float
    induced_max_ms: float
    utilization: float
    goodput_kbps: float
    queue_pkts: float
    """Mean over time of the bytes in the queue, in packets of 1500."""
    counted_pkts: float
    """Mean over time of the packets in the queue, whatever their size; NaN: not recorded."""
    drops: int
    voip_loss: float


Found = Evidence[Latency]


def observe(trace: Trace) -> Latency:
    """One trial."""
    induced_ms = metrics.owd_us(trace) / 1e3 - empty_path_ms(trace.experiment)
    lost = metrics.lost_pkts(trace)
    return Latency(
        induced_median_ms=float(np.median(induced_ms)) if induced_ms.size else np.nan,
        induced_p95_ms=float(np.quantile(induced_ms, 0.95)) if induced_ms.size else np.nan,
        induced_max_ms=float(np.max(induced_ms)) if induced_ms.size else np.nan,
        utilization=metrics.utilization(trace),
        goodput_kbps=metrics.goodput_bps(trace, BULK) / 1e3,
        queue_pkts=_mean_queue_pkts(trace),
        counted_pkts=_counted_pkts(trace),
        drops=metrics.drops_pkts(trace),
        voip_loss=lost / max(lost + induced_ms.size, 1),
    )


def empty_path_ms(experiment: Experiment) -> float:
    """A datagram's delay on an empty path: half the RTT and its own time on the link."""
    link, _ = experiment.topology.links()[0]
    own_ns = Voip.packet * BITS_PER_BYTE * NS_PER_S / link.rate
    return float(experiment.base_rtt_ns / 2 + own_ns) / 1e6


def _mean_queue_pkts(trace: Trace) -> float:
    start_ns, end_ns = window = metrics.window_of(trace)
    byte_us = counter_change(trace, "link", BULK, "queue_byte_us", window)
    return byte_us / ((end_ns - start_ns) / 1e3) / PACKET_BYTES


def _counted_pkts(trace: Trace) -> float:
    if "queue" not in trace.experiment.record:
        return np.nan
    held = held_values(trace.rows_of("queue", "link", BULK), "queue_pkts", metrics.window_of(trace))
    return or_nan(weighted_distribution(*held).mean)


def mean(
    found: Found, control: str, queue: str, runs: int, value: Callable[[Latency], float]
) -> float:
    """The mean over all runs. Raises MissingTrialError."""
    return float(np.mean([value(found[key(control, queue, run)]) for run in range(1, runs + 1)]))


def runs_of(found: Found, control: str, queue: str) -> int:
    """The number of runs in the evidence; at least 1, so that a missing one is reported."""
    run = 1
    while key(control, queue, run + 1) in found:
        run += 1
    return run
