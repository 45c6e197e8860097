"""Plot: loading times by startup and, as figure 7.5, by target."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from headway.claims import Evidence
from headway.figures import Curve, curves, style_of
from headway.figures.plots import Dot, dots
from headway.publish import Figures, Page
from headway.studies.common import sites
from headway.studies.map_page.experiments import BASE, SCHEMES, TARGETED, TARGETS_MS, key
from headway.studies.map_page.observe import Loads
from headway.table import Cell, Table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TITLE = "The map's loading time in s; the thesis: 9.6 s, over 2 s less with a short target"


def page(found: Evidence[Loads]) -> Page:
    """Medians with their intervals, figure 7.5, and a picture of the page."""
    base_s = found[BASE].median_s
    rows: list[list[Cell]] = [
        [
            scheme.label,
            f"{scheme.target_ms} ms",
            len(found[name].load_s),
            round(found[name].median_s, 2),
            f"{found[name].interval_s[0]:.2f} to {found[name].interval_s[1]:.2f}",
            round(base_s - found[name].median_s, 2),
            f"{100 * (1 - found[name].median_s / base_s):.0f} %",
        ]
        for name, scheme in SCHEMES.items()
        if name in found
    ]
    columns = ["startup", "target", "visits", "median", "interval", "less by", "of Slow-Start"]
    figures: Figures = {"loading-times": ("Loading time by startup", _CAPTION, _by_startup(found))}
    if key(TARGETED[0], TARGETS_MS[0]) in found:
        figures["figure-7-5"] = (
            "Figure 7.5: loading time by target",
            "Medians over the target that the browser states with every request. Startups that "
            "read no target are lines without markers.",
            _by_target(found),
        )
    if shot := found[BASE].picture:
        figures["map"] = ("The page", "As Chromium showed it.", sites.picture(shot))
    return Page(tables=[Table(TITLE, columns, rows)], figures=figures)


_CAPTION = (
    "Medians of the visits. Lines are the medians' intervals: from the second to the ninth of ten "
    "visits (98 %), and from the smallest to the largest of fewer."
)


def _by_startup(found: Evidence[Loads]) -> Figure:
    shown = [
        Dot(scheme.label, name, found[name].median_s, *found[name].interval_s, 9.6)
        for name, scheme in SCHEMES.items()
        if name in found
    ]
    return dots(shown, x_label="loading time (s)", reference_label="the thesis' Slow-Start")


def _by_target(found: Evidence[Loads]) -> Figure:
    targets = np.array(TARGETS_MS, dtype=np.float64)
    drawn = [
        Curve(
            scheme.label,
            targets,
            np.full(targets.size, found[name].median_s),
            style_of(name),
        )
        for name, scheme in SCHEMES.items()
        if name not in TARGETED
    ]
    drawn += [
        Curve(
            SCHEMES[name].label,
            targets,
            np.array([found[key(name, ms)].median_s for ms in TARGETS_MS]),
            style_of(name),
            markers=True,
            low=np.array([found[key(name, ms)].interval_s[0] for ms in TARGETS_MS]),
            high=np.array([found[key(name, ms)].interval_s[1] for ms in TARGETS_MS]),
        )
        for name in TARGETED
    ]
    return curves([("", drawn)], x_label="target (ms)", y_label="loading time (s)")
