"""Makes a Trace from what was measured of each flow, whatever the file's format.

A trace has an experiment. That of a measurement is a dumbbell with the path that the measurement
suggests: the highest delivery rate, the smallest RTT, and a queue of one BDP. ``meta`` names the
imported file and lists what was left out. A value that the file does not have is null.
"""

from __future__ import annotations

import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl

from headway.errors import ExperimentError, HeadwayError
from headway.experiment import KERNEL_OWN, Bulk, Dumbbell, Experiment, Flow, Voip
from headway.metrics.stats import Array
from headway.trace import SCHEMA, FlowSummary, Trace
from headway.units import BITS_PER_BYTE, NS_PER_S, format_rate, format_time
from headway.versions import versions

UNKNOWN_CONTROL = f"{KERNEL_OWN}unknown"
"""The control of a flow whose control is not known."""
_RATES_BPS = (1000, 10**12)
_LONGEST_RTT_NS = 10 * NS_PER_S
_DEFAULT_RTT_NS = NS_PER_S // 100
"""The RTT of the experiment if the file has no RTT."""


@dataclass(frozen=True)
class Totals:
    """Totals of a flow at the end of intervals, shape (n,), in order of time; 0 before the first.

    ``starts_ns`` are the starts of the intervals. None means that the file has no such values.
    """

    starts_ns: Array
    ends_ns: Array
    delivered_bytes: Array
    sent_pkts: Array | None = None
    retransmits_pkts: Array | None = None


@dataclass(frozen=True)
class States:
    """A flow's state at some times, shape (n,) each; NaN is an unknown value."""

    times_ns: Array
    cwnd_pkts: Array | None = None
    srtt_us: Array | None = None
    inflight_pkts: Array | None = None


@dataclass(frozen=True)
class Measured:
    """What a file has of one flow. ``summary`` are fields of FlowSummary."""

    name: str
    totals: Totals | None = None
    states: States | None = None
    owd: tuple[Array, Array] | None = None
    """Times when datagrams were sent and their one-way delays, in ns; NaN if lost."""
    summary: Mapping[str, Any] = field(default_factory=dict)
    captured: pl.DataFrame | None = None
    """Rows of the table ``captured`` without the column ``flow``."""


@dataclass(frozen=True)
class PathGuess:
    """The path that a measurement suggests; None is unknown."""

    rate_bps: float | None = None
    rtt_ns: float | None = None


def trace_of(
    flows: Sequence[Measured],
    duration_ns: int,
    guess: PathGuess,
    origin: Mapping[str, Any],
    control: str | None = None,
    links: Mapping[str, pl.DataFrame] | None = None,
) -> Trace:
    """The trace of a measurement. Raises HeadwayError if it has no flow or no length.

    ``links`` has the tables of a bottleneck towards the receivers, if the file has them.
    """
    if not flows:
        raise HeadwayError("no flow with data")
    if duration_ns <= 0:
        raise HeadwayError("all packets have the same time")
    experiment = _experiment(flows, duration_ns, guess, control)
    tables = {name: pl.DataFrame(schema=columns) for name, columns in SCHEMA.items()}
    tables |= {name: _cast(name, frame) for name, frame in (links or {}).items()}
    parts: dict[str, list[pl.DataFrame]] = {}
    for number, flow in enumerate(flows):
        if flow.totals is not None:
            counters = _counters(experiment, flow.totals)
            parts.setdefault("flow_counters", []).append(_owned(number, counters))
        if flow.states is not None:
            parts.setdefault("flow_state", []).append(_owned(number, _states(flow.states)))
        if flow.owd is not None:
            columns = {"sent_ns": flow.owd[0], "owd_ns": flow.owd[1]}
            parts.setdefault("udp", []).append(_owned(number, pl.DataFrame(columns)))
        if flow.captured is not None:
            parts.setdefault("captured", []).append(_owned(number, flow.captured))
    for name, own in parts.items():
        tables[name] = pl.concat([_cast(name, frame) for frame in own])
    trace = Trace(
        tables=tables,
        flows=tuple(_summary(flow, experiment, number) for number, flow in enumerate(flows)),
        links=() if links is None else ("forward0",),
        meta={
            "backend": "import",
            "experiment": experiment.model_dump(mode="json"),
            "seed": None,
            "import": dict(origin),
            "versions": versions(),
            "platform": platform.platform(),
        },
    )
    trace.__dict__["experiment"] = experiment
    return trace


