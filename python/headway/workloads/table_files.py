"""Reads tables from files, and keeps the last ones while their files do not change."""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

Table = TypeVar("Table")


def table_reader(
    make: Callable[..., Table], columns: Callable[[str], dict[str, Any]]
) -> Callable[[Path], Table]:
    """A function that reads a file: ``make`` gets the columns that ``columns`` reads from it.

    It raises ValueError, naming the file and, for a wrong value, line and column.
    """

    @functools.lru_cache(maxsize=4)
    def read_version(file: Path, _changed_ns: int, _size: int) -> Table:
        return make(**columns(str(file)))

    def read(file: Path) -> Table:
        try:
            stat = file.stat()
            return read_version(file, stat.st_mtime_ns, stat.st_size)
        except OSError as error:
            raise ValueError(f"{file}: cannot read: {error.strerror or error}") from None
        except ValueError as error:
            raise ValueError(f"{file}: {error}") from None

    return read
