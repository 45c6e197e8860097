"""Run: completion times, how evenly the satellite's link was used, and cwnd at the server."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from headway.claims import Evidence
from headway.metrics.stats import Array, Estimate, confidence_interval
from headway.studies.rap_over_satellite import observe as raw
from headway.studies.rappep.clients import Clients
from headway.studies.rappep.experiments import key, satellite
from headway.trace import Trace
from headway.units import NS_PER_S

FIRST_RUN = raw.FIRST_RUN
STEADY_S, STEADY_PART = 5, 0.8
"""The link counts as used once its mean use over STEADY_S reaches STEADY_PART."""
OPEN_PKTS = 100
"""From this size on a window at the server counts as open (figure 9)."""
_NO_ROOM = 0
_SHOWN_S = 0.1


@dataclass(frozen=True)
class Row:
    """One trial."""

    files: raw.Files
    swing: float
    """Standard deviation of the link's use over slots of 1 s, from the first start to the last
    end."""
    steady_s: float
    """From the first start until the link is used (STEADY_S); infinite: never."""
    converges_per_s: float
    """One over ``steady_s``; 0: never."""
    most_used: float
    """The largest mean use over STEADY_S."""
    full_pkts: float
    """Packets that the satellite's full queue dropped."""
    sent_s: Array
    """Time at the server from a file's first packet until all of it is acknowledged, by flow."""
    open_s: Array
    """Time from a file's first packet until cwnd is OPEN_PKTS; NaN: never."""
    window_s: Array
    """Times since a file's first packet, for figure 9."""
    window_pkts: Array
    """cwnd at the server at these times, shape (flows, times); NaN when all is acknowledged."""


@dataclass(frozen=True)
class Found(Evidence[Row]):
    """The paper's trials, and those of the satellites' clients."""

    clients: Evidence[Clients] = field(default_factory=lambda: Evidence({}))


def observe(trial: str, trace: Trace) -> Row:
    """One trial."""
    link = satellite(trial)
    files = raw.observe(trial, trace, link)
    begins_s = np.array([flow.first_packet_ns for flow in trace.flows]) / NS_PER_S
    first_s = float(begins_s.min())
    lasts = files.slots_s > np.ceil(first_s)
    used = files.used_by_slot[lasts]
    means = np.convolve(used, np.ones(STEADY_S) / STEADY_S, "valid")
    steady_s = _steady_s(means)
    drops = trace["drops"].filter((pl.col("link") == link) & (pl.col("reason") == _NO_ROOM))
    return Row(
        files=files,
        swing=float(used.std()) if used.size else float("nan"),
        steady_s=steady_s,
        converges_per_s=1 / steady_s,
        most_used=float(means.max()) if means.size else float("nan"),
        full_pkts=float(drops.height),
        **_at_the_servers(trace, begins_s)._asdict(),
    )


def _steady_s(means: Array) -> float:
    """When the mean use over STEADY_S, read every second, crosses STEADY_PART; infinite: never."""
    hits = np.flatnonzero(means >= STEADY_PART)
    if not hits.size:
        return float("inf")
    first = int(hits[0])
    if first == 0:
        return float(STEADY_S)
    before, at = means[first - 1], means[first]
    return float(STEADY_S + first - 1 + (STEADY_PART - before) / (at - before))


def observe_live(trial: str, trace: Trace) -> Row:
    """One trial that may have run on the kernel, which does not log the first leg's packets.

    Files begin with their requests: in the satellite's log a connection's first packet is later, by
    the delay of the server's own link. cwnd counts from when the server is connected.
    """
    starts_ns = trace.experiment.start_times_ns()
    asked = tuple(
        flow.model_copy(update={"first_packet_ns": start_ns})
        for flow, start_ns in zip(trace.flows, starts_ns, strict=True)
    )
    states = trace["flow_state"].group_by("flow").agg(pl.col("time_ns").min())
    connected_s = np.full(len(asked), np.nan)
    connected_s[states["flow"].to_numpy()] = states["time_ns"].to_numpy() / NS_PER_S
    row = observe(trial, replace(trace, flows=asked))
    server = _at_the_servers(trace, connected_s)
    return replace(row, sent_s=server.sent_s, open_s=server.open_s, window_pkts=server.window_pkts)


