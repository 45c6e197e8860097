"""Run: observations of each transfer."""

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
from headway.study import StudyContext
from headway.trace import Trace
from headway.units import BITS_PER_BYTE, NS_PER_S


@dataclass(frozen=True)
class Transfer:
    """The first 30 s of a long transfer."""

    granted_bps: float
    """The granted rate; 0: the request was denied; NaN: no request was sent."""
    times_s: Array
    """Ends of slots of 200 ms."""
    rates_bps: Array
    """IP rate on the link in each slot of 200 ms."""
    megabyte_after_s: float
    """Time at which 1 MB was acknowledged; NaN: never."""
    full_after_s: float
    """Time from which on the link was full for a second; NaN: never."""
    drops_s: Array
    """Times at which the queue dropped packets."""
    timeouts: float
    """Number of retransmission timeouts until the link was full."""
    repaired_after_s: float
    """Time from the first timeout until all data sent before the timeout is acknowledged; NaN:
    none."""

    def early_drops(self, rounds: int) -> int:
        """Packets that were dropped in the first round trips."""
        return int((self.drops_s < rounds * RTT_S).sum())


@dataclass(frozen=True)
class LongTransfer:
    """Observations of a transfer over the long path."""

    granted_bps: float
    took_s: float
    """Time from the connection's opening until the response arrived; NaN: it did not arrive."""
    drops: float
    timeouts: float


@dataclass(frozen=True)
class Growth:
    """The straight line that is fitted to a queue's growth."""

    pkts_per_s: float
    r_squared: float
    """R² of the line: 1 where the queue grew evenly."""
    later_pkts_per_s: float
    """Slope of a line that is fitted to the second half of the run."""


@dataclass(frozen=True)
class Guided:
    """Measurements of the link with flows of XCP or RCP, in slots of 200 ms."""

    times_s: Array
    """Ends of slots."""
    rates_bps: Array
    """IP rate of the link."""
    queue_pkts: Array
    """Mean length of the link's queue, in packets of full size."""
    arrived_bytes: Array
    """IP rate of the packets offered to the queue."""
    dropped_bytes: Array
    """Dropped of these."""

    def late(self, name: str, part: float = 0.5) -> Array:
        """The last part of an array."""
        values: Array = getattr(self, name)
        return values[-round(part * values.size) :]

    def late_mean(self, name: str, part: float = 0.5) -> float:
        """The mean over the last part of the run."""
        return float(self.late(name, part).mean())

    def loss(self) -> Array:
        """The part of the bytes that was lost, in each second of the last two thirds."""
        arrived, dropped = (
            _in_seconds(self.late(name, 2 / 3)) for name in ("arrived_bytes", "dropped_bytes")
        )
        return np.asarray(dropped / np.maximum(arrived, 1.0))

    def peak_bps(self) -> float:
        """The largest throughput of the link in a second."""
        return float(_in_seconds(self.rates_bps).max()) * RTT_S

    def growth(self) -> Growth:
        """A line through the queue's length, after every flow has received its first ACKs."""
        begun = self.times_s > 1.0
        if not begun.any():
            return Growth(math.nan, math.nan, math.nan)
        times_s, queue_pkts = self.times_s[begun], self.queue_pkts[begun]
        slope, offset = np.polyfit(times_s, queue_pkts, 1)
        off = float(((queue_pkts - offset - slope * times_s) ** 2).sum())
        spread = float(((queue_pkts - queue_pkts.mean()) ** 2).sum())
        half = queue_pkts.size // 2
        later, _ = np.polyfit(times_s[half:], queue_pkts[half:], 1)
        return Growth(float(slope), 1 - off / spread if spread else math.nan, float(later))


def _in_seconds(values: Array) -> Array:
    """Sums over whole seconds, counted backwards from the end of the run."""
    slots = round(1 / RTT_S)
    whole = values[values.size % slots :]
    return np.asarray(whole.reshape(-1, slots).sum(axis=1))


Row = Transfer | LongTransfer | Guided


@dataclass(frozen=True)
class Found:
    """The trials, grouped by kind: long transfers, long path, and XCP and RCP."""

    cases: Evidence[Transfer]
    long: Evidence[LongTransfer]
    guided: Evidence[Guided]
    """XCP and RCP."""


def gather(_ctx: StudyContext, rows: Mapping[str, Row]) -> Found:
    """Observations, grouped by the kind of trial."""
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
    rows = _counters(trace)
    full_s = _full_after_s(times_s, rates_bps, trace.experiment.topology.links()[0][0].rate)
    by_then = rows if math.isnan(full_s) else rows.filter(rows["time_ns"] / NS_PER_S <= full_s)
    return Transfer(
        _granted_bps(trace),
        times_s,
        rates_bps,
        _acked_after_s(rows, 1_000_000),
        full_s,
        trace["drops"]["time_ns"].to_numpy() / NS_PER_S,
        float(by_then["rtos"][-1]),
        _repaired_after_s(rows),
    )


def _counters(trace: Trace) -> pl.DataFrame:
    return trace["flow_counters"].filter(pl.col("flow") == 0).sort("time_ns")


def _acked_after_s(rows: pl.DataFrame, size_bytes: float) -> float:
    """When ``size_bytes`` were acknowledged, interpolated. NaN: never."""
    times_s = np.concatenate([[0.0], rows["time_ns"].to_numpy() / NS_PER_S])
    sums = np.concatenate([[0.0], rows["acked_bytes"].to_numpy()])
    reached = sums[-1] >= size_bytes
    return float(np.interp(size_bytes, sums, times_s)) if reached else math.nan


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
    drops, timeouts = float(trace["drops"].height), float(_counters(trace)["rtos"][-1])
    return LongTransfer(_granted_bps(trace), took_ns / NS_PER_S, drops, timeouts)


def _guided(trace: Trace) -> Guided:
    rows = trace["link_counters"].filter((pl.col("link") == 0) & (pl.col("time_ns") > 0))
    rows = rows.unique("time_ns", keep="last").sort("time_ns")
    times_s = rows["time_ns"].to_numpy() / NS_PER_S
    slots_s = np.diff(times_s, prepend=0.0)

    def more(name: str) -> Array:
        """How much a counter grows in each slot of 200 ms."""
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
    """The end of the first slot from which on the link carries 95 % of its rate for a second."""
    full = rates_bps >= 0.95 * link_bps
    slots = round(1 / RTT_S)
    for index in range(full.size - slots + 1):
        if full[index : index + slots].all():
            return float(times_s[index])
    return math.nan
