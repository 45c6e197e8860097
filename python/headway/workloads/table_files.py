"""Reads a table from a file, which is read again only if the file has changed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

Table = TypeVar("Table")


def read_table(file: Path, read: Callable[[Path, int, int], Table]) -> Table:
    """Call ``read`` with the file, its time of change and its size, by which it may cache.

    Raises ValueError, naming the file and, for a wrong value, line and column.
    """
    try:
        stat = file.stat()
        return read(file, stat.st_mtime_ns, stat.st_size)
    except OSError as error:
        raise ValueError(f"{file}: cannot read: {error.strerror or error}") from None
    except ValueError as error:
        raise ValueError(f"{file}: {error}") from None
