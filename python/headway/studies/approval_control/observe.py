"""Run: reduce each trial to the routers' answers and counters and the transfers' windows."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import polars as pl

from headway import metrics
from headway.metrics.stats import Array, or_nan
from headway.studies.approval_control import experiments as setup
from headway.studies.approval_control.experiments import rate_bps
from headway.studies.common import lab
from headway.trace import Trace
from headway.units import NS_PER_S

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

Ints = npt.NDArray[np.int64]
RATES_BPS: Array = np.array([rate_bps(code) for code in range(16)])


@dataclass(frozen=True)
class Answers:
    """A router's answers to requests in their order, arrays of one length."""

    flows: Ints
    times_ns: Ints
    asked_bps: Array
    granted_bps: Array
    """0: denied."""
    loads_bps: Array
    """The load as the router estimated it."""
    outstanding_bps: Array
    """H: rates granted before and still remembered."""

    def slots(self, interval_s: float) -> Array:
        """The times in slots; the first slot begins at time 0."""
        return np.asarray(self.times_ns / (interval_s * NS_PER_S), dtype=np.float64)


@dataclass(frozen=True)
class Readings:
    """A router's counters over time."""

    times_ns: Ints
    loads_bps: Array
    outstanding_bps: Array


@dataclass(frozen=True)
class Start:
    """The sender's window after a transfer has asked router 1 for a rate."""

    before_pkts: float
    """The window when the request was sent."""
    used_after_s: float
    """Time until the window was nearly that of the granted rate; infinite: never."""
    used_pkts: float
    """The window at that time."""
    rtt_s: float
    """The round-trip time that the sender had measured by then."""
    largest_pkts: float
    """The largest window in the two round trips after the request."""


@dataclass(frozen=True)
class Lot:
    """Three transfers through two routers."""

    answers: Mapping[int, Answers]
    """Answers to the transfers' requests by router, 1 or 2."""
    starts: tuple[Start, ...]
    readings: Readings
    """Counters of router 1."""
    link_times_s: Array
    link_rates_bps: Array
    """Rate of router 1's link."""


@dataclass(frozen=True)
class Pattern:
    """28 transfers at given times."""

    answers: Answers
    readings: Readings
    offered_bytes: Array
    """Bytes offered to the router's queue up to each reading."""
    response_s: Array
    """Server response time of each transfer."""


@dataclass(frozen=True)
class Load:
    """Requests without data."""

    asked_bps_per_s: float
    """Sum of the rates asked for, per second."""
    granted_bps_per_s: float
    fairness: float
    """Jain's index of the granted rates, denials as 0."""
    best_fairness: float
    """Jain's index if every request were approved."""
    answers: Answers | None
    """All answers; None where only sums are judged."""


@dataclass(frozen=True)
class Pool:
    """One large request, and small ones after it."""

    answers: Answers


@dataclass(frozen=True)
class Codes:
    """Requests that were granted within one slot."""

    codes: Array
    """The codes that the router forwarded."""
    added_bps: Array
    """How much each grant raised the router's sum of grants."""


@dataclass(frozen=True)
class Handshake:
    """Packets offered to both directions before the SYN-ACK arrived."""

    syn_pkts: float
    syn_bytes: float
    answer_pkts: float
    requests: float
    """Requests that a router counted."""


@dataclass(frozen=True)
class Headers:
    """Header bytes of an upload."""

    bytes_per_pkt: float
    """Mean over its packets. The few without data change it by less than half a byte."""


Row = Lot | Pattern | Load | Pool | Codes | Handshake | Headers


def observe(key: str, trace: Trace) -> Row:
    """One trial."""
    kind = key.split("-", maxsplit=1)[0]
    if kind == "load":
        return _load(key, trace)
    of: dict[str, Callable[[Trace], Row]] = {
        "lot": _lot,
        "pattern": _pattern,
        "pool": lambda trace: Pool(_answers(trace, 0)),
        "codes": _codes,
        "header": _headers,
    }
    return of.get(kind, _handshake)(trace)


def _headers(trace: Trace) -> Headers:
    """Headers on the link that carries the data."""
    last = trace["link_counters"].filter(pl.col("link") == 0).sort("time_ns")[-1]
    if trace["flow_counters"].sort("time_ns")["retransmits_pkts"][-1]:
        return Headers(math.nan)  # retransmitted data would count as headers
    overhead = float(last["arrived_bytes"][0]) - setup.UPLOAD_BYTES
    return Headers(float(round(overhead / float(last["arrived_pkts"][0]))))


def _answers(trace: Trace, link: int, flow: int | None = None) -> Answers:
    rows = metrics.router_events(trace, "quick-start").filter(pl.col("link") == link)
    rows = rows.sort("time_ns", maintain_order=True)
    if flow is not None:
        rows = rows.filter(pl.col("flow") == flow)
    return Answers(
        _ints(rows["flow"]),
        _ints(rows["time_ns"]),
        RATES_BPS[rows["requested_code"].to_numpy()],
        RATES_BPS[rows["granted_code"].to_numpy()],
        _floats(rows["usage_bps"]),
        _floats(rows["outstanding_bps"]),
    )


