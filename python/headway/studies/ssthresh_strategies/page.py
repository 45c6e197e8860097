"""Plot: figures 6.23 and 6.24, and when each link was full."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from headway.claims import Evidence
from headway.figures import Panel, Series, Style, label_of, one_of, style_of, timeseries
from headway.publish import Figures, Page
from headway.studies.common.cells import seconds
from headway.studies.ssthresh_strategies.experiments import (
    APPROVED_BPS,
    RATES_BPS,
    RTT_S,
    rate_bps,
)
from headway.studies.ssthresh_strategies.observe import Start
from headway.table import Cell, Table

_SCHEMES = {"a": "quick-start", "b": "quick-start-b"}
"""Styles of the strategies, as in figure 6.40, which compares the same two."""


def page(found: Evidence[Start]) -> Page:
    """Table, figures and data."""
    rows: list[list[Cell]] = [
        [name, seconds(one.full_after_s), round(one.mbytes(5), 2), round(one.mbytes(20), 2)]
        for name, one in found.items()
    ]
    full = {"flow": list(found), "full_after_s": [one.full_after_s for one in found.values()]}
    return Page(
        tables=[
            Table(
                "Time from the request until a slot of 200 ms is full, and data carried",
                ["flow", "full after s", "MB in 5 s", "MB in 20 s"],
                rows,
                "Flows are named qs-STRATEGY-LINK-RATE, in Mbit/s. A dash: not within 20 s.",
            )
        ],
        figures=_figures(found),
        data={"full": pl.DataFrame(full)},
    )


def _figures(found: Evidence[Start]) -> Figures:
    made: Figures = {}
    for number, link in (("6.23", "10"), ("6.24", "100")):
        names = [name for name in found if rate_bps(name) == RATES_BPS[link]]
        lines = [_line(found[name], name, *_look(name, APPROVED_BPS[link])) for name in names]
        made[f"figure-{number.replace('.', '-')}"] = (
            f"Figure {number}",
            f"IP rate in slots of 200 ms on {link} Mbit/s. QS-a: ssthresh kept; QS-b: ssthresh set "
            "to the window of Quick-Start.",
            timeseries([Panel("rate (Mbit/s)", lines)], height_mm=75),
        )
    return made


def _look(name: str, approved_bps: Sequence[float]) -> tuple[str, Style]:
    """A trial's label, and its style: a shade per granted rate."""
    if name.startswith("ss"):
        return label_of("slow-start"), style_of("slow-start")
    _, strategy, _, mbps = name.split("-")
    number = [f"{rate / 1e6:g}" for rate in approved_bps].index(mbps)
    return f"QS-{strategy}, {mbps} Mbit/s", one_of(style_of(_SCHEMES[strategy]), number)


def _line(one: Start, name: str, label: str, style: Style) -> Series:
    shown = one.times_s <= (10 if "100" in name else 12)
    return Series(label, one.times_s[shown] - RTT_S, one.rates_bps[shown] / 1e6, style, step=True)
