"""Statistics of connection vectors, for comparison with those that the thesis prints.

A message of no bytes is not sent, so it counts as neither a request nor a response.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from headway.models.distributions import TruncatedPareto
from headway.table import Table
from headway.workloads import published, recorded
from headway.workloads.campus import campus_model
from headway.workloads.draws import Ints
from headway.workloads.session_table import SessionTable
from headway.workloads.workload import LARGEST_REQUEST_BYTES

TAIL_PART = 0.02
"""The share of the largest responses that a Pareto tail is fitted to."""
SMALL_BYTES = 10_000
"""Most transfers are smaller than this (section 6.4.5.2)."""
ELEPHANT_BYTES = 100_000


def tail_fit(table: SessionTable, part: float = TAIL_PART) -> TruncatedPareto:
    """Fit a truncated Pareto to the largest ``part`` of the responses, by maximum likelihood."""
    sizes = table.response_bytes.astype(np.float64)
    low = float(np.quantile(sizes, 1 - part))
    high = max(float(published.CUTOFF_BYTES), float(sizes.max()))
    logs = np.log(sizes[sizes >= low] / low)
    span = np.log(high / low)
    shapes = np.linspace(0.1, 4.0, 3901)
    likelihood = np.log(shapes / -np.expm1(-shapes * span)) - shapes * logs.mean()
    return TruncatedPareto(low, float(shapes[int(np.argmax(likelihood))]), high)


def distance_to_exponential(start_us: Ints) -> float:
    """Kolmogorov-Smirnov distance of the times between starts to the exponential distribution."""
    gaps = np.sort(np.diff(start_us))
    if gaps.size == 0 or not gaps[-1]:
        return math.nan
    steps = np.arange(1, gaps.size + 1) / gaps.size
    return float(np.abs(1 - np.exp(-gaps / gaps.mean()) - steps).max())


@dataclass(frozen=True)
class Distribution:
    """Statistics of connection vectors; shares are 0 to 1."""

    connections: int
    exchanges: float
    """Mean per connection."""
    mean_response_bytes: float
    median_response_bytes: float
    mean_request_bytes: float
    responses_above_window: float
    requests_above_window: float
    small_responses: float
    tail_shape: float
    other_tail_shapes: tuple[float, float]
    """Fitted to the largest 1 % and 5 %, to show how much the shape depends on the share."""
    spacing: float
    """``distance_to_exponential``; NaN if all start at once."""
    elephants: float
    """Share of the responses' bytes in responses above 100 kB."""


def distribution(table: SessionTable) -> Distribution:
    """Measure connection vectors with at least one request and one response."""
    responses = table.response_bytes[table.response_bytes > 0]
    requests = table.request_bytes[table.request_bytes > 0]
    window = published.INITIAL_WINDOW_BYTES
    return Distribution(
        connections=len(table),
        exchanges=float(table.exchanges.mean()),
        mean_response_bytes=float(responses.mean()),
        median_response_bytes=float(np.median(responses)),
        mean_request_bytes=float(requests.mean()) if requests.size else math.nan,
        responses_above_window=float((responses > window).mean()),
        requests_above_window=float((requests > window).mean()) if requests.size else 0.0,
        small_responses=float((responses < SMALL_BYTES).mean()),
        tail_shape=tail_fit(table).shape,
        other_tail_shapes=(tail_fit(table, 0.01).shape, tail_fit(table, 0.05).shape),
        spacing=distance_to_exponential(table.start_us),
        elephants=float(responses[responses > ELEPHANT_BYTES].sum() / responses.sum()),
    )


def compared_with_thesis(tables: Mapping[str, SessionTable]) -> Table:
    """A table of connection vectors, one column each, and of the thesis' values."""
    found = [distribution(table) for table in tables.values()]
    rows: list[tuple[str, str, list[str]]] = [
        (
            "mean response",
            "about 14 kB",
            [f"{one.mean_response_bytes / 1e3:.1f} kB" for one in found],
        ),
        ("mean request", "1 kB", [f"{one.mean_request_bytes / 1e3:.2f} kB" for one in found]),
        (
            "responses above the initial window of 3 MSS",
            "25 %",
            [f"{100 * one.responses_above_window:.1f} %" for one in found],
        ),
        (
            "requests above the initial window of 3 MSS",
            "1 %",
            [f"{100 * one.requests_above_window:.1f} %" for one in found],
        ),
        (
            "shape of the responses' tail: largest 2 %",
            "1.1",
            [f"{one.tail_shape:.3f}" for one in found],
        ),
        (
            "the same: largest 1 %, largest 5 %",
            "–",
            [f"{low:.2f}, {high:.2f}" for low, high in (one.other_tail_shapes for one in found)],
        ),
        (
            "times between connections: distance to the exponential",
            "almost exponential",
            ["–" if math.isnan(one.spacing) else f"{one.spacing:.3f}" for one in found],
        ),
        (
            "responses below 10 kB",
            "the majority",
            [f"{100 * one.small_responses:.0f} %" for one in found],
        ),
        ("median response", "–", [f"{one.median_response_bytes:.0f} B" for one in found]),
        ("exchanges per connection, mean", "–", [f"{one.exchanges:.2f}" for one in found]),
        (
            "bytes in responses above 100 kB",
            "–",
            [f"{100 * one.elephants:.0f} %" for one in found],
        ),
        ("connections", "–", [f"{one.connections}" for one in found]),
    ]
    return Table(
        "The connection vectors compared with those of the thesis",
        ["quantity", "thesis", *tables],
        [[name, printed, *values] for name, printed, values in rows],
    )


def recorded_compared_with_thesis() -> Table:
    """The table for recorded vectors with and without uploads, and drawn ones.

    Raises HeadwayError if a data file is unreadable.
    """
    return compared_with_thesis(
        {
            "recorded": recorded.table(LARGEST_REQUEST_BYTES),
            "with uploads": recorded.table(None),
            "drawn": campus_model().draw(100_000, "distribution"),
        }
    )
