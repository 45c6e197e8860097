"""Jain's index in plain Python, for who must not wait for the libraries of numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence


def jain_index(rates: Sequence[float]) -> float | None:
    """Jain's fairness index (Σx)² / (n Σx²), from 1/n to 1; None if nobody sent anything.

    Raises ValueError for a rate below 0.
    """
    sample = [float(rate) for rate in rates]
    if any(rate < 0 for rate in sample):
        raise ValueError("rates must be at least 0")
    largest = max(sample, default=0.0)
    if not largest:
        return None
    sample = [rate / largest for rate in sample]  # no scale: squares then cannot overflow
    squares = math.fsum(rate * rate for rate in sample)
    return math.fsum(sample) ** 2 / (len(sample) * squares)
