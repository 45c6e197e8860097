"""Time windows of a run, and functions that read counters and signals within them."""

from __future__ import annotations

import numpy as np
import polars as pl

from headway.metrics.stats import Array
from headway.trace import Trace

Window = tuple[int, int]
"""A time interval [start_ns, end_ns), counted from the start of the run."""


def window_of(trace: Trace) -> Window:
    """The measured part of a run: from its warm-up to its end."""
    experiment = trace.experiment
    return experiment.warmup, experiment.duration


def whole_run(trace: Trace) -> Window:
    """The window of a whole run, warmup included."""
    return 0, trace.experiment.duration


def counter_change(trace: Trace, owner: str, index: int, column: str, window: Window) -> int:
    """How much a counter of flow or link ``index`` grew over the window.

    ``owner`` is "flow" or "link". Raises ValueError if an end of the window is not a checkpoint.
    Time 0 counts as a checkpoint, at which all counters are 0.
    """
    rows = trace.rows_of(f"{owner}_counters", owner, index)
    totals: list[int] = []
    for time_ns in window:
        at = rows.filter(pl.col("time_ns") == time_ns)[column]
        if at.len() == 0 and time_ns != 0:
            raise ValueError(
                f"{owner} {index}: no counters at {time_ns} ns: this time is not a checkpoint"
            )
        totals.append(int(at[0]) if at.len() else 0)
    return totals[1] - totals[0]


def counters_at(counters: pl.DataFrame, owner: str, time_ns: int) -> pl.DataFrame:
    """All counters of all flows or links at a checkpoint, one row each, sorted by ``owner``.

    Takes time linear in the rows. At time 0 all counters are 0. Raises ValueError if the time is
    not a checkpoint.
    """
    rows = counters.filter(pl.col("time_ns") == time_ns).drop("time_ns").sort(owner)
    if rows.is_empty() and time_ns == 0:
        owners = counters.drop("time_ns").unique(owner).sort(owner)
        return owners.with_columns(pl.exclude(owner) * 0)
    if rows.is_empty() and counters.height:
        raise ValueError(
            f"no counters of any {owner} at {time_ns} ns: this time is not a checkpoint"
        )
    return rows


def values_with_durations(rows: pl.DataFrame, column: str, window: Window) -> tuple[Array, Array]:
    """A signal recorded on change, as values (n,) and their durations in the window, in ns.

    ``rows`` has ``time_ns``, in order, and ``column``. Time before the first row, and time with a
    null value, is left out.
    """
    start_ns, end_ns = window
    times = rows["time_ns"].to_numpy().astype(np.int64)
    values = rows[column].cast(pl.Float64).to_numpy()
    if times.size == 0:
        return np.empty(0), np.empty(0)
    until = np.append(times[1:], end_ns)
    held = np.clip(until, start_ns, end_ns) - np.clip(times, start_ns, end_ns)
    known = ~np.isnan(values) & (held > 0)
    return values[known], held[known].astype(np.float64)
