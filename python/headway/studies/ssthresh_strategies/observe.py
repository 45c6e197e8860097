"""Run: each flow's first seconds."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import polars as pl

from headway import metrics
from headway.metrics.flows import RTO
from headway.metrics.stats import Array
from headway.studies.common import lab
from headway.studies.ssthresh_strategies.experiments import LENGTH_S, RTT_S, rate_bps
from headway.trace import Trace
from headway.units import NS_PER_S

FULL_SHARE = 0.95
"""Part of a link's rate from which a slot of a round trip counts as full."""


@dataclass(frozen=True)
class Start:
    """The first seconds of a flow."""

    times_s: Array
    """Ends of slots of a round trip, shape (slots,)."""
    rates_bps: Array
    """IP rate of the link towards the client in each slot."""
    full_after_s: float
    """From the end of the handshake to the end of the first full slot; NaN: never."""
    timeout_s: float
    """When the first retransmission timeout occurred; NaN: never."""
    overshoot_pkts: float
    """Packets lost until the reading after the first window reduction; NaN: no reduction."""

    @property
    def full_s(self) -> float:
        """``full_after_s``, or the run's length where the link was never full."""
        return self.full_after_s if math.isfinite(self.full_after_s) else LENGTH_S

    def mbytes(self, until_s: float) -> float:
        """IP packets carried in the first ``until_s`` seconds, in MB."""
        carried = np.where(self.times_s <= until_s, self.rates_bps, 0.0)
        return float(carried.sum()) * RTT_S / 8 / 1e6


def observe(name: str, trace: Trace) -> Start:
    """One trial."""
    times, rates = lab.link_rate(trace)
    handshake_s = (trace.flows[0].handshake_rtt_us or 0) / 1e6
    timeouts = trace["backoffs"].filter(pl.col("flow") == 0, pl.col("kind") == RTO)
    reductions_ns = metrics.backoff_times_ns(trace, 0, metrics.whole_run(trace))
    return Start(
        times,
        rates,
        lab.first_above(times, rates, FULL_SHARE * rate_bps(name)) - handshake_s,
        timeouts["time_ns"].sort()[0] / NS_PER_S if timeouts.height else math.nan,
        _lost_by(trace, reductions_ns[0]) if reductions_ns else math.nan,
    )


def _lost_by(trace: Trace, time_ns: int) -> float:
    """Packets that the queue dropped up to the first reading after a time."""
    later = pl.col("link") == lab.DOWNLINK, pl.col("time_ns") >= time_ns
    rows = trace["link_counters"].filter(*later).sort("time_ns")
    return float(rows["dropped_pkts"][0])
