"""Random numbers that are the same on every machine and with every version of the libraries.

A stream is named by text: "1/campus/response" and "2/campus/response" are different streams. Its
raw words come from PCG64, whose sequence NumPy guarantees (unlike its distributions). A quantile
function converts them to values. Values are rounded to whole bytes or microseconds, which is much
coarser than differences between platforms' logarithms.
"""

from __future__ import annotations

import hashlib
from typing import Protocol

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


class Quantiles(Protocol):
    """A distribution that numbers can be drawn from; see ``headway.models.distributions``."""

    def quantile(self, q: npt.ArrayLike) -> Floats:
        """The values that are exceeded with probability 1 - q."""


class Stream:
    """A named, endless sequence of random numbers."""

    def __init__(self, name: str) -> None:
        """Begin the stream called ``name``."""
        digest = hashlib.sha256(name.encode()).digest()
        self._words = np.random.PCG64(int.from_bytes(digest[:16], "little"))

    def uniform(self, count: int) -> Floats:
        """The next ``count`` numbers, each in the open interval (0, 1); shape (count,)."""
        raw = np.asarray(self._words.random_raw(count), dtype=np.uint64)
        return np.asarray(((raw >> np.uint64(12)).astype(np.float64) + 0.5) / 2.0**52)

    def draw(self, of: Quantiles, count: int) -> Ints:
        """``count`` values of a distribution, rounded to whole units; shape (count,)."""
        return np.rint(of.quantile(self.uniform(count))).astype(np.int64)

    def below(self, limit: int, count: int) -> Ints:
        """``count`` whole numbers in [0, limit); shape (count,)."""
        return np.floor(self.uniform(count) * limit).astype(np.int64)
