"""SURGE's pages against the table they are made from."""

from __future__ import annotations

import numpy as np
import pytest

from headway.workloads import surge


def test_pages_are_the_same_for_the_same_name_only() -> None:
    assert surge.pages("default", "1", 50) == surge.pages("default", "1", 50)
    assert surge.pages("default", "1", 50) != surge.pages("default", "2", 50)


@pytest.mark.parametrize("model", ["default", "large"])
def test_30_of_62_pages_have_embedded_files(model: surge.Model) -> None:
    drawn = surge.pages(model, "share", 20_000)
    share = np.mean([len(page.files_bytes) > 1 for page in drawn])
    assert share == pytest.approx(0.30 / 0.62, abs=0.01)


def test_large_pages_have_two_embedded_files_of_248_kb_on_average() -> None:
    drawn = surge.pages("large", "mean", 20_000)
    embedded = [len(page.files_bytes) - 1 for page in drawn if len(page.files_bytes) > 1]
    sizes = [size for page in drawn for size in page.files_bytes]
    assert np.mean(embedded) == pytest.approx(2, rel=0.03)
    assert np.mean(sizes) == pytest.approx(247.7e3, rel=0.03)


def test_users_think_two_seconds_or_more() -> None:
    thinks_s = np.array([page.think_us for page in surge.pages("large", "think", 20_000)]) / 1e6
    assert thinks_s.min() >= 2
    # The median of a Pareto distribution: k 2^(1/alpha).
    assert np.median(thinks_s) == pytest.approx(2 * 2 ** (1 / 1.4), rel=0.03)


def test_a_user_needs_a_page() -> None:
    with pytest.raises(ValueError, match="count"):
        surge.pages("default", "x", 0)
