"""Lists studies and algorithms without importing the studies."""

from __future__ import annotations

import ast
import importlib
import json
from collections.abc import Iterator
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

    A study is a package or module of ``headway.studies`` with a line ``STUDY = Class()``. Class
    attributes that are string literals are read without importing the module.
    """
    found = {entry.name: entry for entry in _entries()}
    return dict(sorted(found.items()))


def study_named(name: str) -> Study[Any, Any] | None:
    """One study, without importing the others; None if no study has this name."""
    entry = studies().get(name)
    if entry is None:
        return None
    study: Study[Any, Any] = importlib.import_module(entry.module).STUDY
    return study


def _entries() -> Iterator[Entry]:
    for path in sorted(_FOLDER.iterdir()):
        source = path / "__init__.py" if path.is_dir() else path
        if path.name.startswith("_") or source.suffix != ".py" or not source.is_file():
            continue
        module = f"headway.studies.{path.stem}"
        said = _said_in(source)
        if said is not None:
            name, title, published = said if len(said) == len(_SHOWN) else _asked(module)
            yield Entry(name, title, published, module)


def _said_in(source: Path) -> list[str] | None:
    """Those of name, title and source that the study's class sets to string literals.

    None if the file has no study.
    """
    tree = ast.parse(source.read_bytes())
    classes = {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}
    made = [node.value for node in tree.body if isinstance(node, ast.Assign) and _is_study(node)]
    if not made:
        return None
    of = made[-1].func if isinstance(made[-1], ast.Call) else None
    owner = classes.get(of.id) if isinstance(of, ast.Name) else None
    texts = {
        target.id: node.value.value
        for node in (owner.body if owner else [])
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant)
        for target in node.targets
        if isinstance(target, ast.Name) and isinstance(node.value.value, str)
    }
    return [texts[name] for name in _SHOWN if name in texts]


def _is_study(node: ast.Assign) -> bool:
    return any(isinstance(target, ast.Name) and target.id == "STUDY" for target in node.targets)


def _asked(module: str) -> list[str]:
    """Name, title and source from the imported study, for classes that compute them."""
    study = importlib.import_module(module).STUDY
    return [getattr(study, name) for name in _SHOWN]
