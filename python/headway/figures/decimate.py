"""Reduces the number of a line's points without changing its look: keeps local extremes."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt


def min_max_indices(y: npt.NDArray[np.generic], limit: int) -> npt.NDArray[np.intp]:
    """Indices of at most ``limit`` points that keep a line's envelope.

    The series is cut into parts with equal numbers of points. Of each part, the smallest and the
    largest point are kept, in order, and of the series the first and the last point. NaN is kept
    only of a part that has no numbers.

    Args:
        y: values, shape (n,).
        limit: largest number of points wanted, >= 4.

    Returns:
        strictly increasing indices into ``y``, shape (m,), m <= ``limit``; all if n <= ``limit``.

    Raises:
        ValueError: if ``limit`` < 4 or ``y`` is not one-dimensional.
    """
    if limit < 4:
        raise ValueError(f"limit must be >= 4, got {limit}")
    if y.ndim != 1:
        raise ValueError(f"y must have one dimension, got shape {y.shape}")
    n = y.size
    if n <= limit:
        return np.arange(n, dtype=np.intp)
    runs = (limit - 2) // 2
    width = -(-n // runs)
    values = np.full(width * runs, np.nan)
    values[:n] = y
    blocks = values.reshape(runs, width)
    starts = np.arange(runs) * width
    lowest = np.argmin(np.where(np.isnan(blocks), np.inf, blocks), axis=1) + starts
    highest = np.argmax(np.where(np.isnan(blocks), -np.inf, blocks), axis=1) + starts
    found = np.unique(np.concatenate(([0], lowest, highest, [n - 1])))
    return found[found < n].astype(np.intp)
