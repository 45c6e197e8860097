"""Readings of a control's state, by the names that the control declares."""

from __future__ import annotations

import polars as pl

from headway.trace import Trace


def readings(trace: Trace, flow: int = 0) -> pl.DataFrame:
    """Readings of a flow's control, one row per ACK.

    The trace has them if ``record`` of its experiment names "controls".

    Columns: time_ns, and one per reading that the control declares (``headway describe`` lists
    them). Without readings the table has no rows.
    """
    rows = trace.rows_of("readings", "flow", flow)
    names = trace.flows[flow].readings
    table = rows.filter(pl.col("reading") == 0).select("time_ns")
    for at, name in enumerate(names):
        table = table.with_columns(rows.filter(pl.col("reading") == at)["value"].alias(name))
    return table
