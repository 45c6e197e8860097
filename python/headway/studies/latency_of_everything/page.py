"""Plot: median delay against utilization, and a table of both."""

from collections.abc import Callable, Sequence
from dataclasses import asdict

import numpy as np
import polars as pl

from headway.figures import Curve, curves, label_of, style_of
from headway.publish import Drawn, Page
from headway.studies.common.shown import table
from headway.studies.latency_of_everything.experiments import Found, ends, mean, queues
from headway.study import StudyContext
from headway.table import Table

LEAST_SHOWN_MS = 0.1
"""The figure's logarithmic axis begins here; smaller values are drawn on its edge."""
QUEUES = {
    "drop-tail": "Drop-tail",
    "red": "RED",
    "codel": "CoDel",
    "pie": "PIE",
    "step": "Step",
    "drr": "DRR",
    "fq": "FQ",
    "fq_codel": "FQ-CoDel",
    "fq_pie": "FQ-PIE",
    "dualpi2": "DualPI2",
}
"""Titles of disciplines. One that is not listed keeps its name."""
SEVERAL = ("drr", "dualpi2", "fq", "fq_codel", "fq_pie")
"""Disciplines with several queues. They have a figure and a table of their own."""


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

    def figure(queues: Sequence[str], which: str) -> Drawn:
        return (
            f"Median delay against utilization, {which}",
            "Median delay of a call's datagrams beyond an empty path, with one bulk flow of each "
            f"control, by queue discipline. Values below {LEAST_SHOWN_MS:g} ms are drawn at "
            f"{LEAST_SHOWN_MS:g} ms.",
            curves(
                [(QUEUES.get(q, q), [point(one, q) for one in controls]) for q in queues],
                x_label="utilization (%)",
                y_label="median induced delay (ms)",
                y_scale="log",
                height_mm=85,
            ),
        )

    def delays(queues: Sequence[str], which: str) -> Table:
        columns = [
            column
            for queue in queues
            for column in ((QUEUES.get(queue, queue), (median_ms(queue), 1)), ("used", used(queue)))
        ]
        return table(
            "Median delay of a call's datagrams beyond an empty path, ms, and utilization, "
            f"with one bulk flow, by queue discipline, {which}",
            controls,
            [("control", label_of), *columns],
        )

    single = ([queue for queue in queues() if queue not in SEVERAL], "one queue for all packets")
    several = ([queue for queue in queues() if queue in SEVERAL], "several queues")
    return Page(
        tables=[delays(*single), delays(*several)],
        figures={"latency": figure(*single), "latency-several": figure(*several)},
        data={"trials": pl.DataFrame([{"trial": key, **asdict(found[key])} for key in found])},
    )
