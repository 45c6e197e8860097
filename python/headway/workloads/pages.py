"""Files of Web pages, read by the engine into columns, and written."""

from __future__ import annotations

import functools
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from headway import _engine
from headway.workloads.exchange_file import AFTER_NONE
from headway.workloads.table_files import read_table

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from headway.workloads.surge import WebPage

    Ints = npt.NDArray[np.uint64]

_OF_A_PAGE = "think_ns"
"""The column of a file that has one value per page; other columns have one value per object."""


class WebObject(NamedTuple):
    """An object of a page; ``after`` is the number of the object that reveals this one."""

    request_bytes: int
    response_bytes: int
    after: int | None = None
    serve_ns: int = 0
    start_ns: int = 0


@dataclass(frozen=True, eq=False)
class PageTable:
    """Pages in columns: their objects, and the object that reveals each.

    ``objects`` (the number of objects of a page) and ``think_ns`` have one entry per page, the
    others one per object, page by page. ``serve_ns`` and ``start_ns`` may be empty: then servers
    answer at once, and objects are requested as soon as they are revealed. ``after`` is the number
    of the revealing object in the file, from 0; AFTER_NONE if the object is known when its page
    begins.
    """

    objects: Ints
    think_ns: Ints
    request_bytes: Ints
    response_bytes: Ints
    serve_ns: Ints
    start_ns: Ints
    after: Ints

    def __len__(self) -> int:
        """Number of pages."""
        return int(self.objects.size)

    def columns(self) -> dict[str, Any]:
        """The columns in the engine's format."""
        return {name: column.tolist() for name, column in vars(self).items()}


def page_table(pages: Iterable[tuple[Iterable[WebObject], int]]) -> PageTable:
    """Columns from pages: the objects of each page, and the think time in ns after it."""
    import numpy as np  # imported late: reading a file does not need it

    counts: list[int] = []
    thinks: list[int] = []
    rows: list[tuple[int, int, int, int, int]] = []
    for objects, think_ns in pages:
        first = len(rows)
        for one in objects:
            after = AFTER_NONE if one.after is None else first + one.after
            rows.append((one.request_bytes, one.response_bytes, one.serve_ns, one.start_ns, after))
        counts.append(len(rows) - first)
        thinks.append(think_ns)
    columns = np.array(rows, dtype=np.uint64).reshape(len(rows), 5).T
    return PageTable(
        np.array(counts, dtype=np.uint64), np.array(thinks, dtype=np.uint64), *map(np.copy, columns)
    )


def visited(visits: Iterable[WebPage], request_bytes: int) -> PageTable:
    """The pages of a SURGE user (``surge.Server.visits``): embedded files follow the base."""

    def objects(page: WebPage) -> Iterable[WebObject]:
        base, *embedded = page.files_bytes
        yield WebObject(request_bytes, base)
        yield from (WebObject(request_bytes, size, after=0) for size in embedded)

    return page_table((objects(page), 1000 * page.think_us) for page in visits)


def read_pages(file: Path) -> PageTable:
    """Read a file line by line. Raises ValueError, naming line and column."""
    return read_table(file, _read)


@functools.lru_cache(maxsize=4)
def _read(file: Path, _changed_ns: int, _size: int) -> PageTable:
    return PageTable(**_engine.read_pages(str(file)))


def write_pages(file: Path, table: PageTable) -> None:
    """Write a file that ``read_pages`` reads; empty columns are left out."""
    with file.open("w", encoding="ascii") as out:
        out.writelines(f"{line}\n" for line in _lines(table))


def _lines(table: PageTable) -> Iterable[str]:
    names = ["start_ns", "request_bytes", "response_bytes", "serve_ns", "think_ns", "after"]
    optional = {"start_ns", "serve_ns", "think_ns"}
    names = [name for name in names if name not in optional or getattr(table, name).any()]
    if (table.after == AFTER_NONE).all():
        names.remove("after")
    yield ",".join(["page", *names])
    columns = [getattr(table, name) for name in names]
    at = 0
    for page, count in enumerate(table.objects.tolist()):
        for number in range(at, at + count):
            row = [str(page)]
            for name, column in zip(names, columns, strict=True):
                value = int(column[page if name == _OF_A_PAGE else number])
                nothing = name == "after" and value == AFTER_NONE
                nothing |= name in optional and value == 0
                nothing |= name == _OF_A_PAGE and number > at
                row.append("" if nothing else str(value))
            yield ",".join(row)
        at += count
