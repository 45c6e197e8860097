"""Run: how three flows shared the link, and how long one was disturbed by another."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from headway import metrics
from headway.claims import Evidence
from headway.metrics.stats import Array
from headway.studies.common import lab
from headway.studies.convergence.experiments import (
    DISTURBED,
    LENGTH_S,
    OFFSET_S,
    SAMPLE_S,
    SHORT_START_S,
)
from headway.trace import Trace
from headway.units import NS_PER_S

SHARING_S = 10.0
"""Longest time over which shares are compared, while all three flows are there."""
ARRIVAL_S = 3.0
"""Time from a flow's start in which it is called new."""
RECOVERED_SHARE = 0.8
FIRST_RUN = "-r1"
"""How the trials end whose course is drawn."""


@dataclass(frozen=True)
class Outcome:
    """One run of three flows."""

    jain: float
    """Fairness of the three goodputs while all are there."""
    new_mbps: float
    """Goodput of the second flow after its start."""
    old_mbps: float
    """Goodput of the first flow in the same time."""
    queue_share: float
    """Mean part of the queue that was used until the last response ended."""
    third_s: float
    """Response time of the third flow."""
    last_end_s: float
    """When the last response ended."""
    granted_later: float
    """Quick-Start requests of the second and third flow that were granted; NaN: not counted."""
    asked_later: float
    """Those requests."""


@dataclass(frozen=True)
class Course:
    """What is drawn of a run."""

    slots_s: Array
    """Ends of slots, shape (slots,)."""
    goodputs_bps: tuple[Array, Array, Array]
    """Of each flow, in each slot."""
    queue_s: Array
    """When the queue towards the clients changed, shape (changes,)."""
    queue_pkts: Array
    """To what."""


@dataclass(frozen=True)
class Run:
    """A run of three flows."""

    outcome: Outcome
    course: Course | None
    """Of the first run only."""


@dataclass(frozen=True)
class Return:
    """A long flow that another one's start disturbed."""

    return_s: float
    """From the short flow's start until the long one has most of its rate again."""


Row = Run | Return


@dataclass(frozen=True)
class Found:
    """Runs of three flows by trial, and the disturbed flow."""

    runs: Evidence[Run]
    disturbed: Evidence[Return]
    numbers: range
    """Of the runs of this form."""

    def outcomes(self, name: str) -> list[Outcome]:
        """All runs of a scheme or control. Raises MissingTrialError."""
        return [self.runs[f"{name}-r{run}"].outcome for run in self.numbers]

    def mean(self, name: str, of: str) -> float:
        """Mean over the runs. Raises MissingTrialError."""
        return float(np.mean([getattr(outcome, of) for outcome in self.outcomes(name)]))


def gather(rows: Mapping[str, Row], numbers: range) -> Found:
    """Rows by what they are of."""
    return Found(
        Evidence({key: row for key, row in rows.items() if isinstance(row, Run)}),
        Evidence({key: row for key, row in rows.items() if isinstance(row, Return)}),
        numbers,
    )


def observe(key: str, trace: Trace) -> Row:
    """One trial."""
    if key == DISTURBED:
        return Return(return_s(trace))
    return Run(outcome(trace), _course(trace) if key.endswith(FIRST_RUN) else None)


def outcome(trace: Trace) -> Outcome:
    """What the claims need of one run."""
    shares = [_goodput_bps(trace, flow, *_together_s(trace)) for flow in range(3)]
    arrival = (OFFSET_S, OFFSET_S + ARRIVAL_S)
    end_s = _last_end_s(trace)
    rows = trace["link_counters"].filter(trace["link_counters"]["link"] == lab.DOWNLINK)
    used = np.interp(
        [0, end_s * NS_PER_S],
        rows["time_ns"].to_numpy(),
        rows["queue_byte_us"].to_numpy().astype(float),
    )
    room = lab.SMALL_BUFFER_PKTS * lab.MTU_BYTES
    later = trace.flows[1:]
    third = lab.response_times_s(trace, 2)
    return Outcome(
        jain=metrics.jain_index(shares) or 0.0,
        new_mbps=_goodput_bps(trace, 1, *arrival) / 1e6,
        old_mbps=_goodput_bps(trace, 0, *arrival) / 1e6,
        queue_share=float(used[1] - used[0]) / (end_s * 1e6) / room,
        third_s=float(third[0]) if third.size else LENGTH_S,
        last_end_s=end_s,
        granted_later=_sum([flow.quick_start_grants for flow in later]),
        asked_later=_sum([flow.quick_start_requests for flow in later]),
    )


def _sum(counts: Sequence[int | None]) -> float:
    return math.fsum(math.nan if count is None else count for count in counts)


def _goodput_bps(trace: Trace, flow: int, start_s: float, end_s: float) -> float:
    times, rates = lab.flow_rate(trace, flow)
    shown = (times > start_s + 1e-9) & (times <= end_s + 1e-9)
    return float(rates[shown].mean())


def _together_s(trace: Trace) -> tuple[float, float]:
    """From the third start to the first end, whole readings, at most SHARING_S."""
    begin = (
        math.ceil(max(flow.start or 0 for flow in trace.experiment.flows) / 1e9 / SAMPLE_S)
        * SAMPLE_S
    )
    ends = trace["responses"]["end_ns"].to_numpy() / 1e9
    end = math.floor(float(ends.min() if ends.size else LENGTH_S) / SAMPLE_S) * SAMPLE_S
    return begin, max(min(end, begin + SHARING_S), begin + SAMPLE_S)


def _last_end_s(trace: Trace) -> float:
    ends = trace["responses"]["end_ns"].to_numpy() / 1e9
    return float(ends.max()) if ends.size == 3 else LENGTH_S


def return_s(trace: Trace) -> float:
    """Seconds from a short flow's start until the long one has most of its rate again."""
    times, rates = lab.flow_rate(trace, 0)
    before = rates[(times > SHORT_START_S - 5) & (times <= SHORT_START_S)].mean()
    dip = lab.first_below(times, rates, RECOVERED_SHARE * before, after_s=SHORT_START_S)
    if not np.isfinite(dip):
        return 0.0
    back = lab.first_above(times, rates, RECOVERED_SHARE * before, after_s=dip)
    return back - SHORT_START_S


def _course(trace: Trace) -> Course:
    slots_s, first = lab.flow_rate(trace, 0)
    rows = trace["queue"]
    rows = rows.filter(rows["link"] == lab.DOWNLINK)
    return Course(
        slots_s,
        (first, lab.flow_rate(trace, 1)[1], lab.flow_rate(trace, 2)[1]),
        rows["time_ns"].to_numpy() / 1e9,
        rows["queue_pkts"].to_numpy().astype(float),
    )
