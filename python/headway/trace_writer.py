"""Writes a trace to disk while it grows, so that a long run needs little memory.

The engine passes its rows whenever they are many. Each batch of a table's rows is a temporary file;
the files are joined when the run ends. A trace that stays small is written only once, and saves the
same bytes as any other trace.
"""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from headway.errors import HeadwayError
from headway.files import save_error
from headway.trace import Trace, frame_of, save_trace

_ROW_GROUP = 1 << 18
_CHUNK_BYTES = 1 << 20


class GrowingTrace:
    """The rows and captured packets of one run.

    At the end of the run, ``trace`` has the rows that were not written to disk (None if no trace is
    wanted), and ``captured`` the part of the capture that was not written.
    """

    trace: Trace | None = None
    captured: bytes | None = None

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._parts: dict[str, list[tuple[Path, int]]] = {}
        self._packets: Path | None = None

    @property
    def is_in_memory(self) -> bool:
        """Whether nothing was written to disk, so that ``trace`` has all rows."""
        return not self._parts and self._packets is None

    def append_rows(
        self, tables: Mapping[str, Mapping[str, Any]] | None, capture: bytes | None = None
    ) -> None:
        """Write rows to disk; the engine calls it with all columns of every table."""
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            if capture is not None:
                self._packets = self._folder / "packets"
                with self._packets.open("ab") as file:
                    file.write(capture)
            for name, columns in (tables or {}).items():
                frame = frame_of(name, columns)
                if frame.is_empty():
                    continue
                parts = self._parts.setdefault(name, [])
                path = self._folder / f"{name}.{len(parts)}.parquet"
                with path.open("wb") as file:
                    frame.write_parquet(file, compression="zstd", compression_level=1)
                parts.append((path, frame.height))
        except OSError as error:
            raise save_error(self._folder, error) from None
        except pl.exceptions.PolarsError as error:
            raise HeadwayError(f"{self._folder}: cannot save: {error}") from None

    def save(self, path: Path) -> None:
        """Save the whole trace, see ``headway.trace.save_trace``."""
        assert self.trace is not None
        save_trace(self.trace, path, self._write_joined if self._parts else None, self.capture())
        self.drop()

    def capture(self) -> Iterator[bytes]:
        """The captured file in parts."""
        if self._packets is not None:
            with self._packets.open("rb") as file:
                while part := file.read(_CHUNK_BYTES):
                    yield part
        yield self.captured or b""

    def drop(self) -> None:
        """Remove the temporary files."""
        shutil.rmtree(self._folder, ignore_errors=True)

    def _write_joined(self, name: str, frame: pl.DataFrame, file: Path) -> int:
        """Write all rows of a table, beginning with those on disk; returns their number."""
        parts = self._parts.get(name, [])
        frames: Sequence[pl.LazyFrame] = [pl.scan_parquet(part) for part, _ in parts]
        try:
            pl.concat([*frames, frame.lazy()]).sink_parquet(
                file, compression="zstd", compression_level=1, row_group_size=_ROW_GROUP
            )
        except pl.exceptions.PolarsError as error:
            raise HeadwayError(f"{file.parent}: cannot save: {error}") from None
        return frame.height + sum(rows for _, rows in parts)


@contextlib.contextmanager
def temporary_folder(parent: Path) -> Iterator[Path]:
    """Yield the path of a temporary folder for rows, created on demand and removed at the end."""
    folder = parent / f".growing.{os.getpid()}"
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
