"""Run: what is kept of each trial."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from headway.metrics.stats import Array
from headway.studies.common import lab
from headway.studies.transfer_times.experiments import PIECES_BYTES
from headway.trace import Trace

CWR = 2
"""From this state on Linux has reduced its window."""


@dataclass(frozen=True)
class Transfers:
    """One transfer after the other."""

    response_s: Array
    """The first response time of each flow; NaN where it did not complete."""


@dataclass(frozen=True)
class Pieces:
    """An upload that was written piece by piece."""

    delivered_s: float
    """From the end of the handshake until 100 kB have been delivered, read every millisecond."""


@dataclass(frozen=True)
class FirstFlight:
    """What a startup did in its first round trip."""

    bursts: float
    """How often an idle link got work: each timer's burst is sent before the next comes."""


@dataclass(frozen=True)
class Recovery:
    """A first flight of which some was lost. All NaN where recovery did not end."""

    paced_pkts: float
    retransmitted_pkts: float
    cwnd_pkts: float
    """Once recovery ended."""


Row = Transfers | Pieces | FirstFlight | Recovery


def observe(key: str, trace: Trace) -> Row:
    """One trial."""
    if key.startswith("pieces-"):
        return _pieces(trace)
    if key == "mechanics-bursts":
        return FirstFlight(_bursts(trace))
    if key == "mechanics-loss":
        return _recovery(trace)
    return transfers(trace)


def transfers(trace: Trace) -> Transfers:
    """The first response of every flow."""
    times = [lab.response_times_s(trace, number) for number in range(len(trace.flows))]
    return Transfers(np.array([own[0] if own.size else np.nan for own in times]))


def _pieces(trace: Trace) -> Pieces:
    rows = trace["flow_counters"].filter(
        trace["flow_counters"]["delivered_bytes"] >= PIECES_BYTES[0]
    )
    handshake_s = (trace.flows[0].handshake_rtt_us or 0) / 1e6
    return Pieces(int(rows["time_ns"].to_numpy()[0]) / 1e9 - handshake_s)


def _bursts(trace: Trace) -> float:
    rows = trace["queue"].filter(trace["queue"]["link"] == 0).sort("time_ns", maintain_order=True)
    full = np.concatenate([[False], rows["queue_bytes"].to_numpy() >= lab.MSS_BYTES])
    return float(np.sum(~full[:-1] & full[1:]))


def _recovery(trace: Trace) -> Recovery:
    states = (
        trace["flow_state"]
        .filter(trace["flow_state"]["flow"] == 0)
        .sort("time_ns", maintain_order=True)
    )
    state, cwnd = states["state"].to_numpy(), states["cwnd_pkts"].to_numpy()
    ends = np.flatnonzero((state[:-1] >= CWR) & (state[1:] < CWR)) + 1
    counters = trace["flow_counters"].filter(trace["flow_counters"]["flow"] == 0)
    if not ends.size:
        return Recovery(math.nan, math.nan, math.nan)
    # Until its first ACK, one round trip after the handshake's, cwnd is what is paced.
    first = states["time_ns"].to_numpy() < 2 * lab.RTT_MS * 1e6
    retransmitted = float(counters["retransmits_pkts"].to_numpy().max())
    return Recovery(float(cwnd[first].max()), retransmitted, float(cwnd[ends[0]]))