class _Servers(NamedTuple):
    """Fields as in Row; NaN for a flow that was never connected."""

    sent_s: Array
    open_s: Array
    window_s: Array
    window_pkts: Array


def _at_the_servers(trace: Trace, begins_s: Array) -> _Servers:
    window_s = np.linspace(0.0, _SHOWN_S, 101)
    sent_s, open_s, windows = [], [], []
    for number, begin_s in enumerate(begins_s):
        last_s, times_s, pkts = _at_the_server(trace, number)
        sent_s.append(last_s - begin_s)
        opened = np.flatnonzero(pkts >= OPEN_PKTS)
        open_s.append(times_s[opened[0]] - begin_s if opened.size else np.nan)
        at = np.searchsorted(times_s, begin_s + window_s, side="right") - 1
        inside = (begin_s + window_s <= last_s) & (at >= 0)
        shown = np.full(window_s.size, np.nan)
        shown[inside] = pkts[at[inside]]
        windows.append(shown)
    return _Servers(np.array(sent_s), np.array(open_s), window_s, np.array(windows))


def _at_the_server(trace: Trace, flow: int) -> tuple[float, Array, Array]:
    """When nothing was in flight any more, and the windows: (s, times in s, packets)."""
    rows = trace["flow_state"].filter(pl.col("flow") == flow).sort("time_ns")
    times_s = rows["time_ns"].to_numpy() / NS_PER_S
    pkts = rows["cwnd_pkts"].to_numpy().astype(np.float64)
    busy = np.flatnonzero(rows["inflight_pkts"].to_numpy() > 0)
    if not busy.size:
        return float("nan"), times_s, pkts
    last = min(int(busy[-1]) + 1, times_s.size - 1)
    return float(times_s[last]), times_s, pkts


def trials(found: Found, scheme: str, loss: float, *, delays: bool = False) -> list[Row]:
    """All runs of a scheme that there are. Raises MissingTrialError if there is none."""
    runs = raw.numbers(found) or [FIRST_RUN]
    names = [key(scheme, loss, run, delays=delays) for run in runs]
    return [found[name] for name in names if name in found] or [found[names[0]]]


def afct_s(found: Found, scheme: str, loss: float, *, delays: bool = False) -> Estimate:
    """The average completion time over files, and then over runs; NaN where one did not end."""
    rows = trials(found, scheme, loss, delays=delays)
    return confidence_interval([float(one.files.times_s.mean()) for one in rows])


def _value(row: Row, name: str) -> float:
    """The mean of a number of a trial, "swing" or "files.used"."""
    value: Any = row
    for part in name.split("."):
        value = getattr(value, part)
    return float(np.mean(value))


def mean(found: Found, scheme: str, loss: float, name: str, *, delays: bool = False) -> float:
    """The mean of a number over runs, "swing" or "files.used"; NaN where one is."""
    return float(np.mean([_value(one, name) for one in trials(found, scheme, loss, delays=delays)]))


def beside(
    found: Found, one: str, other: str, loss: float, name: str, *, delays: bool = False
) -> tuple[Estimate, float]:
    """A number's means of two schemes, the first with the interval of their difference.

    Runs have the same starts for every scheme, so differences are taken within each run. Runs in
    which one of the two is NaN are left out.
    """
    pairs = np.array(
        [
            [_value(a, name), _value(b, name)]
            for a, b in zip(
                trials(found, one, loss, delays=delays),
                trials(found, other, loss, delays=delays),
                strict=False,
            )
        ]
    )
    pairs = pairs[~np.isnan(pairs).any(axis=1)]
    if not len(pairs):
        return Estimate(float("nan"), None, None, 0), float("nan")
    mine, than = pairs.mean(axis=0)
    apart = confidence_interval(list(pairs[:, 0] - pairs[:, 1]))
    return Estimate(float(mine), apart.sd, apart.half_width, apart.count), float(than)


def jain(found: Found, scheme: str, loss: float, *, delays: bool = False) -> float:
    """Jain's index, its mean over the runs in which all files are sent at once; else NaN."""
    rows = trials(found, scheme, loss, delays=delays)
    values = np.array([one.files.jain for one in rows])
    known = values[np.isfinite(values)]
    return float(known.mean()) if known.size else float("nan")
