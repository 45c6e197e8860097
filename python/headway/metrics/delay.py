"""One-way delay of datagrams."""

from __future__ import annotations

import polars as pl

from headway.metrics.stats import Array, Distribution, distribution
from headway.metrics.windows import Window, window_of
from headway.trace import Trace

_NS_PER_US = 1000.0


def _datagrams(trace: Trace, flow: int | None, window: Window | None) -> pl.DataFrame:
    start_ns, end_ns = window or window_of(trace)
    sent = pl.col("sent_ns")
    chosen = (sent >= start_ns) & (sent < end_ns)
    return trace["udp"].filter(chosen if flow is None else chosen & (pl.col("flow") == flow))


def owd_us(trace: Trace, flow: int | None = None, window: Window | None = None) -> Array:
    """One-way delays, shape (n,), in µs, of the datagrams sent in the window that arrived.

    ``flow`` None takes all UDP flows; the window's default is [warmup, end].
    """
    column = _datagrams(trace, flow, window)["owd_ns"].drop_nulls()
    return column.cast(pl.Float64).to_numpy() / _NS_PER_US


def owd_distribution_us(
    trace: Trace, flow: int | None = None, window: Window | None = None
) -> Distribution:
    """Median, mean, sd, percentiles and extremes of ``owd_us``, µs, without lost datagrams.

    ``flow`` None takes all UDP flows; the window's default is [warmup, end]. If nothing arrived,
    all fields but ``count`` are None.
    """
    return distribution(owd_us(trace, flow, window))


def lost_pkts(trace: Trace, flow: int | None = None, window: Window | None = None) -> int:
    """Datagrams sent in the window that were lost; those in flight at the end do not count.

    ``flow`` None takes all UDP flows; the window's default is [warmup, end].
    """
    return _datagrams(trace, flow, window)["owd_ns"].null_count()
