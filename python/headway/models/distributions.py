"""Distribution functions of traffic: exponential, Pareto, truncated Pareto, log-normal.

Equations A.1 to A.4 of Scharf (2011), appendix A.1. Units are the caller's: bytes for sizes,
seconds for gaps; a mean has the unit of the values. Each distribution is a frozen record with
``mean``, ``cdf`` and ``quantile``; ``quantile`` of uniform random numbers draws from it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import optimize, special

from headway.models._checks import Floats, positive


def _probabilities(value: npt.ArrayLike) -> Floats:
    """Probabilities as an array of the given shape, each in [0, 1]; raises ValueError if not."""
    q = np.asarray(value, dtype=np.float64)
    if not bool(np.all((q >= 0) & (q <= 1))):
        raise ValueError(f"probabilities must lie in [0, 1], got {value!r}")
    return q


@dataclass(frozen=True)
class Pareto:
    """Pareto distribution, eq. A.3: ``smallest`` is k (> 0), ``shape`` is alpha (> 0)."""

    smallest: float
    shape: float

    def __post_init__(self) -> None:
        """Check the ranges."""
        positive("smallest", self.smallest)
        positive("shape", self.shape)

    @property
    def mean(self) -> float:
        """Mean; infinite if ``shape`` <= 1."""
        a = self.shape
        return a * self.smallest / (a - 1) if a > 1 else math.inf

    def cdf(self, z: npt.ArrayLike) -> Floats:
        """P(Z <= z), shape of ``z``; 0 below ``smallest``."""
        ratio = np.maximum(np.asarray(z, dtype=np.float64) / self.smallest, 1.0)
        return np.asarray(1 - ratio**-self.shape, dtype=np.float64)

    def quantile(self, q: npt.ArrayLike) -> Floats:
        """The value that is exceeded with probability 1 - q, shape of ``q``; inf at 1."""
        with np.errstate(divide="ignore"):
            rest = (1 - _probabilities(q)) ** (-1 / self.shape)
        return np.asarray(self.smallest * rest, dtype=np.float64)


@dataclass(frozen=True)
class TruncatedPareto:
    """Pareto distribution between ``smallest`` (k) and ``largest`` (K > k), appendix A.1.2."""

    smallest: float
    shape: float
    largest: float

    def __post_init__(self) -> None:
        """Check the ranges."""
        positive("smallest", self.smallest)
        positive("shape", self.shape)
        if not (math.isfinite(self.largest) and self.largest > self.smallest):
            raise ValueError(
                f"largest must be finite and > smallest ({self.smallest!r}), got {self.largest!r}"
            )

    @property
    def _kept(self) -> float:
        """Part of the Pareto distribution that is not cut off."""
        return float(Pareto(self.smallest, self.shape).cdf(self.largest))

    @property
    def mean(self) -> float:
        """Mean. Finite for every ``shape``; at 1 by the limit of the formula."""
        a, k, ratio = self.shape, self.smallest, self.largest / self.smallest
        if math.isclose(a, 1.0, abs_tol=1e-9):
            return k * math.log(ratio) / self._kept
        return float(a * k / (a - 1) * (1 - ratio ** (1 - a)) / self._kept)

    def cdf(self, z: npt.ArrayLike) -> Floats:
        """P(Z <= z), shape of ``z``; 0 below ``smallest``, 1 above ``largest``."""
        share = Pareto(self.smallest, self.shape).cdf(z) / self._kept
        return np.asarray(np.minimum(share, 1.0), dtype=np.float64)

    def density(self, z: npt.ArrayLike) -> Floats:
        """Probability density f(z), per unit of z, shape of ``z``; 0 outside the range."""
        values = np.asarray(z, dtype=np.float64)
        inside = (values >= self.smallest) & (values <= self.largest)
        ratio = np.where(inside, values, self.smallest) / self.smallest
        density = self.shape / self.smallest * ratio ** -(self.shape + 1) / self._kept
        return np.asarray(np.where(inside, density, 0.0), dtype=np.float64)

    def quantile(self, q: npt.ArrayLike) -> Floats:
        """The value that is exceeded with probability 1 - q, shape of ``q``."""
        within = _probabilities(q) * self._kept
        values = Pareto(self.smallest, self.shape).quantile(within)
        return np.asarray(np.minimum(values, self.largest), dtype=np.float64)


def truncated_pareto_of_mean(mean: float, *, shape: float, largest: float) -> TruncatedPareto:
    """The truncated Pareto distribution that has this mean, found numerically.

    The thesis names its response sizes so: mean 114 kB, alpha 1.1, cut off at 10 MB.

    Args:
        mean: > 0 and < ``largest``.
        shape: alpha, > 0.
        largest: K, where the distribution is cut off, finite, > 0.

    Returns:
        the distribution; its ``mean`` agrees to 1e-9.

    Raises:
        ValueError: if an argument is outside its range.
    """
    positive("largest", largest)
    positive("shape", shape)
    if not 0 < mean < largest:
        raise ValueError(f"mean must lie between 0 and largest ({largest!r}), got {mean!r}")

    def excess(log_smallest: float) -> float:
        return math.log(TruncatedPareto(math.exp(log_smallest), shape, largest).mean / mean)

    low = math.log(mean) - 1.0
    while excess(low) > 0:
        low -= 2.0
    high = math.log(mean) + math.log1p(1e-12)
    root = optimize.brentq(excess, low, high, xtol=1e-14, rtol=1e-14)
    return TruncatedPareto(math.exp(root), shape, largest)


@dataclass(frozen=True)
class LogNormal:
    """Log-normal distribution, eq. A.4: ln Z has mean ``mu`` and deviation ``sigma`` (> 0)."""

    mu: float
    sigma: float

    def __post_init__(self) -> None:
        """Check the ranges."""
        positive("sigma", self.sigma)
        if not math.isfinite(self.mu):
            raise ValueError(f"mu must be finite, got {self.mu!r}")

    @property
    def mean(self) -> float:
        """exp(mu + sigma^2 / 2)."""
        return math.exp(self.mu + self.sigma**2 / 2)

    def density(self, z: npt.ArrayLike) -> Floats:
        """Probability density f(z), per unit of z, shape of ``z``; 0 at or below 0."""
        values = np.asarray(z, dtype=np.float64)
        inside = values > 0
        safe = np.where(inside, values, 1.0)
        exponent = -((np.log(safe) - self.mu) ** 2) / (2 * self.sigma**2)
        density = np.exp(exponent) / (math.sqrt(2 * math.pi) * self.sigma * safe)
        return np.asarray(np.where(inside, density, 0.0), dtype=np.float64)

    def cdf(self, z: npt.ArrayLike) -> Floats:
        """P(Z <= z), shape of ``z``; 0 at or below 0."""
        values = np.asarray(z, dtype=np.float64)
        safe = np.where(values > 0, values, 1.0)
        share = special.ndtr((np.log(safe) - self.mu) / self.sigma)
        return np.asarray(np.where(values > 0, share, 0.0), dtype=np.float64)

    def quantile(self, q: npt.ArrayLike) -> Floats:
        """The value that is exceeded with probability 1 - q, shape of ``q``; inf at 1."""
        z = special.ndtri(_probabilities(q))
        return np.asarray(np.exp(self.mu + self.sigma * z), dtype=np.float64)
