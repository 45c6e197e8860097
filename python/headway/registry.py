"""The engine's registry: controls, startups, queues, routers, stacks, and their tunables.

The engine generates the registry from the algorithms' source files.
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

    The unit "bool" is a switch, and "a|b|c" names the values from 0 on.
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
        """The names of the tunable's values from 0 on; empty for plain numbers."""
        if self.unit == "bool":
            return ("off", "on")
        return tuple(self.unit.split("|")) if "|" in self.unit else ()

    @property
    def shown_default(self) -> str:
        """The default as text for users."""
        return self.choices[self.default] if self.choices else str(self.default)

    @property
    def allowed(self) -> str:
        """The allowed values as text for users."""
        return engine.allowed_of_tunable(self.unit, self.min, self.max)

    def check(self, value: object) -> int:
        """``value`` as the engine's integer; raises ValueError if the tunable does not allow it."""
        return engine.check_tunable(self.name, self.unit, self.min, self.max, _written(value))


class Declared(BaseModel):
    """A counter, state value or event of a router or a queue, as its C file declares it."""

    model_config = ConfigDict(frozen=True)

    name: str
    unit: str
    meaning: str


class Algorithm(BaseModel):
    """A control, a startup, a queue discipline or a router algorithm.

    ``flags`` of a control: "own-start" (takes no startup), "paces", "ect0" or "ect1" (the ECN
    codepoint of its packets), "needs-ecn", "rtt-stamp" (its RTT samples are in microseconds for any
    clock of the stack), "asks-on-syn" (its header is also on the SYN with stack linux-2.6),
    "echoes-ce" (its ACKs tell exactly which packets were marked), "accurate-ecn" (it needs Accurate
    ECN), "short-bursts" (its packets leave in short bursts). ``readings`` are the values of its
    state that a trace can show.

    ``reads_monitor``: the control uses what its outgoing link publishes, and behaves as Reno if the
    link publishes nothing (docs/pep-control.md).

    ``takes_ecn_bits``: the control's header is in the ECN bits, so its flows cannot use ECN.

    ``paces``: the startup may choose a first flight from what its application writes or announces.

    Of a queue or a router: ``counters`` are its counters and state. Of a router: ``events`` are its
    reports about packets, ``header`` the header that it reads. ``file`` is the user's C file with a
    hash of its content, "./mine.c@0123456789abcdef"; None for built-in algorithms.
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
    readings: tuple[Declared, ...] = ()
    header: str | None = None
    takes_ecn_bits: bool = False
    reads_monitor: bool = False
    paces: bool = False
    file: str | None = None

    @model_serializer(mode="wrap")
    def _without_no_file(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        fields: dict[str, Any] = handler(self)
        if self.file is None:
            del fields["file"]
        for optional in ("takes_ecn_bits", "reads_monitor", "paces", "readings"):
            if not fields[optional]:
                del fields[optional]
        return fields


class Stack(BaseModel):
    """A profile of the simulator's TCP stack, which behaves like a certain version of Linux."""

    model_config = ConfigDict(frozen=True)

    name: str
    title: str


Named = TypeVar("Named", Algorithm, Stack)


class Registry(BaseModel):
    """All algorithms and stacks that an experiment can name."""

    model_config = ConfigDict(frozen=True)

    controls: tuple[Algorithm, ...]
    startups: tuple[Algorithm, ...]
    queues: tuple[Algorithm, ...]
    routers: tuple[Algorithm, ...]
    stacks: tuple[Stack, ...]

    def control(self, name: str) -> Algorithm:
        """The control called ``name``; raises ValueError with the nearest names.

        The path of a C file ("./mine.c") loads its control, see ``user_file``.
        """
        return _find_or_load(self.controls, name, "control")

    def startup(self, name: str) -> Algorithm:
        """The startup called ``name``; raises ValueError with the nearest names."""
        return _find(self.startups, name, "startup")

    def router(self, name: str) -> Algorithm:
        """The router algorithm called ``name``, or in that C file; errors as of ``control``."""
        return _find_or_load(self.routers, name, "router")

    def queue(self, name: str) -> Algorithm:
        """The queue discipline called ``name``; raises ValueError with the nearest names."""
        return _find(self.queues, name, "queue discipline")

    def stack(self, name: str) -> Stack:
        """The stack called ``name``; raises ValueError with the allowed names."""
        return _find(self.stacks, name, "stack")


def owners_of(control: str, startup: str | None) -> tuple[Algorithm, ...]:
    """A control and its startup, by name; only the control if it has its own start.

    Raises ValueError for unknown names, and for a startup of a control with its own start.
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
    """An error line with the unknown name and the nearest names (all names if none is near)."""
    # the name in a JSON or TOML file may be a number
    return engine.unknown(kind, str(name), list(names))


def _find(items: Iterable[Named], name: str, kind: str) -> Named:
    by_name = {item.name: item for item in items}
    if name not in by_name:
        raise ValueError(unknown(kind, name, by_name))
    return by_name[name]


def _find_or_load(items: Iterable[Algorithm], name: str, kind: str) -> Algorithm:
    return _find(items, name, kind) if engine.file_of(name) is None else user_file(kind, name)


def user_file(kind: str, name: str) -> Algorithm:
    """Compile and load the "control" or "router" in a user's C file.

    Its code runs with the privileges of this process. If the path has a hash
    ("./mine.c@0123456789abcdef"), the file's content must match. Raises ValueError with one line
    that names the file, and the line of the error if known.
    """
    return Algorithm.model_validate_json(engine.user_file(kind, name))


def is_recorded(name: str) -> bool:
    """Whether an algorithm's name is the path of a C file with a hash, as in saved experiments.

    Running such an experiment needs the C file; reading the experiment does not.
    """
    file = engine.file_of(name)
    return file is not None and file[1] is not None


def recorded_tunables(values: Mapping[str, object]) -> dict[str, int]:
    """Tunables of an algorithm in a C file, from a saved experiment.

    Raises ValueError for a value that is not an integer.
    """
    for name, value in values.items():
        if not isinstance(value, int) or isinstance(value, bool):
            raise ValueError(f"tunable {name}={value} is not allowed; must be a whole number")
    return {name: value for name, value in values.items() if isinstance(value, int)}


def check_tunables(owners: Iterable[Algorithm], values: Mapping[str, object]) -> dict[str, int]:
    """Tunables by name as integers; raises ValueError for an unknown name or a bad value.

    A value with a unit may stand after a name without its unit: "target" for "target_us".
    """
    owners = list(owners)
    known = [(one.name, one.unit, one.min, one.max) for owner in owners for one in owner.tunables]
    written = [(str(name), _written(value)) for name, value in values.items()]
    return engine.check_tunables("+".join(owner.name for owner in owners), known, written)


def _written(value: object) -> str:
    return str(int(value)) if isinstance(value, bool) else str(value)


def options_of_text(parts: list[str]) -> dict[str, str]:
    """Tunables and other options by name, from parts such as "sack=off"; raises ValueError."""
    return engine.options_of_text(parts)


@functools.cache
def registry() -> Registry:
    """The engine's registry. Raises HeadwayError if the engine was not built."""
    return Registry.model_validate_json(algorithms_json())
