"""Reads and writes tmix files of connection vectors, in both common line formats.

Times are microseconds, sizes and windows bytes. ``#`` begins a comment. The original format
(tmix; SEQ)::

    SEQ 1000000 2 17 4      start, exchanges, two numbers that name the connection
    w 65535 65535           windows of initiator and acceptor
    r 54000                 smallest round-trip time
    l 0.0 0.01              loss towards the acceptor, towards the initiator
    m 1460 1460             segment sizes (evaluation suite)
    > 329                   the initiator sends
    t 120000                a wait: here the acceptor's, before its next line
    < 403                   the acceptor sends
    t 3120000               here the initiator's, before its next request or the end

and the format of ns-2 (S), where each line has a side, its wait since it sent, its wait since it
received, and a number of bytes, with 0 for the FIN::

    S 1000000 2 17 4
    I 0 0 329
    A 0 120000 403
    I 0 3120000 0

Connections whose two directions run independently (CONC, C) are not sequences of exchanges; they
are counted and left out. Weigle et al., "Tmix: A Tool for Generating Realistic TCP Application
Workloads in ns-2", CCR 36(3), 2006; draft-irtf-iccrg-tcpeval-01.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import numpy as np

from headway.errors import HeadwayError
from headway.files import save_text
from headway.workloads.session_table import SessionTable

Format = Literal["original", "ns2"]

_LARGEST = 2**53
_MOST_DIGITS = len(str(_LARGEST))
_SHOWN = 60
"""Most characters of a wrong line that a message quotes."""
_COUNTS = {"w": 2, "r": 1, "l": 2, "m": 2}


@dataclass(frozen=True)
class Exchange:
    """An exchange: the request, the acceptor's wait, its response, and the initiator's wait.

    Sizes are in bytes, waits in us.
    """

    request_bytes: int
    serve_us: int
    response_bytes: int
    think_us: int


@dataclass(frozen=True)
class Connection:
    """One sequential connection; values that the file lacks are None."""

    start_us: int
    exchanges: tuple[Exchange, ...]
    names: tuple[int, ...] = ()
    windows_bytes: tuple[int, int] | None = None
    rtt_us: int | None = None
    loss: tuple[float, float] | None = None
    mss_bytes: tuple[int, int] | None = None


@dataclass(frozen=True)
class File:
    """A file's sequential connections, and its number of concurrent ones."""

    connections: tuple[Connection, ...]
    concurrent: int = 0


def parse(text: str, name: str = "tmix") -> File:
    """The connections of a file's text, either format. ``name`` is for messages.

    Raises HeadwayError, with the line number, for anything else.
    """
    found: list[Connection] = []
    concurrent = 0
    current: _Reading | None = None
    for number, line in enumerate(text.splitlines(), start=1):
        words = line.partition("#")[0].split()
        if not words:
            continue
        where = f"{name}:{number}"
        if words[0] in ("SEQ", "S", "CONC", "C"):
            if current is not None and current.sequential:
                found.append(current.connection())
            current = _Reading(where, words)
            concurrent += not current.sequential
        elif current is None:
            raise HeadwayError(
                f"{where}: {_short(words[:1])} before the first SEQ, S, CONC or C line"
            )
        elif current.sequential or words[0] in _COUNTS:
            current.take(where, words)
    if current is not None and current.sequential:
        found.append(current.connection())
    return File(tuple(found), concurrent)


