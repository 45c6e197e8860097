"""Run: when each quarter was wanted and there, and the link's rate meanwhile."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from headway.browser import sites
from headway.metrics.stats import Array
from headway.studies.common import lab
from headway.trace import Trace


@dataclass(frozen=True)
class Walk:
    """Quarters in the order in which they were wanted; times in s since the walk began."""

    names: tuple[str, ...]
    volumes_bytes: Array
    asked_s: Array
    response_s: Array
    rate_time_s: Array
    rate_mbps: Array
    picture: str = ""

    @property
    def total_s(self) -> float:
        """All response times together."""
        return float(self.response_s.sum()) if self.response_s.size else float("nan")


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
    # the walk's end and no more: a run's last readings are of an idle link
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
