"""Metrics of links: throughput, drops and queues."""

from __future__ import annotations

import polars as pl

from headway.metrics.stats import Distribution, weighted_distribution
from headway.metrics.windows import Window, counter_change, values_with_durations, window_of
from headway.trace import Trace
from headway.units import BITS_PER_BYTE, NS_PER_S

_NS_PER_MINUTE = 60 * NS_PER_S


def _change(trace: Trace, link: int, column: str, window: Window | None) -> int:
    return counter_change(trace, "link", link, column, window or window_of(trace))


def throughput_bps(trace: Trace, link: int = 0, window: Window | None = None) -> float:
    """All bytes the link sent in the window, with IP headers and retransmissions, in bits/s.

    The window is [start_ns, end_ns), by default [warmup, end]. Raises ValueError if its ends are
    not checkpoints (``Experiment.checkpoints_ns``, the end, or 0). Links 2k and 2k + 1 are the
    forward and reverse links of hop k.
    """
    start_ns, end_ns = window or window_of(trace)
    return (
        _change(trace, link, "sent_bytes", window) * BITS_PER_BYTE * NS_PER_S / (end_ns - start_ns)
    )


def utilization(trace: Trace, link: int = 0, window: Window | None = None) -> float:
    """Throughput divided by the link's mean rate, 0 to 1 (default [warmup, end]).

    A packet counts when its last bit is sent, so a window can be off by one packet at each end.
    Raises ValueError if an end of the window is not a checkpoint.
    """
    forward, reverse = trace.experiment.topology.links()[link // 2]
    of = forward if link % 2 == 0 else reverse
    capacity_bps = of.capacity_bps(*(window or window_of(trace)))
    if capacity_bps == 0:  # the link was down
        return 0.0
    return min(1.0, throughput_bps(trace, link, window) / capacity_bps)


def drops_pkts(trace: Trace, link: int = 0, window: Window | None = None) -> int:
    """Packets that the link dropped in the window.

    Raises ValueError if an end of the window is not a checkpoint.
    """
    return _change(trace, link, "dropped_pkts", window)


def drop_rate(trace: Trace, link: int = 0, window: Window | None = None) -> float | None:
    """Dropped divided by arrived packets in the window, 0 to 1; None if none arrived.

    Raises ValueError if an end of the window is not a checkpoint.
    """
    arrived = _change(trace, link, "arrived_pkts", window)
    return drops_pkts(trace, link, window) / arrived if arrived else None


def queue_full_events(trace: Trace, link: int = 0, window: Window | None = None) -> int:
    """Number of queue-full events that began in the window.

    An event lasts from a drop for lack of room to the next accepted packet.
    """
    start_ns, end_ns = window or window_of(trace)
    return (
        trace["queue_full"]
        .filter(
            (pl.col("link") == link)
            & (pl.col("start_ns") >= start_ns)
            & (pl.col("start_ns") < end_ns)
        )
        .height
    )


def queue_full_per_minute(trace: Trace, link: int = 0, window: Window | None = None) -> float:
    """Queue-full events per minute of the window."""
    start_ns, end_ns = window or window_of(trace)
    return queue_full_events(trace, link, window) * _NS_PER_MINUTE / (end_ns - start_ns)


def queue_bytes(trace: Trace, link: int = 0, window: Window | None = None) -> Distribution:
    """The queue's length in bytes over the window, weighted by time; 0 until the first change.

    The distribution is empty if the experiment's ``record`` leaves out "queue".
    """
    if "queue" not in trace.experiment.record:
        return Distribution(count=0)
    rows = trace.rows_of("queue", "link", link).select("time_ns", "queue_bytes")
    rows = pl.concat([pl.DataFrame([(0, 0)], schema=rows.schema, orient="row"), rows])
    return weighted_distribution(
        *values_with_durations(rows, "queue_bytes", window or window_of(trace))
    )


def link_table(trace: Trace) -> pl.DataFrame:
    """One row per link over [warmup, end]; null if nothing was recorded."""
    return pl.DataFrame(
        [
            {
                "link": link,
                "name": name,
                "utilization": utilization(trace, link),
                "throughput_bps": throughput_bps(trace, link),
                "drops_pkts": drops_pkts(trace, link),
                "drop_rate": drop_rate(trace, link),
                "queue_full_events": queue_full_events(trace, link),
                "queue_full_per_minute": queue_full_per_minute(trace, link),
                "queue_mean_bytes": queue_bytes(trace, link).mean,
                "queue_max_bytes": queue_bytes(trace, link).max,
            }
            for link, name in enumerate(trace.links)
        ]
    )
