"""Fit the model of ``campus`` to the recorded connection vectors.

    python -m headway.workloads.campus_fit

writes ``data/campus-model.json``. The numbers of exchanges and the quantiles are taken from the
recording. ``slopes``, ``between`` and ``within`` are fitted so that connections drawn from the
model have the recording's ``moments``: correlations of normal scores within an exchange, between
adjacent exchanges of a connection, and with the number of exchanges. Each step adds the
difference between the wanted moments and those of 40,000 drawn connections to the parameters. Only
exchanges with a request and a response have a server's delay, so the quantiles of the delay are
then moved to those of such exchanges. The same recording gives the same parameters.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import special, stats

from headway.files import save_text
from headway.workloads import recorded
from headway.workloads.campus import FILE, QUANTITIES, model_of
from headway.workloads.draws import Floats
from headway.workloads.session_table import SessionTable
from headway.workloads.workload import LARGEST_REQUEST_BYTES

Flags = npt.NDArray[np.bool_]

QUANTILES = (
    *(0.002, 0.005, 0.01, 0.02, 0.03, 0.05, 0.075, *np.arange(0.1, 0.901, 0.025).round(4)),
    *(0.925, 0.95, 0.96, 0.97, 0.98, 0.985, 0.99, 0.995, 0.998, 0.999),
)
STEPS = 30
CONNECTIONS = 40_000
_LEAST_EIGENVALUE = 0.02


@dataclass(frozen=True)
class Moments:
    """Correlations of normal scores, in the order of ``QUANTITIES``."""

    within: Floats
    """Correlations between quantities of the same exchange."""
    adjacent: Floats
    """Correlations between quantities of an exchange and of the next exchange on the connection.
    For two different quantities a and b, the mean of (a, then b) and (b, then a)."""
    count: Floats
    """Correlations with the connection's number of exchanges."""


def present(table: SessionTable) -> dict[str, Flags]:
    """The exchanges in which each quantity exists.

    A server has a delay if it got a request and responds; a client thinks only before another
    exchange.
    """
    every = np.ones(table.request_bytes.size, dtype=bool)
    answered = (table.request_bytes > 0) & (table.response_bytes > 0)
    before_next = every.copy()
    before_next[table.ends - 1] = False
    return dict(zip(QUANTITIES, (every, every, answered, before_next), strict=True))


def moments(table: SessionTable) -> Moments:
    """Measure the moments of connection vectors."""
    flags = present(table)
    scores = [_scores(getattr(table, name), flags[name]) for name in QUANTITIES]
    owner = np.repeat(np.arange(len(table)), table.exchanges)
    first = np.flatnonzero(owner[1:] == owner[:-1])
    count = np.repeat(_scores(table.exchanges, np.ones(len(table), dtype=bool)), table.exchanges)
    size = range(len(QUANTITIES))
    lagged = np.array(
        [[_correlation(scores[i][first], scores[j][first + 1]) for j in size] for i in size]
    )
    return Moments(
        np.array([[_correlation(scores[i], scores[j]) for j in size] for i in size]),
        (lagged + lagged.T) / 2,
        np.array([_correlation(scores[i], count) for i in size]),
    )


def _scores(values: npt.NDArray[Any], flags: Flags) -> Floats:
    """Normal scores of the values with a flag, NaN for the others. Equal values get one score."""
    scores = np.full(values.size, np.nan)
    ranks = stats.rankdata(values[flags])
    scores[flags] = special.ndtri((ranks - 0.5) / ranks.size)
    return scores


def _correlation(one: Floats, other: Floats) -> float:
    both = ~np.isnan(one) & ~np.isnan(other)
    return float(np.corrcoef(one[both], other[both])[0, 1])