def _readings(trace: Trace, link: int) -> Readings:
    rows = metrics.router_counters(trace, "quick-start")
    rows = rows.filter(pl.col("link") == link).sort("time_ns")
    return Readings(
        _ints(rows["time_ns"]), _floats(rows["usage_bps"]), _floats(rows["outstanding_bps"])
    )


def _lot(trace: Trace) -> Lot:
    answers = {1: _answers(trace, setup.ROUTER_1, 0), 2: _answers(trace, setup.ROUTER_2, 0)}
    times_s, rates = lab.link_rate(trace, setup.ROUTER_1)
    return Lot(
        answers,
        tuple(
            _start(trace, asked_ns, _soon_granted(answers[2], asked_ns))
            for asked_ns in answers[1].times_ns.tolist()
        ),
        _readings(trace, setup.ROUTER_1),
        times_s,
        rates,
    )


def _soon_granted(answers: Answers, asked_ns: int) -> float:
    """The rate that the next router granted, bit/s; 0 if the request did not reach it."""
    index = int(np.searchsorted(answers.times_ns, asked_ns))
    if index == answers.times_ns.size or answers.times_ns[index] > asked_ns + lab.RTT_MS * 1e6:
        return 0.0
    return float(answers.granted_bps[index])


def _start(trace: Trace, asked_ns: int, granted_bps: float) -> Start:
    rows = trace["flow_state"].filter(pl.col("flow") == 0).sort("time_ns", maintain_order=True)
    before = rows.filter(pl.col("time_ns") <= asked_ns)["cwnd_pkts"]
    after = rows.filter(pl.col("time_ns") > asked_ns)
    soon = after.filter(pl.col("time_ns") < asked_ns + 2 * lab.RTT_MS * 1_000_000)["cwnd_pkts"]
    enough = 0.9 * setup.window_pkts(granted_bps) if granted_bps else math.inf
    used = after.filter(pl.col("cwnd_pkts") > enough)
    return Start(
        before_pkts=float(before[-1]) if before.len() else 0.0,
        used_after_s=(used["time_ns"][0] - asked_ns) / NS_PER_S if used.height else math.inf,
        used_pkts=float(used["cwnd_pkts"][0]) if used.height else 0.0,
        rtt_s=used["srtt_us"][0] / 1e6 if used.height else math.nan,
        largest_pkts=float(soon.max() or 0),  # type: ignore[arg-type]
    )


def _pattern(trace: Trace) -> Pattern:
    times = [lab.response_times_s(trace, flow)[0] for flow in range(len(setup.PATTERN))]
    readings = _readings(trace, lab.DOWNLINK)
    offered = trace["link_counters"].filter(pl.col("link") == lab.DOWNLINK).sort("time_ns")
    assert _ints(offered["time_ns"]).tolist() == readings.times_ns.tolist()
    return Pattern(
        _answers(trace, lab.DOWNLINK), readings, _floats(offered["arrived_bytes"]), np.array(times)
    )


def _codes(trace: Trace) -> Codes:
    """How much the router's sum of grants rises from one request to the next."""
    rows = metrics.router_events(trace, "quick-start").filter(pl.col("link") == 0)
    rows = rows.sort("time_ns", maintain_order=True)
    return Codes(_floats(rows["granted_code"])[:-1], np.diff(_floats(rows["outstanding_bps"])))


def _load(key: str, trace: Trace) -> Load:
    answers = _answers(trace, 0)
    length_s = (trace.experiment.flows[0].stop or trace.duration_ns) / NS_PER_S
    one_by_one = f"-{setup.INTERVAL_MS}ms-" in key
    return Load(
        float(answers.asked_bps.sum()) / length_s,
        float(answers.granted_bps.sum()) / length_s,
        _jain(answers.granted_bps),
        _jain(answers.asked_bps),
        answers if one_by_one else None,
    )


def _jain(rates_bps: Array) -> float:
    return or_nan(metrics.jain_index(rates_bps.tolist()))


def _handshake(trace: Trace) -> Handshake:
    """Count over the first three quarters of a round trip."""
    rows = trace["link_counters"].filter(pl.col("time_ns") == round(lab.RTT_MS * 0.75e6))
    return Handshake(
        float(rows.filter(pl.col("link") == 0)["arrived_pkts"][0]),
        float(rows.filter(pl.col("link") == 0)["arrived_bytes"][0]),
        float(rows.filter(pl.col("link") == lab.DOWNLINK)["arrived_pkts"][0]),
        float(_answers(trace, 0).asked_bps.size),
    )


def _ints(column: pl.Series) -> Ints:
    return np.asarray(column.to_numpy(), dtype=np.int64)


def _floats(column: pl.Series) -> Array:
    return np.asarray(column.to_numpy(), dtype=np.float64)
