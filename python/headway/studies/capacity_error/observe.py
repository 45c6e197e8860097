"""Run: observations of each transfer."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import polars as pl

from headway import metrics
from headway.claims import Evidence
from headway.metrics.stats import Array
from headway.models.quick_start import RATES_BPS
from headway.studies.capacity_error.experiments import RTT_S
from headway.studies.common import lab, network
from headway.trace import Trace
from headway.units import BITS_PER_BYTE, NS_PER_S

FULL = 0.95
"""Part of the link's rate at which it counts as full."""
HELD_S = 1.0
"""The link has to stay full for this time."""
BEGUN_S = 1.0
"""By then all flows have received their first ACKs."""


@dataclass(frozen=True)
class Transfer:
    """The first 30 s of a long transfer."""

    granted_bps: float
    """The granted rate; 0: denied; NaN: no request."""
    times_s: Array
    """Ends of slots of 200 ms."""
    rates_bps: Array
    """IP rate of the link in each slot."""
    acked_s: Array
    """When the sender's counters were read."""
    acked_bytes: Array
    """Bytes acknowledged by then."""
    full_after_s: float
    """When the link was full for ``HELD_S``; NaN: never."""
    drops_s: Array
    """When the queue dropped a packet."""
    timeouts: float
    """Retransmission timeouts by the time at which the link was full."""
    repaired_after_s: float
    """From the first timeout until all data sent before it is acknowledged; NaN: no timeout."""

    def delivered_after_s(self, size_bytes: float) -> float:
        """When ``size_bytes`` were acknowledged, interpolated; seconds. NaN: never."""
        times = np.concatenate([[0.0], self.acked_s])
        sums = np.concatenate([[0.0], self.acked_bytes])
        if not sums[-1] >= size_bytes:
            return math.nan
        index = int(np.searchsorted(sums, size_bytes))
        part = (size_bytes - sums[index - 1]) / (sums[index] - sums[index - 1])
        return float(times[index - 1] + part * (times[index] - times[index - 1]))

    def early_drops(self, rounds: int) -> int:
        """Packets that were dropped in the first round trips."""
        return int((self.drops_s < rounds * RTT_S).sum())


@dataclass(frozen=True)
class LongTransfer:
    """A transfer over the long path."""

    granted_bps: float
    took_s: float
    """From the connection's opening until the response arrived; NaN: it did not."""
    drops: float
    timeouts: float


@dataclass(frozen=True)
class Guided:
    """The link with a flow of XCP or RCP, in slots of 200 ms."""

    times_s: Array
    """Ends of slots."""
    rates_bps: Array
    """IP rate of the link."""
    queue_pkts: Array
    """Mean length of its queue, in full packets."""
    arrived_bytes: Array
    """Offered to the queue."""
    dropped_bytes: Array
    """Dropped of these."""

    def late(self, values: Array, part: float = 0.5) -> Array:
        """Values of the last part of the run."""
        return values[-round(part * values.size) :]

    def loss(self) -> Array:
        """The part of the bytes that was lost, in each second of the last two thirds."""
        arrived, dropped = (
            _in_seconds(self.late(values, 2 / 3))
            for values in (self.arrived_bytes, self.dropped_bytes)
        )
        return np.asarray(dropped / np.maximum(arrived, 1.0))

    def peak_bps(self) -> float:
        """The most that the link carried in a second."""
        return float(_in_seconds(self.rates_bps).max()) * RTT_S

    def growth(self) -> Growth:
        """A line through the queue's length, after every flow has begun."""
        begun = self.times_s > BEGUN_S
        if not begun.any():
            return Growth(math.nan, math.nan, math.nan)
        times_s, queue_pkts = self.times_s[begun], self.queue_pkts[begun]
        slope, offset = np.polyfit(times_s, queue_pkts, 1)
        off = float(((queue_pkts - offset - slope * times_s) ** 2).sum())
        spread = float(((queue_pkts - queue_pkts.mean()) ** 2).sum())
        half = queue_pkts.size // 2
        later, _ = np.polyfit(times_s[half:], queue_pkts[half:], 1)
        return Growth(float(slope), 1 - off / spread if spread else math.nan, float(later))


@dataclass(frozen=True)
class Growth:
    """How a queue grew."""

    pkts_per_s: float
    r_squared: float
    """R² of the line: 1 where the queue grew evenly."""
    later_pkts_per_s: float
    """In the second half."""


