"""Lists studies and algorithms without importing the studies."""

from __future__ import annotations

import importlib
import json
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from headway.study import Study

_FOLDER = Path(__file__).with_name("studies")
_SHOWN = ("name", "title", "source")


@dataclass(frozen=True)
class Entry:
    """A study's name, title and source for lists, and its module."""

    name: str
    title: str
    source: str
    module: str


def algorithms_json() -> str:
    """The engine's registry as JSON text. Raises HeadwayError if the engine was not built."""
    from headway.engine import engine

    return engine.algorithms()


def algorithms() -> dict[str, list[dict[str, Any]]]:
    """Controls, startups, queues, routers and stacks: name, title and (except stacks) source."""
    known: dict[str, list[dict[str, Any]]] = json.loads(algorithms_json())
    return known


def studies() -> dict[str, Entry]:
    """Every study by name, in the order of names.

    A study is a package of ``headway.studies`` with a ``study.toml``, which is read without
    importing the package.
    """
    found = {}
    for file in _FOLDER.glob("*/study.toml"):
        entry = Entry(**_head_of(file), module=f"headway.studies.{file.parent.name}")
        found[entry.name] = entry
    return dict(sorted(found.items()))


def study_named(name: str) -> Study[Any, Any] | None:
    """One study, without importing the others; None if no study has this name."""
    entry = studies().get(name)
    if entry is None:
        return None
    study: Study[Any, Any] = importlib.import_module(entry.module).STUDY
    return study


def _head_of(file: Path) -> dict[str, str]:
    """Name, title and source. They are before the first table of the file."""
    head, _, _ = file.read_text(encoding="utf-8").partition("\n[")
    texts = tomllib.loads(head)
    return {name: " ".join(texts[name].split()) for name in _SHOWN}
