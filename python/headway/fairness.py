"""Jain's index in plain Python, for code that must not import NumPy."""

from __future__ import annotations

import math
from collections.abc import Sequence


def jain_index(rates: Sequence[float]) -> float | None:
    """Jain's fairness index (Σx)² / (n Σx²), from 1/n to 1; None if all rates are 0.

    Raises ValueError for a rate below 0.
    """
    sample = [float(rate) for rate in rates]
    if any(rate < 0 for rate in sample):
        raise ValueError("rates must be at least 0")
    largest = max(sample, default=0.0)
    if not largest:
        return None
    # scale by the largest rate: the index stays the same, and squares cannot overflow
    sample = [rate / largest for rate in sample]
    squares = math.fsum(rate * rate for rate in sample)
    return math.fsum(sample) ** 2 / (len(sample) * squares)
