"""The algorithms of an experiment: of flows (Control), queues (Aqm) and routers (Router)."""

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
"""Prefix of the running kernel's own controls: "kernel:bbr"."""

Tunables = Given[dict[str, int], "dict[str, int] | dict[str, int | bool | str]"]


class Aqm(Spec):
    """A queue's algorithm and its tunables, or as text: "drop-tail", "fq_codel:target=5ms,ecn=off".

    ``tunables`` maps names to values: whole numbers, quantities with units, on or off, or the name
    of a choice. `headway describe fq_codel` lists them with units and ranges. Unknown names and
    values raise ExperimentError.
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
    """An algorithm of the router in front of a link, with its tunables; or as text: "quick-start".

    `headway list` lists the names, `headway describe quick-start` the tunables, counters and
    events. The path of a C file is a name, too, as for a Control.
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
        """The name for people: for a file, without its folder and hash."""
        return engine.plain(self.name)


class Control(Spec):
    """A flow's congestion control, its startup, and the tunables of both.

    Text is accepted, too: "cubic", "cubic+slow-start", "htcp:adaptive_backoff=off". ``startup``
    None means the control's own; a control with its own start ("bbr") takes no startup.
    "kernel:NAME" is one of the running kernel's own controls, for the kernel backend only; it takes
    no startup and no tunables. `headway list` lists the names, `headway describe htcp` the tunables
    with units and ranges. Unknown names and values out of range raise ExperimentError.

    The path of a C file ("./mine.c", docs/tutorial.md) is a name, too. The file is compiled, and
    a hash of its content is added to the name ("./mine.c@0123456789abcdef"). A name with a hash is
    kept unchanged; the file is read when the experiment runs, and must still have that content.
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
            return _kernel_control_fields(name, fields)
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
        """The kernel's name of one of its own controls; None for Headway's controls."""
        own = self.name.startswith(KERNEL_OWN)
        return self.name.removeprefix(KERNEL_OWN) if own else None

    @property
    def label(self) -> str:
        """Control and startup for people: for a file, without its folder and hash."""
        return engine.plain(self.name) + (f"+{self.startup}" if self.startup else "")

    def __str__(self) -> str:
        return self.name + (f"+{self.startup}" if self.startup else "")


def _kernel_control_fields(name: str, fields: dict[str, Any]) -> dict[str, Any]:
    engine.check_kernel_own(name, bool(fields.get("startup") or fields.get("tunables")))
    return fields


def named_with_options(value: Any) -> dict[str, Any]:
    """The fields of a Control, Aqm or Router from text ("htcp:adaptive_backoff=off") or fields.

    Raises ValueError for anything else.
    """
    if isinstance(value, str):
        value = {"name": value}
    if not isinstance(value, dict):
        raise ValueError(f"{value!r} is not allowed; must be a name")
    fields = dict(value)
    given = fields.get("tunables") or {}
    if not isinstance(given, Mapping):
        raise ValueError(f"tunables: {given!r} is not allowed; must map names to values")
    name, options = engine.split_tunables(str(fields.get("name", "")))
    if options:
        fields["name"] = name
    fields["tunables"] = {**given, **options}
    return fields
