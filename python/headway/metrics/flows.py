"""Metrics of flows: goodput, retransmissions, congestion epochs."""

from __future__ import annotations

import itertools

import numpy as np
import polars as pl

from headway.fairness import jain_index
from headway.metrics.stats import Array, Distribution, weighted_distribution
from headway.metrics.windows import (
    Window,
    counter_change,
    counters_at,
    values_with_durations,
    window_of,
)
from headway.trace import Trace
from headway.units import BITS_PER_BYTE, NS_PER_S

RECOVERY, RTO, CWR, UNDO = 0, 1, 2, 3
"""Kinds of rows in the ``backoffs`` table."""


def goodput_tcptrace_bps(trace: Trace, flow: int) -> float | None:
    """Goodput as tcptrace prints it for a capture at the sender, in bits/s.

    Unique bytes sent, divided by the time from the connection's first packet to its last one, in
    either direction. The values of several flows may add up to more than the link's rate, because
    each flow has its own time. None for UDP and for a connection that sent nothing.
    """
    end = trace.flows[flow]
    if end.unique_bytes is None or end.first_packet_ns is None or end.last_packet_ns is None:
        return None
    length_ns = end.last_packet_ns - end.first_packet_ns
    return end.unique_bytes * BITS_PER_BYTE * NS_PER_S / length_ns if length_ns > 0 else None


def goodput_bps(trace: Trace, flow: int, window: Window | None = None) -> float:
    """New in-order bytes that the receiver's application read in the window, in bits/s.

    The window is [start_ns, end_ns), None is [warmup, end]. Raises ValueError if its ends are not
    checkpoints (``Experiment.checkpoints_ns``, the end, or 0).
    """
    start_ns, end_ns = window or window_of(trace)
    change = counter_change(trace, "flow", flow, "delivered_bytes", (start_ns, end_ns))
    return change * BITS_PER_BYTE * NS_PER_S / (end_ns - start_ns)


def batch_goodputs_bps(trace: Trace, flow: int) -> Array:
    """Goodput in bit/s in each of the ten equal parts of [warmup, end], shape (10,)."""
    edges = trace.experiment.batch_edges_ns()
    return np.array([goodput_bps(trace, flow, pair) for pair in itertools.pairwise(edges)])


def retransmits_pkts(trace: Trace, flow: int, window: Window | None = None) -> int:
    """Retransmitted packets in the window (default [warmup, end]); (0, end) for the whole run.

    Raises ValueError if an end of the window is not a checkpoint.
    """
    return counter_change(trace, "flow", flow, "retransmits_pkts", window or window_of(trace))


def rtos(trace: Trace, flow: int, window: Window | None = None) -> int:
    """Retransmission timeouts in the window (default [warmup, end]).

    Raises ValueError if an end of the window is not a checkpoint.
    """
    return counter_change(trace, "flow", flow, "rtos", window or window_of(trace))


def flow_jain_index(trace: Trace, window: Window | None = None) -> float | None:
    """Jain's index of the TCP flows' goodputs; None without TCP flows."""
    before, after = (
        counters_at(trace["flow_counters"], "flow", time_ns)["delivered_bytes"]
        for time_ns in window or window_of(trace)
    )
    return jain_index((after - before).to_list())


def backoff_times_ns(trace: Trace, flow: int, window: Window | None = None) -> list[int]:
    """Times in ns at which the flow backed off because of loss (default window [warmup, end]).

    Entering recovery and timeouts count. A backoff that was undone does not count.
    """
    rows = trace.rows_of("backoffs", "flow", flow)
    return _backoffs(rows, window or window_of(trace)).get(flow, [])


def _backoffs(rows: pl.DataFrame, window: Window) -> dict[int, list[int]]:
    """Backoff times in ns of each flow in the window; flows without backoffs are left out."""
    start_ns, end_ns = window
    times: dict[int, list[int]] = {}
    ordered = rows.sort("time_ns", maintain_order=True)
    for flow, time_ns, kind in ordered.select("flow", "time_ns", "kind").iter_rows():
        if kind in (RECOVERY, RTO):
            times.setdefault(flow, []).append(time_ns)
        elif kind == UNDO and times.get(flow):
            times[flow].pop()
    return {
        flow: [time_ns for time_ns in own if start_ns <= time_ns < end_ns]
        for flow, own in times.items()
    }


def congestion_epochs_s(trace: Trace, flow: int, window: Window | None = None) -> Array:
    """Lengths of the flow's congestion epochs, shape (backoffs - 1,), in seconds.

    An epoch is the time between two successive backoffs because of loss.
    """
    return np.diff(np.array(backoff_times_ns(trace, flow, window), dtype=np.float64)) / NS_PER_S


def srtt_us(trace: Trace, flow: int, window: Window | None = None) -> Distribution:
    """The smoothed RTT in µs over the window (default [warmup, end]), weighted by time."""
    rows = trace.rows_of("flow_state", "flow", flow)
    return weighted_distribution(
        *values_with_durations(rows, "srtt_us", window or window_of(trace))
    )


