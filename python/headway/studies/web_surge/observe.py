"""Run: what is kept of Web users, and how it is found again."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass

import numpy as np
import polars as pl

from headway import metrics
from headway.claims import Evidence
from headway.experiment import BATCHES, Pages, Vectors
from headway.metrics.stats import Array, batch_means, confidence_interval, or_nan
from headway.studies.common import lab
from headway.studies.quickstart_linux.experiments import CONTROLS, LABELS
from headway.studies.web_surge import experiments
from headway.trace import Trace
from headway.units import NS_PER_S
from headway.workloads import surge

SMALL_BYTES = (5e3, 20e3)
"""Pages "of the order of 10 kB" (thesis, 6.4.4.2): half to twice as much."""
LARGE_BYTES = 50e3
"""Transfers "of the order of 100 kB or more": from half as much on."""


@dataclass(frozen=True)
class Loads:
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
    batches_s: tuple[float, ...] = ()
    """Means of ten batches of pages, one after the other; none: too few pages."""
    small_batches_s: tuple[float, ...] = ()
    """The same of pages that are SMALL_BYTES."""
    large_batches_s: tuple[float, ...] = ()
    """The same of those of LARGE_BYTES or more."""

    @property
    def low_s(self) -> float:
        """Lower end of the mean's interval."""
        return self.mean_s - self.half_width_s

    @property
    def high_s(self) -> float:
        """Upper end."""
        return self.mean_s + self.half_width_s


def observe(trace: Trace, small_bytes: tuple[float, float] = SMALL_BYTES) -> Loads:
    """One trial."""
    times_s, sizes = page_times(trace)
    small = (sizes >= small_bytes[0]) & (sizes <= small_bytes[1])
    large = sizes >= LARGE_BYTES
    batches_s = _batches(times_s)
    half_width = confidence_interval(batches_s).half_width if batches_s else None
    return Loads(
        count=times_s.size,
        mean_s=_mean(times_s),
        half_width_s=or_nan(half_width),
        small_s=_mean(times_s[small]),
        large_s=_mean(times_s[large]),
        utilization=metrics.utilization(trace, lab.DOWNLINK),
        approved=_approved(trace),
        batches_s=batches_s,
        small_batches_s=_batches(times_s[small]),
        large_batches_s=_batches(times_s[large]),
    )


def page_times(trace: Trace) -> tuple[Array, Array]:
    """Seconds and bytes of the pages that were loaded whole, in the order of their ends."""
    if isinstance(trace.experiment.flows[0].app, Pages):
        pages = metrics.page_loads(trace, (0, trace.experiment.duration))
        ended = pages["start_ns"] + (pages["seconds"] * NS_PER_S).round().cast(pl.Int64)
        pages = pages.with_columns(ended.alias("end_ns")).sort("end_ns", "flow", "page")
        return pages["seconds"].to_numpy(), pages["bytes"].cast(pl.Float64).to_numpy()
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


def _batches(times_s: Array) -> tuple[float, ...]:
    return tuple(map(float, batch_means(times_s))) if times_s.size >= BATCHES else ()


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

    rows: Evidence[Loads]
    seed: int
    quick: bool

    def users(self, model: surge.Model) -> tuple[int, ...]:
        """How many users there were, from one on."""
        return experiments.users_of(model, quick=self.quick)

    def alone(self, model: str, http: str, control: str, scheme: str) -> Loads:
        """One user of the paper."""
        return self.rows[experiments.alone_key(model, http, control, scheme)]

    def six(self, scheme: str, users: int) -> list[Loads]:
        """So many users of the paper in all combinations of control and HTTP, large files."""
        return [
            self.rows[experiments.load_key(http, control, scheme, users)]
            for http in experiments.HTTP
            for control in CONTROLS
        ]

    def six_s(self, scheme: str) -> Array:
        """Mean page time of the six combinations over the users."""
        return np.array(
            [np.mean([one.mean_s for one in self.six(scheme, n)]) for n in self.users("large")]
        )

    def share_s(self, share: float) -> dict[str, float]:
        """Mean page time of the six with so much of the capacity, by "HTTP control"."""
        keys = {
            f"{http} {LABELS[control]}": experiments.share_key(share, http, control)
            for http in experiments.HTTP
            for control in CONTROLS
        }
        return {name: self.rows[key].mean_s for name, key in keys.items()}

    def thesis(self, model: str, http: str, scheme: str, users: int = 1) -> Loads:
        """So many users of the thesis."""
        return self.rows[experiments.thesis_key(model, http, scheme, users)]

    def today(self, model: str, how: str, scheme: str) -> Loads:
        """One user of the thesis whose browser is one of today's."""
        return self.rows[experiments.today_key(model, how, scheme)]

    def load_s(self, model: surge.Model, scheme: str) -> Array:
        """Mean page time of the thesis' users over their number."""
        return np.array([self.thesis(model, "1.1", scheme, n).mean_s for n in self.users(model)])
