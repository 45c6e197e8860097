"""Plot: loading times by startup and, as figure 7.5, by target."""

import numpy as np

from headway.figures import Curve, Dot, dots, style_of
from headway.publish import Figures, Page
from headway.studies.common import sites
from headway.studies.common.shown import chart, curve, table
from headway.studies.map_page import experiments
from headway.studies.map_page.claims import PUBLISHED_S
from headway.studies.map_page.experiments import BASE, LABELS, TARGETED, TARGETS_MS, Found, key
from headway.study import StudyContext


def page(_ctx: StudyContext, found: Found) -> Page:
    """Medians with their intervals, figure 7.5, and a picture of the page."""
    base_s = found[BASE].median_s
    rows = [name for name in LABELS if name in found]
    by_startup = [
        Dot(LABELS[name], name, found[name].median_s, *found[name].interval_s, PUBLISHED_S)
        for name in rows
    ]
    figures: Figures = {
        "loading-times": (
            "Loading time by startup",
            "Medians of the visits. Lines are the medians' intervals: from the second to the ninth "
            "of ten visits (98 %), and from the smallest to the largest of fewer.",
            dots(by_startup, x_label="loading time (s)", reference_label="the thesis' Slow-Start"),
        )
    }
    if key(TARGETED[0], TARGETS_MS[0]) in found:
        figures["figure-7-5"] = (
            "Figure 7.5: loading time by target",
            "Medians over the target that the browser states with every request. Startups that "
            "read no target are lines without markers.",
            chart(_by_target(found), "target (ms)", "loading time (s)"),
        )
    if shot := found[BASE].picture:
        figures["map"] = ("The page", "As Chromium showed it.", sites.picture(shot))
    medians = table(
        "The map's loading time in s; the thesis: 9.6 s, over 2 s less with a short target",
        rows,
        {
            "startup": lambda name: LABELS[name],
            "target": lambda _: f"{experiments.TARGET_MS} ms",
            "visits": lambda name: len(found[name].load_s),
            "median": (lambda name: found[name].median_s, 2),
            "interval": lambda name: "{:.2f} to {:.2f}".format(*found[name].interval_s),
            "less by": (lambda name: base_s - found[name].median_s, 2),
            "of Slow-Start": lambda name: f"{100 * (1 - found[name].median_s / base_s):.0f} %",
        },
    )
    return Page(tables=[medians], figures=figures)


def _by_target(found: Found) -> list[Curve]:
    lines = []
    for name, label in LABELS.items():
        if name not in TARGETED:
            level_s = [found[name].median_s] * len(TARGETS_MS)
            lines.append(curve(label, TARGETS_MS, level_s, style_of(name), markers=False))
    for name in TARGETED:
        rows = [found[key(name, ms)] for ms in TARGETS_MS]
        low, high = np.array([row.interval_s for row in rows]).T
        medians_s = [row.median_s for row in rows]
        lines.append(curve(LABELS[name], TARGETS_MS, medians_s, style_of(name), low=low, high=high))
    return lines
