"""Run: times of the satellites' clients, and the downlink's use and queue meanwhile."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from headway import metrics
from headway.claims import Evidence
from headway.experiment import Exchanges
from headway.metrics.stats import Array
from headway.studies.common import lab
from headway.studies.rap_over_satellite.observe import numbers
from headway.studies.rappep.orbits import DOWN, key
from headway.trace import Trace
from headway.units import NS_PER_S

LATE_PERCENT = 95
_NO_ROOM = 0


@dataclass(frozen=True)
class Clients:
    """One trial."""

    times_s: Array
    """From a client's start to the last byte that it asked for; NaN where that did not arrive."""
    all_s: float
    """From the first start to the last end; to the run's end where one did not end."""
    used: float
    """Used part of the downlink in this time."""
    queue_bytes: float
    """The 95 % quantile of the downlink's queue over its changes."""
    full_pkts: float
    """Packets that this queue dropped because it was full."""

    @property
    def jain(self) -> float:
        """Jain's index of the rates of the clients that ended. All ask for the same volume."""
        rates = 1 / self.times_s[np.isfinite(self.times_s)]
        return float(metrics.jain_index(list(rates)) or 0.0)


def observe(trace: Trace) -> Clients:
    """One trial."""
    flows = trace.experiment.flows
    starts_s = np.array([flow.start or 0 for flow in flows]) / NS_PER_S
    app = flows[0].app
    assert isinstance(app, Exchanges)
    asked = len(app.table().request_bytes)
    answered = (
        trace["responses"].group_by("flow").agg(pl.col("end_ns").max(), pl.len().alias("exchanges"))
    )
    whole = answered.filter(pl.col("exchanges") == asked)
    ends_s = np.full(len(flows), np.nan)
    ends_s[whole["flow"].to_numpy()] = whole["end_ns"].to_numpy() / NS_PER_S
    first_s = float(starts_s.min())
    length_s = trace.experiment.duration / NS_PER_S
    last_s = float(ends_s.max()) if np.isfinite(ends_s).all() else length_s
    slots_s, rates_bps = lab.link_rate(trace, DOWN)
    shown = slots_s <= np.ceil(last_s)
    sent_bits = float(rates_bps[shown] @ np.diff(slots_s, prepend=0.0)[shown])
    link = trace.experiment.topology.links()[0][DOWN]
    can_bps = link.capacity_bps(round(first_s * NS_PER_S), round(last_s * NS_PER_S))
    queue = trace["queue"].filter(pl.col("link") == DOWN)["queue_bytes"].to_numpy()
    drops = trace["drops"].filter((pl.col("link") == DOWN) & (pl.col("reason") == _NO_ROOM))
    return Clients(
        times_s=ends_s - starts_s,
        all_s=last_s - first_s,
        used=sent_bits / ((last_s - first_s) * can_bps),
        queue_bytes=float(np.percentile(queue, LATE_PERCENT)) if queue.size else 0.0,
        full_pkts=float(drops.height),
    )


def trials(found: Evidence[Clients], orbit: str, load: str, scheme: str) -> list[Clients]:
    """All runs of a scheme. Raises MissingTrialError."""
    return [found[key(orbit, load, scheme, run)] for run in numbers(found) or [1]]


def times_s(rows: list[Clients]) -> tuple[Array, int]:
    """The times of all clients that ended, and the number of those that did not."""
    times = np.concatenate([row.times_s for row in rows])
    ended = np.isfinite(times)
    return times[ended], int((~ended).sum())
