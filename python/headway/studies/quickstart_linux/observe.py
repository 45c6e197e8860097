"""Run: what is kept of a start, of downloads, and of Web users; and how it is found again."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from headway.claims import Evidence
from headway.metrics.stats import Array
from headway.studies.common import lab
from headway.studies.quickstart_linux import web
from headway.studies.quickstart_linux.experiments import (
    CONTROLS,
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
    """Web pages that were loaded."""

    count: int
    mean_s: float
    mean_bytes: float


Row = Start | Downloads | Pages


def observe(key: str, trace: Trace) -> Row:
    """One trial."""
    kind = key.partition("-")[0]
    if kind == "trace":
        return _start(trace)
    if kind == "sizes":
        numbers = range(len(SIZES_BYTES))
        return Downloads(np.array([lab.response_times_s(trace, n)[0] for n in numbers]))
    return _pages(key, trace)


def _start(trace: Trace) -> Start:
    times, rates = lab.link_rate(trace)
    since = times - (trace.flows[0].handshake_rtt_us or 0) / 1e6
    return Start(since, rates, lab.first_above(since, rates, FULL_SHARE * lab.LINK_BPS))


def _pages(key: str, trace: Trace) -> Pages:
    seed, length_s = trace.experiment.seed, trace.experiment.duration / NS_PER_S
    kind, *words = key.split("-")
    if kind == "load":
        http = words[0]
        parts = []
        for number in range(len(trace.flows)):
            wanted = web.load_pages(seed, number, length_s)
            parts.append(web.page_times_s(trace, wanted, http, flow=number))
        times = np.concatenate(parts)
        size = math.nan
    else:
        model: surge.Model = "default" if words[0] == "default" else "large"
        http = words[1] if kind == "web" else "1.1"
        wanted = web.user_pages(model, seed, 0, web.PAGES)
        times = web.page_times_s(trace, wanted, http)
        size = float(np.mean([page.bytes for page in wanted[: times.size]]))
    return Pages(times.size, float(times.mean()) if times.size else length_s, size)


@dataclass(frozen=True)
class Found:
    """All that was observed, by what it is a trial of."""

    rows: Evidence[Row]
    seed: int
    quick: bool

    @property
    def users(self) -> tuple[int, ...]:
        """How many users there were."""
        return web.QUICK_LOAD_USERS if self.quick else web.LOAD_USERS

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

    def page_s(self, model: str, http: str, control: str, scheme: str) -> float:
        """Mean page time of one user."""
        return self.pages(web.one_key(model, http, control, scheme)).mean_s

    def load_s(self, http: str, scheme: str) -> Array:
        """Mean page times over the users."""
        return np.array([self.pages(web.load_key(http, scheme, n)).mean_s for n in self.users])

    def shares_s(self) -> dict[float, float]:
        """Mean page time by part of the capacity for Quick-Start."""
        return {share: self.pages(web.share_key(share)).mean_s for share in web.SHARES}
