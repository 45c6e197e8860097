"""Makes docs/python/: a page per public class and function, of their docstrings.

`make pages` writes them; tests/test_pages.py holds those that are there against those that would
be made. Nothing is written here that the code does not say.
"""

from __future__ import annotations

import dataclasses
import importlib
import inspect
import re
import sys
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from types import ModuleType
from typing import Any

from pydantic import BaseModel

from headway import units

ROOT = Path(__file__).resolve().parent.parent
PAGES = ROOT / "docs" / "python"

MODULES = (
    "headway", "headway.experiment", "headway.errors", "headway.trace", "headway.digest",
    "headway.metrics", "headway.models", "headway.workloads", "headway.figures", "headway.units",
    "headway.sockets", "headway.flent", "headway.study", "headway.claims", "headway.report",
)  # fmt: skip
"""Whose names a script may use; a name has its page under the first module that has it."""

WRITTEN = {
    "Rate": 'rate, `"1 Mbit/s"`',
    "Time": 'time, `"50 ms"`',
    "Length": 'time > 0, `"60 s"`',
    "Size": 'size, `"60000 B"`',
    "PositiveSize": 'size > 0, `"1 MB"`',
    "QueueLimit": 'queue, `"60000 B"`, `"40 pkts"`, `"1 BDP"`',
    "Probability": 'probability, `0.01`, `"1%"`',
    "QueueAlgorithm": "`Aqm` or text",
    "QuickStart": "`True`, tunables, text or `None`",
    "Tunables": "`dict` by name",
    "Epochs": "`(request, response, think time)`, each: two sizes and a time",
}
"""How a field is written whose type is one of headway.spec's, or beside it."""


def main() -> None:
    """Writes all pages, and removes those of names that are gone."""
    made = pages()
    PAGES.mkdir(exist_ok=True)
    for old in PAGES.glob("*.md"):
        if old.name not in made:
            old.unlink()
    for name, text in made.items():
        (PAGES / name).write_text(text, encoding="utf-8")
    print(f"{len(made)} pages in {PAGES.relative_to(ROOT)}")


def pages() -> dict[str, str]:
    """The text of every page by its file name, the index included."""
    made: dict[str, str] = {}
    index = [
        "# Headway in Python\n\nMade of the docstrings by `make pages`. A whole experiment is in "
        "[get-started.md](../get-started.md#in-python), a parking lot in "
        "[parking-lot.md](../parking-lot.md), a trace's tables in "
        "[architecture.md](../architecture.md#the-trace).\n"
    ]
    seen: set[int] = set()
    for module in _modules():
        lines = []
        for name, thing in _names(module):
            if id(thing) not in seen:
                seen.add(id(thing))
                file = f"{module.__name__}.{name}.md"
                made[file] = page(f"{module.__name__}.{name}", thing)
                lines.append(f"| [`{name}`]({file}) | {_summary(thing)} |")
        if lines:
            about = _first_paragraph(module)
            index.append(
                f"## {module.__name__}\n\n{about}\n\n| | |\n|---|---|\n" + "\n".join(lines)
            )
    made["README.md"] = "\n\n".join(part.strip() for part in index) + "\n"
    return made


def _modules() -> Iterator[ModuleType]:
    for name in MODULES:
        module = importlib.import_module(name)
        yield module
        for public in getattr(module, "__all__", ()):
            if isinstance(inner := getattr(module, public), ModuleType):
                yield inner


def _names(module: ModuleType) -> Iterator[tuple[str, Any]]:
    """Public classes and functions: those of __all__, else those that the module defines."""
    public = getattr(module, "__all__", None)
    for name in sorted(public or vars(module)):
        thing = getattr(module, name)
        documented = inspect.isclass(thing) or inspect.isroutine(inspect.unwrap(thing))
        own = public or (not name.startswith("_") and _home(thing) == module.__name__)
        if documented and own:
            yield name, thing


def _home(thing: Any) -> str:
    return str(getattr(thing, "__module__", ""))


def page(name: str, thing: Any) -> str:
    """One page: signature, docstring, fields and methods, source."""
    short = name.rpartition(".")[2]
    parts = [f"# {name}"]
    if inspect.isclass(thing):
        parts += [f"```text\n{_class_line(short, thing)}\n```", _body(thing)]
        parts += _fields(thing)
        parts += _methods(thing)
    else:
        parts += [f"```text\n{short}{signature(thing)}\n```", _body(thing)]
    source = Path(inspect.getsourcefile(inspect.unwrap(thing)) or "")
    where = source.resolve().relative_to(ROOT)
    parts.append(f"Source: [{where}](../../{where}). [All names](README.md)")
    return "\n\n".join(part for part in parts if part) + "\n"


