"""What a link carried, dropped and held back."""

from __future__ import annotations

import polars as pl

from headway.metrics.stats import Distribution, weighted_distribution
from headway.metrics.windows import Window, counter_change, held_values, window_of
from headway.trace import Trace
from headway.units import BITS_PER_BYTE, NS_PER_S

_NS_PER_MINUTE = 60 * NS_PER_S


def _change(trace: Trace, link: int, column: str, window: Window | None) -> int:
    return counter_change(trace, "link", link, column, window or window_of(trace))


def throughput_bps(trace: Trace, link: int = 0, window: Window | None = None) -> float:
    """All bytes the link sent in the window, IP headers and retransmissions too, in bits/s.

    The window is [start_ns, end_ns), by default [warmup, end]; its ends must be checkpoints
    (``Experiment.checkpoints_ns``, the end, or 0), else it raises ValueError. Links 2k and 2k + 1
    are those of hop k, forward and reverse.
    """
    start_ns, end_ns = window or window_of(trace)
    return (
        _change(trace, link, "sent_bytes", window) * BITS_PER_BYTE * NS_PER_S / (end_ns - start_ns)
    )


def utilization(trace: Trace, link: int = 0, window: Window | None = None) -> float:
    """Throughput over the link's mean rate, 0 to 1 (default [warmup, end]).

    A packet counts where its last bit was sent, so one packet may fall to either side of an end.
    Raises ValueError where an end of the window is no checkpoint.
    """
    forward, reverse = trace.experiment.topology.links()[link // 2]
    of = forward if link % 2 == 0 else reverse
    capacity_bps = of.capacity_bps(*(window or window_of(trace)))
    if capacity_bps == 0:  # it was down
        return 0.0
    return min(1.0, throughput_bps(trace, link, window) / capacity_bps)


def drops_pkts(trace: Trace, link: int = 0, window: Window | None = None) -> int:
    """Packets that arrived at the link in the window and never left it.

    Raises ValueError where an end of the window is no checkpoint.
    """
    return _change(trace, link, "dropped_pkts", window)


def drop_rate(trace: Trace, link: int = 0, window: Window | None = None) -> float | None:
    """Dropped over arrived packets in the window, 0 to 1; None if none arrived.

    Raises ValueError where an end of the window is no checkpoint.
    """
    arrived = _change(trace, link, "arrived_pkts", window)
    return drops_pkts(trace, link, window) / arrived if arrived else None


def queue_full_events(trace: Trace, link: int = 0, window: Window | None = None) -> int:
    """Times the queue was full that began in the window: from a drop to the next acceptance."""
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
    """The queue's length in bytes over the window, weighted by time; empty until it changes.

    Of an experiment whose ``record`` leaves "queue" out it is empty.
    """
    if "queue" not in trace.experiment.record:
        return Distribution(count=0)
    rows = trace.rows_of("queue", "link", link).select("time_ns", "queue_bytes")
    rows = pl.concat([pl.DataFrame([(0, 0)], schema=rows.schema, orient="row"), rows])
    return weighted_distribution(*held_values(rows, "queue_bytes", window or window_of(trace)))


def link_table(trace: Trace) -> pl.DataFrame:
    """One row per link over [warmup, end]; null where nothing was recorded."""
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
