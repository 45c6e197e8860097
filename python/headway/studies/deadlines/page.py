"""Plot: response times over targets, figure 7.4."""

from __future__ import annotations

from collections.abc import Mapping
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
"""Of each scheme, targets and response times, in seconds."""
TITLE = "Response times in s"
_TARGET = Style(LIGHT, ".", ":")


def page(times: Times) -> Page:
    """A table by target, and the figure."""
    targets = sorted({target for own, _ in times.values() for target in own})
    rows: list[list[Cell]] = [
        [SCHEMES[name].label, *(_cell(own, all_s, target) for target in targets)]
        for name, (own, all_s) in times.items()
    ]
    return Page(
        tables=[Table(TITLE, ["startup", *(f"{target:g} s" for target in targets)], rows)],
        figures={
            "figure-7-4": (
                "Figure 7.4",
                "Response time of 100 kB over the target that the client states, 10 Mbit/s and "
                "200 ms.",
                _figure(times),
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


def _cell(targets: Array, times: Array, target: float) -> Cell:
    """The time of a target; none where it is not among those of the scheme, or did not come."""
    found = times[targets == target]
    return round(float(found[0]), 3) if found.size and not np.isnan(found[0]) else None


def _figure(times: Times) -> Figure:
    ends = np.array([0.1, 2.0])
    drawn = [Curve("target", ends, ends, _TARGET)]
    drawn += [
        Curve(SCHEMES[name].label, own, all_s, style_of(name), markers=True)
        for name, (own, all_s) in times.items()
    ]
    return curves([("", drawn)], x_label="target (s)", y_label="response time (s)")
