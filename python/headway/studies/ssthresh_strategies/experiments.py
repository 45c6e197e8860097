"""Setup: the first seconds of a response of 100 MB over 10 and 100 Mbit/s, 200 ms."""

import math
from dataclasses import dataclass
from itertools import product

import numpy as np
import polars as pl

from headway import metrics
from headway.claims import Evidence
from headway.experiment import Experiment
from headway.metrics.flows import RTO
from headway.metrics.stats import Array
from headway.studies.common import lab
from headway.study import StudyContext
from headway.trace import Trace
from headway.units import NS_PER_S

SIZE_BYTES = 100e6
LENGTH_S = 20.0
RTT_S = lab.RTT_MS / 1e3
RATES_BPS = {"10": lab.LINK_BPS, "100": 100e6}
APPROVED_MBPS = {"10": ("5.12",), "100": ("5.12", "20.48", "81.92")}
SSTHRESH = {"a": 0, "b": 1}
"""By strategy: ssthresh is kept (QS-a), or set to the Quick-Start window (QS-b)."""
RECEIVE_WINDOW = "4000000 B"
"""Receive window that hosts announce at first: more than 100 Mbit/s over a round trip."""


def experiments(ctx: StudyContext) -> dict[str, Experiment]:
    """A trial per link, strategy and approved rate, and slow start on each link."""
    trials = {}
    for link, link_bps in RATES_BPS.items():
        flows = {f"ss-{link}": lab.requests([SIZE_BYTES])}
        for mbps, strategy in product(APPROVED_MBPS[link], SSTHRESH):
            control = lab.quick_start(1e6 * float(mbps), early=True)
            flows[f"qs-{strategy}-{link}-{mbps}"] = lab.requests(
                [SIZE_BYTES],
                control=f"{control}:qs_ssthresh={SSTHRESH[strategy]}",
                initial_rwnd=RECEIVE_WINDOW,
                data_volume_bytes=SIZE_BYTES,
            )
        path = lab.path(rate_bps=link_bps)
        for name, flow in flows.items():
            trials[name] = lab.experiment(
                path, [flow], duration_s=LENGTH_S, seed=ctx.seed, sample_s=RTT_S
            )
    return trials


def rate_bps(name: str) -> float:
    """The rate of a trial's link."""
    return RATES_BPS[name.split("-")[1 if name.startswith("ss") else 2]]


@dataclass(frozen=True)
class Start:
    """Observations of the first seconds of a flow."""

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


Found = Evidence[Start]


def observe(name: str, trace: Trace) -> Start:
    """A slot of a round trip counts as full from 95 % of the link's rate."""
    times, rates = lab.link_rate(trace)
    handshake_s = (trace.flows[0].handshake_rtt_us or 0) / 1e6
    timeouts = trace["backoffs"].filter(pl.col("flow") == 0, pl.col("kind") == RTO)
    reductions_ns = metrics.backoff_times_ns(trace, 0, metrics.whole_run(trace))
    return Start(
        times,
        rates,
        lab.first_above(times, rates, 0.95 * rate_bps(name)) - handshake_s,
        timeouts["time_ns"].sort()[0] / NS_PER_S if timeouts.height else math.nan,
        _lost_by(trace, reductions_ns[0]) if reductions_ns else math.nan,
    )


def _lost_by(trace: Trace, time_ns: int) -> float:
    """Packets that the queue dropped up to the first reading after a time."""
    later = pl.col("link") == lab.DOWNLINK, pl.col("time_ns") >= time_ns
    rows = trace["link_counters"].filter(*later).sort("time_ns")
    return float(rows["dropped_pkts"][0])
