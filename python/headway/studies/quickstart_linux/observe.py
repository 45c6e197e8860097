"""Run: what is kept of a start, of downloads, and of Web users; and how it is found again."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass

import numpy as np

from headway import metrics
from headway.claims import Evidence
from headway.experiment import BATCHES, Vectors
from headway.metrics.stats import Array, batch_means, confidence_interval, or_nan
from headway.studies.common import lab
from headway.studies.quickstart_linux import web
from headway.studies.quickstart_linux.experiments import (
    CONTROLS,
    LABELS,
    SIZES_BYTES,
    TRACE_S,
    sizes_key,
    trace_key,
)
from headway.trace import Trace
from headway.units import NS_PER_S
from headway.workloads import surge

FULL_SHARE = 0.95
"""Part of the link's rate from which a slot of a round trip counts as full."""
SMALL_BYTES = (5e3, 20e3)
"""Pages "of the order of 10 kB" (thesis, 6.4.4.2)."""
LARGE_BYTES = 100e3


@dataclass(frozen=True)
class Start:
    """The first seconds of a flow."""

    times_s: Array
    """Ends of slots of a round trip since the end of the handshake, shape (slots,)."""
    rates_bps: Array
    """IP rate of the link towards the client in each."""
    full_after_s: float
    """End of the first full slot; NaN: never."""

    @property
    def full_s(self) -> float:
        """The same, and the run's length where the link was never full."""
        return self.full_after_s if math.isfinite(self.full_after_s) else TRACE_S


@dataclass(frozen=True)
class Downloads:
    """Response times of SIZES_BYTES, s."""

    times_s: Array


@dataclass(frozen=True)
class Pages:
    """Web pages that were loaded in a run, by all its users."""

    count: int
    mean_s: float
    """From the request for the base, or the opening of its connection, to the end of the last
    file; NaN: none was loaded."""
    half_width_s: float
    """Of the 95 % interval of the mean, by ten batches; NaN: too few pages."""
    small_s: float
    """Mean of the pages that are SMALL_BYTES; NaN: none."""
    large_s: float
    """Mean of those of LARGE_BYTES or more; NaN: none."""
    utilization: float
    approved: float
    """Part of the requests for a rate that got one; NaN: there were none."""

    @property
    def low_s(self) -> float:
        """Lower end of the mean's interval."""
        return self.mean_s - self.half_width_s

    @property
    def high_s(self) -> float:
        """Upper end."""
        return self.mean_s + self.half_width_s


Row = Start | Downloads | Pages


def observe(key: str, trace: Trace) -> Row:
    """One trial."""
    kind = key.partition("-")[0]
    if kind == "trace":
        return _start(trace)
    if kind == "sizes":
        numbers = range(len(SIZES_BYTES))
        return Downloads(np.array([lab.response_times_s(trace, n)[0] for n in numbers]))
    return _pages(trace)


def _start(trace: Trace) -> Start:
    times, rates = lab.link_rate(trace)
    since = times - (trace.flows[0].handshake_rtt_us or 0) / 1e6
    return Start(since, rates, lab.first_above(since, rates, FULL_SHARE * lab.LINK_BPS))


def _pages(trace: Trace) -> Pages:
    times_s, sizes = page_times(trace)
    small = (sizes >= SMALL_BYTES[0]) & (sizes <= SMALL_BYTES[1])
    half_width = (
        confidence_interval([float(mean) for mean in batch_means(times_s)]).half_width
        if times_s.size >= BATCHES
        else None
    )
    return Pages(
        count=times_s.size,
        mean_s=_mean(times_s),
        half_width_s=or_nan(half_width),
        small_s=_mean(times_s[small]),
        large_s=_mean(times_s[sizes >= LARGE_BYTES]),
        utilization=metrics.utilization(trace, lab.DOWNLINK),
        approved=_approved(trace),
    )


