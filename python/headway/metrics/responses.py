"""Requests and responses: how long each took, and how large it was."""

from __future__ import annotations

import numpy as np
import polars as pl

from headway import workloads
from headway.experiment import Sessions, Vectors
from headway.metrics.stats import Estimate, batch_means, confidence_interval
from headway.metrics.windows import Window, window_of
from headway.trace import Trace
from headway.units import NS_PER_S
from headway.workloads.draws import Ints

_NS_PER_US = 1000


def responses(
    trace: Trace, window: Window | None = None, *, from_opening: bool = False
) -> pl.DataFrame:
    """One row per response whose request was sent in the window and which arrived in the run.

    Columns: flow; epoch, the number of the exchange in its flow; start_ns; seconds from the
    request to the end of the response; request_bytes and response_bytes, null for messages of
    other applications. Sorted by start. With ``from_opening`` the first exchange of a session
    with its own connection counts from when the client opens that, so with the handshake.
    """
    start_ns, end_ns = window or window_of(trace)
    rows = trace["responses"].filter(
        (pl.col("start_ns") >= start_ns) & (pl.col("start_ns") < end_ns)
    )
    asked, given, opened_ns, first = _exchanges(trace)
    place = first[rows["flow"].to_numpy()]
    known = place >= 0
    at = np.where(known, place + rows["epoch"].to_numpy(), 0)
    begin_ns = rows["start_ns"].to_numpy()
    if from_opening:
        begin_ns = np.where(opened_ns[at] >= 0, opened_ns[at], begin_ns)
    return (
        rows.select(
            "flow",
            "epoch",
            "start_ns",
            ((pl.col("end_ns") - pl.Series(begin_ns)) / NS_PER_S).alias("seconds"),
            pl.Series("request_bytes", asked[at]),
            pl.Series("response_bytes", given[at]),
            pl.Series("known", known),
        )
        .with_columns(
            pl.when("known").then("request_bytes").alias("request_bytes"),
            pl.when("known").then("response_bytes").alias("response_bytes"),
        )
        .drop("known")
        .sort("start_ns", "flow", "epoch")
    )


def _exchanges(trace: Trace) -> tuple[Ints, Ints, Ints, Ints]:
    """All flows' exchanges in one row, and where each flow's begin; -1: it has none.

    Bytes of requests and of responses; when the client opened a connection for the exchange,
    ns, -1 where it did not.
    """
    asked: list[Ints] = [np.zeros(1, dtype=np.int64)]
    given: list[Ints] = [np.zeros(1, dtype=np.int64)]
    opened_ns: list[Ints] = [np.full(1, -1, dtype=np.int64)]
    first = np.full(len(trace.experiment.flows), -1, dtype=np.int64)
    starts_ns = trace.experiment.start_times_ns()
    total = 1
    for number, flow in enumerate(trace.experiment.flows):
        if isinstance(flow.app, Sessions):
            share = workloads.shares(flow.app.workload, flow.app.pairs)[flow.app.pair]
            sizes = share.request_bytes, share.response_bytes
            opened = np.full(sizes[0].size, -1, dtype=np.int64)
            if not flow.app.workload.persistent:
                opened[share.ends - share.exchanges] = np.maximum(
                    share.start_us * _NS_PER_US, starts_ns[number]
                )
        elif isinstance(flow.app, Vectors):
            table = np.array([epoch[:2] for epoch in flow.app.epochs], dtype=np.int64)
            sizes = table[:, 0], table[:, 1]
            opened = np.full(sizes[0].size, -1, dtype=np.int64)
        else:
            continue
        first[number] = total
        total += sizes[0].size
        asked.append(sizes[0])
        given.append(sizes[1])
        opened_ns.append(opened)
    return np.concatenate(asked), np.concatenate(given), np.concatenate(opened_ns), first


def mean_response_s(rows: pl.DataFrame) -> Estimate:
    """Mean of ``seconds`` with the 95 % interval of ten batch means (thesis, section 6.1.4).

    Raises ValueError for fewer than ten rows.
    """
    return confidence_interval([float(mean) for mean in batch_means(rows["seconds"].to_numpy())])


def quantile_s(rows: pl.DataFrame, q: float) -> float:
    """The ``q`` quantile of ``seconds``, interpolated; NaN without rows."""
    value = rows["seconds"].quantile(q, "linear")
    return float("nan") if value is None else float(value)
