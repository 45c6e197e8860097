"""Run: how three flows share the link, and how long a flow disturbs another."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from headway import metrics
from headway.claims import Evidence
from headway.metrics.stats import Array, or_nan
from headway.studies.common import lab
from headway.studies.common.runs import matching, mean
from headway.studies.convergence.experiments import DISTURBED, LENGTH_S, OFFSET_S, SAMPLE_S, runs
from headway.study import StudyContext
from headway.trace import Trace
from headway.units import BITS_PER_BYTE, NS_PER_S

SHARING_S = 10.0
"""Longest time over which shares are compared, while all three flows are active."""
EQUAL, HELD_S = 0.99, 1.0
"""Flows share equally from a slot on if Jain's index is at least EQUAL in this slot and in the
slots of the following HELD_S, or until a flow starts or ends. Two rates then differ from their mean
by at most a tenth."""
ARRIVAL_S = 3.0
"""A flow counts as new for this time after its start."""
RECOVERED_SHARE = 0.9
"""A flow has recovered when it has this part of its earlier rate."""
BEFORE_S = 5.0
"""Time over which the earlier rate is measured."""
FIRST_RUN = "-r1"
"""Suffix of the trials that are plotted over time."""


@dataclass(frozen=True)
class Course:
    """A run over time, for the figures."""

    slots_s: Array
    """Ends of slots, shape (slots,)."""
    goodputs_bps: Sequence[Array]
    """Goodput of each flow in each slot."""
    queue_s: Array
    """Times at which the queue towards the clients changed, shape (changes,)."""
    queue_pkts: Array
    """Length of the queue towards the clients after each change."""


@dataclass(frozen=True)
class Outcome:
    """Observations of one run of three flows."""

    jain: float
    """Fairness of the three goodputs while all flows are active."""
    together_s: float
    """Time for which all three flows are active, at most SHARING_S."""
    jain_two: float
    """Fairness of the first two from the second start to the first end, at most SHARING_S."""
    change_mbps: float
    """Mean change of a flow's goodput from slot to slot while others are active."""
    new_mbps: float
    old_mbps: float
    """Goodputs of the second and the first flow during the time after the second flow's start."""
    queue_share: float
    """Mean part of the queue that was used until the last response ended; NaN for an unlimited
    queue."""
    third_s: float
    """Response time of the third flow."""
    last_end_s: float
    """Time at which the last response ended."""
    granted_later: float
    asked_later: float
    """Granted and all Quick-Start requests of the second and third flow; NaN: not counted."""
    second_equal_s: float
    """Time from the second flow's first data until the first two flows share equally; infinite if
    they do not before the third flow's first data."""
    third_equal_s: float
    """Time from the third flow's first data until all three flows share equally; infinite if they
    do not before a flow ends."""
    peak_pkts: float
    """The longest queue from the second start on; NaN where it was not recorded."""
    together_mbps: Array
    """Goodput of each flow in the slots in which all three are active, shape (3, slots)."""
    queue_slots: Array
    """Mean part of the queue that was used, by slot until the last end, shape (slots,)."""
    course: Course | None = None
    """The run over time; only for the first run."""


@dataclass(frozen=True)
class Return:
    """A long flow that the start of another flow disturbed."""

    least_share: float
    """The long flow's lowest rate in a slot, as a part of its earlier rate."""
    return_s: float
    """From the other flow's start until the flow has recovered; 0 if its rate never fell below
    RECOVERED_SHARE, NaN if it did not recover."""


Row = Outcome | Return
Found = Evidence[Row]


def gather(ctx: StudyContext, rows: Mapping[str, Row]) -> Found:
    """All trials of schemes that have every run, so that no claim is judged by fewer runs."""
    names = dict.fromkeys(key.rpartition("-r")[0] for key in rows)
    keys = [[f"{name}-r{run}" for run in runs(ctx)] for name in names]
    return Evidence({key: rows[key] for own in keys if rows.keys() >= set(own) for key in own})


def outcomes(found: Found, name: str) -> list[Outcome]:
    """All runs of a scheme or control. Raises MissingTrialError."""
    return [row for row in matching(found, f"{name}-r[0-9]*") if isinstance(row, Outcome)]


def mean_of(found: Found, name: str, field: str) -> float:
    """The mean of a number over all runs of a scheme or control. Raises MissingTrialError."""
    return mean(outcomes(found, name), field)


