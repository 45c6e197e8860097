"""Plot: figures 6.58 and 6.59, and mean response times of both halves by startup and load."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import polars as pl

from headway.figures import Curve, curves
from headway.publish import Figures, Page
from headway.studies.common import pairs, traffic
from headway.studies.common.pairs import Scheme
from headway.studies.mixed_use.claims import Found, change, half, outcome_class
from headway.studies.mixed_use.experiments import DEFAULT, FAST, LOADS, SCHEMES, key
from headway.studies.mixed_use.observe import Halves
from headway.table import Table
from headway.workloads.draws import Floats


def page(found: Found) -> Page:
    """Tables, figures and data."""
    shown = [pairs.SLOW_START, *pairs.present(SCHEMES)]
    return Page(
        tables=[
            _table(
                found,
                shown,
                "Mean response time of slow start's half in ms",
                lambda one: 1e3 * one.default.mean_s,
            ),
            _table(
                found,
                shown,
                "Mean response time of the other half in ms",
                lambda one: 1e3 * one.fast.mean_s,
            ),
            _classes(found, shown[1:]),
            _table(found, shown, "Packet loss on the downlink in %", lambda one: 100 * one.loss),
        ],
        figures=_figures(found, shown),
        data={"cells": _cells(found)},
    )


def _table(
    found: Found, schemes: list[Scheme], title: str, value: Callable[[Halves], float]
) -> Table:
    return traffic.table(found, schemes, LOADS, key, title, value, column=traffic.percent)


def _classes(found: Found, schemes: list[Scheme]) -> Table:
    """Which of the thesis' five outcomes each trial is."""
    return Table(
        "Outcome for both halves, compared with the case that all use slow start",
        ["scheme", *map(traffic.percent, LOADS)],
        [
            [
                scheme.label,
                *(
                    outcome_class(
                        change(found, scheme.key, FAST, load),
                        change(found, scheme.key, DEFAULT, load),
                    )
                    for load in LOADS
                ),
            ]
            for scheme in schemes
        ],
        "Good: only the scheme's half is faster. Unfair: it is faster at the cost of the other "
        "half. A dash: no significant difference for either half.",
    )


def _cells(found: Found) -> pl.DataFrame:
    return pl.DataFrame(
        [
            {
                "trial": name,
                "default_mean_s": one.default.mean_s,
                "fast_mean_s": one.fast.mean_s,
                "loss": one.loss,
                "utilization": one.utilization,
            }
            for name, one in found.items()
        ]
    )


def _figures(found: Found, schemes: list[Scheme]) -> Figures:
    def means_ms(scheme: Scheme, number: int) -> Floats:
        return np.array([1e3 * half(found, scheme.key, number, load).mean_s for load in LOADS])

    def drawn(shown: list[Scheme]) -> list[Curve]:
        return [
            traffic.with_intervals(
                s.label,
                means_ms(s, DEFAULT),
                [half(found, s.key, FAST, load).mean for load in LOADS],
                s.style,
                scale=1e3,
            )
            for s in shown
        ]

    return {
        "figures-6-58-59": (
            "Figures 6.58 and 6.59",
            "Mean response times of the two halves, one marker per load, with 95 % intervals of "
            "the other half.",
            curves(
                [
                    ("end to end", drawn([s for s in schemes if s.router is None])),
                    ("with routers", drawn([s for s in schemes if pairs.with_router(s)])),
                ],
                x_label="slow start's half (ms)",
                y_label="the other half (ms)",
            ),
        )
    }
