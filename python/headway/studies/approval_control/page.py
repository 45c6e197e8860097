"""Plot: figures 6.25 to 6.31, and the granted rates."""

from dataclasses import replace
from functools import partial

import numpy as np
import polars as pl

from headway.figures import PUBLISHED, Curve, curves, style_of, variant_of
from headway.figures.style import GREY, Style
from headway.publish import Figures, Page
from headway.studies.approval_control import experiments as setup
from headway.studies.approval_control.equations import loads
from headway.studies.approval_control.experiments import INTERVAL_MS, INTERVALS_MS, MBIT, Found
from headway.studies.common.shown import chart, curve, figures, table
from headway.study import StudyContext
from headway.table import Table
from headway.units import NS_PER_S

_TITLES = {"target": "Target", "ewma": "Target, load averaged (EWMA)"}
_TITLES |= {"fair": "Fair", "optimistic": "Optimistic"}
"""Names of the approval algorithms in figures and tables."""
_REQUESTED_MBPS = np.array(setup.REQUESTED) / MBIT


def page(_ctx: StudyContext, found: Found) -> Page:
    """Tables of grants and loads, and the figures."""
    rows = [
        {
            "trial": name,
            "requested_bps_per_s": load.asked_bps_per_s,
            "granted_bps_per_s": load.granted_bps_per_s,
            "jain_index": load.fairness,
            "jain_index_if_all_were_approved": load.best_fairness,
        }
        for name, load in found.loads.items()
    ]
    by_load = table(
        "Granted Mbit/s per second and Jain's index of the grants",
        found.loads.items(),
        {
            "trial": lambda row: row[0],
            "requested": (lambda row: row[1].asked_bps_per_s / MBIT, 1),
            "granted": (lambda row: row[1].granted_bps_per_s / MBIT, 1),
            "Jain": (lambda row: row[1].fairness, 3),
            "if all were approved": (lambda row: row[1].best_fairness, 3),
        },
    )
    tables = [by_load, _lot_table(found.lots["lot-cross"])]
    return Page(tables=tables, figures=_figures(found), data={"load": pl.DataFrame(rows)})


def _lot_table(lot: setup.Lot) -> Table:
    rows = [
        (time_ns / NS_PER_S, router, *rates)
        for router, answers in lot.answers.items()
        for time_ns, *rates in answers.each()
    ]
    return Table(
        "Requests of the parking lot with cross traffic",
        ["time (s)", "router", "asked", "granted", "load", "outstanding"],
        [
            [round(time_s, 3), router, *(round(rate / MBIT, 2) for rate in rates)]
            for time_s, router, *rates in sorted(rows)
        ],
        note="Rates in Mbit/s.",
    )


def _figures(found: Found) -> Figures:
    alone, cross = (found.lots[f"lot-{name}"] for name in ("alone", "cross"))
    # The load that router 1 measured at the first transfer's request: C-TH-100.
    at_s = cross.answers[1].times_ns[:1] / NS_PER_S
    load = Curve("load, published", at_s, np.array([30.0]), PUBLISHED, line=False, markers=True)
    lots = [("alone", [_rate(alone)]), ("with cross traffic", [_rate(cross), load])]
    best = np.array([one.best_fairness for one in loads(found, "optimistic")])
    optimum = Curve("optimum", _REQUESTED_MBPS, best, Style(GREY, ".", (0, (1, 1))))
    over_time = partial(curves, x_label="time (s)", y_label="rate (Mbit/s)")
    what = "Pattern of 28 transfers: estimated load as a line, granted rates as markers."

    def pattern(*names: str) -> list[tuple[str, list[Curve]]]:
        return [(_TITLES[name], _pattern(found.patterns[f"pattern-{name}"])) for name in names]

    first = (
        "Figures 6.25 and 6.26",
        "Parking lot: rate of the first router's link over time.",
        over_time(lots),
    )
    others = figures(
        ("Figure 6.27", what, over_time(pattern("target", "ewma"))),
        ("Figure 6.28", what, over_time(pattern("fair", "optimistic"))),
        (
            "Figure 6.30",
            "Granted over requested bandwidth.",
            chart(
                _over_requests(found, "granted_bps_per_s", MBIT),
                "requested (Mbit/s per s)",
                "granted (Mbit/s per s)",
                x_scale="log",
                y_scale="log",
            ),
        ),
        (
            "Figure 6.31",
            "Jain's index of all granted rates.",
            chart(
                [*_over_requests(found, "fairness"), optimum],
                "requested (Mbit/s per s)",
                "Jain's index",
                x_scale="log",
            ),
        ),
    )
    return {"figures-6-25-26": first, **others}


def _rate(lot: setup.Lot) -> Curve:
    return Curve("link 1", lot.link_times_s, lot.link_rates_bps / MBIT, style_of("quick-start"))


def _pattern(pattern: setup.Pattern) -> list[Curve]:
    readings, answers = pattern.readings, pattern.answers
    granted = answers.granted_bps > 0
    times_s, granted_mbps = answers.times_ns / NS_PER_S, answers.granted_bps / MBIT
    style = style_of("quick-start")
    return [
        Curve(
            "estimated load",
            readings.times_ns / NS_PER_S,
            readings.loads_bps / MBIT,
            style_of("slow-start"),
        ),
        curve("granted", times_s[granted], granted_mbps[granted], style, line=False),
    ]


def _style(algorithm: str, interval_ms: int) -> Style:
    """Style of Quick-Start with this algorithm; other slot lengths have shades of its colour."""
    if algorithm != "target":
        return style_of(f"quick-start-{algorithm}")
    number = [INTERVAL_MS, *(ms for ms in INTERVALS_MS if ms != INTERVAL_MS)].index(interval_ms)
    return replace(variant_of(style_of("quick-start"), number), marker="d^s8"[number])


def _over_requests(found: Found, what: str, scale: float = 1.0) -> list[Curve]:
    """One number of each load's trial, by algorithm and slot length."""
    others = [("fair", INTERVAL_MS), ("optimistic", INTERVAL_MS)]
    return [
        curve(
            f"{_TITLES[name]}, {ms} ms",
            _REQUESTED_MBPS,
            [getattr(one, what) / scale for one in loads(found, name, ms)],
            _style(name, ms),
        )
        for name, ms in [*(("target", ms) for ms in INTERVALS_MS), *others]
    ]