def signature(function: Any) -> str:
    """As it is written, over several lines where it is long."""
    whole = inspect.signature(inspect.unwrap(function))
    text = _plain(str(whole))
    if len(text) <= 80 or not whole.parameters:
        return text
    lines, star = [], False
    for parameter in whole.parameters.values():
        if parameter.kind is parameter.KEYWORD_ONLY and not star:
            lines.append("    *,")
            star = True
        star = star or parameter.kind is parameter.VAR_POSITIONAL
        lines.append(f"    {_plain(str(parameter))},")
    returns = whole.return_annotation
    if not isinstance(returns, str):
        returns = inspect.formatannotation(returns)
    arrow = "" if whole.return_annotation is whole.empty else f" -> {returns}"
    return "(\n" + "\n".join(lines) + f"\n){arrow}"


def _plain(text: str) -> str:
    """Annotations are kept as text, which prints with quotes; addresses differ from run to run."""
    text = re.sub(r"(: |-> )'([^']*)'", r"\1\2", text)
    return re.sub(r"<function (\w+) at 0x\w+>", r"\1", text)


def _class_line(name: str, thing: type) -> str:
    if issubclass(thing, BaseModel | BaseException) or not dataclasses.is_dataclass(thing):
        bases = [base.__name__ for base in thing.__bases__ if base is not object]
        return f"class {name}" + (f"({', '.join(bases)})" if bases else "")
    return f"class {name}{signature(thing).removesuffix(' -> None')}"


def _body(thing: Any) -> str:
    """The docstring as Markdown; what is under Args, Returns and Raises as lists."""
    text = inspect.getdoc(thing) or ""
    text = re.sub(r":\w+:`~?([^`]+)`", r"`\1`", text).replace("``", "`")
    lines: list[str] = []
    heading = ""
    for line in text.splitlines():
        if title := re.fullmatch(r"(Args|Returns|Raises|Yields):", line):
            heading = title[1]
            lines += [f"**{heading}**", ""]
        elif heading and line.startswith("    "):
            begins = not lines[-1] or (heading in ("Args", "Raises") and line[4] != " ")
            lines.append(("- " if begins else "  ") + line.strip())
        else:
            heading = "" if line else heading
            lines.append(line)
    return "\n".join(lines)


def _fields(thing: type) -> list[str]:
    if issubclass(thing, BaseModel):
        rows = [
            f"| `{name}` | {_written(thing, name)} | {_default(thing, name, field)} |"
            for name, field in thing.model_fields.items()
        ]
        return (
            ["| field | written as | default |\n|---|---|---|\n" + "\n".join(rows)] if rows else []
        )
    return []


def _annotation(thing: type, name: str) -> str:
    """A field's type as its class says it."""
    classes = (inspect.get_annotations(owner) for owner in thing.__mro__)
    return str(next(types[name] for types in classes if name in types))


def _written(thing: type, name: str) -> str:
    text = _annotation(thing, name)
    if inner := re.match(r"Annotated\[\s*(\w+),", text):
        text = inner[1]
    kind = text.removeprefix("Maybe")
    known = WRITTEN.get("PositiveSize" if text == "MaybeSize" else kind)
    if known:
        return known + (" or `None`" if kind != text else "")
    if given := re.fullmatch(r"Given\[(.*)\]", text, re.DOTALL):
        text = given[1][_comma(given[1]) + 1 :]
    elif union := re.fullmatch(r"Annotated\[(.*), Field\(.*\)\]", text, re.DOTALL):
        text = union[1]
    return "`" + " ".join(text.split()).replace("|", "\\|") + "`"


def _comma(text: str) -> int:
    """Where the first comma outside brackets stands."""
    depth = 0
    for at, character in enumerate(text):
        depth += (character == "[") - (character == "]")
        if character == "," and not depth:
            return at
    return -1


def _default(thing: type[BaseModel], name: str, field: Any) -> str:
    if field.is_required():
        return "required"
    value = field.get_default(call_default_factory=True)
    show = {"Rate": units.format_rate, "Time": units.format_time, "Size": units.format_size}
    text = re.sub(r"Annotated\[\s*(\w+),.*", r"\1", _annotation(thing, name))
    if text in show:
        return f'`"{show[text](value)}"`'
    return f"`{getattr(value, 'name', value)!r}`".replace("|", "\\|")


def _methods(thing: type) -> list[str]:
    parts = []
    for name, member in vars(thing).items():
        if name.startswith("_") or (
            issubclass(thing, BaseModel) and name.startswith("model_config")
        ):
            continue
        raw = member.__func__ if isinstance(member, classmethod | staticmethod) else member
        if isinstance(raw, property | cached_property):
            function = raw.fget if isinstance(raw, property) else raw.func
            parts.append(f"## {name}\n\n{_body(function)}")
        elif inspect.isfunction(raw) and inspect.getdoc(raw):
            parts.append(f"## {name}\n\n```text\n{name}{signature(raw)}\n```\n\n{_body(raw)}")
    return parts


def _first_paragraph(thing: Any) -> str:
    body = _body(thing).split("\n\n")[0]
    return " ".join(body.split())


def _summary(thing: Any) -> str:
    return _first_paragraph(thing).replace("|", "\\|")


if __name__ == "__main__":
    sys.exit(main())
