"""Observations of a trial with many host pairs, and their tables and curves."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
import polars as pl

from headway import metrics
from headway.errors import HeadwayError
from headway.experiment import BATCHES, Sessions
from headway.figures import Curve, Style
from headway.metrics.stats import Estimate, batch_means, confidence_interval
from headway.studies.common import lab
from headway.studies.common.pairs import Scheme
from headway.table import Table
from headway.trace import Trace
from headway.workloads.draws import Floats


@dataclass(frozen=True)
class Router:
    """Counters of the responses' Quick-Start router after the warm-up."""

    requests: float
    grants: float
    granted_bps: float
    """Sum of all granted rates."""

    @property
    def approved_part(self) -> float:
        """The part of the requests that got a rate."""
        return self.grants / max(self.requests, 1.0)


@dataclass(frozen=True)
class Traffic:
    """Observations of one trial: its responses requested after the warm-up, before sessions end."""

    count: int
    """Responses, or epochs."""
    seconds: Estimate
    """Mean response time, with an interval from ten batches in the order of the responses'
    starts."""
    p95_s: float
    loss: float
    """Part of the responses' packets that the bottleneck dropped."""
    utilization: float
    router: Router | None
    """Counters of the Quick-Start router; None if the trial has no such router."""

    @property
    def mean_s(self) -> float:
        """The trial's mean response time, or its mean epoch duration."""
        return self.seconds.mean


def traffic(trace: Trace, rows: pl.DataFrame) -> Traffic:
    """Observe a trial; ``rows`` are its ``responses``. Raises HeadwayError for too few."""
    if rows.height < BATCHES:
        raise HeadwayError(
            f"{rows.height} responses were complete when the run ended; a mean with its interval "
            f"needs at least {BATCHES}; use shorter responses or a longer run"
        )
    return Traffic(
        count=rows.height,
        seconds=metrics.mean_response_s(rows),
        p95_s=metrics.quantile_s(rows, 0.95),
        loss=metrics.drop_rate(trace, lab.DOWNLINK) or 0.0,
        utilization=metrics.utilization(trace, lab.DOWNLINK),
        router=_router(trace),
    )


def responses(trace: Trace) -> pl.DataFrame:
    """Responses requested after the warm-up and before the sessions end."""
    experiment = trace.experiment
    app = experiment.flows[0].app
    assert isinstance(app, Sessions)
    return metrics.responses(trace, (experiment.warmup, app.workload.until))


def mean_s(seconds: Floats) -> Estimate:
    """Mean of some responses, in the order of their starts; NaN for fewer than ten."""
    if seconds.size < 10:
        return Estimate(float("nan"), None, None, 0)
    return confidence_interval([float(mean) for mean in batch_means(seconds)])


def _router(trace: Trace) -> Router | None:
    _, back = trace.experiment.topology.links()[0]
    if back.quick_start is None:
        return None
    rows = metrics.router_counters(trace, "quick-start")
    rows = rows.filter(pl.col("link") == lab.DOWNLINK).sort("time_ns")
    before = rows.filter(pl.col("time_ns") <= trace.warmup_ns).to_dicts()
    last = rows.to_dicts()[-1]
    names = ("requests", "grants", "granted_bps")
    return Router(*(float(last[name] - (before[-1][name] if before else 0)) for name in names))


Row = TypeVar("Row")
Key = Callable[[str, float], str]
"""A trial's name: the scheme's name and the value on the other axis, such as the load."""


def percent(part: float) -> str:
    """A part as text for a heading: "35 %"."""
    return f"{100 * part:g} %"


def table(
    found: Mapping[str, Row],
    schemes: Sequence[Scheme],
    columns: Sequence[float],
    key: Key,
    title: str,
    value: Callable[[Row], float],
    *,
    column: Callable[[float], str] = str,
) -> Table:
    """A quantity by scheme and one other axis. Cells without a trial are empty."""
    return Table(
        title,
        ["scheme", *map(column, columns)],
        [
            [
                scheme.label,
                *(
                    round(value(found[name]), 2) if (name := key(scheme.key, at)) in found else None
                    for at in columns
                ),
            ]
            for scheme in schemes
        ],
    )


def over(
    found: Mapping[str, Row],
    scheme: Scheme,
    columns: Sequence[float],
    key: Key,
    value: Callable[[Row], float],
) -> Curve:
    """A quantity of a scheme over an axis, for the places with trials."""
    seen = [(at, found[name]) for at in columns if (name := key(scheme.key, at)) in found]
    return Curve(
        scheme.label,
        np.array([at for at, _ in seen]),
        np.array([value(one) for _, one in seen]),
        scheme.style,
        markers=True,
    )


def means_over(
    found: Mapping[str, Traffic], scheme: Scheme, columns: Sequence[float], key: Key
) -> Curve:
    """Mean times of a scheme over an axis with 95 % intervals, for the places with trials."""
    seen = [(at, found[name]) for at in columns if (name := key(scheme.key, at)) in found]
    at = np.array([at for at, _ in seen])
    return with_intervals(scheme.label, at, [one.seconds for _, one in seen], scheme.style)


def with_intervals(
    label: str, x: npt.NDArray[Any], means: Sequence[Estimate], style: Style, scale: float = 1.0
) -> Curve:
    """Means times ``scale`` with confidence intervals. A mean of too few batches has none."""
    widths = [math.nan if one.half_width is None else one.half_width for one in means]
    mean, half = scale * np.array([one.mean for one in means]), scale * np.array(widths)
    return Curve(label, x, mean, style, markers=True, low=mean - half, high=mean + half)


def cells(found: Mapping[str, Traffic]) -> pl.DataFrame:
    """A table's rows: the numbers of every trial."""
    return pl.DataFrame(
        [
            {
                "trial": name,
                "responses": one.count,
                "mean_s": one.mean_s,
                "mean_half_width_s": one.seconds.half_width,
                "p95_s": one.p95_s,
                "loss": one.loss,
                "utilization": one.utilization,
            }
            for name, one in found.items()
        ]
    )
