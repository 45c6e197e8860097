"""What Quick-Start routers recorded: answers, granted bandwidth, fairness."""

from __future__ import annotations

import numpy as np
import polars as pl

from headway import metrics
from headway.metrics.stats import Array
from headway.registry import registry
from headway.studies._approval_setup import rate_bps
from headway.trace import Trace
from headway.units import NS_PER_S


def of_link(trace: Trace, link: int) -> pl.DataFrame:
    """Answers to requests at a link, in order."""
    return trace["approvals"].filter(pl.col("link") == link).sort("time_ns", maintain_order=True)


def rates(codes: pl.Series) -> Array:
    table = np.array([rate_bps(code) for code in range(16)])
    return np.asarray(table[codes.to_numpy()], dtype=np.float64)


def per_second(trace: Trace, column: str) -> float:
    """Sum of the rates requested or granted, per second of the load."""
    rows = of_link(trace, 0)
    stop_ns = trace.experiment.flows[0].stop or trace.duration_ns
    return float(rates(rows[column]).sum()) * NS_PER_S / stop_ns


def fairness(trace: Trace) -> float:
    """Jain's index of the granted rates, denials as 0."""
    return metrics.jain_index(rates(of_link(trace, 0)["granted_code"]).tolist()) or 0.0


def best_fairness(trace: Trace) -> float:
    """Jain's index if every request were approved."""
    return metrics.jain_index(rates(of_link(trace, 0)["requested_code"]).tolist()) or 0.0


def default(name: str) -> int:
    """A tunable's default, of the router or the startup."""
    known = registry()
    owners = [*known.routers, *known.startups]
    for owner in owners:
        if owner.name == "quick-start":
            for tunable in owner.tunables:
                if tunable.name == name:
                    return int(tunable.default)
    raise KeyError(name)
