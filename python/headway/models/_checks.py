"""Range checks shared by the models: each error names the argument, its value and its range."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]


def positive(name: str, value: float) -> float:
    """Return ``value`` if it is finite and > 0.

    Raises:
        ValueError: otherwise.
    """
    if not (np.isfinite(value) and value > 0):
        raise ValueError(f"{name} must be finite and > 0, got {value!r}")
    return float(value)


def not_negative(name: str, value: float) -> float:
    """Return ``value`` if it is finite and >= 0.

    Raises:
        ValueError: otherwise.
    """
    if not (np.isfinite(value) and value >= 0):
        raise ValueError(f"{name} must be finite and >= 0, got {value!r}")
    return float(value)


def fraction(name: str, value: float) -> float:
    """Return ``value`` if 0 < value < 1.

    Raises:
        ValueError: otherwise.
    """
    if not 0 < value < 1:
        raise ValueError(f"{name} must lie between 0 and 1 (both excluded), got {value!r}")
    return float(value)


def loss_ratios(value: npt.ArrayLike, *, zero_allowed: bool = False) -> Floats:
    """Return loss ratios as an array of the given shape, each in (0, 1] or [0, 1].

    Raises:
        ValueError: if any element is outside.
    """
    loss = np.asarray(value, dtype=np.float64)
    low_ok = loss >= 0 if zero_allowed else loss > 0
    if not bool(np.all(low_ok & (loss <= 1))):
        raise ValueError(f"loss must be in {'[' if zero_allowed else '('}0, 1], got {value!r}")
    return loss


def times_s(value: npt.ArrayLike) -> Floats:
    """Return times since an event, seconds, as an array of the given shape, each >= 0.

    Raises:
        ValueError: if any element is negative or not finite.
    """
    t = np.asarray(value, dtype=np.float64)
    if not bool(np.all(np.isfinite(t) & (t >= 0))):
        raise ValueError(f"times must be finite and >= 0 s, got {value!r}")
    return t
