"""Plot: figures 3.14, 3.15 and 6.50 to 6.55, and tables of epoch durations and loss."""

from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from headway.figures import Curve, curves
from headway.figures.style import GREY, LIGHT, Style
from headway.models.distributions import LogNormal
from headway.publish import Figures, Page
from headway.studies.common import pairs, traffic
from headway.studies.common.pairs import Scheme
from headway.studies.common.shown import chart, figures
from headway.studies.trace_mix import experiments
from headway.studies.trace_mix.experiments import (
    LOADS,
    MODERATE,
    SCHEMES,
    SIZES_BYTES,
    SMALL,
    Mix,
    below,
    key,
    ranks,
)
from headway.study import StudyContext
from headway.workloads import SessionTable, sessions
from headway.workloads.distribution import TAIL_PART, compared_with_thesis, tail_fit
from headway.workloads.draws import Floats, Ints

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_RESPONSES, _REQUESTS = Style("#0072B2", "o"), Style("#D55E00", "s")
_DASHED = Style(GREY, ".", (0, (3, 2)))
_LOG: Any = {"x_scale": "log", "y_scale": "log"}


def page(ctx: StudyContext, found: Mix) -> Page:
    """Epoch durations and loss by load, their distributions, and the workload's."""
    shown = [*pairs.present(SCHEMES), *pairs.NETWORK]
    large_s = [one.large.mean for one in found.values()]
    cells = traffic.cells(found).rename({"responses": "epochs"})
    hours = sorted({experiments.hours(ctx, load) for load in LOADS})
    length = f"{hours[0]:g}" if len(hours) == 1 else f"{hours[0]:g} to {hours[-1]:g}"
    carried = sessions(experiments.workload(ctx, MODERATE))
    return Page(
        tables=[
            *(
                traffic.table(found, shown, LOADS, key, title, value, column=traffic.percent)
                for title, value in (
                    ("Mean epoch duration in ms", lambda one: 1e3 * one.mean_s),
                    ("95 % quantile of the epoch duration in ms", lambda one: 1e3 * one.p95_s),
                    ("Packet loss on the downlink in %", lambda one: 100 * one.loss),
                )
            ),
            compared_with_thesis({"vectors": found.drawn, "carried at 35 %": carried}),
        ],
        figures={**_figures(found, shown), **_workload(found.drawn)},
        data={"cells": cells.with_columns(pl.Series("mean_above_10kB_s", large_s))},
        facts=[
            ("Epochs", f"{sum(one.count for one in found.values())} in all trials"),
            ("Sessions' length", f"{length} h of virtual time per trial"),
            ("Vectors", pairs.vectors_name(ctx.vectors)),
        ],
    )


def _figures(found: Mix, schemes: list[Scheme]) -> Figures:
    ends = [s for s in schemes if s.router is None and s.guide is None]
    routers = [s for s in schemes if pairs.with_router(s) or s.guide is not None]
    sized = [s for s in schemes if s.key in ("slow-start", "jump-start", "quick-start-chi")]

    def tails(group: list[Scheme]) -> "Figure":
        rows = [(s, found[key(s.key, MODERATE)]) for s in group]
        lines = [Curve(s.label, one.tail_s, one.tail_part, s.style) for s, one in rows]
        return chart(lines, "epoch duration (s)", "part of epochs", **_LOG)

    about_tails = "Complementary distribution of the epoch duration at 35 % load."
    return figures(
        ("Figure 6.50", about_tails, tails(ends)),
        ("Figure 6.51", about_tails, tails(routers)),
        (
            "Figures 6.52 and 6.53",
            "Mean epoch duration by response size. The shaded area lies between the quartiles.",
            curves(
                [
                    (f"{100 * load:g} %", [_by_size(found, s, load) for s in sized])
                    for load in (SMALL, MODERATE)
                ],
                x_label="response (bytes)",
                y_label="epoch duration (s)",
                **_LOG,
            ),
        ),
        (
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
        ),
    )


def _by_size(found: Mix, scheme: Scheme, load: float) -> Curve:
    """Mean and quartiles."""
    own = found[key(scheme.key, load)].by_size
    return Curve(
        scheme.label, own.bytes, own.mean_s, scheme.style,
        markers=True, low=own.lower_s, high=own.upper_s, band=True,
    )  # fmt: skip


def _trade(found: Mix, scheme: Scheme) -> Curve:
    rows = [found[name] for load in LOADS if (name := key(scheme.key, load)) in found]
    loss, p95_s = np.array([100 * one.loss for one in rows]), np.array([one.p95_s for one in rows])
    return Curve(scheme.label, loss, p95_s, scheme.style, markers=True)


def _workload(table: SessionTable) -> Figures:
    """Message sizes, times between vectors, and the distribution of response sizes."""
    gaps_s = np.diff(table.start_us) / 1e6
    t = np.linspace(0, gaps_s.max(), 300)
    gaps = [
        _exceeded(gaps_s, "connection vectors", _RESPONSES),
        Curve("exponential", t, np.exp(-t / gaps_s.mean()), _DASHED),
    ]
    counts, _ = np.histogram(table.response_bytes, bins=SIZES_BYTES)
    middle = np.sqrt(SIZES_BYTES[:-1] * SIZES_BYTES[1:])
    parts = counts / (table.response_bytes > 0).sum()
    histogram = Curve("responses", middle, parts, _RESPONSES, markers=True)
    responses = "response (bytes)", "part of responses"
    return {
        **figures(
            (
                "Figure 3.14",
                "Complementary distributions of request and response sizes, with a log-normal "
                "distribution and a truncated Pareto tail (largest 2 %) fitted to the responses.",
                chart(_sizes(table), "size (bytes)", "part", **_LOG),
            ),
            (
                "Figure 3.15",
                "Complementary distribution of the times between connection vectors, and the "
                "exponential distribution with the same mean.",
                chart(gaps, "time between vectors (s)", "part", y_scale="log"),
            ),
        ),
        "figure-6-52-below": (
            "Figures 6.52 and 6.53, below",
            f"Distribution of response sizes; {100 * below(table):.0f} % are below 10 kB.",
            chart([histogram], *responses, x_scale="log"),
        ),
    }


def _exceeded(values: Floats | Ints, label: str, style: Style) -> Curve:
    """P(Z > z) of positive values."""
    ordered = np.sort(values[values > 0].astype(np.float64))
    at = ranks(ordered.size)
    return Curve(label, ordered[-at], at / values.size, style)


def _sizes(table: SessionTable) -> list[Curve]:
    """Responses, requests, and what is fitted to the responses."""
    sizes = table.response_bytes[table.response_bytes > 0].astype(np.float64)
    logs = np.log(sizes)
    body, tail = LogNormal(float(logs.mean()), float(logs.std())), tail_fit(table)
    z = np.geomspace(sizes.min(), sizes.max(), 300)
    z_tail = np.geomspace(tail.smallest, tail.largest * 0.99, 300)
    pareto, line = f"truncated Pareto, {tail.shape:.2f}", Style(LIGHT, ".", "-")
    return [
        _exceeded(table.response_bytes, "responses", _RESPONSES),
        _exceeded(table.request_bytes, "requests", _REQUESTS),
        Curve("log-normal", z, _survival(body.cdf(z)), _DASHED),
        Curve(pareto, z_tail, TAIL_PART * _survival(tail.cdf(z_tail)), line),
    ]


def _survival(cdf: Floats) -> Floats:
    """1 - F, and NaN instead of 0, which a logarithmic axis cannot show."""
    left = 1 - cdf
    return np.where(left > 0, left, np.nan)
