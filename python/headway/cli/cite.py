"""``headway cite``: BibTeX entries of Headway and of the sources of its algorithms."""

from __future__ import annotations

import importlib.metadata
import re
from typing import Annotated

import typer

from headway.catalogue import algorithms
from headway.errors import HeadwayError

_KINDS = ("controls", "startups", "queues", "routers")
_RFC = re.compile(r"\bRFC (\d+)")
_SPECIAL = re.compile(r"([&%$#_{}])")
_MOST_NAMES = 60


def cite(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[NAME]...",
            help="Controls, startups, queues and routers of `headway list`; cubic+jump-start is "
            "both.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Print BibTeX entries of Headway and of the sources of algorithms."""
    version = importlib.metadata.version("headway")
    entries = [_entry("headway", "{Headway}: a laboratory for {TCP} congestion control", {
        "author": "{the Headway founders}", "note": f"Version {version}",
    })]  # fmt: skip
    catalogue = algorithms()
    wanted = dict.fromkeys(part for name in names or () for part in name.split("+"))
    for name in wanted:
        found = [(kind, one) for kind in _KINDS for one in catalogue[kind] if one["name"] == name]
        if not found:
            known = sorted({one["name"] for kind in _KINDS for one in catalogue[kind]})
            raise HeadwayError(
                f"{name[:_MOST_NAMES]!r} is no algorithm; choose from {', '.join(known)}"
            )
        for kind, one in found:
            fields = {"howpublished": _escaped(one["source"])}
            if rfc := _RFC.search(one["source"]):
                fields["url"] = f"https://www.rfc-editor.org/info/rfc{rfc[1]}"
            fields["note"] = f"As implemented in Headway {version}"
            key = f"headway-{kind[:-1]}-{name}" if len(found) > 1 else f"headway-{name}"
            entries.append(_entry(key, f"{{{_escaped(one['title'])}}}", fields))
    print("\n\n".join(entries))


def _escaped(text: str) -> str:
    return _SPECIAL.sub(r"\\\1", text)


def _entry(key: str, title: str, fields: dict[str, str]) -> str:
    lines = [f"@misc{{{key},", f"  title = {{{title}}},"]
    lines += [f"  {name} = {{{value}}}," for name, value in fields.items()]
    return "\n".join([*lines, "}"])
