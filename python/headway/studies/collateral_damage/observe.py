"""Run: what paper 001 measured of a trial, and the lines that its figures draw."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields

import numpy as np
import polars as pl

from headway import metrics
from headway.figures.decimate import min_max_indices
from headway.metrics.stats import Array
from headway.report.zoom import MAX_POINTS
from headway.studies.collateral_damage.experiments import (
    BOTTLENECK,
    CUBIC_GROWTH,
    FIGURE_2,
    RECORDED,
)
from headway.studies.collateral_damage.growth import (
    CubicGrowth,
    HtcpGrowth,
    fit_cubic_growth,
    fit_htcp_growth,
)
from headway.trace import Trace
from headway.units import BITS_PER_BYTE, NS_PER_S

MIDDLE_NS = 60 * NS_PER_S
"""Queue-full events are counted in the minute in the middle of a trial."""

EPOCHS_SHOWN = 3
"""Whole epochs of figure 2."""

_MS_PER_US = 1e-3
_NS_PER_MS = 1e6
_KB = 1000.0


@dataclass(frozen=True)
class TrialNumbers:
    """The numbers of one trial. Delays in ms, goodputs in kB/s."""

    owd_median_ms: float
    owd_mean_ms: float
    owd_sd_ms: float
    owd_min_ms: float
    """Smallest and largest of the whole trial, also before the first congestion event."""
    owd_max_ms: float
    voip_loss: float
    goodput_kbytes_s: float
    """Sum over the flows, each over its own lifetime: what tcptrace's numbers add up to."""
    span_goodput_kbytes_s: float
    """The same bytes over the time from the first flow's first to the last one's last packet."""
    queue_full_per_minute: float
    retransmits_pkts: float
    retransmits_per_minute: float
    epochs: float
    """Congestion epochs, mean over the flows."""
    length_s: float
    """From the first flow's start to the last flow's stop."""


@dataclass(frozen=True)
class Lifetime:
    """One flow of one trial."""

    first_s: float
    last_s: float
    unique_bytes: int
    goodput_kbytes_s: float


NUMBERS = tuple(field.name for field in fields(TrialNumbers))


@dataclass(frozen=True)
class Line:
    """A value over time; both of shape (n,)."""

    time_s: Array
    value: Array


@dataclass(frozen=True)
class Course:
    """What a figure shows of some time of a trial."""

    cwnds_pkts: Mapping[int, Line]
    """By flow, counted from 1."""
    owd_ms: Line
    queue_kb: Line


@dataclass(frozen=True)
class Trial:
    """One trial. What only some trials record is None in the others."""

    numbers: TrialNumbers
    lifetimes: tuple[Lifetime, ...]
    owd_ms: Array
    """All delays from the moment when every flow has had a congestion event, shape (n,), ms."""
    hosts: str
    """Whose TCP it was."""
    htcp_growth: HtcpGrowth | None = None
    cubic_growth: CubicGrowth | None = None
    figure_2: Course | None = None
    course: Course | None = None
    """The whole trial, thinned to what a screen shows."""


def observe(key: str, trace: Trace) -> Trial:
    """One trial."""
    cell = RECORDED.get(key)
    numbers, owd_ms = _numbers(trace)
    return Trial(
        numbers,
        tuple(_lifetime(trace, flow) for flow in trace.tcp_flows()),
        owd_ms,
        _hosts(trace),
        htcp_growth=fit_htcp_growth(trace, 0) if cell == FIGURE_2 else None,
        cubic_growth=fit_cubic_growth(trace, 0) if cell == CUBIC_GROWTH else None,
        figure_2=_figure_2(trace) if cell == FIGURE_2 else None,
        course=_course(trace, metrics.whole_run(trace), MAX_POINTS) if cell else None,
    )


def _hosts(trace: Trace) -> str:
    if "kernel" in trace.meta:
        return f"Linux {trace.meta['kernel']['release']} of this machine"
    return f"stack {trace.experiment.stack}"


def epochs_per_flow(trace: Trace) -> float:
    """Congestion epochs in the whole run, mean over the TCP flows."""
    window = metrics.whole_run(trace)
    counts = [
        max(len(metrics.backoff_times_ns(trace, flow, window)) - 1, 0) for flow in trace.tcp_flows()
    ]
    return float(np.mean(counts))


def _epochs_begin_ns(trace: Trace) -> int:
    """When every TCP flow has had its first congestion event.

    The paper's delays are those "over at least twenty congestion epochs", and an epoch lies
    between two congestion events: the slow start before the first belongs to none.
    """
    window = metrics.whole_run(trace)
    first = [metrics.backoff_times_ns(trace, flow, window)[:1] for flow in trace.tcp_flows()]
    return max((int(times[0]) for times in first if len(times)), default=0)