class _Reading:
    """The connection whose lines are being read."""

    def __init__(self, where: str, words: Sequence[str]) -> None:
        self.where = where
        self.sequential = words[0] in ("SEQ", "S")
        numbers = _integers(where, words[0], words[1:])
        if not numbers:
            raise HeadwayError(f"{where}: {words[0]} needs a start time")
        self.start_us = numbers[0]
        self.names = tuple(numbers[2:])
        self.counts: dict[str, tuple[float, ...]] = {}
        self.exchanges: list[Exchange] = []
        self.wait_us = 0
        self.answered = True
        self.ended = False

    def take(self, where: str, words: Sequence[str]) -> None:
        """Read one line of the connection after its header line."""
        kind, rest = words[0], words[1:]
        if kind in _COUNTS:
            self.counts[kind] = _numbers(where, kind, rest, _COUNTS[kind])
        elif kind in (">", "<"):
            self._send(kind == ">", _integers(where, kind, rest, 1)[0])
        elif kind == "t":
            self._wait(where, _integers(where, kind, rest, 1)[0])
        elif kind in ("I", "A"):
            since_sent, since_received, count = _integers(where, kind, rest, 3)
            if self.ended:
                return
            self._wait(where, max(since_sent, since_received))
            if count == 0:
                self.ended = True
            else:
                self._send(kind == "I", count)
        else:
            what = f"{_short([kind])} is not a line of a sequential connection"
            raise HeadwayError(f"{where}: {what}")

    def _wait(self, where: str, us: int) -> None:
        self.wait_us += us
        if self.start_us + self.wait_us > _LARGEST:
            raise HeadwayError(f"{where}: waits of more than {_LARGEST} us are not allowed")

    def _send(self, by_initiator: bool, count: int) -> None:
        wait_us, self.wait_us = self.wait_us, 0
        if by_initiator or self.answered:
            # A new exchange begins. The wait before it is the think time of the previous exchange
            # or, for the first exchange, part of the start time.
            if self.exchanges:
                self.exchanges[-1] = replace(self.exchanges[-1], think_us=wait_us)
            else:
                self.start_us += wait_us
            sizes = (count, 0) if by_initiator else (0, count)
            self.exchanges.append(Exchange(sizes[0], 0, sizes[1], 0))
            self.answered = not by_initiator
        else:
            last = self.exchanges[-1]
            self.exchanges[-1] = replace(last, serve_us=wait_us, response_bytes=count)
            self.answered = True

    def connection(self) -> Connection:
        """The complete connection, once all its lines were read."""
        if not self.exchanges:
            raise HeadwayError(f"{self.where}: a connection without data")
        if self.wait_us:
            self.exchanges[-1] = replace(self.exchanges[-1], think_us=self.wait_us)
        windows, rtt = self.counts.get("w"), self.counts.get("r")
        loss, mss = self.counts.get("l"), self.counts.get("m")
        return Connection(
            self.start_us,
            tuple(self.exchanges),
            self.names,
            (int(windows[0]), int(windows[1])) if windows else None,
            int(rtt[0]) if rtt else None,
            (loss[0], loss[1]) if loss else None,
            (int(mss[0]), int(mss[1])) if mss else None,
        )


def _numbers(where: str, kind: str, words: Sequence[str], count: int) -> tuple[float, ...]:
    try:
        values = tuple(float(word) for word in words)
    except ValueError:
        values = ()
    if len(values) != count or not all(0 <= value <= _LARGEST for value in values):
        raise HeadwayError(f"{where}: {kind} {_short(words)}: needs {count} numbers >= 0")
    return values


def _integers(
    where: str, kind: str, words: Sequence[str], count: int | None = None
) -> tuple[int, ...]:
    if not all(map(_is_number, words)) or (count is not None and len(words) != count):
        wanted = "whole numbers" if count is None else f"{count} whole number{'s' * (count > 1)}"
        raise HeadwayError(f"{where}: {kind} {_short(words)}: needs {wanted} >= 0")
    return tuple(int(word) for word in words)


def _is_number(word: str) -> bool:
    # Check the length first, because int() raises an error for more than 4300 digits.
    return word.isdecimal() and len(word.lstrip("0")) <= _MOST_DIGITS and int(word) <= _LARGEST


def _short(words: Sequence[str]) -> str:
    text = " ".join(words)
    return repr(text if len(text) <= _SHOWN else f"{text[:_SHOWN]}...")


