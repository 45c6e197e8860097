"""Draws the settings of random cases such that few cases cover every pair of settings.

A case has a class of every property of its path (for example, a rate of 5 to 20 Mbit/s) and
settings of a few options (``sack=off``). Choices with many pairs that earlier cases have not
covered are preferred. Numbers are drawn within the classes afterwards.
"""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

Setting = tuple[str, str]
"""A property of the path and its class, as ("rate", "5-20Mbit/s"), or an option and its value, as
("sack", "off")."""
Pair = tuple[Setting, Setting]

PACKET_BYTES, MSS_BYTES = 1500, 1448
MOST_QUEUE_BYTES = 64_000_000

_CANDIDATES, _TRIED = 20, 12
_UNITS = {"Mbit/s": 1e6, "ms": 1e-3, "s": 1.0, "KiB": 1024.0, "pkts": 1.0, "BDP": 1.0}

T = TypeVar("T")


class Draws:
    """Random numbers. The sequence depends only on the arguments, not on the version of Python."""

    def __init__(self, *made_with: object) -> None:
        # only the method random() of Random gives the same numbers in all versions of Python
        self._next = random.Random(":".join(map(str, made_with))).random

    def below(self, count: int) -> int:
        """An integer from 0 to ``count`` - 1, uniformly distributed."""
        return int(self._next() * count)

    def pick(self, things: Sequence[T]) -> T:
        """One of the items."""
        return things[self.below(len(things))]

    def chance(self, of: float) -> bool:
        """True with probability ``of``."""
        return self._next() < of

    def between(self, low: float, high: float) -> float:
        """A number between ``low`` and ``high``, uniformly distributed on a logarithmic scale."""
        return low * math.exp(self._next() * math.log(high / low))

    def within(self, range_: str) -> float:
        """A number from a class that is written as a range, such as "5-20Mbit/s".

        The number is in bit/s, seconds or bytes; packets and BDP stay in their unit.
        """
        digits = range_.rstrip("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ/")
        low, high = map(float, digits.split("-"))
        return self.between(low, high) * _UNITS[range_[len(digits) :]]


def rounded(value: float, digits: int = 2) -> int:
    """The value rounded to an integer with this many significant digits, at least 1."""
    if value < 10 ** (digits - 1):
        return max(round(value), 1)
    unit: int = 10 ** (math.floor(math.log10(value)) - digits + 1)
    return round(value / unit) * unit


class Conflicts:
    """Which settings cannot be in one case, or one of them would have no effect.

    Each of the pairs of lists conflicts: every setting of the first with every one of the second. A
    setting is written "sack=off", or "sack" for all settings of the option.
    """

    def __init__(self, pairs: Sequence[tuple[Sequence[str], Sequence[str]]]) -> None:
        self._pairs = pairs
        self._known: dict[tuple[Setting, Setting], bool] = {}

    def __call__(self, one: Setting, other: Setting) -> bool:
        """Whether two settings cannot be combined."""
        if (one, other) not in self._known:
            self._known[one, other] = self._conflict(one, other)
        return self._known[one, other]

    def _conflict(self, one: Setting, other: Setting) -> bool:
        if one[0] == other[0]:
            return True
        first, second = ({name, f"{name}={value}"} for name, value in (one, other))
        return any(
            (first.intersection(left) and second.intersection(right))
            or (second.intersection(left) and first.intersection(right))
            for left, right in self._pairs
        )


@dataclass(frozen=True)
class Space:
    """The settings that the cases of a kind are drawn from."""

    path: Mapping[str, tuple[str, ...]]
    controls: tuple[str, ...]
    options: Mapping[str, tuple[str, ...]]
    fewest: int
    most: int
    """``fewest`` and ``most`` are the smallest and largest number of options that a case has."""
    conflict: Conflicts
    always: tuple[str, ...] = ()
    """Options that every case has."""
    least_queue_bytes: int = 8 * PACKET_BYTES

    def all_settings(self) -> list[Setting]:
        """All settings that a case may have."""
        factors = {**self.path, "control": self.controls, **self.options}
        return [(name, value) for name, values in factors.items() for value in values]

    def pairs(self) -> list[Pair]:
        """All pairs of settings that can be combined, in a fixed order."""
        both = itertools.combinations(sorted(self.all_settings()), 2)
        return [(one, other) for one, other in both if not self.conflict(one, other)]

    def settings(self, draws: Draws, left: Mapping[Pair, None]) -> tuple[Setting, ...]:
        """The settings of one case: the set with most new pairs, of several sets that are drawn.

        ``left`` has the pairs that earlier cases have not covered.
        """
        count = self.fewest + draws.below(self.most - self.fewest + 1)
        wanted = list(left)
        best: list[Setting] = []
        most = -1
        for _ in range(_CANDIDATES):
            settings: list[Setting] = []
            if wanted and count > 0:
                settings += draws.pick(wanted)
            self._fill(settings, draws, count, left)
            met = _new_pairs(settings, left)
            if met > most:
                best, most = settings, met
        return tuple(sorted(best))

    def _fill(
        self, settings: list[Setting], draws: Draws, count: int, left: Mapping[Pair, None]
    ) -> None:
        """Add the missing settings of a case, one by one.

        Each time several settings are drawn, and the one that adds most new pairs is taken.
        """

        def take(factors: Mapping[str, Sequence[str]]) -> None:
            taken = {name for name, _ in settings}
            fits = [
                (name, value)
                for name, values in factors.items()
                if name not in taken
                for value in values
                if not any(self.conflict((name, value), other) for other in settings)
            ]
            if not fits:
                return
            tried = [draws.pick(fits) for _ in range(min(len(fits), _TRIED))]
            gains = [sum((min(one, s), max(one, s)) in left for s in settings) for one in tried]
            settings.append(tried[gains.index(max(gains))])

        for name in self.always:
            take({name: self.options[name]})
        while sum(name in self.options for name, _ in settings) < count:
            before = len(settings)
            take(self.options)
            if len(settings) == before:
                break
        for name, values in {"control": self.controls, **self.path}.items():
            take({name: values})


def _new_pairs(settings: Sequence[Setting], left: Mapping[Pair, None]) -> int:
    return sum(pair in left for pair in itertools.combinations(sorted(settings), 2))


@dataclass
class PathNumbers:
    """The path's numbers, from which the rest of the experiment is chosen."""

    rate_bps: int
    rtt_us: int
    buffer_bytes: int
    buffer: str

    @property
    def rtt_s(self) -> float:
        """The round-trip time in seconds."""
        return self.rtt_us / 1e6

    @property
    def bdp_bytes(self) -> float:
        """The bandwidth-delay product in bytes."""
        return self.rate_bps * self.rtt_s / 8

    @classmethod
    def draw(cls, settings: Mapping[str, str], draws: Draws, least_queue_bytes: int) -> PathNumbers:
        """Numbers from the classes of rate, round-trip time and buffer."""
        rate_bps = rounded(draws.within(settings["rate"]))
        rtt_us = rounded(draws.within(settings["rtt"]) * 1e6)
        size = draws.within(settings["buffer"])
        if settings["buffer"].endswith("pkts"):
            size_bytes = rounded(size) * PACKET_BYTES * 1.0
            buffer = f"{rounded(size)} pkts"
        else:
            bdp_bytes = rate_bps * rtt_us / 8e6
            size_bytes = min(max(size * bdp_bytes, least_queue_bytes), MOST_QUEUE_BYTES)
            buffer = f"{rounded(size_bytes)} B"
        return cls(rate_bps, rtt_us, round(size_bytes), buffer)
