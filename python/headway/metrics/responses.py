"""Response times and sizes of requests and responses."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import polars as pl

from headway import workloads
from headway.experiment import Exchanges, Pages, Sessions, Vectors
from headway.metrics.stats import Estimate, batch_means, confidence_interval
from headway.metrics.windows import Window, window_of
from headway.trace import Trace
from headway.units import NS_PER_S
from headway.workloads.draws import Ints


def responses(trace: Trace, window: Window | None = None) -> pl.DataFrame:
    """One row per response whose request was sent in the window and that arrived in the run.

    Columns: flow; epoch, the number of the exchange in its flow; start_ns; seconds from the write
    of the request to the end of the response, including the server's time; request_bytes and
    response_bytes, null for messages of other applications. Sorted by start. Seconds do not include
    a handshake before the first request.
    """
    start_ns, end_ns = window or window_of(trace)
    rows = (
        trace["responses"]
        .filter((pl.col("start_ns") >= start_ns) & (pl.col("start_ns") < end_ns))
        .sort("start_ns", "flow", "epoch")
    )
    request_sizes, response_sizes, first = _exchanges(trace)
    place = first[rows["flow"].to_numpy()]
    known = place >= 0
    at = np.where(known, place + rows["epoch"].to_numpy(), 0)

    def sized(sizes: Ints, name: str) -> pl.Expr:
        return pl.when(pl.Series(known)).then(pl.Series(sizes[at])).alias(name)

    return rows.select(
        "flow",
        "epoch",
        "start_ns",
        ((pl.col("end_ns") - pl.col("start_ns")) / NS_PER_S).alias("seconds"),
        sized(request_sizes, "request_bytes"),
        sized(response_sizes, "response_bytes"),
    )


def deadlines(trace: Trace, window: Window | None = None) -> pl.DataFrame:
    """The rows of ``responses`` that had a deadline, with columns ``deadline_s`` and ``met``.

    A deadline counts from when the request leaves, as it does at the endpoints. The request of a
    connection's first exchange leaves one handshake after the exchange's start. The handshake takes
    as long as the flow's first one or, if the trace does not have it, the path's round trip without
    queues.
    """
    rows = responses(trace, window)
    parts = []
    for number, flow in enumerate(trace.experiment.flows):
        own = rows.filter(pl.col("flow") == number)
        at = own["epoch"].to_numpy()
        due_ns = np.full(at.size, flow.deadline or 0, dtype=np.int64)
        opens = at == 0
        if isinstance(flow.app, Exchanges):
            file = flow.app.table()
            firsts = np.cumsum(file.exchanges.astype(np.int64)) - file.exchanges
            opens = np.isin(at, firsts)
            if file.deadline_ns.size:
                own_ns = file.deadline_ns.astype(np.int64)[at]
                due_ns = np.where(own_ns > 0, own_ns, due_ns)
        elif isinstance(flow.app, Pages):
            opens = _opening(own, 0 if flow.app.http == "1.0" else flow.app.parallel)
        measured_us = trace.flows[number].handshake_rtt_us
        handshake_s = (
            measured_us / 1e6
            if measured_us is not None
            else (trace.experiment.base_rtt_ns + 2 * flow.delay) / NS_PER_S
        )
        took_s = own["seconds"].to_numpy() - np.where(opens, handshake_s, 0.0)
        parts.append(
            own.with_columns(
                deadline_s=pl.Series(due_ns / NS_PER_S, dtype=pl.Float64),
                met=pl.Series(took_s * NS_PER_S <= due_ns, dtype=pl.Boolean),
            ).filter(pl.Series(due_ns > 0, dtype=pl.Boolean))
        )
    return pl.concat(parts).sort("start_ns", "flow", "epoch")


def _opening(rows: pl.DataFrame, connections: int) -> npt.NDArray[np.bool_]:
    """Whether the request of each response of pages, sorted by start, opened a connection.

    A request opens a connection if the open ones are all in use and fewer than ``connections`` are
    open; with ``connections`` 0 each request opens one. Whether a server closed a connection in
    between is not known.
    """
    starts_ns = rows["start_ns"].to_numpy()
    if not connections:
        return np.ones(starts_ns.size, dtype=np.bool_)
    ends_ns = np.sort(starts_ns + np.rint(rows["seconds"].to_numpy() * NS_PER_S).astype(np.int64))
    over = np.searchsorted(ends_ns, starts_ns, side="right")
    under_way = np.minimum(np.arange(1, starts_ns.size + 1) - over, connections)
    most = np.maximum.accumulate(np.append(0, under_way))
    return most[1:] > most[:-1]


def _exchanges(trace: Trace) -> tuple[Ints, Ints, Ints]:
    """Bytes of all flows' requests and of their responses, in two arrays.

    The third array has each flow's first index in the other two, -1 for a flow without requests.
    """
    request_sizes: list[Ints] = [np.zeros(1, dtype=np.int64)]
    response_sizes: list[Ints] = [np.zeros(1, dtype=np.int64)]
    first = np.full(len(trace.experiment.flows), -1, dtype=np.int64)
    total = 1
    for number, flow in enumerate(trace.experiment.flows):
        if isinstance(flow.app, Sessions):
            share = workloads.shares(flow.app.workload, flow.app.pairs)[flow.app.pair]
            sizes = share.request_bytes, share.response_bytes
        elif isinstance(flow.app, Exchanges | Pages):
            file = flow.app.table()
            sizes = file.request_bytes.astype(np.int64), file.response_bytes.astype(np.int64)
        elif isinstance(flow.app, Vectors):
            table = np.array([epoch[:2] for epoch in flow.app.epochs], dtype=np.int64)
            sizes = table[:, 0], table[:, 1]
        else:
            continue
        first[number] = total
        total += sizes[0].size
        request_sizes.append(sizes[0])
        response_sizes.append(sizes[1])
    return np.concatenate(request_sizes), np.concatenate(response_sizes), first


def mean_response_s(rows: pl.DataFrame) -> Estimate:
    """Mean of ``seconds`` with the 95 % interval of ten batch means (thesis, section 6.1.4).

    Raises ValueError for fewer than ten rows.
    """
    return confidence_interval([float(mean) for mean in batch_means(rows["seconds"].to_numpy())])


def quantile_s(rows: pl.DataFrame, q: float) -> float:
    """The ``q`` quantile of ``seconds``, interpolated; NaN without rows."""
    value = rows["seconds"].quantile(q, "linear")
    return float("nan") if value is None else float(value)