def _in_seconds(values: Array) -> Array:
    """Sums over whole seconds, from the last one backwards."""
    slots = round(1 / RTT_S)
    whole = values[values.size % slots :]
    return np.asarray(whole.reshape(-1, slots).sum(axis=1))


Row = Transfer | LongTransfer | Guided


@dataclass(frozen=True)
class Found:
    """The kinds of trials, under their own keys."""

    cases: Evidence[Transfer]
    long: Evidence[LongTransfer]
    guided: Evidence[Guided]
    """XCP and RCP."""


def gather(rows: Mapping[str, Row]) -> Found:
    """Rows by kind of trial."""
    return Found(
        Evidence.of(Transfer, rows), Evidence.of(LongTransfer, rows), Evidence.of(Guided, rows)
    )


def observe(key: str, trace: Trace) -> Row:
    """One trial."""
    if key.startswith(tuple(f"{scheme}-" for scheme in network.SCHEMES)):
        return _guided(trace)
    return _long(trace) if key.startswith("long-") else _case(trace)


def _case(trace: Trace) -> Transfer:
    times_s, rates_bps = lab.link_rate(trace, 0)
    rows = trace["flow_counters"].filter(pl.col("flow") == 0).sort("time_ns")
    full_s = _full_after_s(times_s, rates_bps, trace.experiment.topology.links()[0][0].rate)
    by_then = rows["time_ns"] / NS_PER_S <= full_s if math.isfinite(full_s) else None
    rtos = rows["rtos"] if by_then is None else rows["rtos"].filter(by_then)
    return Transfer(
        _granted_bps(trace),
        times_s,
        rates_bps,
        rows["time_ns"].to_numpy() / NS_PER_S,
        rows["acked_bytes"].to_numpy().astype(np.float64),
        full_s,
        trace["drops"]["time_ns"].to_numpy() / NS_PER_S,
        float(rtos[-1]),
        _repaired_after_s(rows),
    )


def _repaired_after_s(rows: pl.DataFrame) -> float:
    """Time from the first timeout to its repair, from a flow's ordered counters."""
    timeouts = np.flatnonzero(rows["rtos"].to_numpy() > 0)
    if not timeouts.size:
        return math.nan
    at = int(timeouts[0])
    new_pkts = rows["sent_pkts"].to_numpy() - rows["retransmits_pkts"].to_numpy()
    missing = rows["acked_bytes"].to_numpy() < new_pkts[at] * lab.MSS_BYTES
    times_s = rows["time_ns"].to_numpy() / NS_PER_S
    return float(times_s[~missing][0] - times_s[at]) if not missing.all() else math.inf


def _long(trace: Trace) -> LongTransfer:
    responses = trace["responses"]
    took_ns = responses["end_ns"][0] - responses["start_ns"][0] if responses.height else math.nan
    return LongTransfer(
        _granted_bps(trace),
        took_ns / NS_PER_S,
        float(trace["drops"].height),
        float(trace["flow_counters"].filter(pl.col("flow") == 0).sort("time_ns")["rtos"][-1]),
    )


def _guided(trace: Trace) -> Guided:
    rows = trace["link_counters"].filter((pl.col("link") == 0) & (pl.col("time_ns") > 0))
    rows = rows.unique("time_ns", keep="last").sort("time_ns")
    times_s = rows["time_ns"].to_numpy() / NS_PER_S
    slots_s = np.diff(times_s, prepend=0.0)

    def more(name: str) -> Array:
        """The growth of a counter in each slot."""
        return np.diff(rows[name].to_numpy().astype(np.float64), prepend=0.0)

    return Guided(
        times_s,
        more("sent_bytes") * BITS_PER_BYTE / slots_s,
        more("queue_byte_us") / (1e6 * slots_s) / lab.MTU_BYTES,
        more("arrived_bytes"),
        more("dropped_bytes"),
    )


def _granted_bps(trace: Trace) -> float:
    rows = metrics.router_events(trace, "quick-start").sort("time_ns")
    return float(RATES_BPS[rows["granted_code"][0]]) if rows.height else math.nan


def _full_after_s(times_s: Array, rates_bps: Array, link_bps: float) -> float:
    full = rates_bps >= FULL * link_bps
    held = round(HELD_S / RTT_S)
    for index in range(full.size - held + 1):
        if full[index : index + held].all():
            return float(times_s[index])
    return math.nan
