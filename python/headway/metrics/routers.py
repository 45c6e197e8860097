"""Events and counters of routers and queues, by the names that their algorithms declare."""

from __future__ import annotations

import polars as pl

from headway.registry import Algorithm, registry
from headway.trace import Trace


def router_counters(trace: Trace, algorithm: str) -> pl.DataFrame:
    """Readings of a router algorithm's counters, one row per link and checkpoint.

    Columns: time_ns, link, and one per counter that ``algorithm`` declares (``headway describe``
    lists them).
    """
    return _by_name(trace["router_counters"], *_declared(trace, algorithm))


def queue_counters(trace: Trace, algorithm: str) -> pl.DataFrame:
    """Readings of a queue discipline's counters, one row per link and checkpoint.

    Columns: time_ns, link, and one per counter that ``algorithm`` declares (``headway describe``
    lists them). The table ``sub_queues`` of the trace has the counters of its sub-queues.
    """
    for index, owner in enumerate(trace.queues):
        if owner.name == algorithm:
            return _by_name(trace["queue_counters"], index, owner)
    return _by_name(trace["queue_counters"], -1, registry().queue(algorithm))


def _by_name(counters: pl.DataFrame, index: int, owner: Algorithm) -> pl.DataFrame:
    """The counters of algorithm number ``index``, a column for each."""
    rows = counters.filter(pl.col("algorithm") == index)
    first = rows.filter(pl.col("name") == 0).select("time_ns", "link")
    for at, counter in enumerate(owner.counters):
        values = rows.filter(pl.col("name") == at)["value"]
        first = first.with_columns(values.alias(counter.name))
    return first


def router_events(trace: Trace, algorithm: str) -> pl.DataFrame:
    """Events of a router algorithm, one row per packet or tick with at least one event.

    Columns: link, time_ns, flow (null for ticks), and one per event that ``algorithm`` declares,
    null if it did not occur.
    """
    index, owner = _declared(trace, algorithm)
    rows = trace["router_events"].filter(pl.col("algorithm") == index)
    # one call of the router may report several events: consecutive rows in which ``name`` increases
    keys = ["link", "time_ns", "flow"]
    same = pl.all_horizontal(pl.col(key).eq_missing(pl.col(key).shift()) for key in keys)
    begins = ~(same & (pl.col("name") > pl.col("name").shift())).fill_null(False)
    rows = rows.with_columns(call=begins.cum_sum())
    calls = rows.unique("call", keep="first", maintain_order=True).select("call", *keys)
    for at, event in enumerate(owner.events):
        values = rows.filter(pl.col("name") == at).select("call", pl.col("value").alias(event.name))
        calls = calls.join(values, on="call", how="left", maintain_order="left")
    return calls.drop("call")


def _declared(trace: Trace, algorithm: str) -> tuple[int, Algorithm]:
    """The algorithm's number in the tables, and its declaration."""
    for index, owner in enumerate(trace.routers):
        if owner.name == algorithm:
            return index, owner
    return -1, registry().router(algorithm)  # no link has this algorithm
