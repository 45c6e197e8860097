"""Checksums of a saved trace's files, kept in trace.json, which detect damage.

Polars does not always detect a flipped byte in a Parquet file: for some bytes it panics, for others
it returns wrong numbers.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

_KEY = "crc32"
_STATE = "state"
"""In the checksums, the key of trace.json's own entry, which covers its content without the
checksums."""
_CHUNK_BYTES = 1 << 20


def with_sums(state: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """trace.json's content ``state``, with checksums of it and of all files in ``folder``."""
    files = sorted(path for path in folder.iterdir() if path.is_file())
    return {**state, _KEY: {_STATE: _state_sum(state), **{p.name: _file_sum(p) for p in files}}}


def check(state: Mapping[str, Any], folder: Path, file: str | None = None) -> None:
    """Raise ValueError if ``file`` was changed after it was saved.

    Without ``file``, check the content of trace.json, which ``state`` has.

    Traces without checksums, from older versions, are not checked.
    """
    sums = state.get(_KEY)
    if sums is None:
        return
    if file is None:
        found = _state_sum({key: value for key, value in state.items() if key != _KEY})
    else:
        found = _file_sum(folder / file)
    if sums[file or _STATE] != found:
        raise ValueError(
            f"{file or 'trace.json'} was changed after it was saved: its checksum differs"
        )


def _state_sum(state: Mapping[str, Any]) -> int:
    # go through JSON, which converts keys that are numbers to text, as in the saved file
    state = json.loads(json.dumps(state))
    return zlib.crc32(json.dumps(state, sort_keys=True, separators=(",", ":")).encode())


def _file_sum(path: Path) -> int:
    found = 0
    with path.open("rb") as file:
        while part := file.read(_CHUNK_BYTES):
            found = zlib.crc32(part, found)
    return found
