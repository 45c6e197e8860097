"""Changes a study's observations on purpose, to test that the verdict on a claim changes.

A spoil takes the observations of a study's trials and returns them with changes. It never changes
the threshold that they are compared with. Observations are plain data: dataclasses, mappings and
sequences of numbers and arrays. A path names a value: "mean_s", "downloads.0.response_s",
"rates.cubic". A spoil that finds nothing to change raises an error.
"""

from __future__ import annotations

import dataclasses
import fnmatch
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

Rows = Mapping[str, Any]
Spoil = Callable[[Rows], Rows]
"""A function that maps a study's observations, by trial, to changed observations."""


def scaled(keys: str, factor: float, *paths: str) -> Spoil:
    """Multiply the values at ``paths``, in every trial whose key matches ``keys`` (wildcards)."""
    return _changed(keys, paths, lambda value: _times(value, factor))


def replaced(keys: str, value: Any, *paths: str) -> Spoil:
    """Set the values at ``paths`` to ``value``, and all elements of arrays."""

    def put(old: Any) -> Any:
        return np.full_like(old, value) if isinstance(old, np.ndarray) else value

    return _changed(keys, paths, put)


def swapped(one: str, other: str) -> Spoil:
    """Exchange the observations of trials whose keys differ only in ``one`` and ``other``.

    ``swapped("jump-start", "slow-start")`` exchanges "jump-start-30" and "slow-start-30". ``one``
    and ``other`` are whole words of a key, or several; dashes separate the words.
    """

    def spoil(rows: Rows) -> Rows:
        changed = dict(rows)
        for key in rows:
            twin = _renamed(key, one, other)
            if twin is not None and twin in rows:
                changed[key], changed[twin] = rows[twin], rows[key]
        if all(changed[key] is rows[key] for key in rows):
            raise LookupError(f"no trials of {one!r} and {other!r} to exchange")
        return changed

    return spoil


def all_of(*spoils: Spoil) -> Spoil:
    """Apply several spoils, one after the other."""

    def spoil(rows: Rows) -> Rows:
        for each in spoils:
            rows = each(rows)
        return rows

    return spoil


def _renamed(key: str, one: str, other: str) -> str | None:
    dashed = f"-{key}-"
    if f"-{one}-" not in dashed:
        return None
    return dashed.replace(f"-{one}-", f"-{other}-", 1)[1:-1]


def _changed(keys: str, paths: tuple[str, ...], change: Callable[[Any], Any]) -> Spoil:
    def spoil(rows: Rows) -> Rows:
        hit = [key for key in rows if fnmatch.fnmatchcase(key, keys)]
        if not hit:
            raise LookupError(f"no trial matches {keys!r}")
        changed = dict(rows)
        for key in hit:
            for path in paths:
                changed[key] = _at(changed[key], path.split("."), change)
        return changed

    return spoil


def _at(value: Any, path: list[str], change: Callable[[Any], Any]) -> Any:
    """``value`` with the part at ``path`` changed; "*" means every entry."""
    if not path:
        return change(value)
    name, rest = path[0], path[1:]
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return dataclasses.replace(value, **{name: _at(getattr(value, name), rest, change)})
    if isinstance(value, Mapping):
        known = {str(key): key for key in value}
        wanted = list(value) if name == "*" else [known[name]]
        return {**value, **{key: _at(value[key], rest, change) for key in wanted}}
    if isinstance(value, list | tuple):
        new = list(value)
        for index in range(len(new)) if name == "*" else [int(name)]:
            new[index] = _at(value[index], rest, change)
        return type(value)(new)
    if isinstance(value, np.ndarray):
        new_array = value.astype(np.float64)
        new_array[int(name)] = change(value[int(name)])
        return new_array
    raise LookupError(f"{type(value).__name__} has no {name!r}")


def _times(value: Any, factor: float) -> Any:
    if isinstance(value, Mapping):
        return {key: _times(entry, factor) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(_times(entry, factor) for entry in value)
    return value * factor