def text_of(connections: Iterable[Connection], form: Format = "original") -> str:
    """The connections as a file's text, which ``parse`` reads."""
    lines: list[str] = []
    for connection in connections:
        header = "SEQ" if form == "original" else "S"
        numbers = (connection.start_us, len(connection.exchanges), *connection.names)
        lines.append(" ".join([header, *map(str, numbers)]))
        for kind, values in (
            ("w", connection.windows_bytes),
            ("r", None if connection.rtt_us is None else (connection.rtt_us,)),
            ("l", connection.loss),
            ("m", connection.mss_bytes),
        ):
            if values is not None:
                lines.append(" ".join([kind, *map(str, values)]))
        lines += _body(connection) if form == "original" else _ns2_body(connection)
    return "\n".join([*lines, ""])


def _body(connection: Connection) -> list[str]:
    lines = []
    for exchange in connection.exchanges:
        if exchange.request_bytes:
            lines.append(f"> {exchange.request_bytes}")
        if exchange.serve_us:
            lines.append(f"t {exchange.serve_us}")
        if exchange.response_bytes:
            lines.append(f"< {exchange.response_bytes}")
        if exchange.think_us:
            lines.append(f"t {exchange.think_us}")
    return lines


def _ns2_body(connection: Connection) -> list[str]:
    lines = []
    wait_us, answered = 0, True
    for exchange in connection.exchanges:
        if exchange.request_bytes:
            lines.append(_ns2_line("I", wait_us, answered, exchange.request_bytes))
            wait_us, answered = 0, False
        wait_us += exchange.serve_us
        if exchange.response_bytes:
            lines.append(_ns2_line("A", wait_us, not answered, exchange.response_bytes))
            wait_us, answered = 0, True
        wait_us += exchange.think_us
    return [*lines, _ns2_line("I", wait_us, answered, 0)]


def _ns2_line(side: str, wait_us: int, received_last: bool, count: int) -> str:
    waits = (0, wait_us) if received_last else (wait_us, 0)
    return f"{side} {waits[0]} {waits[1]} {count}"


def write(path: Path, connections: Iterable[Connection], form: Format = "original") -> Path:
    """Write a file, completely or not at all. Raises HeadwayError if it cannot be written."""
    save_text(path, text_of(connections, form))
    return path


def load(path: Path | str) -> tuple[File, str]:
    """A file's connections and the SHA-256 of its bytes. Raises HeadwayError."""
    try:
        data = Path(path).read_bytes()
        text = data.decode("utf-8")
    except OSError as error:
        raise HeadwayError(f"{path}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise HeadwayError(f"{path}: not a text file") from None
    return parse(text, str(path)), hashlib.sha256(data).hexdigest()


def sessions_of(connections: Sequence[Connection]) -> SessionTable:
    """Connections as columns, sorted by their starts."""
    ordered = sorted(connections, key=lambda connection: connection.start_us)
    rows = [exchange for connection in ordered for exchange in connection.exchanges]

    def column(name: str) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
        return np.array([getattr(row, name) for row in rows], dtype=np.int64)

    return SessionTable(
        start_us=np.array([connection.start_us for connection in ordered], dtype=np.int64),
        exchanges=np.array([len(connection.exchanges) for connection in ordered], dtype=np.int64),
        request_bytes=column("request_bytes"),
        response_bytes=column("response_bytes"),
        think_us=column("think_us"),
        serve_us=column("serve_us"),
    )


def read(path: Path | str, *, sha256: str) -> SessionTable:
    """The sequential connections of a file with this checksum.

    Raises HeadwayError if the file is unreadable, has another checksum, or has no response.
    """
    file, found = load(path)
    if found != sha256:
        raise HeadwayError(f"{path}: SHA-256 {found[:12]}... is not the expected {sha256[:12]}...")
    if not any(e.response_bytes for c in file.connections for e in c.exchanges):
        raise HeadwayError(f"{path}: no sequential connection with a response")
    return sessions_of(file.connections)
