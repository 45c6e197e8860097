"""Equations A.1 to A.4 against numerical integration, drawn numbers and SciPy."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from scipy import integrate, stats

from headway.models.distributions import (
    LogNormal,
    Pareto,
    TruncatedPareto,
    truncated_pareto_of_mean,
)

SIZES = TruncatedPareto(18_000, 1.1, 10e6)
LARGE_FILES = LogNormal(11.92, 1.0)


@pytest.mark.parametrize(
    ("ours", "scipys"),
    [
        (Pareto(3.0, 1.5), stats.pareto(1.5, scale=3.0)),
        (TruncatedPareto(3.0, 1.1, 300.0), stats.truncpareto(1.1, 100.0, scale=3.0)),
        (LogNormal(1.0, 0.7), stats.lognorm(0.7, scale=math.e)),
    ],
)
def test_distributions_are_those_of_scipy(
    ours: Pareto | TruncatedPareto | LogNormal, scipys: object
) -> None:
    z = np.array([-1.0, 0.0, 0.5, 2.9, 3.0, 5.0, 100.0, 299.0, 500.0])
    q = np.array([0.0, 0.01, 0.3, 0.5, 0.9, 0.999])
    assert ours.cdf(z) == pytest.approx(scipys.cdf(z))
    assert ours.quantile(q) == pytest.approx(scipys.ppf(q))
    assert ours.mean == pytest.approx(scipys.mean())


@pytest.mark.parametrize("distribution", [SIZES, LARGE_FILES])
def test_densities_integrate_to_one_and_to_the_mean(
    distribution: TruncatedPareto | LogNormal,
) -> None:
    low, high = (float(distribution.quantile(q)) for q in (0.0, 1 - 1e-15))
    low = max(low, 1e-3)

    def moment(power: int) -> float:
        # Integrates over ln z, over which both densities are smooth.
        value, _ = integrate.quad(
            lambda x: float(distribution.density(math.exp(x))) * math.exp(x * (power + 1)),
            math.log(low),
            math.log(high),
            limit=400,
        )
        return value

    assert moment(0) == pytest.approx(1, abs=1e-6)
    assert moment(1) == pytest.approx(distribution.mean, rel=1e-5)


def test_the_truncated_pareto_is_cut_at_both_ends() -> None:
    assert SIZES.cdf([0, 18_000, 10e6, 11e6]) == pytest.approx([0, 0, 1, 1])
    assert SIZES.density([17_000, 11e6]) == pytest.approx([0, 0])
    assert SIZES.quantile([0, 1]) == pytest.approx([18_000, 10e6])


def test_a_mean_is_met() -> None:
    for mean in (14e3, 114e3):
        sizes = truncated_pareto_of_mean(mean, shape=1.1, largest=10e6)
        assert sizes.mean == pytest.approx(mean, rel=1e-9)
        drawn = sizes.quantile((np.arange(2_000_000) + 0.5) / 2_000_000)
        assert float(drawn.mean()) == pytest.approx(mean, rel=1e-3)


def test_the_formula_has_no_gap_at_shape_one() -> None:
    near = TruncatedPareto(1.0, 1.0 + 1e-7, 100.0).mean
    assert TruncatedPareto(1.0, 1.0, 100.0).mean == pytest.approx(near, rel=1e-5)
    assert math.isinf(Pareto(1.0, 1.0).mean)


def test_surges_large_files_are_248_kb() -> None:
    assert LARGE_FILES.mean == pytest.approx(247.7e3, rel=1e-3)


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: Pareto(1, 0), "shape"),
        (lambda: Pareto(-1, 1), "smallest"),
        (lambda: TruncatedPareto(2, 1, 2), "largest"),
        (lambda: LogNormal(0, 0), "sigma"),
        (lambda: LogNormal(math.inf, 1), "mu"),
        (lambda: Pareto(1, 1).quantile(1.1), "probabilities"),
        (lambda: truncated_pareto_of_mean(2e6, shape=1.1, largest=1e6), "mean"),
    ],
)
def test_distributions_refuse_what_is_out_of_range(call: Callable[[], object], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        call()
