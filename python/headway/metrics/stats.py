"""Statistics of samples and trials, without traces."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Distribution:
    """Summary of ``count`` samples in one unit; all None when there are none.

    ``sd`` is the sample standard deviation (n - 1), None for a single sample. Percentiles
    interpolate linearly between order statistics.
    """

    count: int
    median: float | None = None
    mean: float | None = None
    sd: float | None = None
    p95: float | None = None
    p99: float | None = None
    min: float | None = None
    max: float | None = None


@dataclass(frozen=True)
class Estimate:
    """A mean over trials or batches with its confidence interval mean ± half_width.

    ``half_width`` and ``sd`` are None for a single value.
    """

    mean: float
    sd: float | None
    half_width: float | None
    count: int


def or_nan(value: float | None) -> float:
    """The value for arithmetic: NaN for None."""
    return math.nan if value is None else float(value)


def distribution(samples: npt.ArrayLike) -> Distribution:
    """Summarize samples, shape (n,). Raises ValueError for NaN."""
    values = np.asarray(samples, dtype=np.float64)
    if np.isnan(values).any():
        raise ValueError("samples contain NaN; leave out missing values")
    if values.size == 0:
        return Distribution(count=0)
    median, p95, p99 = np.percentile(values, [50, 95, 99])
    return Distribution(
        count=int(values.size),
        median=float(median),
        mean=float(values.mean()),
        sd=float(values.std(ddof=1)) if values.size > 1 else None,
        p95=float(p95),
        p99=float(p99),
        min=float(values.min()),
        max=float(values.max()),
    )


def as_spread(values: Distribution) -> dict[str, float | None]:
    """The statistics by name, without the number of samples."""
    spread = asdict(values)
    del spread["count"]
    return spread


def cdf(samples: npt.ArrayLike) -> tuple[Array, Array]:
    """The empirical distribution: sorted distinct values and P(sample <= value), each (m,)."""
    values, counts = np.unique(np.asarray(samples, dtype=np.float64), return_counts=True)
    return values, np.cumsum(counts) / max(counts.sum(), 1)


def weighted_distribution(values: npt.ArrayLike, weights: npt.ArrayLike) -> Distribution:
    """Summary of a piecewise constant signal: values (n,) that last for weights (n,) >= 0.

    A percentile is the smallest value that the signal does not exceed for that share of the time.
    """
    held = np.asarray(weights, dtype=np.float64)
    signal = np.asarray(values, dtype=np.float64)[held > 0]
    held = held[held > 0]
    if signal.size == 0:
        return Distribution(count=0)
    order = np.argsort(signal, kind="stable")
    signal, share = signal[order], held[order] / held.sum()
    reached = np.cumsum(share)
    # Because of rounding, the sum of the shares may be slightly below 1.
    median, p95, p99 = (
        float(signal[min(int(np.searchsorted(reached, q - 1e-12)), signal.size - 1)])
        for q in (0.5, 0.95, 0.99)
    )
    mean = float(np.dot(signal, share))
    return Distribution(
        count=int(signal.size),
        median=median,
        mean=mean,
        sd=float(np.sqrt(np.dot((signal - mean) ** 2, share))),
        p95=p95,
        p99=p99,
        min=float(signal[0]),
        max=float(signal[-1]),
    )


def confidence_interval(values: Sequence[float], level: float = 0.95) -> Estimate:
    """Student's t interval of the mean of independent values (trials, or batch means).

    Raises ValueError without any value or for a level outside (0, 1).
    """
    from scipy.special import stdtrit  # imported late: it takes half of all other imports' time

    if not 0 < level < 1:
        raise ValueError(f"confidence level {level} must be between 0 and 1")
    sample = np.asarray(values, dtype=np.float64)
    if sample.size == 0:
        raise ValueError("a confidence interval needs at least one value")
    mean = float(sample.mean())
    if sample.size == 1:
        return Estimate(mean, None, None, 1)
    sd = float(sample.std(ddof=1))
    t = float(stdtrit(sample.size - 1, (1 + level) / 2))
    return Estimate(mean, sd, t * sd / float(np.sqrt(sample.size)), int(sample.size))


def batch_means(samples: npt.ArrayLike, batches: int = 10) -> Array:
    """Means of ``batches`` consecutive, nearly equal parts of a series (n,), shape (batches,).

    They are nearly independent, even if the samples of a long run depend on each other. Raises
    ValueError for fewer samples than batches.
    """
    values = np.asarray(samples, dtype=np.float64)
    if values.size < batches:
        raise ValueError(f"{values.size} samples are too few for {batches} batches")
    return np.array([part.mean() for part in np.array_split(values, batches)])


def without_extremes(values: Sequence[float]) -> list[int]:
    """Indices, in order, of all trials but the best and the worst one.

    Paper 001 runs five and discards two. Of equal values the first is dropped. Fewer than three
    trials are all kept.
    """
    if len(values) < 3:
        return list(range(len(values)))
    worst = min(range(len(values)), key=lambda i: values[i])
    best = max((i for i in range(len(values)) if i != worst), key=lambda i: values[i])
    return [i for i in range(len(values)) if i not in (worst, best)]


def trimmed_mean(values: Sequence[float]) -> float:
    """Mean over trials after the best and the worst one were dropped."""
    return float(np.mean([values[i] for i in without_extremes(values)]))
