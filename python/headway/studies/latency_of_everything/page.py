"""Plot: median delay against utilization, and a table of both."""

from collections.abc import Callable
from dataclasses import asdict

import numpy as np
import polars as pl

from headway.figures import Curve, curves, label_of, style_of
from headway.publish import Page
from headway.studies.common.shown import table
from headway.studies.latency_of_everything.experiments import Found, ends, mean, queues
from headway.study import StudyContext

LEAST_SHOWN_MS = 0.1
"""The figure's logarithmic axis begins here; smaller values are drawn on its edge."""
QUEUES = {"drop-tail": "Drop-tail", "red": "RED", "codel": "CoDel", "drr": "DRR"}
"""Titles of disciplines. One that is not listed keeps its name."""


def page(_ctx: StudyContext, found: Found) -> Page:
    """The report's tables, figure and data."""
    controls = [one.name for one in ends()]

    def point(control: str, queue: str) -> Curve:
        return Curve(
            label_of(control),
            np.array([100 * mean(found, control, queue, "utilization")]),
            np.array([max(mean(found, control, queue, "induced_median_ms"), LEAST_SHOWN_MS)]),
            style_of(control),
            line=False,
            markers=True,
        )

    def used(queue: str) -> Callable[[str], str]:
        return lambda control: f"{100 * mean(found, control, queue, 'utilization'):.1f} %"

    def median_ms(queue: str) -> Callable[[str], float]:
        return lambda control: mean(found, control, queue, "induced_median_ms")

    titles = {queue: QUEUES.get(queue, queue) for queue in queues()}
    figure = (
        "Median delay against utilization",
        "Median delay of a call's datagrams beyond an empty path, with one bulk flow of each "
        f"control, by queue discipline. Values below {LEAST_SHOWN_MS:g} ms are drawn at "
        f"{LEAST_SHOWN_MS:g} ms.",
        curves(
            [(title, [point(one, queue) for one in controls]) for queue, title in titles.items()],
            x_label="utilization (%)",
            y_label="median induced delay (ms)",
            y_scale="log",
            height_mm=85,
        ),
    )
    columns = [
        column
        for queue, title in titles.items()
        for column in ((title, (median_ms(queue), 1)), ("used", used(queue)))
    ]
    return Page(
        tables=[
            table(
                "Median delay of a call's datagrams beyond an empty path, ms, and utilization, "
                "with one bulk flow, by queue discipline",
                controls,
                [("control", label_of), *columns],
            )
        ],
        figures={"latency": figure},
        data={"trials": pl.DataFrame([{"trial": key, **asdict(found[key])} for key in found])},
    )
