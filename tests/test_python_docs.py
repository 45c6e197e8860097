"""The Python reference has every public name, documented."""

from __future__ import annotations

import ast
import importlib
import inspect
from collections.abc import Iterator
from functools import cached_property
from typing import Any

import pytest
from site_hooks import reference
from test_docs import PAGES, RECIPES, programs

SECTIONS = [(module, names) for page in reference().values() for module, names in page.items()]


def test_the_reference_has_what_the_programs_of_the_pages_import() -> None:
    """Leaves out recipes: their examples become part of the package, so they may use private
    names.
    """
    sections = dict(SECTIONS)
    asked = {
        (found.module or "", alias.name)
        for source in programs([page for page in PAGES if page not in RECIPES])
        for found in ast.walk(ast.parse(source))
        if isinstance(found, ast.ImportFrom)
        for alias in found.names
        if (found.module or "").startswith("headway") and not alias.name.startswith("_")
    }
    assert len(asked) > 10
    public = [*sections["headway"], *sections]
    assert [
        (module, name)
        for module, name in sorted(asked)
        if module not in sections or (module == "headway" and name not in public)
        if f"{module}.{name}" not in sections
    ] == []


@pytest.mark.parametrize(("module", "names"), SECTIONS, ids=[module for module, _ in SECTIONS])
def test_every_public_name_is_documented(module: str, names: list[str]) -> None:
    """The module is documented too, and so are the methods and properties that a class defines."""
    whole = importlib.import_module(module)
    things = {module: whole}
    for name in names:
        thing = getattr(whole, name)
        if inspect.isclass(thing) or inspect.isroutine(thing):
            things[name] = thing
        if inspect.isclass(thing) and thing.__module__.startswith("headway"):
            things |= {f"{name}.{part}": member for part, member in members(thing)}
    bare = [name for name, thing in things.items() if len(thing.__doc__ or "") < 15]
    assert bare == []


def members(thing: type) -> Iterator[tuple[str, Any]]:
    """Public methods and properties of a class, without those that it inherits."""
    for name, member in vars(thing).items():
        raw = getattr(member, "__func__", member)
        if not name.startswith("_") and (
            inspect.isfunction(raw) or isinstance(raw, property | cached_property)
        ):
            yield name, raw
