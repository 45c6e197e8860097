"""Run: when each quarter was needed and complete, and the link's rate meanwhile."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from headway.browser import sites
from headway.claims import Evidence
from headway.errors import HeadwayError
from headway.metrics.stats import Array, Estimate, confidence_interval
from headway.studies.city.experiments import walks_of
from headway.studies.common import lab
from headway.trace import Trace


@dataclass(frozen=True)
class Walk:
    """Quarters in the order in which the page needed them; times in s since the walk began."""

    names: tuple[str, ...]
    volumes_bytes: Array
    asked_s: Array
    response_s: Array
    rate_time_s: Array
    rate_mbps: Array
    picture: str = ""


@dataclass(frozen=True)
class Walks:
    """The runs of a walk with one startup over one path."""

    runs: tuple[Walk, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the quarters, in the first run's order."""
        return self.runs[0].names

    @property
    def volumes_bytes(self) -> Array:
        """Volumes of the quarters."""
        return self.runs[0].volumes_bytes

    @property
    def each_s(self) -> Array:
        """Response times, shape (runs, quarters)."""
        by_name = [dict(zip(run.names, run.response_s, strict=True)) for run in self.runs]
        return np.array([[run[name] for name in self.names] for run in by_name], dtype=np.float64)

    @property
    def response_s(self) -> Array:
        """Response time of each quarter, mean of the runs."""
        return np.asarray(self.each_s.mean(axis=0))

    @property
    def total(self) -> Estimate:
        """The sum of a run's response times, in s."""
        return confidence_interval(self.each_s.sum(axis=1).tolist())


def gathered(rows: Mapping[str, Walk]) -> Evidence[Walks]:
    """Group runs by walk. Raises HeadwayError where a run lacks a quarter that others have."""
    runs: dict[str, list[Walk]] = {}
    for trial, walk in rows.items():
        runs.setdefault(walks_of(trial), []).append(walk)
    expected = set().union(*(walk.names for walk in rows.values()))
    for trial, walk in rows.items():
        if missing := sorted(expected - set(walk.names)):
            raise HeadwayError(f"city: {trial}: {', '.join(missing)} did not arrive as elsewhere")
    return Evidence({walks: Walks(tuple(own)) for walks, own in runs.items()})


def observe(trace: Trace) -> Walk:
    """One trial."""
    told = trace.meta["visits"]["0"]
    begun_ns = told["visits"][0]["begun_ns"] + round(1e6 * told["visits"][0]["begun_ms"])
    objects = sites.objects_of(sites.site("city"))
    packs = [number for number, one in enumerate(objects) if one.within is None]
    rows = trace["responses"].filter(trace["responses"]["epoch"].is_in(packs)).sort("start_ns")
    numbers = rows["epoch"].to_list()
    times_s, rates = lab.link_rate(trace)
    shown = times_s >= begun_ns / 1e9
    # only up to the walk's end: a run's last readings are of an idle link
    shown &= times_s <= begun_ns / 1e9 + told["visits"][0]["walk_ms"] / 1e3
    return Walk(
        tuple(objects[number].path.split("/")[-1].removesuffix(".pack") for number in numbers),
        np.array([objects[number].size_bytes for number in numbers], dtype=np.float64),
        (rows["start_ns"].to_numpy() - begun_ns) / 1e9,
        (rows["end_ns"] - rows["start_ns"]).to_numpy() / 1e9,
        times_s[shown] - begun_ns / 1e9,
        rates[shown] / 1e6,
        told["picture"],
    )
