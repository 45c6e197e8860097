"""Run: observations of a trial's epochs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields

import numpy as np
import polars as pl

from headway.claims import Evidence
from headway.metrics.stats import Estimate
from headway.studies.common import traffic
from headway.studies.common.traffic import Traffic
from headway.trace import Trace
from headway.workloads import SessionTable
from headway.workloads.draws import Floats, Ints

LARGE_BYTES = 10_000
"""Larger responses are those that a fast startup can help (section 6.4.5.2)."""
SIZES_BYTES = np.geomspace(100, 1e7, 21)
"""Ends of the size bins of figures 6.52 and 6.53."""
ENOUGH = 30
"""The least number of exchanges for a size bin to be plotted."""
ABOVE_MS = (200, 300, 500, 700, 900, 1500, 6000)
"""From several hundred milliseconds to the ends of "of the order of 3 s"."""
_POINTS = 300


@dataclass(frozen=True)
class BySize:
    """Epoch durations by response size; one entry per bin with enough exchanges."""

    bytes: Floats
    """The bin's middle."""
    mean_s: Floats
    lower_s: Floats
    """The quartile."""
    upper_s: Floats


@dataclass(frozen=True)
class Epochs(Traffic):
    """Epoch durations of one trial."""

    large: Estimate
    """Mean duration, seconds, of those with a response of 10 kB or more."""
    timeouts: int
    """Retransmission timeouts of all servers, in the whole run."""
    above_ms: Mapping[int, float]
    """Part of the epochs that last longer than each of ABOVE_MS."""
    tail_s: Floats
    """Durations at some 300 ranks, in rising order."""
    tail_part: Floats
    """Part of the epochs that last at least as long as each of ``tail_s``."""
    by_size: BySize


@dataclass(frozen=True)
class Mix(Evidence[Epochs]):
    """All trials, and the connection vectors that they draw from."""

    drawn: SessionTable


def observe(trace: Trace) -> Epochs:
    """One trial."""
    rows = traffic.responses(trace)
    whole = traffic.traffic(trace, rows)
    seconds = rows["seconds"].to_numpy()
    sizes = rows["response_bytes"].to_numpy()
    tail_s, tail_part = _tail(seconds)
    return Epochs(
        **{one.name: getattr(whole, one.name) for one in fields(Traffic)},
        large=traffic.mean_s(seconds[sizes >= LARGE_BYTES]),
        timeouts=_timeouts(trace),
        above_ms={limit: float((seconds > limit / 1e3).mean()) for limit in ABOVE_MS},
        tail_s=tail_s,
        tail_part=tail_part,
        by_size=_by_size(seconds, sizes),
    )


def _timeouts(trace: Trace) -> int:
    counted = trace["flow_counters"]
    return int(counted.filter(pl.col("time_ns") == trace.duration_ns)["rtos"].sum())


def _tail(seconds: Floats) -> tuple[Floats, Floats]:
    ordered = np.sort(seconds)
    rank = np.unique(np.geomspace(1, max(ordered.size, 1), _POINTS).astype(np.int64))
    return ordered[-rank][::-1], (rank / ordered.size)[::-1]


def _by_size(seconds: Floats, sizes: Ints) -> BySize:
    place = np.searchsorted(SIZES_BYTES, sizes, side="right") - 1
    order = np.argsort(place, kind="stable")
    ends = np.searchsorted(place[order], np.arange(SIZES_BYTES.size))
    bins = np.split(seconds[order], ends)[1:-1]
    kept = [i for i, values in enumerate(bins) if values.size >= ENOUGH]
    return BySize(
        np.sqrt(SIZES_BYTES[:-1] * SIZES_BYTES[1:])[kept],
        np.array([float(bins[i].mean()) for i in kept]),
        np.array([np.quantile(bins[i], 0.25) for i in kept]),
        np.array([np.quantile(bins[i], 0.75) for i in kept]),
    )