def observe(key: str, trace: Trace) -> Row:
    """Reduce a trial to the values that claims need, by the kind of the trial."""
    if key.startswith(DISTURBED):
        return disturbed(trace)
    row = outcome(trace)
    return replace(row, course=_course(trace)) if key.endswith(FIRST_RUN) else row


def outcome(trace: Trace) -> Outcome:
    """The values that the claims need from one run."""
    starts_s = [(flow.start or 0) / NS_PER_S for flow in trace.experiment.flows]
    two, three = (_until_first_end_s(trace, start_s, SHARING_S) for start_s in starts_s[1:])
    all_there = _until_first_end_s(trace, starts_s[2], LENGTH_S)
    arrival = (OFFSET_S, OFFSET_S + ARRIVAL_S)
    end_s = float(_ends_s(trace).max())
    rows = trace.rows_of("link_counters", "link", lab.DOWNLINK)
    edges_s = np.append(np.arange(0, end_s, SAMPLE_S), end_s)
    times_ns, byte_us = (rows[name].to_numpy() for name in ("time_ns", "queue_byte_us"))
    used = np.interp(edges_s * NS_PER_S, times_ns, byte_us.astype(float))
    guided = bool(trace.experiment.topology.links()[0][1].routers)
    room = math.nan if guided else lab.SMALL_BUFFER_PKTS * lab.MTU_BYTES
    third = lab.response_times_s(trace, 2)
    return Outcome(
        jain=_jain(trace, 3, three),
        together_s=three[1] - three[0],
        jain_two=_jain(trace, 2, two),
        change_mbps=_change_bps(trace, starts_s) / 1e6,
        new_mbps=_goodput_bps(trace, 1, arrival) / 1e6,
        old_mbps=_goodput_bps(trace, 0, arrival) / 1e6,
        queue_share=float(used[-1] - used[0]) / (end_s * 1e6) / room,
        third_s=float(third[0]) if third.size else LENGTH_S,
        last_end_s=end_s,
        granted_later=_counted(trace, "grants"),
        asked_later=_counted(trace, "requests"),
        second_equal_s=_equal_s(trace, 1),
        third_equal_s=_equal_s(trace, 2),
        peak_pkts=_peak_pkts(trace, starts_s[1]),
        together_mbps=np.array([_goodputs_bps(trace, n, *all_there) / 1e6 for n in range(3)]),
        queue_slots=np.diff(used) / (np.diff(edges_s) * 1e6) / room,
    )


def _equal_s(trace: Trace, newest: int) -> float:
    """Time from a flow's first data until it and the earlier flows share equally."""
    data = [_delivered(trace, flow) for flow in range(len(trace.flows))]
    arrivals_s = [_first_data_s(*one) for one in data]
    begin_s, before = arrivals_s[newest], [*arrivals_s[newest + 1 :], float(_ends_s(trace).min())]
    if not math.isfinite(begin_s):
        return math.inf
    slot_s = max(lab.RTT_MS / 1e3, float(np.median(np.diff(data[newest][0]))))
    edges_s = np.arange(begin_s, min(before), slot_s)
    shares = np.diff([np.interp(edges_s, *one) for one in data[: newest + 1]])
    index = np.sum(shares, axis=0) ** 2 / ((newest + 1) * np.sum(shares**2, axis=0))
    held = math.ceil(HELD_S / slot_s)
    for slot in range(index.size):
        if (index[slot : slot + held] >= EQUAL).all():
            return float(edges_s[slot + 1] - begin_s)
    return math.inf


def _delivered(trace: Trace, flow: int) -> tuple[Array, Array]:
    """Bytes that a flow had delivered at each reading: (seconds, bytes)."""
    rows = trace.rows_of("flow_counters", "flow", flow).sort("time_ns")
    times_s = rows["time_ns"].to_numpy() / NS_PER_S
    return times_s, rows["delivered_bytes"].to_numpy().astype(np.float64)


def _first_data_s(times_s: Array, delivered_bytes: Array) -> float:
    """Time of the last reading before a flow's response data is delivered; infinite: none is."""
    there = np.flatnonzero(delivered_bytes > lab.REQUEST_BYTES)
    return float(times_s[max(int(there[0]) - 1, 0)]) if there.size else math.inf


