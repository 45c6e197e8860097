"""Routers' counters as rows of the table ``router_counters``."""

from __future__ import annotations

from collections.abc import Mapping

from headway.experiment import Experiment


def counter_rows(
    experiment: Experiment, time_ns: int, link: int, name: str, counted: Mapping[str, int]
) -> list[Mapping[str, int | None]]:
    """Rows for the counters of one algorithm at a link, in the order of its declaration."""
    declared = experiment.router_algorithms()
    algorithm = [one.name for one in declared].index(name)
    return [
        {
            "time_ns": time_ns,
            "link": link,
            "algorithm": algorithm,
            "name": at,
            "value": counted[counter.name],
        }
        for at, counter in enumerate(declared[algorithm].counters)
    ]
