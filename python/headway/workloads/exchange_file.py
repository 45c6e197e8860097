"""Files of exchanges, read by the engine into columns, and written."""

from __future__ import annotations

import functools
import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headway import _engine
from headway.workloads.table_files import read_table

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from headway.workloads.session_table import SessionTable

    Ints = npt.NDArray[np.uint64]

AFTER_NONE = (1 << 32) - 1
"""Value of ``after`` for an exchange that waits only for the previous one on its connection."""


@dataclass(frozen=True, eq=False)
class ExchangeTable:
    """Exchanges in columns: requests, responses and the times between them.

    ``start_ns`` and ``exchanges`` have one entry per connection, the other columns one entry per
    exchange, connection by connection. Three columns may be empty: without ``serve_ns`` servers
    answer at once, without ``deadline_ns`` no exchange has a deadline of its own, and without
    ``after`` no exchange waits for an exchange of another connection.
    """

    start_ns: Ints
    exchanges: Ints
    request_bytes: Ints
    response_bytes: Ints
    serve_ns: Ints
    think_ns: Ints
    deadline_ns: Ints
    after: Ints

    def __len__(self) -> int:
        """Number of exchanges."""
        return int(self.request_bytes.size)

    def columns(self) -> dict[str, Any]:
        """The columns in the engine's format."""
        return {name: column.tolist() for name, column in vars(self).items()}


def read_exchanges(file: Path) -> ExchangeTable:
    """Read a file line by line. Raises ValueError, naming line and column."""
    return read_table(file, _read)


@functools.lru_cache(maxsize=4)
def _read(file: Path, _changed_ns: int, _size: int) -> ExchangeTable:
    return ExchangeTable(**_engine.read_exchanges(str(file)))


def check_live(file: Path) -> None:
    """Raise ValueError, with the reason, if client and server programs cannot play a file live."""
    try:
        _engine.check_exchanges_live(str(file))
    except ValueError as error:
        raise ValueError(f"{file}: {error}") from None


def file_sha256(file: Path) -> str:
    """The SHA-256 of a file's content in hex. Raises ValueError if the file cannot be read."""
    try:
        with file.open("rb") as content:
            return hashlib.file_digest(content, "sha256").hexdigest()
    except OSError as error:
        raise ValueError(f"{file}: cannot read: {error.strerror or error}") from None


def exchanges_of(sessions: SessionTable, begins_ns: int = 0) -> ExchangeTable:
    """Convert sessions to connections, with start times relative to ``begins_ns``.

    A session that starts before ``begins_ns`` gets start time 0, as in a flow that begins late.
    Raises ValueError for sessions that a file of exchanges cannot express.
    """
    import numpy as np  # imported late: reading a file does not need it

    most_us, none = _engine.MAX_TIME_NS // 1000, np.zeros(0, dtype=np.uint64)
    neither = (sessions.request_bytes == 0) & (sessions.response_bytes == 0)
    if neither.any():
        raise ValueError(
            f"exchange {int(np.argmax(neither))}: request and response have 0 bytes; one of them "
            "must have at least 1"
        )
    for name in ("start_us", "think_us", "serve_us"):
        longest_us = int(getattr(sessions, name).max(initial=0))
        if longest_us > most_us:
            raise ValueError(f"{name}: {longest_us} is not allowed; at most {most_us} (10 years)")

    def ns(of_us: npt.NDArray[np.int64]) -> Ints:
        return of_us.astype(np.uint64) * np.uint64(1000)

    starts_ns = np.maximum(sessions.start_us * 1000 - begins_ns, 0)
    return ExchangeTable(
        start_ns=starts_ns.astype(np.uint64),
        exchanges=sessions.exchanges.astype(np.uint64),
        request_bytes=sessions.request_bytes.astype(np.uint64),
        response_bytes=sessions.response_bytes.astype(np.uint64),
        serve_ns=ns(sessions.serve_us) if sessions.serve_us.any() else none,
        think_ns=ns(sessions.think_us),
        deadline_ns=none,
        after=none,
    )


def write_exchanges(file: Path, table: ExchangeTable) -> None:
    """Write a file that ``read_exchanges`` reads; empty columns are left out."""
    names = ["connection", "start_ns", "request_bytes", "response_bytes", "serve_ns", "think_ns"]
    names += ["deadline_ns", "after"]
    present = [name for name in names if name == "connection" or getattr(table, name).size]
    at = 0
    with file.open("w", encoding="ascii") as out:
        out.write(",".join(present) + "\n")
        for connection, count in enumerate(table.exchanges.tolist()):
            for exchange in range(at, at + count):
                row = []
                for name in present:
                    if name == "connection":
                        row.append(str(connection))
                    elif name == "start_ns":
                        first = exchange == at and table.start_ns[connection] > 0
                        row.append(str(table.start_ns[connection]) if first else "")
                    else:
                        value = int(getattr(table, name)[exchange])
                        none = name == "after" and value == AFTER_NONE
                        row.append("" if none else str(value))
                out.write(",".join(row) + "\n")
            at += count
