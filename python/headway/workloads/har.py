"""Reads HTTP archives (HAR 1.2), which browsers export, into Web pages for flows.

An entry gives the time of its request, its sizes, the server's time, and the object that revealed
it. Chromium names this object (``_initiator``); for other browsers it is the last object that had
arrived before. Connections are ignored: the experiment decides their number, and all hosts become
one server.
"""

from __future__ import annotations

import datetime
import heapq
import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from headway.engine import engine
from headway.errors import HeadwayError
from headway.units import NS_PER_S
from headway.workloads.pages import PageTable, WebObject, page_table

_NS_PER_MS = 1_000_000
_LONGEST_NS: int = engine.MAX_TIME_NS
_TIME = re.compile(r"(.+[T ]\d\d:\d\d:\d\d)(?:\.(\d{1,9})\d*)?(Z|[+-]\d\d:?\d\d)?")
_LINE_BYTES = len("GET  HTTP/1.1\r\n\r\n")
_OF_HEADER_BYTES = len(": \r\n")
_SWITCHING = 101
"""The status of a request that became a WebSocket."""


@dataclass(frozen=True)
class Archive:
    """A HAR file's pages, its number of hosts, and the number of entries left out."""

    table: PageTable
    hosts: int
    left_out: int
    """Entries that used no network: cached, blocked, failed, or not HTTP."""


@dataclass(frozen=True)
class _Entry:
    """The values that are taken from an entry of a HAR file."""

    page: str
    url: str
    host: str
    begins_ns: int
    ends_ns: int
    initiator: str
    request_bytes: int
    response_bytes: int
    wait_ns: int
    connect_ns: int | None


class _Located:
    """A value in the file with its location, for error messages."""

    def __init__(self, file: Path, path: str, value: Any) -> None:
        self._file, self._path, self._value = file, path, value

    def refuse(self, allowed: str) -> HeadwayError:
        shown = json.dumps(self._value)
        shown = shown if len(shown) <= 60 else shown[:57] + "..."
        return HeadwayError(f"{self._file}: {self._path}: {shown} is not allowed; {allowed}")

    def __getitem__(self, name: str) -> _Located:
        if not isinstance(self._value, dict):
            raise self.refuse("an object with names and values")
        return _Located(self._file, f"{self._path}.{name}", self._value.get(name))

    def __iter__(self) -> Iterator[_Located]:
        if not isinstance(self._value, list):
            raise self.refuse("a list")
        for number, value in enumerate(self._value):
            yield _Located(self._file, f"{self._path}[{number}]", value)

    @property
    def is_present(self) -> bool:
        return self._value is not None

    def text(self) -> str:
        if self._value is None:
            return ""
        if not isinstance(self._value, str):
            raise self.refuse("a text")
        return self._value

    def number(self) -> float | None:
        """The value as a number; None if it is missing or negative, which in HAR means unknown."""
        if self._value is None:
            return None
        is_number = isinstance(self._value, int | float) and not isinstance(self._value, bool)
        if not is_number or not -1e12 < self._value < 1e15:  # NaN, too
            raise self.refuse("a number")
        return self._value if self._value >= 0 else None

    def ns(self) -> int:
        """A time in ms converted to ns; 0 if unknown."""
        length_ns = round((self.number() or 0.0) * _NS_PER_MS)
        if length_ns > _LONGEST_NS:
            raise self.refuse("at most 10 years, in ms")
        return length_ns

    def date_ns(self) -> int:
        """A date and time in ns since 1970."""
        found = _TIME.fullmatch(self.text())
        try:
            if found is None:
                raise ValueError
            seconds, fraction, zone = found.groups()
            zone = "+00:00" if zone in (None, "Z") else zone
            at = datetime.datetime.fromisoformat(seconds + zone)
        except ValueError:
            raise self.refuse("a date and time as 2026-01-31T12:00:00.000Z") from None
        return round(at.timestamp()) * NS_PER_S + int((fraction or "0").ljust(9, "0"))


def read_har(file: Path, rtt_ns: int | None = None) -> Archive:
    """Read the page loads of a HAR file. Raises HeadwayError, naming the location of an error.

    A server's time is an entry's wait time minus ``rtt_ns``. If ``rtt_ns`` is None, the shortest
    time in which a connection opened is used or, without one, the shortest wait time of an entry.
    """
    whole = _Located(file, "log", _json(file))
    starts = {page["id"].text(): page["startedDateTime"] for page in _list(whole["pages"])}
    order = {name: number for number, name in enumerate(starts)}
    # Some exporters leave a page's start empty. Such a page starts with its first entry.
    begins_ns = {name: start.date_ns() for name, start in starts.items() if start.text()}
    every = list(_list(whole["entries"]))
    taken = [_entry(entry) for entry in every if _used_network(entry)]
    if not taken:
        raise HeadwayError(f"{file}: log.entries: no entry has a response that used a network")
    first_of: dict[str, int] = {}
    of_page: dict[str, list[_Entry]] = {}
    for one in taken:
        first_of[one.page] = min(first_of.get(one.page, one.begins_ns), one.begins_ns)
        of_page.setdefault(one.page, []).append(one)
    # Pages that the file does not list come last, in the order of their first entries.
    names = sorted(first_of, key=lambda name: (order.get(name, len(order)), first_of[name]))
    rtt_ns = _rtt_ns(taken) if rtt_ns is None else rtt_ns
    loads = []
    for name in names:
        own = sorted(of_page[name], key=lambda one: one.begins_ns)
        page_ns = min(begins_ns.get(name, own[0].begins_ns), own[0].begins_ns)
        objects = list(_revealed(own, page_ns, rtt_ns))
        if max(one.start_ns for one in objects) > _LONGEST_NS:
            raise HeadwayError(f"{file}: log.entries: page {name[:40]!r} lasts more than 10 years")
        loads.append((page_ns, own, objects))
    pages = []
    for number, (_, own, objects) in enumerate(loads):
        end_ns = max(one.ends_ns for one in own)
        next_ns = loads[number + 1][0] if number + 1 < len(loads) else end_ns
        think_ns = max(next_ns - end_ns, 0)
        if think_ns > _LONGEST_NS:
            name = own[0].page
            raise HeadwayError(
                f"{file}: log.entries: the next page starts more than 10 years after {name[:40]!r}"
            )
        pages.append((objects, think_ns))
    return Archive(page_table(pages), len({one.host for one in taken}), len(every) - len(taken))


