"""What each flow got: goodput, retransmissions, congestion epochs."""

from __future__ import annotations

import itertools

import numpy as np
import polars as pl

from headway.experiment import BATCHES
from headway.metrics.stats import Array, Distribution, jain_index, weighted_distribution
from headway.metrics.windows import Window, counter_change, held_values, window_of
from headway.trace import Trace
from headway.units import BITS_PER_BYTE, NS_PER_S

RECOVERY, RTO, CWR, UNDO = 0, 1, 2, 3
"""Kinds of rows in the ``backoffs`` table."""


def goodput_tcptrace_bps(trace: Trace, flow: int) -> float | None:
    """Goodput as tcptrace prints it for a capture at the sender, in bits/s.

    Unique bytes sent, over the time from the connection's first packet to its last one, in
    either direction. Over several flows such values may add up to more than the link carries,
    because each has its own time. None for UDP or a connection that never sent.
    """
    end = trace.flows[flow]
    if end.unique_bytes is None or end.first_packet_ns is None or end.last_packet_ns is None:
        return None
    length_ns = end.last_packet_ns - end.first_packet_ns
    return end.unique_bytes * BITS_PER_BYTE * NS_PER_S / length_ns if length_ns > 0 else None


def goodput_bps(trace: Trace, flow: int, window: Window | None = None) -> float:
    """New application bytes delivered in order over the window, in bits/s.

    The window's ends must be checkpoints; None is [warmup, end].
    """
    start_ns, end_ns = window or window_of(trace)
    change = counter_change(
        trace["flow_counters"], "flow", flow, "delivered_bytes", (start_ns, end_ns)
    )
    return change * BITS_PER_BYTE * NS_PER_S / (end_ns - start_ns)


def batch_goodputs_bps(trace: Trace, flow: int) -> Array:
    """Goodput in each of the ten equal parts of [warmup, end], shape (10,), for batch means."""
    start_ns, end_ns = window_of(trace)
    span_ns = end_ns - start_ns
    edges = [start_ns + span_ns * k // BATCHES for k in range(BATCHES)] + [end_ns]
    return np.array([goodput_bps(trace, flow, pair) for pair in itertools.pairwise(edges)])


def retransmits_pkts(trace: Trace, flow: int, window: Window | None = None) -> int:
    """Packets sent again in the window (default [warmup, end]); (0, end) for the whole run."""
    return counter_change(
        trace["flow_counters"], "flow", flow, "retransmits_pkts", window or window_of(trace)
    )


def rtos(trace: Trace, flow: int, window: Window | None = None) -> int:
    """Retransmission timeouts in the window (default [warmup, end])."""
    return counter_change(trace["flow_counters"], "flow", flow, "rtos", window or window_of(trace))


def flow_jain_index(trace: Trace, window: Window | None = None) -> float | None:
    """Jain's index of the TCP flows' goodputs; None without TCP flows."""
    return jain_index([goodput_bps(trace, flow, window) for flow in trace.tcp_flows()])


def backoff_times_ns(trace: Trace, flow: int, window: Window | None = None) -> list[int]:
    """When the flow backed off because of loss, in the window (default [warmup, end]).

    Entering recovery and timing out count; a backoff that was undone next does not.
    """
    start_ns, end_ns = window or window_of(trace)
    rows = trace["backoffs"].filter(pl.col("flow") == flow).sort("time_ns", maintain_order=True)
    times: list[int] = []
    for time_ns, kind in rows.select("time_ns", "kind").iter_rows():
        if kind in (RECOVERY, RTO):
            times.append(time_ns)
        elif kind == UNDO and times:
            times.pop()
    return [time_ns for time_ns in times if start_ns <= time_ns < end_ns]


def congestion_epochs_s(trace: Trace, flow: int, window: Window | None = None) -> Array:
    """Lengths of the flow's congestion epochs, shape (backoffs - 1,), in seconds.

    An epoch is the time between two successive backoffs that loss caused.
    """
    return np.diff(np.array(backoff_times_ns(trace, flow, window), dtype=np.float64)) / NS_PER_S


def srtt_us(trace: Trace, flow: int, window: Window | None = None) -> Distribution:
    """The smoothed RTT over the window (default [warmup, end]), weighted by time."""
    rows = trace["flow_state"].filter(pl.col("flow") == flow)
    return weighted_distribution(*held_values(rows, "srtt_us", window or window_of(trace)))


def cwnd_pkts(trace: Trace, flow: int, window: Window | None = None) -> Distribution:
    """The congestion window over the window (default [warmup, end]), weighted by time."""
    rows = trace["flow_state"].filter(pl.col("flow") == flow)
    return weighted_distribution(*held_values(rows, "cwnd_pkts", window or window_of(trace)))


def flow_table(trace: Trace) -> pl.DataFrame:
    """One row per TCP flow over [warmup, end]; null where nothing was recorded."""
    return pl.DataFrame(
        [
            {
                "flow": flow,
                "name": trace.flows[flow].name,
                "control": trace.flows[flow].control,
                "goodput_bps": goodput_bps(trace, flow),
                "goodput_tcptrace_bps": goodput_tcptrace_bps(trace, flow),
                "retransmits_pkts": retransmits_pkts(trace, flow),
                "rtos": rtos(trace, flow),
                "srtt_us": srtt_us(trace, flow).mean,
                "cwnd_pkts": cwnd_pkts(trace, flow).mean,
                "backoffs": len(backoff_times_ns(trace, flow)),
            }
            for flow in trace.tcp_flows()
        ],
        schema={
            "flow": pl.UInt32,
            "name": pl.String,
            "control": pl.String,
            "goodput_bps": pl.Float64,
            "goodput_tcptrace_bps": pl.Float64,
            "retransmits_pkts": pl.UInt64,
            "rtos": pl.UInt64,
            "srtt_us": pl.Float64,
            "cwnd_pkts": pl.Float64,
            "backoffs": pl.UInt64,
        },
    )
