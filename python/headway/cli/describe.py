"""``headway describe``: what is known about one study or algorithm."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from headway import catalogue
from headway.cli.options import AsJson
from headway.cli.show import console, print_json, print_table
from headway.engine import engine
from headway.errors import HeadwayError
from headway.registry import Algorithm, Stack, registry, unknown, user_file
from headway.table import Table

if TYPE_CHECKING:
    from headway.study import Study


def describe(
    name: Annotated[
        str,
        typer.Argument(
            help="A study, control, startup, queue, router or stack, or a C file: ./mine.c."
        ),
    ],
    as_json: AsJson = False,
) -> None:
    """Describe one study or algorithm: source, state and tunables."""
    if engine.file_of(name) is not None:
        _describe(_in_file(name), as_json)
        return
    known = registry()
    study = catalogue.study_named(name)
    groups: list[tuple[str, dict[str, Study[Any, Any] | Algorithm | Stack]]] = [
        ("study", {name: study} if study else {}),
        ("control", {item.name: item for item in known.controls}),
        ("startup", {item.name: item for item in known.startups}),
        ("queue", {item.name: item for item in known.queues}),
        ("router", {item.name: item for item in known.routers}),
        ("stack", {item.name: item for item in known.stacks}),
    ]
    found = [(kind, items[name]) for kind, items in groups if name in items]
    if not found:
        names = sorted({*catalogue.studies(), *(key for _, items in groups for key in items)})
        raise HeadwayError(unknown("name", name, names))
    _describe(found, as_json)


Described = list[tuple[str, "Study[Any, Any] | Algorithm | Stack"]]


def _in_file(name: str) -> Described:
    """The control or router in the user's C file. Raises HeadwayError."""
    try:
        kind = engine.kind_in(name)
        return [(kind, user_file(kind, name))]
    except ValueError as error:
        raise HeadwayError(str(error)) from None


def _describe(found: Described, as_json: bool) -> None:
    if as_json:
        # A name may be both a startup's and a router algorithm's, for example quick-start.
        described = [_as_json(kind, item) for kind, item in found]
        print_json(described[0] if len(described) == 1 else described)
        return
    for kind, item in found:
        _print(kind, item)


def _as_json(kind: str, item: Study[Any, Any] | Algorithm | Stack) -> dict[str, Any]:
    if isinstance(item, Algorithm | Stack):
        return {"kind": kind, **item.model_dump()}
    return {
        "kind": kind,
        "name": item.name,
        "title": item.title,
        "source": item.source,
        "description": item.description,
        "workload": [asdict(made()) for made in item.workload_tables],
    }


def _print(kind: str, item: Study[Any, Any] | Algorithm | Stack) -> None:
    out = console()
    out.print(f"{kind} {item.name}: {item.title}", markup=False)
    if isinstance(item, Algorithm) and item.file:
        out.print(f"file: {item.file}", markup=False, soft_wrap=True)
    if isinstance(item, Stack):
        return
    out.print(f"source: {item.source}", markup=False)
    if not isinstance(item, Algorithm):
        if item.description:
            out.print(item.description, markup=False)
        for made in item.workload_tables:
            print_table(made())
        out.print(f"run it: headway run {item.name}", markup=False)
        return
    if item.flags:
        out.print(f"flags: {', '.join(item.flags)}", markup=False)
    if item.startup:
        out.print(f"startup: {item.startup}", markup=False)
    if item.state_bytes is not None:
        per = "link" if kind in ("queue", "router") else "flow"
        out.print(f"state: {item.state_bytes} bytes per {per}", markup=False)
    if item.tunables:
        print_table(
            Table(
                "tunables",
                ["name", "default", "allowed", "meaning"],
                [[t.name, t.shown_default, t.allowed, t.meaning] for t in item.tunables],
            )
        )
    if item.header:
        out.print(f"header: {item.header}", markup=False)
    for title, declared in (
        ("counters", item.counters),
        ("events", item.events),
        ("readings", item.readings),
    ):
        if declared:
            rows = [[one.name, one.unit, one.meaning] for one in declared]
            print_table(Table(title, ["name", "unit", "meaning"], rows))
