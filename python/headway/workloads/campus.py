"""A model of the recorded connection vectors, which draws any number of connections.

The number of exchanges of a connection is drawn from the recorded numbers. Each exchange has
four quantities: request, response, the server's delay, and the think time before the next one. A
quantity's normal score is

    x = slope * s + c + e

with s the normal score of the connection's number of exchanges, c the same for all exchanges of a
connection and e drawn for each exchange. c and e are normal with the covariances ``between`` and
``within``. So a small message is likely to follow a small one, and to be in a long connection.
Recorded quantiles, log-linear in between, convert scores to values, so that each quantity alone has
the recorded distribution. Scores below the one of the share of zeros give 0.

Without a request the server answers at once. An exchange with neither a request nor a response gets
a response of one byte. A connection closes after its last exchange; recorded ones may be idle for
minutes before.

``campus_fit`` fits the parameters, which are in ``data/campus-model.json``.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy import special

from headway.errors import HeadwayError
from headway.workloads.draws import Floats, Ints, Stream
from headway.workloads.session_table import SessionTable

FILE = Path(__file__).parent / "data" / "campus-model.json"
QUANTITIES = ("request_bytes", "response_bytes", "serve_us", "think_us")
_SCORES = np.linspace(-8.0, 8.0, 3201)


@dataclass(frozen=True)
class Marginal:
    """The distribution of one quantity, as a function of normal scores.

    It is 0 below a score, and log-linear between the knots above that score.
    """

    zero_part: float
    scores: Floats
    """Normal scores of the knots, rising."""
    values: Floats
    """Values at the knots, above 0."""

    def value(self, score: Floats) -> Floats:
        """Values at normal scores; above the last knot the value of that knot."""
        above = np.exp(np.interp(score, self.scores, np.log(self.values)))
        zero = special.ndtri(self.zero_part) if self.zero_part else -np.inf
        return np.where(score < zero, 0.0, above)


@dataclass(frozen=True)
class Model:
    """All parameters; see the module."""

    exchanges: Ints
    """The numbers of exchanges that a connection may have, rising."""
    parts: Floats
    """The share of connections with each number in ``exchanges``."""
    slopes: Floats
    between: Floats
    within: Floats
    marginals: Mapping[str, Marginal]

    @functools.cached_property
    def count_scores(self) -> Floats:
        """The normal score of each number of exchanges, at the middle of its cumulative share."""
        return np.asarray(special.ndtri(np.cumsum(self.parts) - self.parts / 2))

    def _to_normal(self, at: int) -> Floats:
        """The normal score of x among all exchanges, for x at each of ``_SCORES``.

        The mean of x depends on the connection's number of exchanges, so its distribution is a
        mixture of normal distributions.
        """
        # weight by the number of values: a connection has one think time less than it has exchanges
        weights = self.parts * (self.exchanges - (at == QUANTITIES.index("think_us")))
        sigma = np.sqrt(self.between[at, at] + self.within[at, at])
        means = self.slopes[at] * self.count_scores
        cdf = sum(
            weight * special.ndtr((_SCORES - mean) / sigma)
            for weight, mean in zip(weights / weights.sum(), means, strict=True)
        )
        return np.asarray(special.ndtri(np.clip(cdf, 1e-15, 1 - 1e-15)))

    def draw(self, connections: int, name: str) -> SessionTable:
        """Draw connections that all start at time 0, from random streams called ``name``."""
        return self.drawer(name)(connections)

    def drawer(self, name: str) -> Drawer:
        """A function that draws connections; each call continues the random streams."""
        return Drawer(self, name)


class Drawer:
    """Draws connections of a model from named random streams."""

    def __init__(self, model: Model, name: str) -> None:
        self._model = model
        self._counts = Stream(f"{name}/exchanges")
        self._connections = [Stream(f"{name}/{each}/connection") for each in QUANTITIES]
        self._exchanges = [Stream(f"{name}/{each}/exchange") for each in QUANTITIES]
        self._normal = [model._to_normal(at) for at in range(len(QUANTITIES))]
        self._between = _factor(model.between)
        self._within = _factor(model.within)

    def __call__(self, connections: int) -> SessionTable:
        """Draw further connections, which all start at time 0."""
        model = self._model
        chosen = np.searchsorted(np.cumsum(model.parts)[:-1], self._counts.uniform(connections))
        counts = model.exchanges[chosen]
        total = int(counts.sum())
        c = _mixed(self._between, self._connections, connections)
        e = _mixed(self._within, self._exchanges, total)
        drawn: dict[str, Ints] = {}
        for at, name in enumerate(QUANTITIES):
            own = model.slopes[at] * model.count_scores[chosen] + c[at]
            score = np.interp(np.repeat(own, counts) + e[at], _SCORES, self._normal[at])
            drawn[name] = np.rint(model.marginals[name].value(score)).astype(np.int64)
        request, response = drawn["request_bytes"], drawn["response_bytes"]
        response[(request == 0) & (response == 0)] = 1
        drawn["serve_us"][(request == 0) | (response == 0)] = 0
        drawn["think_us"][np.cumsum(counts) - 1] = 0
        return SessionTable(np.zeros(connections, dtype=np.int64), counts, **drawn)


def _factor(covariance: Floats) -> Floats:
    return np.asarray(np.linalg.cholesky(covariance), dtype=np.float64)


def _mixed(factor: Floats, streams: Sequence[Stream], count: int) -> list[Floats]:
    """Normally distributed numbers with covariance factor @ factor.T, one row per stream."""
    plain = [special.ndtri(stream.uniform(count)) for stream in streams]
    return [
        np.asarray(sum(factor[i, j] * plain[j] for j in range(i + 1))) for i in range(len(streams))
    ]


@functools.cache
def campus_model() -> Model:
    """The model that is part of the package. Raises HeadwayError if its file is unreadable."""
    try:
        return model_of(json.loads(FILE.read_text(encoding="utf-8")))
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise HeadwayError(f"{FILE}: unreadable ({error}); install Headway again") from None


def model_of(written: Mapping[str, Any]) -> Model:
    """A model from its parameters. Raises KeyError, TypeError or ValueError if one is wrong."""
    exchanges, connections = (np.array(row, dtype=np.int64) for row in written["exchanges"])
    return Model(
        exchanges,
        connections / connections.sum(),
        np.array(written["slopes"], dtype=np.float64),
        np.array(written["between"], dtype=np.float64),
        np.array(written["within"], dtype=np.float64),
        {
            name: Marginal(
                float(one["zero_part"]),
                special.ndtri(np.array([at for at, _ in one["quantiles"]], dtype=np.float64)),
                np.array([value for _, value in one["quantiles"]], dtype=np.float64),
            )
            for name, one in written["marginals"].items()
        },
    )
