"""Plot: figures 6.42 to 6.47, and mean response times and loss by scheme and load."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from headway.claims import Evidence
from headway.figures import Curve, curves, style_of
from headway.figures.style import GREY, LIGHT, Style
from headway.publish import Figures, Page
from headway.studies.common import pairs, traffic
from headway.studies.common.pairs import Scheme
from headway.studies.common.traffic import Traffic
from headway.studies.load import references
from headway.studies.load.experiments import (
    CHI_MEANS,
    CHIS,
    LOADS,
    ROUTERS,
    SCHEMES,
    chi_key,
    key,
)
from headway.table import Table

Found = Evidence[Traffic]


def page(found: Found) -> Page:
    """Tables, figures and data."""
    shown = pairs.present((*SCHEMES, *ROUTERS, *pairs.NETWORK))
    return Page(
        tables=[
            _table(found, shown, "Mean response time in s", lambda one: one.mean_s),
            _table(found, shown, "Packet loss on the downlink in %", lambda one: 100 * one.loss),
        ],
        figures=_figures(found, shown),
        data={"cells": traffic.cells(found)},
    )


def _table(
    found: Found, schemes: list[Scheme], title: str, value: Callable[[Traffic], float]
) -> Table:
    return traffic.table(found, schemes, LOADS, key, title, value, column=traffic.percent)


def _references() -> list[Curve]:
    """Slow start on an idle link, and a link that is shared evenly."""
    return [
        Curve(
            "processor sharing (eq. 6.12)",
            np.array(LOADS),
            np.array([references.processor_sharing_s(load) for load in LOADS]),
            Style(GREY, ".", (0, (1, 1))),
        ),
        Curve(
            "Slow-Start, idle link (eq. 6.11)",
            np.array(LOADS),
            np.full(len(LOADS), references.idle_s()),
            Style(LIGHT, ".", "-"),
        ),
    ]


def _figures(found: Found, schemes: list[Scheme]) -> Figures:
    def drawn(shown: list[Scheme]) -> list[Curve]:
        return [traffic.means_over(found, s, LOADS, key) for s in shown]

    ends = [s for s in schemes if s.router is None and s.guide is None]
    made: Figures = {
        "figures-6-42-43": (
            "Figures 6.42 and 6.43",
            "Mean response time over load, end-to-end startups, with 95 % intervals.",
            curves(
                [("", [*_references(), *drawn(ends)])],
                x_label="load",
                y_label="mean response time (s)",
            ),
        ),
        "figures-6-44-46": (
            "Figures 6.44 and 6.46",
            "Mean response time over load, Quick-Start with several approval algorithms, with 95 % "
            "intervals.",
            curves(
                [("", drawn([s for s in schemes if pairs.with_router(s)]))],
                x_label="load",
                y_label="mean response time (s)",
            ),
        ),
    }
    made["figure-6-45"] = (
        "Figure 6.45",
        "Mean response time over load with XCP and RCP and unlimited queues, with 95 % intervals.",
        curves(
            [("", [*_references()[:1], *drawn([pairs.SLOW_START, *pairs.NETWORK])])],
            x_label="load",
            y_label="mean response time (s)",
        ),
    )
    thresholds = [
        (
            f"mean response {mean_bytes / 1e3:g} kB",
            [curve for curve in _by_threshold(found, mean_bytes) if curve.x.size],
        )
        for mean_bytes in CHI_MEANS
    ]
    if all(drawn_here for _, drawn_here in thresholds):
        made["figure-6-47"] = (
            "Figure 6.47",
            "Mean response time over the size above which transfers request a rate.",
            curves(
                thresholds,
                x_label="threshold (bytes)",
                y_label="mean response time (s)",
                x_scale="log",
                share_y=False,
            ),
        )
    return made


def _by_threshold(found: Found, mean_bytes: int) -> list[Curve]:
    chis = [chi for chi in CHIS if chi_key(mean_bytes, chi) in found]
    slow = found[chi_key(mean_bytes, None)].mean_s
    at = np.array([max(chi, 100) for chi in chis])
    seconds = [found[chi_key(mean_bytes, chi)].seconds for chi in chis]
    return [
        traffic.with_intervals("Quick-Start, target", at, seconds, style_of("quick-start")),
        Curve("Slow-Start", at, np.full(len(chis), slow), pairs.SLOW_START.style),
    ]
