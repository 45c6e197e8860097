"""What Quick-Start routers recorded: answers, granted bandwidth, fairness."""

from __future__ import annotations

import numpy as np
import polars as pl

from headway import metrics
from headway.metrics.stats import Array
from headway.registry import registry
from headway.studies import _approval_setup as setup
from headway.studies._approval_setup import rate_bps
from headway.studies.common import lab
from headway.trace import Trace
from headway.units import NS_PER_S


def of_link(trace: Trace, link: int) -> pl.DataFrame:
    """Answers to requests at a link, in order."""
    return trace["approvals"].filter(pl.col("link") == link).sort("time_ns", maintain_order=True)


def rates(codes: pl.Series) -> Array:
    """Rates of codes, bit/s."""
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


def slots(rows: pl.DataFrame, interval_s: float) -> Array:
    """Time of each row in slots; the first begins with the first reading, at time 0."""
    return np.asarray(rows["time_ns"].to_numpy() / (interval_s * NS_PER_S), dtype=np.float64)


def usage(trace: Trace) -> pl.DataFrame:
    """Readings of the downlink's router over time."""
    return trace["approval_counters"].filter(pl.col("link") == lab.DOWNLINK).sort("time_ns")


def granted(trace: Trace) -> float:
    """Sum of what the downlink's router granted, bit/s."""
    return float(rates(of_link(trace, lab.DOWNLINK)["granted_code"]).sum())


def burst(trace: Trace) -> list[float]:
    """What the twenty transfers of the burst were granted with their first request."""
    rows = of_link(trace, lab.DOWNLINK).filter(pl.col("flow").is_in(list(setup.BURST)))
    first = rows.group_by("flow", maintain_order=True).first()
    return [float(rate) for rate in rates(first["granted_code"])]


def in_handshake(trace: Trace, link: int, column: str) -> int:
    """What a link was offered in the first three quarters of a round trip: the SYN, its answer."""
    at_ns = round(lab.RTT_MS * 0.75e6)
    rows = trace["link_counters"]
    return int(rows.filter((pl.col("link") == link) & (pl.col("time_ns") == at_ns))[column][0])


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
