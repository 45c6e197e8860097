"""Run: what is kept of each flow's first seconds."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from headway import metrics
from headway.metrics.stats import Array
from headway.studies.common import lab
from headway.studies.ssthresh_strategies.experiments import LENGTH_S, RTT_S, rate_bps
from headway.trace import Trace

FULL_SHARE = 0.95
"""Part of a link's rate from which a slot of a round trip counts as full."""


@dataclass(frozen=True)
class Start:
    """How a flow started."""

    times_s: Array
    """Ends of slots of a round trip, shape (slots,)."""
    rates_bps: Array
    """IP rate of the link towards the client in each."""
    full_after_s: float
    """From the end of the handshake to the end of the first full slot; NaN: never."""
    timeouts: int
    """Retransmission timeouts."""

    @property
    def full_s(self) -> float:
        """The same, and the run's length where the link was never full."""
        return self.full_after_s if math.isfinite(self.full_after_s) else LENGTH_S

    def mbytes(self, until_s: float) -> float:
        """Carried in so many seconds, MB of IP packets."""
        carried = np.where(self.times_s <= until_s, self.rates_bps, 0.0)
        return float(carried.sum()) * RTT_S / 8 / 1e6


def observe(name: str, trace: Trace) -> Start:
    """One trial."""
    times, rates = lab.link_rate(trace)
    handshake_s = (trace.flows[0].handshake_rtt_us or 0) / 1e6
    return Start(
        times,
        rates,
        lab.first_above(times, rates, FULL_SHARE * rate_bps(name)) - handshake_s,
        metrics.rtos(trace, 0, (0, int(LENGTH_S * 1e9))),
    )
