"""Values of the runs of a scheme: means, intervals, and comparisons run by run."""

import fnmatch
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np

from headway.claims import MissingTrialError, Seen
from headway.claims.words import Check
from headway.metrics.stats import Array, Estimate, confidence_interval

Row = TypeVar("Row")
One = TypeVar("One")


def matching(found: Mapping[str, Row], keys: str) -> list[Row]:
    """The rows whose keys match (shell wildcards), in their order. Raises MissingTrialError."""
    rows = [found[key] for key in fnmatch.filter(found, keys)]
    if not rows:
        raise MissingTrialError(f"This run has no trial {keys}.")
    return rows


def value(row: Any, path: str) -> float:
    """The number at a path of a row, such as "files.used"; of an array, its mean."""
    for part in path.split("."):
        row = row[part] if isinstance(row, Mapping) else getattr(row, part)
    return float(np.mean(row))


def picked(found: Mapping[str, Any], key: str, which: Iterable[One], path: str) -> dict[One, float]:
    """The number at a path of the trials ``key.format(one)``, for each of ``which``."""
    return {one: value(found[key.format(one)], path) for one in which}


def values(rows: Iterable[Any], path: str) -> list[float]:
    """The number at a path of every row."""
    return [value(row, path) for row in rows]


def mean(rows: Iterable[Any], path: str) -> float:
    """The mean of a number over rows; NaN if one of the values is NaN."""
    return float(np.mean(values(rows, path)))


def estimate(rows: Iterable[Any], path: str) -> Estimate:
    """The mean of a number over rows with its 95 % interval."""
    return confidence_interval(values(rows, path))


def mean_of_known(numbers: Iterable[float]) -> float | None:
    """The mean of the numbers that are finite; None if there are none."""
    known = np.array([one for one in numbers if np.isfinite(one)])
    return float(known.mean()) if known.size else None


def paired(
    mine: Sequence[float] | Array, other: Sequence[float] | Array, *, skip_nan: bool = True
) -> tuple[Estimate, float]:
    """Both means, the first with the interval of the difference within each run.

    For ``words.more(*paired(a, b))``, where runs have the same seed in both. Runs that only one of
    the two schemes has are left out. With ``skip_nan``, runs in which a value is NaN are left out,
    too. Without ``skip_nan`` a NaN, for example the time of a file that never ended, makes the
    means NaN, and no comparison holds.
    """
    pairs = np.array(list(zip(mine, other, strict=False)), dtype=np.float64).reshape(-1, 2)
    if skip_nan:
        pairs = pairs[~np.isnan(pairs).any(axis=1)]
    if not len(pairs):
        return Estimate(float("nan"), None, None, 0), float("nan")
    own, than = pairs.mean(axis=0)
    apart = confidence_interval(list(pairs[:, 0] - pairs[:, 1]))
    return Estimate(float(own), apart.sd, apart.half_width, apart.count), float(than)


def listed(values: Mapping[Any, Any], form: str = "{:.3g}", between: str = ", ") -> str:
    """Values by name as text: "CUBIC 1.20 s, Reno 3.40 s" with ``form`` "{:.2f} s".

    A tuple fills several places of ``form``: "{:.2f} and {:.2f} s".
    """
    parts = {k: v if isinstance(v, tuple) else (v,) for k, v in values.items()}
    return between.join(f"{name} {form.format(*numbers)}" for name, numbers in parts.items())


def each(
    values: Mapping[Any, One], judge: Callable[[One], Check], form: str = "{:.3g}", **more: Any
) -> Seen:
    """A finding that shows values as ``listed`` does and judges every one of them."""
    return Seen.by(listed(values, form), *map(judge, values.values()), **more)
