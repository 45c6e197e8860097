"""Run: observations of each trial."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import polars as pl

from headway.metrics.stats import Array
from headway.studies.common import lab
from headway.studies.transfer_times.first_flights import FLIGHTS, PIECES_BYTES
from headway.trace import Trace
from headway.units import NS_PER_S

CWR = 2
"""In this state and those after it Linux has reduced its window."""
APART_NS = 500_000
"""Packets of one burst are closer together than half a tick of 1 ms."""
HEADER_BYTES = lab.MTU_BYTES - lab.MSS_BYTES


@dataclass(frozen=True)
class Transfers:
    """One transfer after the other."""

    response_s: Array
    """The first response time of each flow; NaN where it did not complete."""


@dataclass(frozen=True)
class Pieces:
    """An upload that was written in pieces."""

    delivered_s: float
    """From the first write until 100 kB have been delivered, read every millisecond."""


@dataclass(frozen=True)
class FirstFlight:
    """Packets that reached the bottleneck in the round trip after the first packet with data."""

    pkts: float
    payload_bytes: float
    bursts: float
    """Groups of packets that arrived together."""
    largest_burst_pkts: float


@dataclass(frozen=True)
class Recovery:
    """A first flight that lost packets. All values are NaN where recovery did not end."""

    paced_pkts: float
    lost_pkts: float
    """Packets of the flight that were lost. Each is retransmitted."""
    window_pkts: float
    """The window at the end of recovery, before the ACK that ended recovery lets it grow."""


Row = Transfers | Pieces | FirstFlight | Recovery


def observe(key: str, trace: Trace) -> Row:
    """One trial."""
    kind, _, name = key.partition("-")
    if kind == "pieces":
        return _pieces(trace)
    if kind == "flight":
        return first_flight(trace, FLIGHTS[name].rtt_ms)
    if kind == "recovery":
        return recovery(trace)
    return transfers(trace)


def transfers(trace: Trace) -> Transfers:
    """The first response of every flow."""
    times = [lab.response_times_s(trace, number) for number in range(len(trace.flows))]
    return Transfers(np.array([own[0] if own.size else np.nan for own in times]))


def _pieces(trace: Trace) -> Pieces:
    written = trace["responses"].filter(pl.col("epoch") == 0)["start_ns"]
    delivered = trace["flow_counters"].filter(pl.col("delivered_bytes") >= PIECES_BYTES[0])
    if written.is_empty() or delivered.is_empty():
        return Pieces(math.nan)
    return Pieces(float(delivered["time_ns"].to_numpy().min() - written[0]) / NS_PER_S)


def first_flight(trace: Trace, rtt_ms: float) -> FirstFlight:
    """Count the packets of a first flight by the growth of the bottleneck's queue."""
    rows = trace["queue"].filter(pl.col("link") == 0).sort("time_ns", maintain_order=True)
    bytes_more = np.diff(rows["queue_bytes"].to_numpy().astype(np.int64), prepend=0)
    with_data = bytes_more > 2 * HEADER_BYTES
    times_ns, payload_bytes = rows["time_ns"].to_numpy()[with_data], bytes_more[with_data]
    within = times_ns < times_ns[0] + 1e6 * rtt_ms
    starts = np.flatnonzero(np.diff(times_ns[within], prepend=-APART_NS - 1) > APART_NS)
    burst_pkts = np.diff(starts, append=int(within.sum()))
    return FirstFlight(
        pkts=float(within.sum()),
        payload_bytes=float((payload_bytes[within] - HEADER_BYTES).sum()),
        bursts=float(burst_pkts.size),
        largest_burst_pkts=float(burst_pkts.max()),
    )


def recovery(trace: Trace) -> Recovery:
    """Losses of the first round trip, and the window after recovery."""
    rows = trace["flow_state"].filter(pl.col("flow") == 0).sort("time_ns", maintain_order=True)
    state = rows["state"].to_numpy()
    ends = np.flatnonzero((state[:-1] >= CWR) & (state[1:] < CWR)) + 1
    if not ends.size:
        return Recovery(math.nan, math.nan, math.nan)
    # Until the first ACK of data, one round trip after the handshake, cwnd is the paced window.
    until_ns = 2 * lab.RTT_MS * 1e6
    first = rows["time_ns"].to_numpy() < until_ns
    return Recovery(
        paced_pkts=float(rows["cwnd_pkts"].to_numpy()[first].max()),
        lost_pkts=float(trace["drops"].filter(pl.col("time_ns") < until_ns).height),
        # Recovery sets both cwnd and ssthresh to the window, and ssthresh keeps it.
        window_pkts=float(rows["ssthresh_pkts"].to_numpy()[ends[0]]),
    )
