"""Sizes and times of published workloads, as distributions.

Numbers are those of Scharf (2011), "Fast Startup Internet Congestion Control for Broadband
Interactive Applications", unless a line says otherwise. What the thesis does not print had to be
chosen; each choice is named as one.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import optimize, special

from headway.models.distributions import LogNormal, TruncatedPareto, truncated_pareto_of_mean
from headway.workloads import workload
from headway.workloads.draws import Floats

CUTOFF_BYTES = workload.LARGEST_RESPONSE_BYTES
MEAN_RESPONSE_BYTES = workload.MEAN_RESPONSE_BYTES

TAIL_SHAPE = 1.1
"""alpha of the tail, fitted to campus traces of 2008 (section 3.3.3.2)."""

LARGER_MEAN_RESPONSE_BYTES = 114_000
"""Of the workload with more mid-sized transfers (section 6.4.3.1)."""

MEAN_REQUEST_BYTES = 1_000
"""Of the campus traces (section 3.3.3.2)."""

INITIAL_WINDOW_BYTES = 3 * 1448
"""The window that 25 % of the responses and 1 % of the requests exceed (section 4.3.2.2)."""
RESPONSES_ABOVE, REQUESTS_ABOVE = 0.25, 0.01

EXCHANGES_PER_CONNECTION = 3.0
"""Mean of a geometric distribution. A choice: the thesis prints one example vector, of three."""

THINK_MEDIAN_S, THINK_SIGMA = 0.6, 1.5
"""Log-normal think times. A choice: the example vector's are 0.12 s and 3.12 s."""

LONGEST_THINK_S = 30.0
"""A choice: connections of the campus trace that idle longer are rare and would only idle."""

SERVE_SHAPE, SERVE_RATE_HZ, LONGEST_SERVE_S = 0.63, 305.0, 0.1
"""Server delays: their inverses are Weibull distributed, and no delay is longer. A choice: the
thesis prints none. These are PackMime-HTTP's (Cao, Cleveland, Gao, Jeffay, Smith, Weigle, INFOCOM
2004; as its authors draw them in ns-2), of Web traffic and partly from the campus whose traces the
thesis replays."""


@dataclass(frozen=True)
class CutOff:
    """A log-normal distribution without what lies above ``largest``, which is not drawn."""

    whole: LogNormal
    largest: float

    @property
    def _kept(self) -> float:
        return float(self.whole.cdf(self.largest))

    @property
    def mean(self) -> float:
        """Mean of what is left."""
        z = (math.log(self.largest) - self.whole.mu) / self.whole.sigma
        return float(self.whole.mean * special.ndtr(z - self.whole.sigma) / self._kept)

    def cdf(self, z: npt.ArrayLike) -> Floats:
        """P(Z <= z), shape of ``z``."""
        return np.minimum(self.whole.cdf(z) / self._kept, 1.0)

    def quantile(self, q: npt.ArrayLike) -> Floats:
        """The value that is exceeded with probability 1 - q, shape of ``q``."""
        return self.whole.quantile(np.asarray(q, dtype=np.float64) * self._kept)


@dataclass(frozen=True)
class InverseWeibull:
    """1/W of a Weibull variable W, but at most ``largest``; ``scale`` is W's, in 1/unit."""

    shape: float
    scale: float
    largest: float

    def cdf(self, z: npt.ArrayLike) -> Floats:
        """P(Z <= z), shape of ``z``; 0 at or below 0, 1 from ``largest`` on."""
        values = np.asarray(z, dtype=np.float64)
        safe = np.where(values > 0, values, 1.0)
        share = np.exp(-((safe * self.scale) ** -self.shape))
        return np.where(values >= self.largest, 1.0, np.where(values > 0, share, 0.0))

    def quantile(self, q: npt.ArrayLike) -> Floats:
        """The value that is exceeded with probability 1 - q, shape of ``q``."""
        with np.errstate(divide="ignore"):
            values = (-np.log(np.asarray(q, dtype=np.float64))) ** (-1 / self.shape) / self.scale
        return np.minimum(values, self.largest)


def fitted(mean: float, *, threshold: float, above: float, largest: float) -> CutOff:
    """The log-normal, cut off at ``largest``, of this mean and with P(Z > threshold) = ``above``.

    Of the two that there may be, the narrower. Raises ValueError if there is none.
    """

    def with_sigma(sigma: float) -> CutOff:
        # mu from the threshold, with the cut-off's share found by repetition: it is near 1.
        kept = 1.0
        for _ in range(20):
            mu = math.log(threshold) - sigma * float(special.ndtri((1 - above) * kept))
            kept = float(LogNormal(mu, sigma).cdf(largest))
        return CutOff(LogNormal(mu, sigma), largest)

    def excess(sigma: float) -> float:
        return with_sigma(sigma).mean - mean

    grid = np.linspace(0.05, 4.0, 159)
    signs = np.sign([excess(float(sigma)) for sigma in grid])
    changes = np.nonzero(signs[:-1] * signs[1:] < 0)[0]
    if changes.size == 0:
        raise ValueError(f"no log-normal has mean {mean!r} and P(> {threshold!r}) = {above!r}")
    low = int(changes[0])
    sigma = optimize.brentq(excess, float(grid[low]), float(grid[low + 1]), xtol=1e-13)
    return with_sigma(float(sigma))


@functools.cache
def campus_responses() -> CutOff:
    """Response sizes of the campus traces, bytes: log-normal, mean 14 kB (section 3.3.3.2).

    Mean and P(Z > 3 MSS) fix it. Its largest 2 % are then like a truncated Pareto tail with the
    shape of 1.1 that the thesis fits to them: 1.11 by maximum likelihood.
    """
    return fitted(
        MEAN_RESPONSE_BYTES,
        threshold=INITIAL_WINDOW_BYTES,
        above=RESPONSES_ABOVE,
        largest=CUTOFF_BYTES,
    )


@functools.cache
def campus_requests() -> CutOff:
    """Request sizes of the campus traces, bytes: a mean of 1 kB; the shape is a choice."""
    return fitted(
        MEAN_REQUEST_BYTES,
        threshold=INITIAL_WINDOW_BYTES,
        above=REQUESTS_ABOVE,
        largest=CUTOFF_BYTES,
    )


@functools.cache
def campus_think_us() -> CutOff:
    """Think times, microseconds; a choice, see ``THINK_MEDIAN_S``."""
    return CutOff(LogNormal(math.log(THINK_MEDIAN_S * 1e6), THINK_SIGMA), LONGEST_THINK_S * 1e6)


@functools.cache
def campus_serve_us() -> InverseWeibull:
    """Delays between request and response at the server, microseconds; a choice."""
    return InverseWeibull(SERVE_SHAPE, SERVE_RATE_HZ / 1e6, LONGEST_SERVE_S * 1e6)


@functools.lru_cache
def synthetic_responses(mean_bytes: float) -> TruncatedPareto:
    """Response sizes of sections 6.4.3 and 6.5.2, bytes: truncated Pareto, cut off at 10 MB."""
    return truncated_pareto_of_mean(mean_bytes, shape=TAIL_SHAPE, largest=CUTOFF_BYTES)
