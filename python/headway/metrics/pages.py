"""Load times of Web pages."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl

from headway.browser.sites import HEAD_BYTES
from headway.experiment import Pages, Site
from headway.metrics.windows import Window, window_of
from headway.trace import Trace
from headway.units import NS_PER_S
from headway.workloads.exchange_file import AFTER_NONE
from headway.workloads.pages import PageTable

_LATE = np.iinfo(np.int64).max

_SCHEMA = {
    "flow": pl.UInt32,
    "page": pl.UInt32,
    "start_ns": pl.Int64,
    "seconds": pl.Float64,
    "objects": pl.UInt32,
    "bytes": pl.Int64,
}


def page_loads(trace: Trace, window: Window | None = None) -> pl.DataFrame:
    """One row per page whose load began in the window and was complete in the run.

    Columns: flow; page, its number in the flow's file; start_ns; seconds until the page's last
    object arrived, including waits for connections, handshakes and waits of the page itself;
    objects; bytes of all its responses. Sorted by start.

    For a ``headway.experiment.Site`` a page is a visit of the map, and the seconds are those that
    the browser reports until its load event. Bytes are null if the trace does not have the objects'
    sizes. A walk through a city has no load event and no rows. Other flows have no pages.
    """
    start_ns, end_ns = window or window_of(trace)
    rows = trace["responses"]
    parts = [pl.DataFrame(schema=_SCHEMA)]
    for number, flow in enumerate(trace.experiment.flows):
        if isinstance(flow.app, Pages):
            own = rows.filter(pl.col("flow") == number)
            parts.append(_loads(number, flow.app.table(), own))
        elif isinstance(flow.app, Site):
            parts.append(_visits(number, trace.meta["visits"][str(number)]))
    began = (pl.col("start_ns") >= start_ns) & (pl.col("start_ns") < end_ns)
    return pl.concat(parts).filter(began).sort("start_ns", "flow", "page")


def _loads(flow: int, table: PageTable, rows: pl.DataFrame) -> pl.DataFrame:
    objects = rows["epoch"].to_numpy()
    requested_ns = np.full(table.request_bytes.size, _LATE)
    requested_ns[objects] = rows["start_ns"].to_numpy()
    ended_ns = np.full(table.request_bytes.size, _LATE)
    ended_ns[objects] = rows["end_ns"].to_numpy()
    counts = table.objects.astype(np.int64)
    firsts = np.cumsum(counts) - counts
    # The first object that depends on no other gets a connection at once. Its request is delayed
    # only by the page's own wait.
    waited_ns = table.start_ns.astype(np.int64) if table.start_ns.size else 0
    known_ns = np.where((table.after == AFTER_NONE) & (requested_ns < _LATE), requested_ns, _LATE)
    began_ns = np.minimum.reduceat(np.where(known_ns < _LATE, known_ns - waited_ns, _LATE), firsts)
    last_ns = np.maximum.reduceat(ended_ns, firsts)
    whole = np.flatnonzero(last_ns < _LATE)
    columns = {
        "flow": np.full(whole.size, flow),
        "page": whole,
        "start_ns": began_ns[whole],
        "seconds": (last_ns - began_ns)[whole] / NS_PER_S,
        "objects": counts[whole],
        "bytes": np.add.reduceat(table.response_bytes.astype(np.int64), firsts)[whole],
    }
    return pl.DataFrame(columns, schema=_SCHEMA)


def _visits(flow: int, visits: Mapping[str, Any]) -> pl.DataFrame:
    """A browser's reports of its visits of a page."""
    sizes = [HEAD_BYTES + one["size_bytes"] for one in visits.get("site", ())]
    rows = [
        {
            "flow": flow,
            "page": number,
            "start_ns": visit["begun_ns"],
            "seconds": visit["load_ms"] / 1e3,
            "objects": visit["objects"],
            "bytes": sum(sizes) if sizes else None,
        }
        for number, visit in enumerate(visits["visits"])
        if "load_ms" in visit and visit["objects"] == visits["site_objects"]
    ]
    return pl.DataFrame(rows, schema=_SCHEMA)
