"""Plot: figures 9 to 11, and the numbers in them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from headway.figures import (
    PUBLISHED,
    Curve,
    Panel,
    Series,
    curves,
    style_of,
    timeseries,
    variant_of,
)
from headway.publish import Figures, Page
from headway.studies.common import lab
from headway.studies.common.cells import seconds
from headway.studies.quickstart_linux.experiments import (
    CONTROLS,
    LABELS,
    RTTS_MS,
    SIZES_BYTES,
    SPEEDUP_RTTS_MS,
    TRACES,
)
from headway.studies.quickstart_linux.observe import Found
from headway.table import Table

if TYPE_CHECKING:
    pass

CHOICES = (
    "Hosts are the stack linux-2.6 with 8 MB buffers: CUBIC of Linux 2.6.25 with the first "
    "ssthresh of 100 packets that 2.6.20 had, or Reno, with the stack's own quick ACKs. Their "
    "router meters in slots of a second and remembers the grants of two slots, as printed. Its "
    "load is that of the last second. With the peak of five seconds, which was tried with results "
    "in view, all verdicts are the same.",
)

_PUBLISHED_FULL_S = {100: (1.0,)}
"""Time until slow start fills the link, by RTT in ms: C-QSL-001."""
_STYLES = dict(zip(TRACES, ("slow-start", "quick-start", "quick-start-b"), strict=False))
"""Styles of figures 9 and 10. The thesis calls a lowered ssthresh QS-b."""


def page(found: Found) -> Page:
    """Tables, figures and data."""
    return Page(tables=[_full(found)], figures=_figures(found))


def _full(found: Found) -> Table:
    return Table(
        "Time from the request until the link is full, s",
        ["RTT", "control", "SS", "QS", "QS lowered", "QS 2.56 lowered"],
        [
            [
                f"{rtt} ms",
                LABELS[control],
                *(seconds(found.start(rtt, control, kind).full_after_s) for kind in TRACES),
            ]
            for rtt in RTTS_MS
            for control in CONTROLS
        ],
        "A dash means: not within 25 s.",
    )


def _figures(found: Found) -> Figures:
    """Figures 9 to 11."""
    made: Figures = {}
    for number, rtt in (("9", 100), ("10", 200)):
        panels = [
            Panel(
                "rate (Mbit/s)",
                [
                    Series(
                        TRACES[kind],
                        found.start(rtt, control, kind).times_s,
                        found.start(rtt, control, kind).rates_bps / 1e6,
                        style_of(scheme),
                        step=True,
                    )
                    for kind, scheme in _STYLES.items()
                ]
                + [
                    Series(
                        "Slow-Start full, published",
                        np.array([full_s]),
                        np.array([lab.LINK_BPS / 1e6]),
                        PUBLISHED,
                        points=True,
                    )
                    for full_s in _PUBLISHED_FULL_S.get(rtt, ())
                ],
                title=LABELS[control],
            )
            for control in CONTROLS
        ]
        made[f"figure-{number}"] = (
            f"Figure {number}",
            f"IP rate in slots of a round trip of {rtt} ms.",
            timeseries(panels, height_mm=48),
        )
    speedups = [
        (
            LABELS[control],
            [
                Curve(
                    f"{rtt} ms",
                    np.array(SIZES_BYTES),
                    found.speedup(rtt, control),
                    replace(variant_of(style_of("quick-start"), number), marker=marker),
                    markers=True,
                )
                for number, (rtt, marker) in enumerate(zip(SPEEDUP_RTTS_MS, "dos^", strict=True))
            ],
        )
        for control in CONTROLS
    ]
    made["figure-11"] = (
        "Figure 11",
        "Slow start's response time over Quick-Start's.",
        curves(speedups, x_label="transfer size (bytes)", y_label="speedup", x_scale="log"),
    )
    return made
