"""The values of a field that varies: a list, a range, or a sample of a distribution.

A quantity keeps its unit: a range from "1 Mbit/s" to "100 Mbit/s" has rates. Values between the
ends of a range, and sampled values, are rounded to 4 significant digits, so that they can be read
and written again exactly.
"""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, NamedTuple, Self

from pydantic import Field, model_validator

from headway import units
from headway.spec import Spec, field_error

Value = str | int | float | bool
"""A value of a field, as in a file of an experiment."""

MAX_VALUES = 1_000_000
"""Most values of a field, and most rows of a sweep."""
_DIGITS = 4
_NUMBER = re.compile(r"([-+]?\d+(?:\.\d*)?(?:[eE][-+]?\d+)?)\s*(.*)")


class Quantity(NamedTuple):
    """A number in the base unit of its kind: bit/s, seconds, bytes, "pkts", "BDP", or "" (none)."""

    amount: float
    unit: str


_KINDS: tuple[tuple[str, Callable[[str], float]], ...] = (
    ("bit/s", units.parse_rate),
    ("s", lambda text: units.parse_time(text) / units.NS_PER_S),
    ("B", units.parse_size),
)


def quantity(value: object) -> Quantity | None:
    """The quantity that a value states; None if it is another text."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return Quantity(value, "")
    if not isinstance(value, str) or not (found := _NUMBER.fullmatch(value.strip())):
        return None
    number, unit = found.groups()
    if unit in ("", "%", "pkts", "BDP"):
        return Quantity(float(number) / (100 if unit == "%" else 1), unit.strip("%"))
    for base, parse in _KINDS:
        try:
            return Quantity(parse(value), base)
        except ValueError:
            continue
    return None


class Range(Spec):
    """Values from the first to the last: ``count`` of them, or in steps of ``step``.

    ``range`` has the first and the last value, with their units. ``scale`` "log" has equal ratios.
    """

    range: tuple[str | int | float, str | int | float]
    count: int | None = Field(default=None, ge=2, le=MAX_VALUES)
    step: str | int | float | None = None
    scale: Literal["linear", "log"] = "linear"

    @model_validator(mode="after")
    def _check(self) -> Self:
        first, last = _ends("range", self.range)
        if (self.count is None) == (self.step is None):
            raise field_error("count", "give either count or step")
        if self.scale == "log" and not (first.amount > 0 and last.amount > 0):
            raise field_error("range", "both ends of a logarithmic range must be more than 0")
        if self.step is not None:
            self._check_step(first, last)
        return self

    def _check_step(self, first: Quantity, last: Quantity) -> None:
        step = quantity(self.step)
        if self.scale == "log":
            raise field_error("step", "a logarithmic range needs count")
        if step is None or step.unit != first.unit or step.amount <= 0:
            raise field_error(
                "step", f"{self.step!r} is not allowed; more than 0, in the unit of the range"
            )
        if not 0 <= (last.amount - first.amount) / step.amount < MAX_VALUES:
            raise field_error(
                "step", f"{self.step!r} is not allowed; the range must have at most {MAX_VALUES:,}"
            )

    def values(self) -> list[Value]:
        """The values, from the first to the last."""
        first, last = _ends("range", self.range)
        like = next((end for end in self.range if isinstance(end, float)), self.range[0])
        if self.step is not None:
            step = quantity(self.step)
            assert step is not None
            like = self.step if isinstance(self.step, float) else like
            count = math.floor((last.amount - first.amount) / step.amount + 1e-9) + 1
            shares: list[float] = [first.amount + index * step.amount for index in range_of(count)]
            return [self.range[0], *(_written(amount, like) for amount in shares[1:])]
        assert self.count is not None
        inner = [index / (self.count - 1) for index in range_of(self.count)][1:-1]
        if self.scale == "log":
            ratio = last.amount / first.amount
            amounts = [first.amount * ratio**share for share in inner]
        else:
            amounts = [first.amount + share * (last.amount - first.amount) for share in inner]
        middle = [_written(amount, like) for amount in amounts]
        return [self.range[0], *middle, self.range[1]]


range_of = range
"""Python's range, whose name is a field of Range."""