def page_times(trace: Trace) -> tuple[Array, Array]:
    """Seconds and bytes of the pages that were loaded whole, in the order of their ends."""
    rows = trace["responses"].sort("flow", "epoch")
    start_ns, end_ns = rows["start_ns"].to_numpy(), rows["end_ns"].to_numpy()
    numbers = np.arange(len(trace.flows) + 1)
    bounds = np.searchsorted(rows["flow"].to_numpy(), numbers)
    ends: list[Array] = []
    times: list[Array] = []
    sizes: list[Array] = []
    for flow, (begin, stop) in zip(trace.experiment.flows, itertools.pairwise(bounds), strict=True):
        assert isinstance(flow.app, Vectors)
        complete = flow.app.epochs[: stop - begin]
        given = np.fromiter((epoch[1] for epoch in complete), dtype=np.int64)
        # A page ends with the epoch after which its user thinks.
        last = np.flatnonzero(np.fromiter((epoch[2] for epoch in complete), dtype=np.int64))
        first = np.concatenate([[0], last[:-1] + 1])[: last.size]
        ends.append(end_ns[begin + last])
        times.append((end_ns[begin + last] - start_ns[begin + first]) / NS_PER_S)
        total = np.concatenate([[0], np.cumsum(given)])
        sizes.append((total[last + 1] - total[first]).astype(np.float64))
    order = np.argsort(np.concatenate(ends), kind="stable")
    return np.concatenate(times)[order], np.concatenate(sizes)[order]


def _mean(values: Array) -> float:
    return float(values.mean()) if values.size else math.nan


def _approved(trace: Trace) -> float:
    rows = metrics.router_counters(trace, "quick-start")
    counted = rows.filter(rows["link"] == lab.DOWNLINK).sort("time_ns")
    if counted.is_empty() or not counted["requests"][-1]:
        return math.nan
    return float(counted["grants"][-1] / counted["requests"][-1])


@dataclass(frozen=True)
class Found:
    """All that was observed, by what it is a trial of."""

    rows: Evidence[Row]
    seed: int
    quick: bool

    def users(self, model: surge.Model) -> tuple[int, ...]:
        """How many users there were, from one on."""
        return web.users_of(model, quick=self.quick)

    def start(self, rtt_ms: int, control: str, kind: str) -> Start:
        """A flow of figures 9 and 10."""
        row = self.rows[trace_key(rtt_ms, control, kind)]
        assert isinstance(row, Start)
        return row

    def full_s(self, rtt_ms: int, kind: str) -> dict[str, float]:
        """By control, when the link was full."""
        return {control: self.start(rtt_ms, control, kind).full_s for control in CONTROLS}

    def times_s(self, rtt_ms: int, control: str, kind: str) -> Array:
        """Response times over SIZES_BYTES."""
        row = self.rows[sizes_key(rtt_ms, control, kind)]
        assert isinstance(row, Downloads)
        return row.times_s

    def speedup(self, rtt_ms: int, control: str) -> Array:
        """Slow start's response times over Quick-Start's."""
        return self.times_s(rtt_ms, control, "ss") / self.times_s(rtt_ms, control, "qs")

    def pages(self, key: str) -> Pages:
        """A trial of Web users."""
        row = self.rows[key]
        assert isinstance(row, Pages)
        return row

    def alone(self, model: str, http: str, control: str, scheme: str) -> Pages:
        """One user of the paper."""
        return self.pages(web.alone_key(model, http, control, scheme))

    def six(self, scheme: str, users: int) -> list[Pages]:
        """So many users of the paper in all combinations of control and HTTP, large files."""
        return [
            self.pages(web.load_key(http, control, scheme, users))
            for http in web.HTTP
            for control in CONTROLS
        ]

    def six_s(self, scheme: str) -> Array:
        """Mean page time of the six combinations over the users."""
        return np.array(
            [np.mean([one.mean_s for one in self.six(scheme, n)]) for n in self.users("large")]
        )

    def share_s(self, share: float) -> dict[str, float]:
        """Mean page time of the six with so much of the capacity, by "HTTP control"."""
        return {
            f"{http} {LABELS[control]}": self.pages(web.share_key(share, http, control)).mean_s
            for http in web.HTTP
            for control in CONTROLS
        }

    def thesis(self, model: str, http: str, scheme: str, users: int = 1) -> Pages:
        """So many users of the thesis."""
        return self.pages(web.thesis_key(model, http, scheme, users))

    def load_s(self, model: surge.Model, scheme: str) -> Array:
        """Mean page time of the thesis' users over their number."""
        return np.array([self.thesis(model, "1.1", scheme, n).mean_s for n in self.users(model)])
