"""Plot: figures 9 to 11, and the numbers in them."""

from dataclasses import replace
from functools import partial
from itertools import product

import numpy as np

from headway.figures import PUBLISHED, Panel, Series, curves, style_of, timeseries, variant_of
from headway.publish import Page
from headway.studies.common import lab
from headway.studies.common.cells import seconds
from headway.studies.common.shown import Column, curve, figures, table
from headway.studies.quickstart_linux.experiments import (
    CONTROLS,
    LABELS,
    RTTS_MS,
    SIZES_BYTES,
    SPEEDUP_RTTS_MS,
    TRACES,
    Found,
)
from headway.study import StudyContext
from headway.table import Cell

_STYLES = {"ss": "slow-start", "qs": "quick-start", "qs-reduced": "quick-start-b"}
"""Styles of figures 9 and 10. The thesis calls a lowered ssthresh QS-b."""


def page(_ctx: StudyContext, found: Found) -> Page:
    """The report's tables, figures and data."""

    def full(kind: str, row: tuple[int, str]) -> Cell:
        return seconds(found.start(*row, kind).full_after_s)

    heads = dict(zip(TRACES, ("SS", "QS", "QS lowered", "QS 2.56 lowered"), strict=True))
    columns: dict[str, Column[tuple[int, str]]] = {
        "RTT": lambda row: f"{row[0]} ms",
        "control": lambda row: LABELS[row[1]],
        **{head: partial(full, kind) for kind, head in heads.items()},
    }
    markers = dict(zip(SPEEDUP_RTTS_MS, "dos^", strict=True))
    styles = {
        rtt: replace(variant_of(style_of("quick-start"), number), marker=marker)
        for number, (rtt, marker) in enumerate(markers.items())
    }
    speedups = {
        LABELS[control]: [
            curve(f"{rtt} ms", SIZES_BYTES, found.speedup(rtt, control), style)
            for rtt, style in styles.items()
        ]
        for control in CONTROLS
    }
    panels, x_label = list(speedups.items()), "transfer size (bytes)"
    figure_11 = curves(panels, x_label=x_label, y_label="speedup", x_scale="log")
    title = "Time from the request until the link is full, s"
    return Page(
        tables=[
            table(title, product(RTTS_MS, CONTROLS), columns, "A dash means: not within 25 s.")
        ],
        figures=figures(
            *(
                (
                    f"Figure {number}",
                    f"IP rate in slots of a round trip of {rtt} ms.",
                    timeseries([_rates(found, rtt, control) for control in CONTROLS], height_mm=48),
                )
                for number, rtt in ((9, 100), (10, 200))
            ),
            ("Figure 11", "Slow start's response time divided by Quick-Start's.", figure_11),
        ),
    )


def _rates(found: Found, rtt: int, control: str) -> Panel:
    drawn = []
    for kind, scheme in _STYLES.items():
        start = found.start(rtt, control, kind)
        style, rates = style_of(scheme), start.rates_bps / 1e6
        drawn.append(Series(TRACES[kind], start.times_s, rates, style, step=True))
    if rtt == 100:  # C-QSL-001
        at = np.array([1.0]), np.array([lab.LINK_BPS / 1e6])
        drawn.append(Series("Slow-Start full, published", *at, PUBLISHED, points=True))
    return Panel("rate (Mbit/s)", drawn, title=LABELS[control])
