"""Sites that a browser visits on the testbed: their files are made here, not kept.

A site is a folder of what is served, made by its module from its sources beside it and a seed of
its own, so that it is the same on every machine. ``objects.json`` in it lists its objects: their
numbers are the epochs of a trace's responses.
"""

from __future__ import annotations

import fcntl
import hashlib
import importlib
import json
import os
import shutil
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal, get_args

if TYPE_CHECKING:
    from headway.workloads.pages import PageTable

Name = Literal["map", "city"]
NAMES: tuple[Name, ...] = get_args(Name)
OBJECTS = "objects.json"
REQUEST_BYTES, HEAD_BYTES = 450, 250
"""About what Chromium says with a request, and nginx with a response."""
_SOURCES = Path(__file__).parent


@dataclass(frozen=True)
class Object:
    """Something that is asked for: its path on the server, its size, what has to be there before.

    ``within`` is the object that it is a part of, as a tile is of a pack; None: it is a file.
    """

    path: str
    size_bytes: int
    after: int | None
    within: int | None = None


def site(name: Name) -> Path:
    """The folder of a site's files; made the first time. Raises HeadwayError."""
    made = _cache() / f"{name}-{_digest(name)}"
    made.parent.mkdir(parents=True, exist_ok=True)
    with (made.parent / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # others who want it wait until it is whole
        if not made.is_dir():
            with tempfile.TemporaryDirectory(dir=made.parent) as parts:
                folder = Path(parts) / "site"
                folder.mkdir()
                objects = importlib.import_module(f"{__name__}.{name}_made").make(folder)
                _write(folder, objects)
                folder.rename(made)
            for old in made.parent.glob(f"{name}-*"):
                if old != made:
                    with suppress(OSError):
                        shutil.rmtree(old)
    return made


def objects_of(folder: Path) -> list[Object]:
    """The objects of a site that was made."""
    rows = json.loads((folder / OBJECTS).read_text(encoding="utf-8"))
    return [Object(**row) for row in rows]


def pages() -> PageTable:
    """The map as a page for :class:`~headway.Pages`: what a browser asks for, and what reveals it.

    A city is no page: what is asked for depends on where one is. Raises HeadwayError.
    """
    from headway.workloads.pages import WebObject, page_table

    objects = (
        WebObject(REQUEST_BYTES, HEAD_BYTES + one.size_bytes, one.after)
        for one in objects_of(site("map"))
    )
    return page_table([(objects, 0)])


def _write(folder: Path, objects: Sequence[Object]) -> None:
    rows = [asdict(one) for one in objects]
    (folder / OBJECTS).write_text(json.dumps(rows, indent=0), encoding="utf-8")


def _cache() -> Path:
    """Where made sites are kept: the user's cache."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "headway" / "sites"


def _digest(name: str) -> str:
    """A hash of all that a site is made of."""
    found = hashlib.sha256()
    for source in sorted(_SOURCES.rglob("*")):
        shared = source.parent == _SOURCES and source.suffix == ".py"
        if source.is_file() and (shared or _SOURCES / name in source.parents):
            found.update(source.name.encode() + b"\0" + source.read_bytes())
    return found.hexdigest()[:16]
