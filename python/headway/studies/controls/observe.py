"""Run: reduce each trial to a few numbers."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from headway import metrics
from headway.metrics.stats import or_nan, weighted_distribution
from headway.metrics.windows import held_values
from headway.studies.controls.paths import FORWARD, lost_every
from headway.trace import Trace
from headway.units import NS_PER_S


@dataclass(frozen=True)
class Run:
    """Numbers after the warm-up. NaN: not recorded in this trial, or no value."""

    goodput_bps: float
    """Goodput of all flows."""
    utilization: float
    """Utilization of the bottleneck."""
    queue_pkts: float
    """Mean over time of the bottleneck's queue."""
    ssthresh_pkts: float
    """The first flow's ssthresh, median over time."""
    first_share: float
    """The first flow's part of the goodput."""
    window_pkts: float
    """The first flow's mean window with periodic loss: packets per round trip, from the time
    between reductions over whole cycles."""


def observe(trace: Trace) -> Run:
    """One trial."""
    goodputs_bps = [metrics.goodput_bps(trace, n) for n in range(len(trace.experiment.flows))]
    goodput_bps = float(np.sum(goodputs_bps))
    return Run(
        goodput_bps=goodput_bps,
        utilization=metrics.utilization(trace),
        queue_pkts=_queue_pkts(trace),
        ssthresh_pkts=_ssthresh_pkts(trace),
        first_share=goodputs_bps[0] / goodput_bps if goodput_bps else math.nan,
        window_pkts=_window_pkts(trace),
    )


def _queue_pkts(trace: Trace) -> float:
    rows = trace.rows_of("queue", "link", FORWARD)
    return or_nan(weighted_distribution(*held_values(rows, "queue_pkts", _window(trace))).mean)


def _ssthresh_pkts(trace: Trace) -> float:
    rows = trace.rows_of("flow_state", "flow", 0)
    held = held_values(rows, "ssthresh_pkts", _window(trace))
    return or_nan(weighted_distribution(*held).median)


def _window(trace: Trace) -> tuple[int, int]:
    return metrics.window_of(trace)


def _window_pkts(trace: Trace) -> float:
    every = lost_every(trace.experiment)
    epochs_s = metrics.congestion_epochs_s(trace, 0)
    if every is None or not epochs_s.size:
        return math.nan
    rtt_s = trace.experiment.base_rtt_ns / NS_PER_S
    return (every - 1) * rtt_s / float(epochs_s.mean())
