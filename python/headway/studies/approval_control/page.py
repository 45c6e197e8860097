"""Plot: figures 6.25 to 6.31, and the granted rates."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl

from headway.figures import PUBLISHED, Curve, curves, one_of, style_of
from headway.figures.style import GREY, Style
from headway.publish import Figures, Page
from headway.studies.approval_control import experiments as setup
from headway.studies.approval_control.found import Found
from headway.studies.approval_control.observe import Lot, Pattern
from headway.table import Table
from headway.units import NS_PER_S

_TITLES = {
    "target": "Target",
    "ewma": "Target, load averaged (EWMA)",
    "fair": "Fair",
    "optimistic": "Optimistic",
}
"""Titles of the approval algorithms."""


def page(found: Found) -> Page:
    """Tables, figures and data."""
    rows = _load_rows(found)
    return Page(
        tables=[_load_table(rows), _lot_table(found.lots["lot-cross"])],
        figures=_figures(found),
        data={"load": rows},
    )


def _load_rows(found: Found) -> pl.DataFrame:
    return pl.DataFrame(
        [
            {
                "trial": name,
                "requested_bps_per_s": load.asked_bps_per_s,
                "granted_bps_per_s": load.granted_bps_per_s,
                "jain_index": load.fairness,
                "jain_index_if_all_were_approved": load.best_fairness,
            }
            for name, load in found.loads.items()
        ]
    )


def _load_table(rows: pl.DataFrame) -> Table:
    return Table(
        "Granted Mbit/s per second and Jain's index of the grants",
        ["trial", "requested", "granted", "Jain", "if all were approved"],
        [
            [
                row["trial"],
                round(row["requested_bps_per_s"] / setup.MBIT, 1),
                round(row["granted_bps_per_s"] / setup.MBIT, 1),
                round(row["jain_index"], 3),
                round(row["jain_index_if_all_were_approved"], 3),
            ]
            for row in rows.to_dicts()
        ],
    )


def _lot_table(lot: Lot) -> Table:
    rows = [
        (time_ns / NS_PER_S, router, *rates)
        for router, answers in lot.answers.items()
        for time_ns, *rates in zip(
            answers.times_ns.tolist(),
            answers.asked_bps.tolist(),
            answers.granted_bps.tolist(),
            answers.loads_bps.tolist(),
            answers.outstanding_bps.tolist(),
            strict=True,
        )
    ]
    return Table(
        "Requests of the parking lot with cross traffic",
        ["time (s)", "router", "asked", "granted", "load", "outstanding"],
        [
            [round(time_s, 3), router, *(round(rate / setup.MBIT, 2) for rate in rates)]
            for time_s, router, *rates in sorted(rows)
        ],
        note="Rates in Mbit/s.",
    )


def _figures(found: Found) -> Figures:
    made: Figures = {}
    made["figures-6-25-26"] = (
        "Figures 6.25 and 6.26",
        "Parking lot: rate of the first router's link over time.",
        curves(
            [
                ("alone", [_rate(found.lots["lot-alone"])]),
                (
                    "with cross traffic",
                    [_rate(found.lots["lot-cross"]), _published_load(found.lots["lot-cross"])],
                ),
            ],
            x_label="time (s)",
            y_label="rate (Mbit/s)",
        ),
    )
    for number, names in (("6-27", ("target", "ewma")), ("6-28", ("fair", "optimistic"))):
        made[f"figure-{number}"] = (
            f"Figure {number.replace('-', '.')}",
            "Pattern of 28 transfers: estimated load as a line, granted rates as markers.",
            curves(
                [(_TITLES[name], _pattern(found.patterns[f"pattern-{name}"])) for name in names],
                x_label="time (s)",
                y_label="rate (Mbit/s)",
            ),
        )
    for number, caption, label in (
        ("6-30", "Granted over requested bandwidth.", "granted (Mbit/s per s)"),
        ("6-31", "Jain's index of all granted rates.", "Jain's index"),
    ):
        made[f"figure-{number}"] = (
            f"Figure {number.replace('-', '.')}",
            caption,
            curves(
                [("", _over_requests(found, fairness=number == "6-31"))],
                x_label="requested (Mbit/s per s)",
                y_label=label,
                x_scale="log",
                y_scale="linear" if number == "6-31" else "log",
            ),
        )
    return made


def _rate(lot: Lot) -> Curve:
    return Curve(
        "link 1", lot.link_times_s, lot.link_rates_bps / setup.MBIT, style_of("quick-start")
    )


def _published_load(lot: Lot) -> Curve:
    """The load that router 1 measured at the first transfer's request: C-TH-100."""
    at = lot.answers[1].times_ns[:1] / NS_PER_S
    return Curve("load, published", at, np.array([30.0]), PUBLISHED, line=False, markers=True)


def _pattern(pattern: Pattern) -> list[Curve]:
    answers = pattern.answers
    granted = answers.granted_bps > 0
    return [
        Curve(
            "estimated load",
            pattern.readings.times_ns / NS_PER_S,
            pattern.readings.loads_bps / setup.MBIT,
            style_of("slow-start"),
        ),
        Curve(
            "granted",
            answers.times_ns[granted] / NS_PER_S,
            answers.granted_bps[granted] / setup.MBIT,
            style_of("quick-start"),
            line=False,
            markers=True,
        ),
    ]


def _style(algorithm: str, interval_ms: int) -> Style:
    """The colour of the algorithm's Quick-Start; other slot lengths have its shades."""
    if algorithm != "target":
        return style_of(f"quick-start-{algorithm}")
    others = [ms for ms in setup.INTERVALS_MS if ms != setup.INTERVAL_MS]
    number = 0 if interval_ms == setup.INTERVAL_MS else 1 + others.index(interval_ms)
    return replace(one_of(style_of("quick-start"), number), marker="d^s8"[number])


def _over_requests(found: Found, *, fairness: bool) -> list[Curve]:
    x = np.array(setup.REQUESTED) / setup.MBIT
    drawn = []
    kinds = [("target", ms) for ms in setup.INTERVALS_MS]
    for algorithm, ms in [*kinds, ("fair", setup.INTERVAL_MS), ("optimistic", setup.INTERVAL_MS)]:
        own = [found.loads[setup.load_key(algorithm, ms, at)] for at in setup.REQUESTED]
        values = [
            load.fairness if fairness else load.granted_bps_per_s / setup.MBIT for load in own
        ]
        style = _style(algorithm, ms)
        drawn.append(
            Curve(f"{_TITLES[algorithm]}, {ms} ms", x, np.array(values), style, markers=True)
        )
    if fairness:
        best = [load.best_fairness for load in own]
        drawn.append(Curve("optimum", x, np.array(best), Style(GREY, ".", (0, (1, 1)))))
    return drawn
