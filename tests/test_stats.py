import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway import metrics

finite = st.floats(-1e9, 1e9)
samples = st.lists(finite, min_size=1, max_size=50)


def test_a_distribution_of_five_by_hand() -> None:
    d = metrics.distribution([4.0, 1.0, 3.0, 2.0, 10.0])
    assert (d.count, d.median, d.mean, d.min, d.max) == (5, 3.0, 4.0, 1.0, 10.0)
    # The squared deviations 0, 9, 1, 4 and 36 add up to 50; n - 1 is 4.
    assert d.sd == pytest.approx(math.sqrt(12.5))
    # The rank is 0.95 x 4 = 3.8, so p95 is 0.8 of the way from 4 to 10.
    assert d.p95 == pytest.approx(8.8)


def test_no_samples_give_nulls_and_one_has_no_spread() -> None:
    assert metrics.distribution([]) == metrics.Distribution(count=0)
    assert metrics.distribution([7.0]).sd is None
    with pytest.raises(ValueError, match="NaN"):
        metrics.distribution([1.0, float("nan")])


@given(samples)
def test_a_distribution_is_in_order(values: list[float]) -> None:
    d = metrics.distribution(values)
    assert d.min <= d.median <= d.p95 <= d.p99 <= d.max
    assert d.min - 1e-3 <= d.mean <= d.max + 1e-3


@given(st.lists(st.integers(0, 50), min_size=1, max_size=60))
def test_weights_mean_the_same_as_repetition(values: list[int]) -> None:
    distinct, counts = np.unique(values, return_counts=True)
    weighted = metrics.weighted_distribution(distinct, counts)
    assert weighted.mean == pytest.approx(np.mean(values))
    assert weighted.sd == pytest.approx(np.std(values), abs=1e-9)
    for q, found in ((0.5, weighted.median), (0.95, weighted.p95), (0.99, weighted.p99)):
        assert found == np.quantile(values, q, method="inverted_cdf")


def test_zero_weights_do_not_count() -> None:
    assert metrics.weighted_distribution([5.0, 9.0], [2.0, 0.0]).max == 5.0
    assert metrics.weighted_distribution([5.0], [0.0]).count == 0


@given(samples)
def test_a_cdf_rises_to_one(values: list[float]) -> None:
    x, share = metrics.cdf(values)
    assert share[-1] == pytest.approx(1)
    assert (np.diff(x) > 0).all()
    assert (np.diff(share) > 0).all()
    assert share[0] == pytest.approx(values.count(x[0]) / len(values))


def test_a_confidence_interval_by_the_table_of_t() -> None:
    # n = 5, sd = sqrt(2.5), t(0.975; 4) = 2.776.
    estimate = metrics.confidence_interval([1, 2, 3, 4, 5])
    assert estimate.mean == 3
    assert estimate.half_width == pytest.approx(2.776 * math.sqrt(2.5 / 5), rel=1e-3)
    assert metrics.confidence_interval([1, 2, 3, 4, 5], 0.9).half_width < estimate.half_width


def test_a_confidence_interval_of_one_value_is_not_zero_wide() -> None:
    assert metrics.confidence_interval([3.0]).half_width is None
    with pytest.raises(ValueError, match="at least one"):
        metrics.confidence_interval([])
    with pytest.raises(ValueError, match="between 0 and 1"):
        metrics.confidence_interval([1.0], 95)


def test_the_interval_covers_the_mean_as_often_as_it_says() -> None:
    rng = np.random.default_rng(7)
    covered = 0
    for _ in range(2000):
        e = metrics.confidence_interval(list(rng.normal(10, 3, 6)))
        covered += abs(e.mean - 10) <= e.half_width
    # The share has a binomial distribution: 0.95 ± 3 standard errors of 0.0049.
    assert 0.935 < covered / 2000 < 0.965


def test_batch_means_by_hand() -> None:
    assert metrics.batch_means(range(20), 10).tolist() == [k + 0.5 for k in range(0, 20, 2)]
    with pytest.raises(ValueError, match="too few"):
        metrics.batch_means(range(9), 10)


@pytest.mark.parametrize(
    ("values", "kept"),
    [
        ([5, 1, 3, 9, 4], [0, 2, 4]),
        ([2, 2, 2, 2], [2, 3]),
        ([1, 2], [0, 1]),
        ([3], [0]),
        ([1, 2, 3], [1]),
    ],
)
def test_best_and_worst_trials_are_dropped(values, kept) -> None:
    assert metrics.without_extremes(values) == kept


@given(st.lists(finite, min_size=3, max_size=20))
def test_dropping_extremes_drops_two_and_never_the_middle(values: list[float]) -> None:
    kept = metrics.without_extremes(values)
    assert len(kept) == len(values) - 2
    assert min(values) <= metrics.trimmed_mean(values) + 1e-3
    assert sorted(values)[1:-1] == sorted(values[i] for i in kept)


@pytest.mark.parametrize(
    ("rates", "index"), [([1, 1, 1], 1.0), ([1, 0, 0, 0], 0.25), ([2, 1], 0.9), ([5], 1.0)]
)
def test_jain_by_hand(rates, index) -> None:
    assert metrics.jain_index(rates) == pytest.approx(index)


@given(st.lists(st.floats(0, 1e300), min_size=1, max_size=30))
def test_jain_lies_between_one_nth_and_one(rates: list[float]) -> None:
    index = metrics.jain_index(rates)
    if index is None:
        assert not any(rates)
    else:
        assert 1 / len(rates) - 1e-9 <= index <= 1 + 1e-9


def test_jain_of_nobody_is_unknown() -> None:
    assert metrics.jain_index([]) is None
    assert metrics.jain_index([0, 0]) is None
    with pytest.raises(ValueError, match="at least 0"):
        metrics.jain_index([-1])
