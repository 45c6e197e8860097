"""Sites that a browser visits on the testbed: their files are generated, not stored.

A site is a folder of files to serve. The site's module generates them from source files and from
seeded random streams. With the same versions of the libraries that draw and compress its pictures,
the site is the same on every machine. ``objects.json`` lists the site's objects. An object's number
is the ``epoch`` of its response in a trace.
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
"""Approximate sizes in bytes of Chromium's request and of nginx's response header."""
_SOURCES = Path(__file__).parent
_KEPT_S = 86_400
"""A site that was generated from other sources is deleted this long after its last use, not
earlier, because a run of another checkout may be serving it."""


@dataclass(frozen=True)
class Object:
    """An object of a site: its path on the server, its size, and the object that reveals it.

    An object reveals another if its content refers to the other. ``within`` is the object that
    contains it, as a pack contains a tile; None if the object is a file.
    """

    path: str
    size_bytes: int
    after: int | None
    within: int | None = None


def site(name: Name) -> Path:
    """The folder of a site's files, generated at the first call. Raises HeadwayError."""
    made = _cache() / f"{name}-{_digest(name)}"
    made.parent.mkdir(parents=True, exist_ok=True)
    with (made.parent / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # other processes wait until the site is complete
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
    """Whether all objects exist: an interrupted deletion leaves only some."""
    try:
        return all(
            one.within is not None or (folder / one.path[1:]).stat().st_size == one.size_bytes
            for one in objects_of(folder)
        )
    except (OSError, ValueError, TypeError):
        return False


def _remove(folder: Path) -> None:
    """Rename a folder and then delete it, so that a partial folder is never used as a site."""
    with (
        suppress(OSError),
        tempfile.TemporaryDirectory(
            dir=folder.parent, prefix=f"{folder.name.partition('-')[0]}-part-"
        ) as gone,
    ):
        folder.rename(Path(gone) / "site")


def objects_of(folder: Path) -> list[Object]:
    """The objects of a generated site."""
    rows = json.loads((folder / OBJECTS).read_text(encoding="utf-8"))
    return [Object(**row) for row in rows]


def pages() -> PageTable:
    """The map as a page for ``headway.Pages``: its objects, and what reveals each object.

    A city is not a page, because its requests depend on the visitor's position. Raises
    HeadwayError.
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
    """The folder of generated sites, in the user's cache."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "headway" / "sites"


def _digest(name: str) -> str:
    """A hash of all sources of a site."""
    found = hashlib.sha256()
    for source in sorted(_SOURCES.rglob("*")):
        shared = source.parent == _SOURCES and source.suffix == ".py"
        if source.is_file() and (shared or _SOURCES / name in source.parents):
            found.update(source.name.encode() + b"\0" + source.read_bytes())
    return found.hexdigest()[:16]
