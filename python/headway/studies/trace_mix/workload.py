"""Properties of the connection vectors: C-TH-002 to 006 and 185, figures 3.14 and 3.15.

The vectors come from another recording than the thesis' vectors. The numbers that the thesis
prints show how close the two recordings are. All recorded connections are measured, not those that
a trial happens to draw.
"""

from __future__ import annotations

import numpy as np

from headway.claims import Seen, Statement
from headway.claims.words import about, is_so, quantity, within
from headway.figures import Curve, curves
from headway.figures.style import GREY, LIGHT, Style
from headway.models.distributions import LogNormal
from headway.publish import Figures
from headway.studies.trace_mix.observe import LARGE_BYTES, SIZES_BYTES, Mix
from headway.workloads import SessionTable
from headway.workloads.distribution import TAIL_PART, distribution, tail_fit
from headway.workloads.draws import Floats, Ints

_POINTS = 300
_RESPONSES = Style("#0072B2", "o")
_REQUESTS = Style("#D55E00", "s")


def _mean_response(found: Mix) -> Seen:
    value = distribution(found.drawn).mean_response_bytes / 1e3
    return Seen.by(value, about(value, 14), unit="kB")


def _mean_request(found: Mix) -> Seen:
    value = distribution(found.drawn).mean_request_bytes / 1e3
    return Seen.by(value, quantity(value, 1, 0.3), unit="kB")


def _tail_shape(found: Mix) -> Seen:
    one = distribution(found.drawn)
    low, high = one.other_tail_shapes
    return Seen.by(
        one.tail_shape,
        within(one.tail_shape, 0.9, 1.3),
        note="Fitted to the largest 2 % of the responses. The largest 1 % give "
        f"{low:.2f}, the largest 5 % {high:.2f}.",
    )


def _arrivals(found: Mix) -> Seen:
    distance = distribution(found.drawn).spacing
    return Seen.by(
        distance,
        within(distance, 0.0, 0.05),
        note="Kolmogorov-Smirnov distance to the exponential distribution.",
    )


def _above_window(found: Mix) -> Seen:
    one = distribution(found.drawn)
    asked, given = 100 * one.requests_above_window, 100 * one.responses_above_window
    return Seen.by(
        f"{asked:.1f} % of requests, {given:.1f} % of responses",
        within(given, 20, 30, "responses ±5 percentage points"),
        within(asked, 0, 2, "requests ±1"),
    )


def _small(found: Mix) -> Seen:
    value = 100 * _below(found.drawn)
    return Seen.by(value, is_so(value > 50, "> 50 %"), unit="%")


STATEMENTS: tuple[Statement[Mix], ...] = (
    Statement(
        "C-TH-002", "mean response of the campus traces", "about 14 kB", _mean_response, "setting"
    ),
    Statement(
        "C-TH-003",
        "mean request of the campus traces",
        "1 kB",
        _mean_request,
        "setting",
        ours="With the uploads above 1 MB the mean of the recording is 15.25 kB.",
    ),
    Statement("C-TH-004", "shape of the responses' tail", 1.1, _tail_shape, "model"),
    Statement(
        "C-TH-005", "times between connection vectors", "almost exponential", _arrivals, "setting"
    ),
    Statement(
        "C-TH-006",
        "messages above the initial window of three segments",
        "1 % of requests, 25 % of responses",
        _above_window,
        "setting",
        ours="The recording is two years older than the thesis' and has 1004 connections.",
    ),
    Statement("C-TH-185", "part of transfers below 10 kB", "the majority", _small, "setting"),
)


def workload_figures(table: SessionTable) -> Figures:
    """Message sizes, times between vectors, and the distribution of response sizes."""
    return {
        "figure-3-14": (
            "Figure 3.14",
            "Complementary distributions of request and response sizes, with a log-normal "
            "distribution and a truncated Pareto tail (largest 2 %) fitted to the responses.",
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
            "Complementary distribution of the times between connection vectors, and the "
            "exponential distribution with the same mean.",
            curves(
                [("", _gaps(table))],
                x_label="time between vectors (s)",
                y_label="part",
                y_scale="log",
            ),
        ),
        "figure-6-52-below": (
            "Figures 6.52 and 6.53, below",
            f"Distribution of response sizes; {100 * _below(table):.0f} % are below 10 kB.",
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
    """1 - F, and NaN instead of 0, which a logarithmic axis cannot show."""
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
    """The part of the responses below 10 kB."""
    return float((table.response_bytes[table.response_bytes > 0] < LARGE_BYTES).mean())


def _histogram(table: SessionTable) -> Curve:
    counts, _ = np.histogram(table.response_bytes, bins=SIZES_BYTES)
    middle = np.sqrt(SIZES_BYTES[:-1] * SIZES_BYTES[1:])
    return Curve(
        "responses", middle, counts / (table.response_bytes > 0).sum(), _RESPONSES, markers=True
    )
