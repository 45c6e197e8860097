"""Setup: the recorded walk with each startup, and over a shorter path. Run: its quarters' times."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from headway.browser import sites
from headway.claims import Evidence
from headway.errors import HeadwayError
from headway.experiment import Experiment
from headway.metrics.stats import Array, Estimate, confidence_interval
from headway.studies.common import lab
from headway.studies.common.sites import ASKED_BPS, RTT_MS, quick_start, trial
from headway.study import StudyContext
from headway.trace import Trace

BASE, JUMP, QUICK, LITTLE = "slow-start", "jump-start", "quick-start", "quick-start-chi"
CONTROLS = {
    BASE: ("Slow-Start", "cubic+slow-start"),
    JUMP: ("Jump-Start", "cubic+jump-start"),
    QUICK: ("Quick-Start, 100 %", quick_start()),
    LITTLE: ("Quick-Start, 1 %", quick_start()),
}
LABELS = {name: label for name, (label, _) in CONTROLS.items()}
SHORT = {name: f"{name}-50ms" for name in (BASE, JUMP, QUICK)}
"""The walks over 50 ms, by startup."""
WALKS = {name: (name, RTT_MS) for name in CONTROLS} | {SHORT[name]: (name, 50) for name in SHORT}
"""Startup and RTT in ms of all walks. A trial's key ends with the run: "jump-start-50ms-r2"."""


def experiments(ctx: StudyContext) -> dict[str, Experiment]:
    """Walks with startups in turn, so that machine load affects each; quick: one short run."""
    if ctx.quick:
        return {f"{name}-r1": _trial(ctx, name, RTT_MS, "short") for name in (BASE, QUICK)}
    return {
        f"{walks}-r{run}": _trial(ctx, *of, "whole")
        # a single run would not show the effect of chance
        for run in (1, 2, 3)
        for walks, of in WALKS.items()
    }


def _trial(ctx: StudyContext, name: str, rtt_ms: int, walk: str) -> Experiment:
    return trial(
        {"site": "city", "walk": walk},
        CONTROLS[name][1],
        seed=ctx.seed,
        rtt_ms=rtt_ms,
        # the largest rate that the link's router grants, as a part of the capacity
        threshold_permille=10 if name == LITTLE else 1000,
        sample="200 ms",
        # the volume of all quarters of the city, which the server names for its connection
        data_volume="118 MB",
        initial_rate=f"{ASKED_BPS} bit/s" if name in (QUICK, LITTLE) else None,
    )


@dataclass(frozen=True)
class Walk:
    """The city's quarters in the order in which the page needed them.

    Times are in s since the walk began.
    """

    names: tuple[str, ...]
    volumes_bytes: Array
    asked_s: Array
    response_s: Array
    rate_time_s: Array
    rate_mbps: Array
    picture: str = ""


@dataclass(frozen=True)
class Walks:
    """The runs of a walk with one startup over one path.

    The city's quarters are in the order of the first run.
    """

    runs: tuple[Walk, ...]

    @property
    def each_s(self) -> Array:
        """Response times, shape (runs, quarters)."""
        by_name = [dict(zip(run.names, run.response_s, strict=True)) for run in self.runs]
        names = self.runs[0].names
        return np.array([[run[name] for name in names] for run in by_name], dtype=np.float64)

    @property
    def response_s(self) -> Array:
        """Response time of each quarter, mean of the runs."""
        return np.asarray(self.each_s.mean(axis=0))

    @property
    def total(self) -> Estimate:
        """The sum of a run's response times, in s."""
        return confidence_interval(self.each_s.sum(axis=1).tolist())


Found = Evidence[Walks]


def gather(_ctx: StudyContext, rows: Mapping[str, Walk]) -> Found:
    """Group runs by walk. Raises HeadwayError where a run lacks a quarter that others have."""
    runs: dict[str, list[Walk]] = {}
    expected = set().union(*(walk.names for walk in rows.values()))
    for key, walk in rows.items():
        runs.setdefault(key.rpartition("-r")[0], []).append(walk)
        if missing := sorted(expected - set(walk.names)):
            raise HeadwayError(
                f"city: {key}: {', '.join(missing)} did not arrive, but arrived in other runs"
            )
    return Evidence({walks: Walks(tuple(own)) for walks, own in runs.items()})


def observe(_key: str, trace: Trace) -> Walk:
    """One trial."""
    flow = trace.meta["visits"]["0"]
    visit = flow["visits"][0]
    begun_ns = visit["begun_ns"] + round(1e6 * visit["begun_ms"])
    objects = sites.objects_of(sites.site("city"))
    packs = [number for number, one in enumerate(objects) if one.within is None]
    rows = trace["responses"].filter(trace["responses"]["epoch"].is_in(packs)).sort("start_ns")
    quarters = [objects[number] for number in rows["epoch"].to_list()]
    times_s, rates = lab.link_rate(trace)
    # Readings after the walk's end are left out, because they are of an idle link.
    shown = (times_s >= begun_ns / 1e9) & (times_s <= begun_ns / 1e9 + visit["walk_ms"] / 1e3)
    return Walk(
        tuple(quarter.path.split("/")[-1].removesuffix(".pack") for quarter in quarters),
        np.array([quarter.size_bytes for quarter in quarters], dtype=np.float64),
        (rows["start_ns"].to_numpy() - begun_ns) / 1e9,
        (rows["end_ns"] - rows["start_ns"]).to_numpy() / 1e9,
        times_s[shown] - begun_ns / 1e9,
        rates[shown] / 1e6,
        flow["picture"],
    )
