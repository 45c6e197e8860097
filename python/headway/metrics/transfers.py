"""Completion times and slowdowns of transfers, by group and by size."""

from __future__ import annotations

from typing import Any

import polars as pl

from headway.engine import engine
from headway.metrics.stats import as_spread, distribution
from headway.metrics.windows import Window, window_of
from headway.trace import Trace


def transfers(trace: Trace, window: Window | None = None) -> pl.DataFrame:
    """One row per transfer that began in the window, sorted by start.

    Columns: flow; group, the flow's name or else its control; size_bytes; start_ns; fct_us, the
    time from the SYN until the last byte had arrived, null if it had not when the run ended;
    slowdown, the same divided by the completion time on an empty path (the handshake, and all
    packets back to back), null if that is unknown.
    """
    start_ns, end_ns = window or window_of(trace)
    groups = pl.Series([flow.group for flow in trace.flows], dtype=pl.String)
    rows = (
        trace["transfers"]
        .filter((pl.col("start_ns") >= start_ns) & (pl.col("start_ns") < end_ns))
        .sort("start_ns", "flow", maintain_order=True)
    )
    took_ns = pl.col("end_ns") - pl.col("start_ns")
    return rows.select(
        "flow",
        groups[rows["flow"].cast(pl.Int64)].alias("group"),
        "size_bytes",
        "start_ns",
        (took_ns / 1000).alias("fct_us"),
        (took_ns / pl.col("ideal_ns")).alias("slowdown"),
    )


def transfer_totals(trace: Trace) -> list[dict[str, Any]]:
    """The transfers of each group, in the format of ``headway.digest``."""
    rows = transfers(trace)
    parts = rows.partition_by("group", as_dict=True, maintain_order=True)
    groups = dict.fromkeys(flow.group for flow in trace.flows if flow.group is not None)
    return [_group(name, parts.get((name,), rows.clear())) for name in groups]


def _group(name: str, begun: pl.DataFrame) -> dict[str, Any]:
    rows = begun.drop_nulls("fct_us")
    edges = [0, *engine.SIZE_CLASS_EDGES_BYTES]
    classes = zip(edges, [*edges[1:], None], strict=True)
    return {
        "group": name,
        "begun": begun.height,
        "unfinished": begun.height - rows.height,
        "all": _class(rows, 0, None),
        "by_size": [_class(rows, low, high) for low, high in classes],
        "cdf": {
            "share": list(engine.CDF_SHARES),
            **{
                column: [rows[column].quantile(share, "linear") for share in engine.CDF_SHARES]
                for column in ("fct_us", "slowdown")
            },
        },
    }


def _class(rows: pl.DataFrame, low: int, high: int | None) -> dict[str, Any]:
    is_own = pl.col("size_bytes") >= low
    if high is not None:
        is_own &= pl.col("size_bytes") < high
    own = rows.filter(is_own)
    return {
        "from_bytes": low,
        "below_bytes": high,
        "completed": own.height,
        "bytes": int(own["size_bytes"].sum()),
        "fct_us": _tail(own["fct_us"]),
        "slowdown": _tail(own["slowdown"].drop_nulls()),
    }


def _tail(values: pl.Series) -> dict[str, float | None]:
    spread = as_spread(distribution(values.to_numpy()))
    return {**spread, "p999": values.quantile(0.999, "linear")}
