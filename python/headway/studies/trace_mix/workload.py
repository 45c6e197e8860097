"""What the connection vectors are like: C-TH-002 to 006 and 185, figures 3.14 and 3.15.

They are drawn from what the thesis prints of its traces, so the printed numbers are settings. The
shape of the tail is not: it follows from the log-normal distribution.
"""

from __future__ import annotations

import numpy as np

from headway.claims import Seen, Statement, between
from headway.figures import Curve, curves
from headway.figures.style import GREY, LIGHT, Style
from headway.models.distributions import LogNormal, TruncatedPareto
from headway.publish import Figures
from headway.studies.trace_mix.observe import LARGE_BYTES, SIZES_BYTES, Mix
from headway.workloads import SessionTable, published
from headway.workloads.draws import Floats, Ints

_POINTS = 300
_RESPONSES = Style("#0072B2", "o")
_REQUESTS = Style("#D55E00", "s")


def _mean_response(found: Mix) -> Seen:
    return between(float(found.drawn.response_bytes.mean()) / 1e3, 11.2, 16.8, unit="kB")


def _mean_request(found: Mix) -> Seen:
    return between(float(found.drawn.request_bytes.mean()) / 1e3, 0.7, 1.3, unit="kB")


TAIL_PART = 0.02
"""Of the responses, the largest: what a Pareto tail is fitted to."""


def tail_fit(table: SessionTable) -> TruncatedPareto:
    """The largest responses as a truncated Pareto; its shape is of maximum likelihood."""
    sizes = table.response_bytes.astype(np.float64)
    low = float(np.quantile(sizes, 1 - TAIL_PART))
    high = max(float(published.CUTOFF_BYTES), float(sizes.max()))
    logs = np.log(sizes[sizes >= low] / low)
    span = np.log(high / low)
    shapes = np.linspace(0.1, 4.0, 3901)
    likelihood = np.log(shapes / -np.expm1(-shapes * span)) - shapes * logs.mean()
    return TruncatedPareto(low, float(shapes[int(np.argmax(likelihood))]), high)


def _tail_shape(found: Mix) -> Seen:
    return between(
        tail_fit(found.drawn).shape,
        0.9,
        1.3,
        note="Of the largest 2 %; the log-normal is fitted to the mean and the part above 3 MSS.",
    )


def _arrivals(found: Mix) -> Seen:
    gaps = np.sort(np.diff(found.drawn.start_us))
    steps = np.arange(1, gaps.size + 1) / gaps.size
    distance = float(np.abs(1 - np.exp(-gaps / gaps.mean()) - steps).max())
    return between(distance, 0.0, 0.05, note="Kolmogorov-Smirnov distance to the exponential.")


def _above_window(found: Mix) -> Seen:
    table = found.drawn
    window = published.INITIAL_WINDOW_BYTES
    asked = 100 * float((table.request_bytes > window).mean())
    given = 100 * float((table.response_bytes > window).mean())
    return Seen(
        f"{asked:.1f} % of requests, {given:.1f} % of responses",
        abs(given - 25) <= 5 and abs(asked - 1) <= 1,
        "±5 percentage points of responses, ±1 of requests",
    )


def _small(found: Mix) -> Seen:
    return between(100 * _below(found.drawn), 50, 100, unit="%")


STATEMENTS: tuple[Statement[Mix], ...] = (
    Statement("C-TH-002", "mean response of the campus traces", "14 kB", _mean_response, "setting"),
    Statement("C-TH-003", "mean request of the campus traces", "1 kB", _mean_request, "setting"),
    Statement("C-TH-004", "shape of the responses' tail", 1.1, _tail_shape, "model"),
    Statement(
        "C-TH-005", "times between connection vectors", "almost exponential", _arrivals, "setting"
    ),
    Statement(
        "C-TH-006",
        "larger than the initial window",
        "1 % of requests, 25 % of responses",
        _above_window,
        "setting",
    ),
    Statement("C-TH-185", "part of transfers below 10 kB", "most", _small, "setting"),
)


def workload_figures(table: SessionTable) -> Figures:
    """Sizes, times between vectors, and how many responses there are of each size."""
    return {
        "figure-3-14": (
            "Figure 3.14",
            "Part of the requests and responses that are larger; the responses' log-normal, and a "
            "truncated Pareto tail from the largest 2 % on.",
            curves(
                [("", [*_sizes(table), *_fits(table)])],
                x_label="size (bytes)",
                y_label="part",
                x_scale="log",
                y_scale="log",
            ),
        ),
        "figure-3-15": (
            "Figure 3.15",
            "Part of the times between connection vectors that are longer, and the exponential "
            "distribution of the same mean.",
            curves(
                [("", _gaps(table))],
                x_label="time between vectors (s)",
                y_label="part",
                y_scale="log",
            ),
        ),
        "figure-6-52-below": (
            "Figures 6.52 and 6.53, below",
            f"Part of the responses by size; {100 * _below(table):.0f} % have less than 10 kB.",
            curves(
                [("", [_histogram(table)])],
                x_label="response (bytes)",
                y_label="part of responses",
                x_scale="log",
            ),
        ),
    }


def _exceeded(values: Floats | Ints, label: str, style: Style) -> Curve:
    """P(Z > z) of positive values."""
    ordered = np.sort(values[values > 0].astype(np.float64))
    at = np.unique(np.geomspace(1, max(ordered.size, 1), _POINTS).astype(np.int64))
    return Curve(label, ordered[-at], at / values.size, style)


def _sizes(table: SessionTable) -> list[Curve]:
    return [
        _exceeded(table.response_bytes, "responses", _RESPONSES),
        _exceeded(table.request_bytes, "requests", _REQUESTS),
    ]


def _fits(table: SessionTable) -> list[Curve]:
    sizes = table.response_bytes[table.response_bytes > 0].astype(np.float64)
    logs = np.log(sizes)
    body, tail = LogNormal(float(logs.mean()), float(logs.std())), tail_fit(table)
    z = np.geomspace(sizes.min(), sizes.max(), _POINTS)
    z_tail = np.geomspace(tail.smallest, tail.largest * 0.99, _POINTS)
    return [
        Curve("log-normal", z, _survival(body.cdf(z)), Style(GREY, ".", (0, (3, 2)))),
        Curve(
            f"truncated Pareto, {tail.shape:.2f}",
            z_tail,
            TAIL_PART * _survival(tail.cdf(z_tail)),
            Style(LIGHT, ".", "-"),
        ),
    ]


def _survival(cdf: Floats) -> Floats:
    """1 - F, and NaN where nothing is left, which a logarithmic axis cannot show."""
    left = 1 - cdf
    return np.where(left > 0, left, np.nan)


def _gaps(table: SessionTable) -> list[Curve]:
    gaps_s = np.diff(table.start_us) / 1e6
    t = np.linspace(0, gaps_s.max(), _POINTS)
    return [
        _exceeded(gaps_s, "connection vectors", _RESPONSES),
        Curve("exponential", t, np.exp(-t / gaps_s.mean()), Style(GREY, ".", (0, (3, 2)))),
    ]


def _below(table: SessionTable) -> float:
    return float((table.response_bytes < LARGE_BYTES).mean())


def _histogram(table: SessionTable) -> Curve:
    counts, _ = np.histogram(table.response_bytes, bins=SIZES_BYTES)
    middle = np.sqrt(SIZES_BYTES[:-1] * SIZES_BYTES[1:])
    return Curve("responses", middle, counts / table.response_bytes.size, _RESPONSES, markers=True)
