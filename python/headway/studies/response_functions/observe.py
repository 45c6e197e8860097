"""Run: the goodput of each trial, the means to compare with equations, and queues."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from headway import metrics
from headway.claims import Evidence
from headway.metrics.stats import Array, or_nan
from headway.studies.common import lab
from headway.studies.response_functions.experiments import CONTROLS, key, queue_key
from headway.trace import Trace

_OPEN = 0


@dataclass(frozen=True)
class Run:
    """A flow's goodput in one trial."""

    goodput_bps: float
    """After the warm-up."""


@dataclass(frozen=True)
class Queue:
    """Mean queue length over time in full packets, after the warm-up."""

    mean_pkts: float
    governed_pkts: float
    """Mean while delay governed the window; NaN: it never did."""
    governed_part: float
    """The part of the time in which delay governed the window."""


Row = Run | Queue


@dataclass(frozen=True)
class Goodputs:
    """Mean goodputs by control and loss, and queues by control."""

    seen: Evidence[Run]
    losses: Sequence[float]
    """Those of this form, in rising order."""
    runs: int
    queues: Evidence[Queue]

    def mean_bps(self, control: str, loss: float) -> float:
        """Mean goodput over all runs. Raises MissingTrialError."""
        trials = [self.seen[key(control, loss, run)] for run in range(1, self.runs + 1)]
        return float(np.mean([one.goodput_bps for one in trials]))

    def by_control(self) -> dict[str, Array]:
        """All means, shape (losses,). Raises MissingTrialError."""
        return {
            control: np.array([self.mean_bps(control, loss) for loss in self.losses])
            for control in CONTROLS
        }

    def queue(self, control: str) -> Queue:
        """A control's queue. Raises MissingTrialError."""
        return self.queues[queue_key(control)]


def gather(rows: Mapping[str, Row], losses: Sequence[float], runs: int) -> Goodputs:
    """Rows by kind of trial."""
    return Goodputs(Evidence.of(Run, rows), losses, runs, Evidence.of(Queue, rows))


def observe(key: str, trace: Trace) -> Row:
    """One trial."""
    return _queue(trace) if key.startswith("queue-") else Run(metrics.goodput_bps(trace, 0))


def _queue(trace: Trace) -> Queue:
    start_ns, end_ns = metrics.window_of(trace)
    states = trace.rows_of("flow_state", "flow", 0).sort("time_ns")
    parts = governed_ns(states, metrics.backoff_times_ns(trace, 0))
    lengths = [last - first for first, last in parts]
    means = [_mean_pkts(trace, part) for part in parts]
    return Queue(
        _mean_pkts(trace, (start_ns, end_ns)),
        float(np.average(means, weights=lengths)) if parts else math.nan,
        sum(lengths) / (end_ns - start_ns),
    )


def _mean_pkts(trace: Trace, window: metrics.Window) -> float:
    return or_nan(metrics.queue_bytes(trace, 0, window).mean) / lab.MTU_BYTES


def governed_ns(states: pl.DataFrame, backoffs_ns: Sequence[int]) -> list[metrics.Window]:
    """Times from the repair of a loss until the window last shrinks before the next loss.

    Only delay makes a window shrink without a loss. ``states`` are those of one flow, in order.
    """
    parts = []
    repaired = states.filter(pl.col("state") == _OPEN)
    for start_ns, end_ns in itertools.pairwise(backoffs_ns):
        rows = repaired.filter(pl.col("time_ns").is_between(start_ns, end_ns, closed="left"))
        times_ns = rows["time_ns"].to_numpy()
        shrinks = np.flatnonzero(np.diff(rows["cwnd_pkts"].to_numpy().astype(np.int64)) < 0)
        if shrinks.size:
            parts.append((int(times_ns[0]), int(times_ns[shrinks[-1] + 1])))
    return parts