def fitted(table: SessionTable) -> dict[str, Any]:
    """Fit the model to connection vectors; returns the parameters in the file's format."""
    flags = present(table)
    counts, connections = np.unique(table.exchanges, return_counts=True)
    written: dict[str, Any] = {
        "exchanges": [counts.tolist(), connections.tolist()],
        "marginals": {
            name: _marginal(getattr(table, name)[flags[name]].astype(np.float64))
            for name in QUANTITIES
        },
    }
    wanted = moments(table)
    slopes = np.zeros(len(QUANTITIES))
    between, within = wanted.adjacent.copy(), wanted.within - wanted.adjacent
    for _ in range(STEPS):
        between, within = _positive(between), _positive(within)
        scale = np.sqrt(np.diag(between) + np.diag(within))
        slopes, between = slopes / scale, between / np.outer(scale, scale)
        within /= np.outer(scale, scale)
        written.update(
            slopes=slopes.round(4).tolist(),
            between=between.round(4).tolist(),
            within=within.round(4).tolist(),
        )
        found = moments(model_of(written).draw(CONNECTIONS, "campus fit"))
        slopes = slopes + 0.5 * (wanted.count - found.count)
        between = between + 0.5 * (wanted.adjacent - found.adjacent)
        lack = (wanted.within - found.within) - (wanted.adjacent - found.adjacent)
        within = within + 0.5 * lack
    _place_delays(written)
    return written


def _place_delays(written: dict[str, Any]) -> None:
    """Move the quantiles of the servers' delays, so that drawn delays have the recorded quantiles.

    Only exchanges with a request and a response have a delay, and the delay is correlated with the
    request's size. Therefore the delays of these exchanges are not distributed like all exchanges'.
    """
    model = model_of(written)
    own = model.marginals["serve_us"]
    drawn = model.draw(CONNECTIONS, "campus fit")
    delays = drawn.serve_us[present(drawn)["serve_us"]]
    knots = written["marginals"]["serve_us"]["quantiles"]
    reached = np.quantile(delays, [at for at, _ in knots])
    levels = special.ndtr(np.interp(np.log(reached), np.log(own.values), own.scores))
    levels = np.maximum.accumulate(levels.round(6))
    written["marginals"]["serve_us"]["quantiles"] = [
        [float(level), value] for level, (_, value) in zip(levels, knots, strict=True)
    ]


def _marginal(values: Floats) -> dict[str, Any]:
    """A distribution in the file's format: the share of zeros, and quantiles of larger values."""
    zero_part = float((values == 0).mean())
    ends = [at for at in QUANTILES if at > zero_part + 0.002]
    lowest = float(values[values > 0].min())
    knots = [(round(max(zero_part, 0.5 / values.size), 5), lowest)]
    knots += [(float(at), float(np.quantile(values, at))) for at in ends]
    # keep the largest three values exactly: they are a third of all responses' bytes
    for place, value in zip((2.5, 1.5, 0.5), np.sort(values)[-3:], strict=True):
        knots.append((round(1 - place / values.size, 6), float(value)))
    return {
        "zero_part": round(zero_part, 5),
        "quantiles": [[at, round(max(value, lowest), 1)] for at, value in knots],
    }


def _positive(matrix: Floats) -> Floats:
    """The symmetric part of a matrix, with small eigenvalues raised to a minimum."""
    values, vectors = np.linalg.eigh((matrix + matrix.T) / 2)
    return np.asarray((vectors * np.maximum(values, _LEAST_EIGENVALUE)) @ vectors.T)


def text_of(written: dict[str, Any]) -> str:
    """The text of the model's file, one line per parameter."""
    lines = [
        f' "{name}": {json.dumps(written[name])}' for name in sorted(written) if name != "marginals"
    ]
    marginals = [f'  "{name}": {json.dumps(one)}' for name, one in written["marginals"].items()]
    lines.append(' "marginals": {\n' + ",\n".join(marginals) + "\n }")
    return "{\n" + ",\n".join(lines) + "\n}\n"


def main() -> None:
    """Fit the model to the recorded connections without uploads above 1 MB."""
    save_text(FILE, text_of(fitted(recorded.table(LARGEST_REQUEST_BYTES))))


if __name__ == "__main__":
    main()
