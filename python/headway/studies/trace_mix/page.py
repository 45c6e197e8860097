"""Plot: figures 3.14, 3.15 and 6.50 to 6.55, and tables of epoch durations and loss."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import polars as pl

from headway.figures import Curve, curves
from headway.publish import Figures, Page
from headway.studies.common import pairs, traffic
from headway.studies.common.pairs import Scheme
from headway.studies.trace_mix import experiments
from headway.studies.trace_mix.experiments import LOADS, MODERATE, SCHEMES, SMALL, key
from headway.studies.trace_mix.observe import Epochs
from headway.studies.trace_mix.observe import Mix as Found
from headway.studies.trace_mix.workload import workload_figures
from headway.study import StudyContext
from headway.table import Table
from headway.workloads import sessions
from headway.workloads.distribution import compared_with_thesis


def page(ctx: StudyContext, found: Found) -> Page:
    """Tables, figures and data."""
    shown = [*pairs.present(SCHEMES), *pairs.NETWORK]
    return Page(
        tables=[
            _table(found, shown, "Mean epoch duration in ms", lambda one: 1e3 * one.mean_s),
            _table(
                found,
                shown,
                "95 % quantile of the epoch duration in ms",
                lambda one: 1e3 * one.p95_s,
            ),
            _table(found, shown, "Packet loss on the downlink in %", lambda one: 100 * one.loss),
            compared_with_thesis(
                {
                    "vectors": found.drawn,
                    "carried at 35 %": sessions(experiments.workload(ctx, MODERATE)),
                }
            ),
        ],
        figures={**_figures(found, shown), **workload_figures(found.drawn)},
        data={"cells": _cells(found)},
        facts=[
            ("Epochs", f"{sum(one.count for one in found.values())} in all trials"),
            ("Sessions' length", f"{_hours(ctx)} h of virtual time per trial"),
            ("Vectors", pairs.vectors_name(ctx.vectors)),
        ],
    )


def _hours(ctx: StudyContext) -> str:
    """Shortest to longest."""
    hours = sorted({experiments.hours(ctx, load) for load in LOADS})
    return f"{hours[0]:g}" if len(hours) == 1 else f"{hours[0]:g} to {hours[-1]:g}"


def _table(
    found: Found, schemes: list[Scheme], title: str, value: Callable[[Epochs], float]
) -> Table:
    return traffic.table(found, schemes, LOADS, key, title, value, column=traffic.percent)


def _cells(found: Found) -> pl.DataFrame:
    large_s = [one.large.mean for one in found.values()]
    return (
        traffic.cells(found)
        .rename({"responses": "epochs"})
        .with_columns(pl.Series("mean_above_10kB_s", large_s))
    )


def _figures(found: Found, schemes: list[Scheme]) -> Figures:
    ends = [s for s in schemes if s.router is None and s.guide is None]
    routers = [s for s in schemes if pairs.with_router(s) or s.guide is not None]
    made: Figures = {}
    for name, group in (("6-50", ends), ("6-51", routers)):
        made[f"figure-{name}"] = (
            f"Figure {name.replace('-', '.')}",
            "Complementary distribution of the epoch duration at 35 % load.",
            curves(
                [("", [_tail(found[key(s.key, 0.35)], s) for s in group])],
                x_label="epoch duration (s)",
                y_label="part of epochs",
                x_scale="log",
                y_scale="log",
            ),
        )
    shown = [s for s in schemes if s.key in ("slow-start", "jump-start", "quick-start-chi")]
    made["figures-6-52-53"] = (
        "Figures 6.52 and 6.53",
        "Mean epoch duration by response size. The shaded area lies between the quartiles.",
        curves(
            [
                (f"{100 * load:g} %", [_by_size(found[key(s.key, load)], s) for s in shown])
                for load in (SMALL, 0.35)
            ],
            x_label="response (bytes)",
            y_label="epoch duration (s)",
            x_scale="log",
            y_scale="log",
        ),
    )
    made["figures-6-54-55"] = (
        "Figures 6.54 and 6.55",
        "95 % quantile of the epoch duration over packet loss, one marker per load.",
        curves(
            [
                ("end to end", [_trade(found, s) for s in ends]),
                ("with routers", [_trade(found, s) for s in routers]),
            ],
            x_label="packet loss (%)",
            y_label="95 % quantile (s)",
        ),
    )
    return made


def _tail(one: Epochs, scheme: Scheme) -> Curve:
    return Curve(scheme.label, one.tail_s, one.tail_part, scheme.style)


def _by_size(one: Epochs, scheme: Scheme) -> Curve:
    """Mean and quartiles."""
    sizes = one.by_size
    return Curve(
        scheme.label,
        sizes.bytes,
        sizes.mean_s,
        scheme.style,
        markers=True,
        low=sizes.lower_s,
        high=sizes.upper_s,
        band=True,
    )


def _trade(found: Found, scheme: Scheme) -> Curve:
    seen = [found[name] for load in LOADS if (name := key(scheme.key, load)) in found]
    return Curve(
        scheme.label,
        np.array([100 * one.loss for one in seen]),
        np.array([one.p95_s for one in seen]),
        scheme.style,
        markers=True,
    )
