"""Algorithms as an experiment names them: a flow's control, a queue's."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import model_validator

from headway.engine import engine
from headway.registry import (
    check_tunables,
    is_recorded,
    owners_of,
    recorded_tunables,
    registry,
)
from headway.spec import Given, Spec, Written, default_made_by  # noqa: F401 - see Given

KERNEL_OWN = engine.KERNEL_OWN
"""Before the name of a control that the running kernel brings itself: "kernel:bbr"."""

Tunables = Given[dict[str, int], "dict[str, int] | dict[str, int | bool | str]"]


class Aqm(Spec):
    """A queue's algorithm and its tunables; text is enough where defaults will do: "drop-tail".

    ``tunables`` are by name, as `headway describe red` lists them with units and ranges: whole
    numbers, on or off, or the name of a choice. A name or a value that is not known is refused.
    """

    name: str = "drop-tail"
    tunables: Tunables = default_made_by(dict)

    @model_validator(mode="before")
    @classmethod
    def _check(cls, value: Any) -> Any:
        if isinstance(value, Aqm):
            return value
        fields = named_with_options(value)
        owner = registry().queue(str(fields.get("name", "drop-tail")))
        fields["tunables"] = check_tunables([owner], fields["tunables"])
        return fields


class Router(Spec):
    """An algorithm of the router before a link, and its tunables; or text: "quick-start".

    `headway list` has the names, `headway describe quick-start` tunables, counters and events.
    A file of one's own is a name, too, as of a Control.
    """

    name: str
    tunables: Tunables = default_made_by(dict)

    @model_validator(mode="before")
    @classmethod
    def _check(cls, value: Any) -> Any:
        if isinstance(value, Router):
            return value
        fields = named_with_options(value)
        name = str(fields.get("name", ""))
        if is_recorded(name):
            fields["tunables"] = recorded_tunables(fields["tunables"])
            return fields
        owner = registry().router(name)
        fields["tunables"] = check_tunables([owner], fields["tunables"])
        fields["name"] = owner.file or name
        return fields

    @property
    def label(self) -> str:
        """Its name as people read it: of a file, neither folder nor content."""
        return engine.plain(self.name)


class Control(Spec):
    """How a flow goes on, how it starts, and both their tunables.

    Text says the same: "cubic", "cubic+slow-start", "htcp:adaptive_backoff=off".
    ``startup`` None means the control's own; one that owns its start ("bbr") takes none.
    "kernel:NAME" is a control that the running kernel brings itself, for the kernel backend; it
    starts as it does and has no tunables here. `headway list` has the names, `headway describe
    htcp` the tunables with units and ranges. What is not known or out of range is refused.

    A file of one's own ("./mine.c", docs/tutorial.md) is a name, too: it is compiled, and its name
    then has a hash of its content ("./mine.c@0123456789abcdef"). A name with such a hash is taken
    as it is; the file is looked for when it runs, and must still have that content.
    """

    name: str
    startup: str | None = None
    tunables: Tunables = default_made_by(dict)

    @model_validator(mode="before")
    @classmethod
    def _check(cls, value: Any) -> Any:
        if isinstance(value, Control):
            return value
        fields = named_with_options(value)
        name, plus, of_name = str(fields.get("name", "")).partition("+")
        if plus:
            fields.update(name=name, startup=of_name)
        if name.startswith(KERNEL_OWN):
            return _of_the_kernel(name, fields)
        if is_recorded(name):
            fields["tunables"] = recorded_tunables(fields["tunables"])
            return fields
        startup = fields.get("startup")
        owners = owners_of(name, None if startup is None else str(startup))
        fields["tunables"] = check_tunables(owners, fields["tunables"])
        fields["name"] = owners[0].file or name
        return fields

    @property
    def kernel_own(self) -> str | None:
        """The kernel's name of a control it brings itself; None for one of ours."""
        own = self.name.startswith(KERNEL_OWN)
        return self.name.removeprefix(KERNEL_OWN) if own else None

    @property
    def label(self) -> str:
        """Its names as people read them: of a file, neither folder nor content."""
        return engine.plain(self.name) + (f"+{self.startup}" if self.startup else "")

    def __str__(self) -> str:
        return self.name + (f"+{self.startup}" if self.startup else "")


def _of_the_kernel(name: str, fields: dict[str, Any]) -> dict[str, Any]:
    engine.check_kernel_own(name, bool(fields.get("startup") or fields.get("tunables")))
    return fields


def named_with_options(value: Any) -> dict[str, Any]:
    """Fields of a Control or Aqm from text ("htcp:adaptive_backoff=off") or from fields.

    Raises ValueError for anything else.
    """
    if isinstance(value, str):
        value = {"name": value}
    if not isinstance(value, dict):
        raise ValueError(f"{value!r} is no name")
    fields = dict(value)
    given = fields.get("tunables") or {}
    if not isinstance(given, Mapping):
        raise ValueError(f"tunables: {given!r} is not allowed; values by name")
    name, options = engine.split_options(str(fields.get("name", "")))
    if options:
        fields["name"] = name
    fields["tunables"] = {**given, **options}
    return fields
