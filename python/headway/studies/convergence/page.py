"""Plot: figures 6.17 to 6.19, and the schemes in numbers."""

from __future__ import annotations

import polars as pl

from headway.figures import QUEUE, Panel, Series, one_of, style_of, timeseries
from headway.publish import Figures, Page
from headway.studies.convergence.experiments import SCHEMES
from headway.studies.convergence.observe import (
    ARRIVAL_S,
    FIRST_RUN,
    SHARING_S,
    Course,
    Found,
)
from headway.table import Cell, Table


def page(found: Found) -> Page:
    """Table, figures and data."""
    shown: list[list[Cell]] = [
        [
            label,
            round(found.mean(name, "jain_two"), 3),
            round(found.mean(name, "jain"), 3),
            round(found.mean(name, "together_s"), 1),
            round(found.mean(name, "new_mbps"), 2),
            round(found.mean(name, "old_mbps"), 2),
            round(100 * found.mean(name, "queue_share")),
            round(found.mean(name, "third_s"), 2),
        ]
        for name, label in SCHEMES.items()
    ]
    runs = [{"scheme": name, **vars(one)} for name in SCHEMES for one in found.outcomes(name)]
    columns = ["scheme", "Jain of 2", "of 3", "for s", "new Mbit/s", "old Mbit/s", "queue %"]
    return Page(
        tables=[
            Table(
                f"Means over {len(found.numbers)} runs",
                [*columns, "3rd flow s"],
                shown,
                "Jain's index of the first two flows from the second start, and of all three from "
                f"the third, to the first end, at most {SHARING_S:g} s; how long all are there; "
                f"rates of the second and the first flow in the {ARRIVAL_S:g} s after the second "
                "came; part of the queue used until the last response ends; response time of the "
                "third flow.",
            )
        ],
        figures=_figures(found),
        data={"runs": pl.DataFrame(runs)},
    )


def _figures(found: Found) -> Figures:
    drawn = {
        name: course
        for name in SCHEMES
        if (course := found.runs[name + FIRST_RUN].course) is not None
    }
    quick = drawn["quick-start"]
    queue = Series("queue", quick.queue_s, quick.queue_pkts, QUEUE, step=True)
    pairs = {
        "6-17": ("slow-start", "slow-start-red"),
        "6-18": ("jump-start", "mega-start"),
    }
    made: Figures = {
        f"figure-{number}": (
            f"Figure {number.replace('-', '.')}",
            "Goodput of the three flows, one run.",
            timeseries([_panel(drawn[name], name) for name in names], height_mm=48),
        )
        for number, names in pairs.items()
    }
    made["figure-6-19"] = (
        "Figure 6.19",
        "Quick-Start: goodputs, and the queue towards the clients.",
        timeseries(
            [_panel(quick, "quick-start"), Panel("queue (packets)", [queue])],
            height_mm=48,
        ),
    )
    return made


def _panel(course: Course, scheme: str) -> Panel:
    lines = [
        Series(
            f"{SCHEMES[scheme]}, flow {number + 1}",
            course.slots_s,
            bps / 1e6,
            one_of(style_of(scheme), number),
            step=True,
        )
        for number, bps in enumerate(course.goodputs_bps)
    ]
    return Panel("goodput (Mbit/s)", lines, title=SCHEMES[scheme])
