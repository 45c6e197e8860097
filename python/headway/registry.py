"""What the engine was built with: controls, startups, queues, routers, stacks, and tunables.

The engine generates the registry from the algorithms' own files, so nothing is listed here.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, SerializerFunctionWrapHandler, model_serializer

from headway.catalogue import algorithms_json
from headway.engine import engine


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
        return engine.allowed_of_tunable(self.unit, self.min, self.max)

    def check(self, value: object) -> int:
        """``value`` as the integer the engine takes; raises ValueError if out of range."""
        written = str(int(value)) if isinstance(value, bool) else str(value)
        return engine.check_tunable(self.name, self.unit, self.min, self.max, written)


class Declared(BaseModel):
    """Something that a router algorithm counts, knows or tells, as its C file declares it."""

    model_config = ConfigDict(frozen=True)

    name: str
    unit: str
    meaning: str


class Algorithm(BaseModel):
    """A control, a startup, a queue discipline or a router algorithm.

    ``flags`` are a control's: "own-start" (no startup joins it), "paces", "ect0" or "ect1" (how it
    marks its packets), "needs-ecn", "rtt-stamp" (its RTT samples are in microseconds, whatever the
    stack's clock), "asks-on-syn" (its header goes on the SYN, too, with stack linux-2.6).

    ``reads_monitor``: a control that goes by what the link publishes by which its packets leave;
    it is as Reno where nothing does (docs/pep-control.md).

    ``paces``: a startup that may choose a first flight, by what its application writes or says.

    Of a router: ``counters`` is what it counts and knows, ``events`` what it tells of packets,
    ``header`` what it reads of them. ``file`` is the file of one's own that it was brought in, with
    a hash of its content, "./mine.c@0123456789abcdef"; None: it was built in.
    """

    model_config = ConfigDict(frozen=True)

    name: str
    title: str
    source: str
    startup: str | None = None
    flags: tuple[str, ...] = ()
    state_bytes: int | None = None
    tunables: tuple[Tunable, ...] = ()
    counters: tuple[Declared, ...] = ()
    events: tuple[Declared, ...] = ()
    header: str | None = None
    reads_monitor: bool = False
    paces: bool = False
    file: str | None = None

    @model_serializer(mode="wrap")
    def _without_no_file(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        fields: dict[str, Any] = handler(self)
        if self.file is None:
            del fields["file"]
        for flag in ("reads_monitor", "paces"):
            if not fields[flag]:
                del fields[flag]
        return fields


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
        """The control called ``name``; raises ValueError with the nearest names.

        The name of a file ("./mine.c") brings the one in it, see ``brought``.
        """
        return _found(self.controls, name, "control")

    def startup(self, name: str) -> Algorithm:
        """The startup called ``name``; raises ValueError with the nearest names."""
        return _find(self.startups, name, "startup")

    def router(self, name: str) -> Algorithm:
        """The router algorithm called ``name``, or in that file; as ``control``."""
        return _found(self.routers, name, "router")

    def queue(self, name: str) -> Algorithm:
        """The queue discipline called ``name``; raises ValueError with the nearest names."""
        return _find(self.queues, name, "queue discipline")

    def stack(self, name: str) -> Stack:
        """The stack called ``name``; raises ValueError with the allowed names."""
        return _find(self.stacks, name, "stack")


def owners_of(control: str, startup: str | None) -> tuple[Algorithm, ...]:
    """A control and the startup that joins it, by name; the control alone where it owns its start.

    Raises ValueError for names that are not known, and a startup where none can be joined.
    """
    owner = registry().control(control)
    if "own-start" not in owner.flags:
        own = owner.startup or "slow-start"
        return owner, registry().startup(own if startup is None else startup)
    if startup is not None:
        raise ValueError(
            f"{control} has its own start: no startup joins it; "
            f"write {control} instead of {control}+{startup}"
        )
    return (owner,)


def unknown(kind: str, name: str, names: Iterable[str]) -> str:
    """One line: what is unknown, and the nearest names (all of them where none is near)."""
    return engine.unknown(kind, str(name), list(names))  # a file may say anything


def _find(items: Iterable[Named], name: str, kind: str) -> Named:
    by_name = {item.name: item for item in items}
    if name not in by_name:
        raise ValueError(unknown(kind, name, by_name))
    return by_name[name]


def _found(items: Iterable[Algorithm], name: str, kind: str) -> Algorithm:
    return _find(items, name, kind) if engine.file_of(name) is None else brought(kind, name)


def brought(kind: str, name: str) -> Algorithm:
    """The "control" or "router" in a file of one's own, which is compiled and loaded.

    Its code runs with the rights of this process. With a content behind its path
    ("./mine.c@0123456789abcdef") the file must have just that. Raises ValueError with one line
    that names the file, and its line where there is one.
    """
    return Algorithm.model_validate_json(engine.brought(kind, name))


def is_recorded(name: str) -> bool:
    """Whether a name is a file's with its content, as records have it.

    Who only reads a record need not have the file: it is looked for when it is to run.
    """
    file = engine.file_of(name)
    return file is not None and file[1] is not None


def recorded_tunables(values: Mapping[str, object]) -> dict[str, int]:
    """Tunables of a file's algorithm as a record has them; raises ValueError for other values."""
    for name, value in values.items():
        if not isinstance(value, int) or isinstance(value, bool):
            raise ValueError(f"tunable {name}={value} is not allowed; a whole number")
    return {name: value for name, value in values.items() if isinstance(value, int)}


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
    return engine.options_of_text(parts)


@functools.cache
def registry() -> Registry:
    """The engine's registry. Raises HeadwayError if the engine was not built."""
    return Registry.model_validate_json(algorithms_json())
