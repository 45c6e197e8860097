"""Plot: figures 6.58 and 6.59, and mean response times of both halves by startup and load."""

import numpy as np
import polars as pl

from headway.figures import Curve, curves
from headway.publish import Page
from headway.studies.common import pairs, traffic
from headway.studies.common.pairs import Scheme
from headway.studies.common.runs import value
from headway.studies.common.shown import figures
from headway.studies.common.traffic import percent
from headway.studies.mixed_use.claims import Found, change, outcome_class
from headway.studies.mixed_use.experiments import LOADS, SCHEMES, key
from headway.study import StudyContext
from headway.table import Table

_DEFAULT, _FAST = "default.mean.mean", "fast.mean.mean"


def page(_ctx: StudyContext, found: Found) -> Page:
    """Mean response times of both halves, outcomes and loss."""
    shown = [pairs.SLOW_START, *pairs.present(SCHEMES)]

    def by_load(title: str, path: str, scale: float) -> Table:
        return traffic.table(
            found, shown, LOADS, key, title, lambda one: scale * value(one, path), column=percent
        )

    def outcome(scheme: str, load: float) -> str:
        return outcome_class(*(change(found, scheme, which, load) for which in ("fast", "default")))

    def drawn(scheme: Scheme) -> Curve:
        ran = [found[key(scheme.key, load)] for load in LOADS]
        slow_ms = np.array([1e3 * one.default.mean.mean for one in ran])
        fast = [one.fast.mean for one in ran]
        return traffic.with_intervals(scheme.label, slow_ms, fast, scheme.style, scale=1e3)

    means = {"default_mean_s": _DEFAULT, "fast_mean_s": _FAST}
    columns = {**means, "loss": "loss", "utilization": "utilization"}
    cells = [
        {"trial": name, **{column: value(one, path) for column, path in columns.items()}}
        for name, one in found.items()
    ]
    return Page(
        tables=[
            by_load("Mean response time of slow start's half in ms", _DEFAULT, 1e3),
            by_load("Mean response time of the other half in ms", _FAST, 1e3),
            Table(
                "Outcome for both halves, compared with the case that all use slow start",
                ["scheme", *map(percent, LOADS)],
                [[one.label, *(outcome(one.key, load) for load in LOADS)] for one in shown[1:]],
                "Good: only the scheme's half is faster. Unfair: it is faster at the cost of the "
                "other half. A dash: no significant difference for either half.",
            ),
            by_load("Packet loss on the downlink in %", "loss", 100),
        ],
        figures=figures(
            (
                "Figures 6.58 and 6.59",
                "Mean response times of the two halves, one marker per load, with 95 % intervals "
                "of the other half.",
                curves(
                    [
                        ("end to end", [drawn(s) for s in shown if s.router is None]),
                        ("with routers", [drawn(s) for s in shown if pairs.with_router(s)]),
                    ],
                    x_label="slow start's half (ms)",
                    y_label="the other half (ms)",
                ),
            )
        ),
        data={"cells": pl.DataFrame(cells)},
    )