def _experiment(
    flows: Sequence[Measured], duration_ns: int, guess: PathGuess, control: str | None
) -> Experiment:
    rate_bps = int(np.clip(guess.rate_bps or _RATES_BPS[0], *_RATES_BPS))
    rtt_ns = int(np.clip(guess.rtt_ns or _DEFAULT_RTT_NS, 0, _LONGEST_RTT_NS))
    named = [flow.name for flow in flows]
    unique = len(set(named)) == len(named)
    try:
        return Experiment(
            topology=Dumbbell(rate=format_rate(rate_bps), rtt=format_time(rtt_ns), buffer="1 BDP"),
            flows=tuple(
                Flow(
                    app=Voip if flow.totals is None else Bulk(),
                    control=None if flow.totals is None else control or UNKNOWN_CONTROL,
                    name=flow.name if unique else None,
                    start=format_time(
                        min(int(flow.summary.get("first_packet_ns") or 0), duration_ns - 1)
                    ),
                )
                for flow in flows
            ),
            duration=format_time(duration_ns),
        )
    except ExperimentError as error:
        raise HeadwayError(str(error)) from None


def _counters(experiment: Experiment, totals: Totals) -> pl.DataFrame:
    """Totals at the experiment's checkpoints and at the ends of the intervals.

    Within an interval, totals grow linearly.
    """
    duration_ns = experiment.duration
    starts, ends = totals.starts_ns, np.minimum(totals.ends_ns, duration_ns)
    knots = np.column_stack([starts, ends]).ravel()
    times_ns = np.unique(np.concatenate([ends, experiment.checkpoints_ns(), [duration_ns]]))
    times_ns = times_ns[times_ns > 0].astype(np.int64)

    def at(values: Array | None) -> pl.Series:
        if values is None:
            return pl.repeat(None, times_ns.size, dtype=pl.UInt64, eager=True)
        if values.size == 0:
            return pl.repeat(0, times_ns.size, dtype=pl.UInt64, eager=True)
        known = np.column_stack([np.concatenate([[0], values[:-1]]), values]).ravel()
        found = np.interp(times_ns, knots, known, left=0)
        return pl.Series(np.floor(found + 1e-6).astype(np.uint64))

    delivered = at(totals.delivered_bytes)
    return pl.DataFrame(
        {
            "time_ns": times_ns,
            "delivered_bytes": delivered,
            "sent_pkts": at(totals.sent_pkts),
            "retransmits_pkts": at(totals.retransmits_pkts),
            "rtos": at(None),
            "acked_bytes": delivered,
        }
    )


def _states(states: States) -> pl.DataFrame:
    unknown = np.full(states.times_ns.size, np.nan)
    columns = {
        "time_ns": states.times_ns,
        "cwnd_pkts": states.cwnd_pkts,
        "ssthresh_pkts": None,
        "srtt_us": states.srtt_us,
        "inflight_pkts": states.inflight_pkts,
        "state": None,
    }
    return pl.DataFrame({name: unknown if v is None else v for name, v in columns.items()})


def _owned(number: int, frame: pl.DataFrame) -> pl.DataFrame:
    return frame.with_columns(flow=pl.lit(number, dtype=pl.UInt32))


def _cast(name: str, frame: pl.DataFrame) -> pl.DataFrame:
    """The table's columns and types; NaN becomes null, and values are rounded."""
    columns = []
    for column, kind in SCHEMA[name].items():
        values = frame[column]
        if values.dtype.is_float():
            values = values.fill_nan(None).round()
        columns.append(values.cast(kind).alias(column))
    return pl.DataFrame(columns)


def _summary(flow: Measured, experiment: Experiment, number: int) -> FlowSummary:
    of = experiment.flows[number]
    control = of.control.name if of.control is not None else None
    fields = {
        "name": experiment.flow_names()[number],
        "kind": of.app.kind,
        "control": control,
        "ce_marks": None,
        "ece_acks": None,
        "rwnd_limited_us": None,
        "sndbuf_limited_us": None,
        "first_flight": None,
    }
    return FlowSummary.model_validate({**fields, **flow.summary})


def rate_bps(size_bytes: float, span_ns: float) -> float | None:
    """A rate in bit/s; None without time."""
    return size_bytes * BITS_PER_BYTE * NS_PER_S / span_ns if span_ns > 0 else None
