"""What the connection vectors of trace-mix are like: figures 3.14 and 3.15 of the thesis."""

from __future__ import annotations

import numpy as np

from headway.figures import Curve, curves
from headway.figures.style import GREY, LIGHT, Style
from headway.models.distributions import LogNormal
from headway.studies._trace_mix_claims import LARGE, SIZES, TAIL_PART, tail_fit
from headway.studies.common.legacy_page import Figures
from headway.workloads import SessionTable
from headway.workloads.draws import Floats, Ints

_POINTS = 300
_RESPONSES = Style("#0072B2", "o")
_REQUESTS = Style("#D55E00", "s")


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
    return float((table.response_bytes < LARGE).mean())


def _histogram(table: SessionTable) -> Curve:
    counts, _ = np.histogram(table.response_bytes, bins=SIZES)
    middle = np.sqrt(np.array(SIZES[:-1]) * np.array(SIZES[1:]))
    return Curve("responses", middle, counts / table.response_bytes.size, _RESPONSES, markers=True)