def _numbers(trace: Trace) -> tuple[TrialNumbers, Array]:
    """The numbers of a trial, and its delays in ms, shape (n,)."""
    experiment = trace.experiment
    end_ns = experiment.duration
    tcp = trace.tcp_flows()
    starts_ns = experiment.start_times_ns()
    stops_ns = [experiment.flows[flow].stop or end_ns for flow in tcp]
    first_ns, last_ns = min(starts_ns[flow] for flow in tcp), max(stops_ns)
    owd_window = (_epochs_begin_ns(trace), min(stops_ns))
    owd_ms = metrics.owd_us(trace, window=owd_window) * _MS_PER_US
    owd = metrics.distribution(owd_ms)
    extremes = metrics.owd_distribution_us(trace)
    lost = metrics.lost_pkts(trace, window=owd_window)
    lifetimes = [_lifetime(trace, flow) for flow in tcp]
    span_s = max(life.last_s for life in lifetimes) - min(life.first_s for life in lifetimes)
    middle_ns = (first_ns + last_ns) // 2
    half_ns = min(MIDDLE_NS, last_ns - first_ns) // 2
    retransmits = sum(metrics.retransmits_pkts(trace, flow, (0, end_ns)) for flow in tcp)
    length_s = (last_ns - first_ns) / NS_PER_S
    numbers = TrialNumbers(
        owd_median_ms=owd.median or np.nan,
        owd_mean_ms=owd.mean or np.nan,
        owd_sd_ms=owd.sd or np.nan,
        owd_min_ms=(extremes.min or np.nan) * _MS_PER_US,
        owd_max_ms=(extremes.max or np.nan) * _MS_PER_US,
        voip_loss=lost / max(lost + owd.count, 1),
        goodput_kbytes_s=sum(life.goodput_kbytes_s for life in lifetimes),
        span_goodput_kbytes_s=sum(life.unique_bytes for life in lifetimes) / span_s / _KB,
        queue_full_per_minute=metrics.queue_full_per_minute(
            trace, BOTTLENECK, (middle_ns - half_ns, middle_ns + half_ns)
        ),
        retransmits_pkts=float(retransmits),
        retransmits_per_minute=60 * retransmits / length_s,
        epochs=epochs_per_flow(trace),
        length_s=length_s,
    )
    return numbers, owd_ms


def _lifetime(trace: Trace, flow: int) -> Lifetime:
    summary = trace.flows[flow]
    goodput_bps = metrics.goodput_tcptrace_bps(trace, flow)
    if goodput_bps is None:  # a connection that never sent: nothing to divide
        return Lifetime(0.0, 0.0, 0, 0.0)
    return Lifetime(
        (summary.first_packet_ns or 0) / NS_PER_S,
        (summary.last_packet_ns or 0) / NS_PER_S,
        summary.unique_bytes or 0,
        goodput_bps / BITS_PER_BYTE / _KB,
    )


def _figure_2(trace: Trace) -> Course | None:
    """Some whole epochs in the middle of the run; None if there are too few."""
    flow = trace.tcp_flows()[0]
    backoffs = metrics.backoff_times_ns(trace, flow, metrics.whole_run(trace))
    if len(backoffs) < EPOCHS_SHOWN + 1:
        return None
    first = (len(backoffs) - EPOCHS_SHOWN) // 2
    margin_ns = NS_PER_S // 2
    window = (int(backoffs[first]) - margin_ns, int(backoffs[first + EPOCHS_SHOWN]) + margin_ns)
    return _course(trace, window)


def _course(trace: Trace, window: metrics.Window, most_points: int | None = None) -> Course:
    """Lines over a window, thinned to so many points each."""

    def line(rows: pl.DataFrame, time: str, value: str, unit: float) -> Line:
        values = rows[value].to_numpy().astype(np.float64) / unit
        kept = min_max_indices(values, most_points or max(values.size, 4))
        return Line(rows[time].to_numpy()[kept] / NS_PER_S, values[kept])

    states = _between(trace["flow_state"], "time_ns", window)
    queue = _between(trace["queue"], "time_ns", window).filter(pl.col("link") == BOTTLENECK)
    datagrams = _between(trace["udp"], "sent_ns", window).drop_nulls("owd_ns")
    return Course(
        {
            number: line(own, "time_ns", "cwnd_pkts", 1)
            for number, flow in enumerate(trace.tcp_flows(), start=1)
            if not (own := states.filter(pl.col("flow") == flow)).is_empty()
        },
        line(datagrams, "sent_ns", "owd_ns", _NS_PER_MS),
        line(queue, "time_ns", "queue_bytes", _KB),
    )


def _between(rows: pl.DataFrame, column: str, window: metrics.Window) -> pl.DataFrame:
    return rows.filter((pl.col(column) >= window[0]) & (pl.col(column) < window[1]))