def cwnd_pkts(trace: Trace, flow: int, window: Window | None = None) -> Distribution:
    """The congestion window in packets, weighted by time (default window [warmup, end])."""
    rows = trace.rows_of("flow_state", "flow", flow)
    return weighted_distribution(
        *values_with_durations(rows, "cwnd_pkts", window or window_of(trace))
    )


def windows_pkts(trace: Trace, every_ns: int) -> Array:
    """Congestion windows in packets, read every ``every_ns`` of [warmup, end].

    Shape (flows, times), for the TCP flows in their order; 0 before a flow's first state.
    """
    times_ns = np.arange(*window_of(trace), every_ns)
    windows = np.zeros((len(trace.tcp_flows()), times_ns.size))
    for own, flow in zip(windows, trace.tcp_flows(), strict=True):
        rows = trace.rows_of("flow_state", "flow", flow)
        at = np.searchsorted(rows["time_ns"].to_numpy(), times_ns, side="right") - 1
        own[at >= 0] = rows["cwnd_pkts"].to_numpy()[at[at >= 0]]
    return windows


def flow_totals(trace: Trace) -> pl.DataFrame:
    """Totals of each TCP flow, one row per flow, in time linear in the trace's rows.

    Columns: flow; delivered_bytes, a list of totals at the warm-up and at the end of each of the
    ten batches (only at the run's end if batches were not recorded); over [warmup, end] sent_pkts,
    retransmits_pkts, rtos, backoffs and the means over time srtt_us and cwnd_pkts; finite_ns, when
    ssthresh was first finite. Null means not recorded.
    """
    window = window_of(trace)
    counters = trace["flow_counters"]
    before, after = (counters_at(counters, "flow", time_ns) for time_ns in window)
    change = after.select(
        "flow", *(after[name] - before[name] for name in ("sent_pkts", "retransmits_pkts", "rtos"))
    )
    edges = trace.experiment.batch_edges_ns()
    if not set(edges) <= {0, *counters["time_ns"].unique()}:
        edges = list(window)  # the backend read counters only at both ends of the window
    delivered = [counters_at(counters, "flow", at_ns)["delivered_bytes"] for at_ns in edges]
    change = change.with_columns(
        pl.concat_list(column.alias(str(k)) for k, column in enumerate(delivered)).alias(
            "delivered_bytes"
        )
    )
    backoffs = {flow: len(own) for flow, own in _backoffs(trace["backoffs"], window).items()}
    counted = pl.DataFrame(
        {"flow": list(backoffs), "backoffs": list(backoffs.values())},
        schema={"flow": pl.UInt32, "backoffs": pl.UInt64},
    )
    return (
        pl.DataFrame({"flow": trace.tcp_flows()}, schema={"flow": pl.UInt32})
        .join(change, on="flow", how="left")
        .join(counted, on="flow", how="left")
        .with_columns(pl.col("backoffs").fill_null(0))
        .join(_held_means(trace, window), on="flow", how="left")
        .sort("flow")
    )


def _held_means(trace: Trace, window: Window) -> pl.DataFrame:
    """Means over time of each flow's srtt and cwnd, and when ssthresh became finite."""
    start_ns, end_ns = window
    until = pl.col("time_ns").shift(-1).over("flow").fill_null(end_ns)
    held = until.clip(start_ns, end_ns) - pl.col("time_ns").clip(start_ns, end_ns)

    def mean(column: str) -> pl.Expr:
        known = pl.col("held_ns").filter(pl.col(column).is_not_null()).sum()
        total = (pl.col(column).cast(pl.Float64) * pl.col("held_ns")).sum()
        return pl.when(known > 0).then(total / known).alias(column)

    return (
        trace["flow_state"]
        .with_columns(held.alias("held_ns"))
        .group_by("flow")
        .agg(
            mean("srtt_us"),
            mean("cwnd_pkts"),
            pl.col("time_ns")
            .filter(pl.col("ssthresh_pkts").is_not_null())
            .min()
            .alias("finite_ns"),
        )
    )


def flow_table(trace: Trace) -> pl.DataFrame:
    """One row per TCP flow over [warmup, end]; null if nothing was recorded."""
    start_ns, end_ns = window_of(trace)
    totals = flow_totals(trace)
    per_s = BITS_PER_BYTE * NS_PER_S / (end_ns - start_ns)
    delivered = pl.col("delivered_bytes").list
    return totals.select(
        "flow",
        pl.Series("name", [trace.flows[flow].name for flow in totals["flow"]], pl.String),
        pl.Series("control", [trace.flows[flow].control for flow in totals["flow"]], pl.String),
        ((delivered.last() - delivered.first()) * per_s).alias("goodput_bps"),
        pl.Series(
            "goodput_tcptrace_bps",
            [goodput_tcptrace_bps(trace, flow) for flow in totals["flow"]],
            pl.Float64,
        ),
        "retransmits_pkts",
        "rtos",
        "srtt_us",
        "cwnd_pkts",
        "backoffs",
    )
