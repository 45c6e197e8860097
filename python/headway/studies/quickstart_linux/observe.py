"""Run: reduce starts and downloads to a few numbers, and look them up by trial."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from headway.claims import Evidence
from headway.metrics.stats import Array
from headway.studies.common import lab
from headway.studies.quickstart_linux.experiments import (
    CONTROLS,
    SIZES_BYTES,
    TRACE_S,
    sizes_key,
    trace_key,
)
from headway.trace import Trace

FULL_SHARE = 0.95
"""A slot of a round trip counts as full from this part of the link's rate on."""


@dataclass(frozen=True)
class Start:
    """The first seconds of a flow."""

    times_s: Array
    """Ends of slots of a round trip since the end of the handshake, shape (slots,)."""
    rates_bps: Array
    """IP rate of the link towards the client in each slot."""
    full_after_s: float
    """End of the first full slot; NaN: never."""

    @property
    def full_s(self) -> float:
        """The time until the link is full, or the run's length where it never was."""
        return self.full_after_s if math.isfinite(self.full_after_s) else TRACE_S


@dataclass(frozen=True)
class Downloads:
    """Response times of SIZES_BYTES, s."""

    times_s: Array


Row = Start | Downloads


def observe(key: str, trace: Trace) -> Row:
    """One trial."""
    kind = key.partition("-")[0]
    if kind == "trace":
        return _start(trace)
    numbers = range(len(SIZES_BYTES))
    return Downloads(np.array([lab.response_times_s(trace, n)[0] for n in numbers]))


def _start(trace: Trace) -> Start:
    times, rates = lab.link_rate(trace)
    since = times - (trace.flows[0].handshake_rtt_us or 0) / 1e6
    return Start(since, rates, lab.first_above(since, rates, FULL_SHARE * lab.LINK_BPS))


@dataclass(frozen=True)
class Found:
    """All observations, looked up by trial."""

    rows: Evidence[Row]

    def start(self, rtt_ms: int, control: str, kind: str) -> Start:
        """A flow of figures 9 and 10."""
        row = self.rows[trace_key(rtt_ms, control, kind)]
        assert isinstance(row, Start)
        return row

    def full_s(self, rtt_ms: int, kind: str) -> dict[str, float]:
        """The time until the link was full, by control."""
        return {control: self.start(rtt_ms, control, kind).full_s for control in CONTROLS}

    def times_s(self, rtt_ms: int, control: str, kind: str) -> Array:
        """Response times over SIZES_BYTES."""
        row = self.rows[sizes_key(rtt_ms, control, kind)]
        assert isinstance(row, Downloads)
        return row.times_s

    def speedup(self, rtt_ms: int, control: str) -> Array:
        """Slow start's response times over Quick-Start's."""
        return self.times_s(rtt_ms, control, "ss") / self.times_s(rtt_ms, control, "qs")
