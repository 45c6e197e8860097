"""Sites that a browser visits on the testbed: their files are made here, not kept.

A site is a folder of what is served, made by its module from its sources beside it and streams of
its own, so that with the same versions of the libraries that draw and pack its pictures it is the
same on every machine. ``objects.json`` in it lists its objects: their numbers are the epochs of a
trace's responses.
"""

from __future__ import annotations

import fcntl
import hashlib
import importlib
import json
import os
import tempfile
import time
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
_KEPT_S = 86_400
"""For so long after it was last wanted a site of other sources stays: another checkout's run may
be serving it."""


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
        if not _is_whole(made):
            _remove(made)
            with tempfile.TemporaryDirectory(dir=made.parent, prefix=f"{name}-part-") as parts:
                folder = Path(parts) / "site"
                folder.mkdir()
                objects = importlib.import_module(f"{__name__}.{name}_made").make(folder)
                _write(folder, objects)
                folder.rename(made)
        os.utime(made)
        for other in made.parent.glob(f"{name}-*"):
            if time.time() - other.stat().st_mtime > _KEPT_S:
                _remove(other)
    return made


def _is_whole(folder: Path) -> bool:
    """Whether all objects are there: a deletion that was interrupted leaves some."""
    try:
        return all(
            one.within is not None or (folder / one.path[1:]).stat().st_size == one.size_bytes
            for one in objects_of(folder)
        )
    except (OSError, ValueError, TypeError):
        return False


def _remove(folder: Path) -> None:
    """Take a folder away under another name first, so that no part of it is taken for a site."""
    with (
        suppress(OSError),
        tempfile.TemporaryDirectory(
            dir=folder.parent, prefix=f"{folder.name.partition('-')[0]}-part-"
        ) as gone,
    ):
        folder.rename(Path(gone) / "site")


def objects_of(folder: Path) -> list[Object]:
    """The objects of a site that was made."""
    rows = json.loads((folder / OBJECTS).read_text(encoding="utf-8"))
    return [Object(**row) for row in rows]


def pages() -> PageTable:
    """The map as a page for ``headway.Pages``: what a browser asks for, and what reveals it.

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
