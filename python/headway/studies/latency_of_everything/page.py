"""Plot: median delay against utilization, and a table of both."""

from __future__ import annotations

from dataclasses import asdict

import numpy as np
import polars as pl

from headway.figures import Curve, curves, label_of, style_of
from headway.publish import Figures, Page
from headway.studies.latency_of_everything.experiments import controls, queues
from headway.studies.latency_of_everything.observe import Found, mean
from headway.table import Cell, Table

LEAST_SHOWN_MS = 0.1
"""The figure's logarithmic axis begins here; smaller values are drawn on its edge."""
QUEUES = {"drop-tail": "Drop-tail", "red": "RED", "codel": "CoDel", "drr": "DRR"}
"""Titles of disciplines. One that is not listed keeps its name."""


def page(found: Found, runs: int) -> Page:
    """Tables, figure and data."""
    return Page(
        tables=[_table(found, runs)],
        figures=_figures(found, runs),
        data={"trials": pl.DataFrame([{"trial": key, **asdict(found[key])} for key in found])},
    )


def _table(found: Found, runs: int) -> Table:
    columns = ["control"]
    for queue in queues():
        columns += [QUEUES.get(queue, queue), "used"]
    rows: list[list[Cell]] = []
    for control in controls():
        row: list[Cell] = [label_of(control)]
        for queue in queues():
            row += [
                round(mean(found, control, queue, runs, lambda one: one.induced_median_ms), 1),
                f"{100 * mean(found, control, queue, runs, lambda one: one.utilization):.1f} %",
            ]
        rows.append(row)
    return Table(
        "Median delay of a call's datagrams beyond an empty path, ms, and utilization, with one "
        "bulk flow, by queue discipline",
        columns,
        rows,
    )


def _figures(found: Found, runs: int) -> Figures:
    def point(control: str, queue: str) -> Curve:
        def of(value: str) -> float:
            return mean(found, control, queue, runs, lambda one: float(getattr(one, value)))

        return Curve(
            label_of(control),
            np.array([100 * of("utilization")]),
            np.array([max(of("induced_median_ms"), LEAST_SHOWN_MS)]),
            style_of(control),
            line=False,
            markers=True,
        )

    return {
        "latency": (
            "Median delay against utilization",
            "Median delay of a call's datagrams beyond an empty path, with one bulk flow of each "
            f"control, by queue discipline. Values below {LEAST_SHOWN_MS:g} ms are drawn at "
            f"{LEAST_SHOWN_MS:g} ms.",
            curves(
                [
                    (QUEUES.get(queue, queue), [point(control, queue) for control in controls()])
                    for queue in queues()
                ],
                x_label="utilization (%)",
                y_label="median induced delay (ms)",
                y_scale="log",
                height_mm=85,
            ),
        )
    }