class Distribution(Spec):
    """A distribution of values; exactly one of the first four fields.

    ``uniform`` and ``loguniform`` have the least and the largest value, ``normal`` the mean and the
    standard deviation, ``lognormal`` the median and the standard deviation of the logarithm.
    ``least`` and ``most`` truncate it. ``count``, ``method`` and ``seed`` describe the sample of a
    single field; fields of a [[sample]] block are sampled together, and have those of the block.
    """

    uniform: tuple[str | int | float, str | int | float] | None = None
    loguniform: tuple[str | int | float, str | int | float] | None = None
    normal: tuple[str | int | float, str | int | float] | None = None
    lognormal: tuple[str | int | float, float] | None = None
    least: str | int | float | None = None
    most: str | int | float | None = None
    count: int | None = Field(default=None, ge=1, le=MAX_VALUES)
    method: Literal["sobol", "latin-hypercube"] | None = None
    seed: int | None = Field(default=None, ge=0)

    @model_validator(mode="after")
    def _check(self) -> Self:
        given = [name for name in _DISTRIBUTIONS if getattr(self, name) is not None]
        if len(given) != 1:
            raise field_error("uniform", f"give exactly one of {', '.join(_DISTRIBUTIONS)}")
        name = given[0]
        pair = getattr(self, name)
        if name == "lognormal":
            pair = (pair[0], pair[0])
        first, last = _ends(name, pair)
        if name in ("loguniform", "lognormal") and not first.amount > 0:
            raise field_error(name, "must be more than 0")
        if name in ("uniform", "loguniform") and not first.amount < last.amount:
            raise field_error(name, "the first value must be less than the second")
        for bound in ("least", "most"):
            value = getattr(self, bound)
            if value is not None:
                _ends(bound, (pair[0], value))
        return self

    def values(self, shares: Sequence[float]) -> list[Value]:
        """The values below which the distribution has these shares, each from 0 to 1."""
        from scipy.special import ndtr, ndtri

        name = next(name for name in _DISTRIBUTIONS if getattr(self, name) is not None)
        low, high = getattr(self, name)
        first, second = _amount(low), float(high) if name == "lognormal" else _amount(high)
        logarithmic = name in ("loguniform", "lognormal")
        if logarithmic:
            first = math.log(first)
        if name == "loguniform":
            second = math.log(second)
        is_uniform = name in ("uniform", "loguniform")

        def below(value: object) -> float:
            """The share of values below this one."""
            x = math.log(_amount(value)) if logarithmic else _amount(value)
            if is_uniform:
                return min(max((x - first) / (second - first), 0.0), 1.0)
            return float(ndtr((x - first) / second))

        def inverse(share: float) -> float:
            if is_uniform:
                return first + share * (second - first)
            return first + second * float(ndtri(share))

        least = 0.0 if self.least is None else below(self.least)
        most = 1.0 if self.most is None else below(self.most)
        points = [inverse(least + share * (most - least)) for share in shares]
        return [_written(math.exp(x) if logarithmic else x, low) for x in points]


_DISTRIBUTIONS = ("uniform", "loguniform", "normal", "lognormal")


def sampled(
    fields: Mapping[str, Distribution], count: int, method: str, seed: int
) -> list[tuple[Value, ...]]:
    """A sample of ``count`` points, each with a value per field, drawn by scipy.stats.qmc."""
    from scipy.stats import qmc

    sampler: Any
    if method == "sobol":
        sampler = qmc.Sobol(len(fields), scramble=True, seed=seed)
    else:
        sampler = qmc.LatinHypercube(len(fields), seed=seed)
    with warnings.catch_warnings():
        # the balance of a Sobol sequence, if count is no power of 2, is the user's choice
        warnings.simplefilter("ignore", UserWarning)
        points = sampler.random(count)
    columns = [one.values(points[:, at].tolist()) for at, one in enumerate(fields.values())]
    return list(zip(*columns, strict=True))


def _amount(value: object) -> float:
    found = quantity(value)
    assert found is not None
    return found.amount


def _ends(name: str, pair: Sequence[object]) -> tuple[Quantity, Quantity]:
    """The quantities of two values; they must have the same kind of unit."""
    first, last = quantity(pair[0]), quantity(pair[1])
    for value, found in zip(pair, (first, last), strict=True):
        if found is None or not math.isfinite(found.amount):
            raise field_error(name, f"{value!r} is not allowed; a number, or a number and its unit")
    assert first is not None
    assert last is not None
    if first.unit != last.unit:
        raise field_error(name, f"{pair[0]!r} and {pair[1]!r} have different kinds of units")
    return first, last


def _written(amount: float, like: str | int | float) -> Value:
    """An amount in base units, as text with the unit of ``like``, or as a number like it."""
    if isinstance(like, int):
        return round(amount)
    if isinstance(like, float):
        return float(f"{amount:.{_DIGITS}g}")
    found = _NUMBER.fullmatch(like.strip())
    assert found is not None
    unit = found[2]
    one = quantity(f"1 {unit}") if unit else Quantity(1.0, "")
    assert one is not None
    number = f"{amount / one.amount:.{_DIGITS}g}"
    if "e" in number:
        number = f"{float(number):f}".rstrip("0").rstrip(".")
    return f"{number} {unit}".rstrip()