def _peak_pkts(trace: Trace, after_s: float) -> float:
    rows = trace.rows_of("queue", "link", lab.DOWNLINK)
    rows = rows.filter(pl.col("time_ns") >= after_s * NS_PER_S)
    return float(rows["queue_pkts"].to_numpy().max()) if rows.height else math.nan


def _counted(trace: Trace, name: str) -> float:
    """What Quick-Start counted of the second and the third flow."""
    return math.fsum(or_nan(flow.counted("quick-start", name)) for flow in trace.flows[1:])


def _goodputs_bps(trace: Trace, flow: int, start_s: float, end_s: float) -> Array:
    """Goodput in each slot between ``start_s`` and ``end_s``."""
    times, rates = lab.flow_rate(trace, flow)
    return rates[(times > start_s + 1e-9) & (times <= end_s + 1e-9)]


def _goodput_bps(trace: Trace, flow: int, between_s: tuple[float, float]) -> float:
    return float(_goodputs_bps(trace, flow, *between_s).mean())


def _jain(trace: Trace, flows: int, between_s: tuple[float, float]) -> float:
    return or_nan(metrics.jain_index([_goodput_bps(trace, n, between_s) for n in range(flows)]))


def _ends_s(trace: Trace) -> Array:
    """Time at which each flow's response ended, else the run's length; shape (flows,)."""
    ends_s = np.full(len(trace.flows), LENGTH_S)
    rows = trace["responses"]
    ends_s[rows["flow"].to_numpy()] = rows["end_ns"].to_numpy() / NS_PER_S
    return ends_s


def _until_first_end_s(trace: Trace, start_s: float, most_s: float) -> tuple[float, float]:
    """From a start to the first end, in whole readings: at least one, at most ``most_s``."""
    begin_s = math.ceil(start_s / SAMPLE_S) * SAMPLE_S
    end_s = math.floor(float(_ends_s(trace).min()) / SAMPLE_S) * SAMPLE_S
    return begin_s, max(min(end_s, begin_s + most_s), begin_s + SAMPLE_S)


def _change_bps(trace: Trace, starts_s: Sequence[float]) -> float:
    """Mean change of a goodput from slot to slot, from the second start to the last but one end."""
    ends_s = _ends_s(trace)
    alone_s = float(np.sort(ends_s)[-2])
    changes = [
        np.abs(np.diff(_goodputs_bps(trace, flow, max(start_s, starts_s[1]), min(end_s, alone_s))))
        for flow, (start_s, end_s) in enumerate(zip(starts_s, ends_s, strict=True))
    ]
    return float(np.concatenate(changes).mean())


def disturbed(trace: Trace) -> Return:
    """How a long flow recovers from a short flow's start."""
    start_s = (trace.experiment.flows[1].start or 0) / NS_PER_S
    times, rates = lab.flow_rate(trace, 0)
    before = rates[(times > start_s - BEFORE_S) & (times <= start_s)].mean()
    least = float(rates[times > start_s].min() / before)
    dip_s = lab.first_below(times, rates, RECOVERED_SHARE * before, after_s=start_s)
    if not math.isfinite(dip_s):
        return Return(least, 0.0)
    back_s = lab.first_above(times, rates, RECOVERED_SHARE * before, after_s=dip_s)
    return Return(least, back_s - start_s)


def _course(trace: Trace) -> Course:
    rates = [_rate(trace, flow) for flow in range(3)]
    rows = trace.rows_of("queue", "link", lab.DOWNLINK)
    times_s = rows["time_ns"].to_numpy() / NS_PER_S
    goodputs_bps = [rate_bps for _, rate_bps in rates]
    return Course(rates[0][0], goodputs_bps, times_s, rows["queue_pkts"].to_numpy().astype(float))


def _rate(trace: Trace, flow: int) -> tuple[Array, Array]:
    """Goodput in slots of at least a round trip: (ends in s, bit/s)."""
    times_s, rates_bps = lab.flow_rate(trace, flow)
    slot_s = lab.RTT_MS / 1e3
    if times_s.size and times_s[0] >= slot_s:
        return times_s, rates_bps
    times_s, delivered_bytes = _delivered(trace, flow)
    ends_s = np.arange(slot_s, times_s[-1], slot_s)
    sums = np.interp(np.concatenate([[0.0], ends_s]), times_s, delivered_bytes)
    return ends_s, np.diff(sums) * BITS_PER_BYTE / slot_s
