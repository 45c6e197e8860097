"""Plot: response times over targets, figure 7.4."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from headway.figures import Curve, curves, style_of
from headway.figures.style import LIGHT, Style
from headway.metrics.stats import Array
from headway.publish import Page
from headway.studies.deadlines.experiments import SCHEMES
from headway.table import Cell, Table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Times = Mapping[str, tuple[Array, Array]]
"""Targets and response times in seconds, by scheme."""
TITLE = "Response times in s"
_TARGET = Style(LIGHT, ".", ":")


def page(times: Times, twins: Times | None = None) -> Page:
    """A table by target, and the figure; on the kernel also with the curves of its twins."""
    panels = [("", times)] if twins is None else [("kernel", times), ("simulator", twins)]
    return Page(
        tables=[table(times)],
        figures={
            "figure-7-4": (
                "Figure 7.4",
                "Response time of 100 kB over the target that the client states, 10 Mbit/s and "
                "200 ms.",
                _figure(panels),
            )
        },
        data={
            "response_times": pl.DataFrame(
                [
                    {"scheme": name, "target_s": float(target), "response_s": float(took)}
                    for name, (own, all_s) in times.items()
                    for target, took in zip(own, all_s, strict=True)
                ]
            )
        },
    )


def table(times: Times) -> Table:
    """Response times by scheme and target."""
    targets = sorted({target for own, _ in times.values() for target in own})
    rows: list[list[Cell]] = [
        [SCHEMES[name].label, *(_cell(own, all_s, target) for target in targets)]
        for name, (own, all_s) in times.items()
    ]
    return Table(TITLE, ["startup", *(f"{target:g} s" for target in targets)], rows)


def _cell(targets: Array, times: Array, target: float) -> Cell:
    """The time of a target; empty if the scheme does not have it or the response did not arrive."""
    found = times[targets == target]
    return round(float(found[0]), 3) if found.size and not np.isnan(found[0]) else None


def _figure(panels: Sequence[tuple[str, Times]]) -> Figure:
    return curves(
        [(title, _drawn(times)) for title, times in panels],
        x_label="target (s)",
        y_label="response time (s)",
    )


def _drawn(times: Times) -> list[Curve]:
    ends = np.array([0.1, 2.0])
    return [
        Curve("target", ends, ends, _TARGET),
        *(
            Curve(SCHEMES[name].label, own, all_s, style_of(name), markers=True)
            for name, (own, all_s) in times.items()
        ),
    ]
