"""What the engine was built with: controls, startups, queues, routers, stacks, and tunables.

The engine generates the registry from the algorithms' own files, so nothing is listed here.
"""

from __future__ import annotations

import difflib
import functools
from collections.abc import Iterable, Mapping
from typing import TypeVar

from pydantic import BaseModel, ConfigDict

from headway.catalogue import algorithms_json

_SWITCH = {"on": 1, "off": 0, "true": 1, "false": 0, "yes": 1, "no": 0}


class Tunable(BaseModel):
    """One tunable of an algorithm, as its C file declares it: an integer in [min, max].

    The unit "bool" is a switch, "a|b|c" names the values from 0 on.
    """

    model_config = ConfigDict(frozen=True)

    name: str
    unit: str
    default: int
    min: int
    max: int
    meaning: str

    @property
    def choices(self) -> tuple[str, ...]:
        """The names of its values from 0 on; empty where they have none."""
        if self.unit == "bool":
            return ("off", "on")
        return tuple(self.unit.split("|")) if "|" in self.unit else ()

    @property
    def allowed(self) -> str:
        """The range as people write it."""
        if self.unit == "bool":
            return "on or off"
        if self.choices:
            return ", ".join(self.choices)
        return f"{self.min} to {self.max}" + (f" {self.unit}" if self.unit else "")

    def check(self, value: object) -> int:
        """``value`` as the integer the engine takes; raises ValueError if out of range."""
        number: int | None
        if isinstance(value, bool):
            number = int(value)
        elif isinstance(value, str) and self.unit == "bool" and value.lower() in _SWITCH:
            number = _SWITCH[value.lower()]
        elif isinstance(value, str) and value in self.choices:
            number = self.choices.index(value)
        else:
            try:
                number = int(str(value))
            except ValueError:
                number = None
        if number is None or not self.min <= number <= self.max:
            raise ValueError(f"tunable {self.name}={value} out of range; allowed: {self.allowed}")
        return number


class Algorithm(BaseModel):
    """A control, a startup, a queue discipline or a router algorithm."""

    model_config = ConfigDict(frozen=True)

    name: str
    title: str
    source: str
    startup: str | None = None
    state_bytes: int | None = None
    tunables: tuple[Tunable, ...] = ()


class Stack(BaseModel):
    """A profile of the TCP endpoint: which era of Linux it behaves like."""

    model_config = ConfigDict(frozen=True)

    name: str
    title: str


Named = TypeVar("Named", Algorithm, Stack)


class Registry(BaseModel):
    """Everything an experiment can name."""

    model_config = ConfigDict(frozen=True)

    controls: tuple[Algorithm, ...]
    startups: tuple[Algorithm, ...]
    queues: tuple[Algorithm, ...]
    routers: tuple[Algorithm, ...]
    stacks: tuple[Stack, ...]

    def control(self, name: str) -> Algorithm:
        """The control called ``name``; raises ValueError with the nearest names."""
        return _find(self.controls, name, "control")

    def startup(self, name: str) -> Algorithm:
        """The startup called ``name``; raises ValueError with the nearest names."""
        return _find(self.startups, name, "startup")

    def router(self, name: str) -> Algorithm:
        """The router algorithm called ``name``; raises ValueError with the nearest names."""
        return _find(self.routers, name, "router")

    def queue(self, name: str) -> Algorithm:
        """The queue discipline called ``name``; raises ValueError with the nearest names."""
        return _find(self.queues, name, "queue discipline")

    def stack(self, name: str) -> Stack:
        """The stack called ``name``; raises ValueError with the allowed names."""
        return _find(self.stacks, name, "stack")


def unknown(kind: str, name: str, names: Iterable[str]) -> str:
    """One line: what is unknown, and the nearest names (all of them where none is near)."""
    names, name = list(names), str(name)  # a file may say anything
    lowered = {known.lower(): known for known in names}
    near = [lowered[key] for key in difflib.get_close_matches(name.lower(), lowered, n=3)]
    hint = f"nearest: {', '.join(near)}" if near else f"known: {', '.join(names)}"
    return f"unknown {kind} {name!r}; {hint}"


def _find(items: Iterable[Named], name: str, kind: str) -> Named:
    by_name = {item.name: item for item in items}
    if name not in by_name:
        raise ValueError(unknown(kind, name, by_name))
    return by_name[name]


def check_tunables(owners: Iterable[Algorithm], values: Mapping[str, object]) -> dict[str, int]:
    """Values by tunable name as integers; raises ValueError for an unknown name or a bad value."""
    owners = list(owners)
    known = {tunable.name: tunable for owner in owners for tunable in owner.tunables}
    for name in values:
        if name not in known:
            where = "+".join(owner.name for owner in owners)
            raise ValueError(unknown(f"tunable of {where}", str(name), known or ["(none)"]))
    return {name: known[name].check(value) for name, value in values.items()}


def options_of_text(parts: list[str]) -> dict[str, str]:
    """Tunables and other options by name, from parts such as "sack=off"; raises ValueError."""
    options: dict[str, str] = {}
    for part in parts:
        name, equals, value = part.partition("=")
        if not (name and equals and value):
            raise ValueError(f"{part!r}: write OPTION=VALUE, for example sack=off")
        options[name] = value
    return options


@functools.cache
def registry() -> Registry:
    """The engine's registry. Raises HeadwayError if the engine was not built."""
    return Registry.model_validate_json(algorithms_json())