def _json(file: Path) -> Any:
    try:
        made = json.loads(file.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise HeadwayError(f"{file}: cannot read: {error.strerror or error}") from None
    except UnicodeDecodeError as error:
        raise HeadwayError(f"{file}: byte {error.start}: not UTF-8") from None
    except json.JSONDecodeError as error:
        place = f"line {error.lineno}, column {error.colno}"
        raise HeadwayError(f"{file}: {place}: not JSON ({error.msg})") from None
    except ValueError:  # raised for more digits than Python converts
        raise HeadwayError(f"{file}: not a HAR file; a number has more than 4300 digits") from None
    except RecursionError:
        raise HeadwayError(f"{file}: not a HAR file; its values are nested too deeply") from None
    log = made.get("log") if isinstance(made, dict) else None
    if not isinstance(log, dict):
        raise HeadwayError(f"{file}: not a HAR file; it has no object named log")
    return log


def _list(at: _Located) -> Iterable[_Located]:
    return at if at.is_present else ()


def _used_network(entry: _Located) -> bool:
    """Whether an entry was a request and a response over a network."""
    url = entry["request"]["url"].text()
    if not url.startswith(("http://", "https://")):
        return False
    status = entry["response"]["status"].number()
    return bool(status) and status != _SWITCHING and not entry["_fromCache"].is_present


def _entry(entry: _Located) -> _Entry:
    request, response, timings = entry["request"], entry["response"], entry["timings"]
    begins_ns = entry["startedDateTime"].date_ns()
    url = request["url"].text()
    connect = timings["connect"].number()
    sent = _known(request["headersSize"], _headers(request, url)) + _known(request["bodySize"], 0)
    content = (response["content"]["size"].number() or 0) - (
        response["content"]["compression"].number() or 0
    )
    received_bytes = _known(response["headersSize"], _headers(response, "")) + _known(
        response["bodySize"], max(content, 0)
    )
    # Prefer Chromium's count of bytes on the wire, since HTTP/2 compresses headers.
    received_bytes = response["_transferSize"].number() or received_bytes
    connect_ns = None
    if connect:
        connect_ns = round((connect - (timings["ssl"].number() or 0)) * _NS_PER_MS)
    return _Entry(
        page=entry["pageref"].text(),
        url=url,
        host=url.partition("://")[2].partition("/")[0],
        begins_ns=begins_ns,
        ends_ns=begins_ns + entry["time"].ns(),
        initiator=_initiator(entry["_initiator"]),
        request_bytes=max(round(sent), 1),
        response_bytes=max(round(received_bytes), 1),
        wait_ns=timings["wait"].ns(),
        connect_ns=connect_ns if connect_ns is None or connect_ns > 0 else None,
    )


def _known(size: _Located, otherwise: float) -> float:
    value = size.number()
    return otherwise if value is None else value


def _headers(message: _Located, url: str) -> float:
    """Size in bytes of a message's header in HTTP/1, computed for files that do not have it."""
    pairs = ((one["name"].text(), one["value"].text()) for one in _list(message["headers"]))
    return _LINE_BYTES + len(url) + sum(len(a) + len(b) + _OF_HEADER_BYTES for a, b in pairs)


def _initiator(of: _Located) -> str:
    """The URL of the document or script that requested the entry; empty if unknown."""
    if not of.is_present:
        return ""
    if url := of["url"].text():
        return url
    stack = of["stack"]
    while stack.is_present:
        for frame in _list(stack["callFrames"]):
            if url := frame["url"].text():
                return url
        stack = stack["parent"]
    return ""


def _rtt_ns(entries: Iterable[_Entry]) -> int:
    opened = [one.connect_ns for one in entries if one.connect_ns is not None]
    return min(opened) if opened else min(one.wait_ns for one in entries)


def _revealed(own: list[_Entry], page_ns: int, rtt_ns: int) -> Iterator[WebObject]:
    """Objects of a page, sorted by request time, each with the object that revealed it."""
    by_url: dict[str, int] = {}
    under_way: list[tuple[int, int]] = []
    latest: int | None = None
    for number, one in enumerate(own):
        # Entries are sorted by their start times, so an object that ended before this entry began
        # also ended before all later entries began.
        while under_way and under_way[0][0] <= one.begins_ns:
            latest = heapq.heappop(under_way)[1]
        after = by_url.get(one.initiator, latest)
        known_ns = page_ns if after is None else own[after].ends_ns
        yield WebObject(
            one.request_bytes,
            one.response_bytes,
            after=after,
            serve_ns=max(one.wait_ns - rtt_ns, 0),
            start_ns=max(one.begins_ns - known_ns, 0),
        )
        by_url[one.url] = number
        heapq.heappush(under_way, (one.ends_ns, number))
