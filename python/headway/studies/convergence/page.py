"""Plot: figures 6.17 to 6.20, and tables of the schemes."""

from __future__ import annotations

import math
from statistics import median

import polars as pl

from headway.figures import QUEUE, Panel, Series, one_of, style_of, timeseries
from headway.publish import Figures, Page
from headway.studies.common import lab, network
from headway.studies.common.cells import seconds
from headway.studies.convergence.experiments import SAMPLE_S, SCHEMES
from headway.studies.convergence.observe import (
    ARRIVAL_S,
    EQUAL,
    FIRST_RUN,
    HELD_S,
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
    named = (*SCHEMES, *network.SCHEMES)
    runs = [{"scheme": name, **vars(one)} for name in named for one in found.outcomes(name)]
    columns = ["scheme", "Jain of 2", "of 3", "for s", "new Mbit/s", "old Mbit/s", "queue %"]
    return Page(
        tables=[
            Table(
                f"Means over {len(found.numbers)} runs",
                [*columns, "3rd flow s"],
                shown,
                "Jain's index of the first two flows from the second start to the first end, and "
                f"of all three from the third start to the first end, over at most {SHARING_S:g} "
                "s; how long all three are active; rates of the second and the first flow in the "
                f"{ARRIVAL_S:g} s after the second start; part of the queue that is used until the "
                "last response ends; response time of the third flow.",
            ),
            _equal_table(found),
        ],
        figures=_figures(found),
        data={"runs": pl.DataFrame(runs)},
    )


def _equal_table(found: Found) -> Table:
    """Times of new flows to an equal share."""
    rows: list[list[Cell]] = []
    for name, label in {lab.SLOW_START: SCHEMES[lab.SLOW_START], **network.SCHEMES}.items():
        own = found.outcomes(name)
        peaks = [one.peak_pkts for one in own if math.isfinite(one.peak_pkts)]
        rows.append(
            [
                label,
                seconds(median(one.second_equal_s for one in own)),
                seconds(median(one.third_equal_s for one in own)),
                round(max(peaks)) if name in network.SCHEMES else None,
                round(found.mean(name, "third_s"), 2),
            ]
        )
    return Table(
        "Time until flows share equally, medians",
        ["scheme", "2 flows s", "3 flows s", "longest queue", "3rd flow s"],
        rows,
        f"From the new flow's first data until Jain's index is {EQUAL:g} or more in slots of a "
        f"round trip ({SAMPLE_S:g} s for Slow-Start), and stays so for {HELD_S:g} s, or until the "
        "next flow starts or one ends. A dash: not by then. Longest queue: the maximum of all runs "
        "from the second start on, in packets. Last column: mean response time of the third flow.",
    )


def _figures(found: Found) -> Figures:
    drawn = {
        name: course
        for name in (*SCHEMES, *network.SCHEMES)
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
    made["figure-6-20"] = (
        "Figure 6.20",
        "Goodputs with XCP and RCP, and the unlimited queues towards the clients.",
        timeseries(
            [
                *(_panel(drawn[name], name) for name in network.SCHEMES),
                Panel(
                    "queue (packets)",
                    [
                        Series(label, drawn[name].queue_s, drawn[name].queue_pkts, style_of(name))
                        for name, label in network.SCHEMES.items()
                    ],
                ),
            ],
            height_mm=48,
        ),
    )
    return made


def _panel(course: Course, scheme: str) -> Panel:
    label = {**SCHEMES, **network.SCHEMES}[scheme]
    lines = [
        Series(
            f"{label}, flow {number + 1}",
            course.slots_s,
            bps / 1e6,
            one_of(style_of(scheme), number),
            step=True,
        )
        for number, bps in enumerate(course.goodputs_bps)
    ]
    return Panel("goodput (Mbit/s)", lines, title=label)
