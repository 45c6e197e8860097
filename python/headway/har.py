"""Page loads as an HTTP archive (HAR 1.2), which browsers and their tools display.

Nothing is invented: headers have no lines. The wait time of a response is the server's time plus
the path's round-trip time; the rest is receive time. For loads by a real browser, the trace does
not have the time that requests waited for a connection, so it is part of the receive time. A run
has no wall-clock time, so times begin in 1970.
"""

from __future__ import annotations

import datetime
import importlib.metadata
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from headway import metrics
from headway.browser.sites import HEAD_BYTES, REQUEST_BYTES
from headway.errors import HeadwayError
from headway.experiment import Flow, Pages, Site
from headway.files import save_text
from headway.trace import Trace
from headway.units import NS_PER_S
from headway.workloads.exchange_file import AFTER_NONE
from headway.workloads.pages import PageTable

_NS_PER_MS = 1_000_000
_HTTP = {"1.0": "http/1.0", "1.1": "http/1.1", "1.1-pipelined": "http/1.1", "2": "h2"}


@dataclass(frozen=True)
class _Entry:
    """An object of a page load.

    ``blocked_ns`` is the time that its request waited for a connection, None if unknown. ``by`` is
    the URL of the object that revealed it.
    """

    url: str
    known_ns: int
    blocked_ns: int | None
    took_ns: int
    serve_ns: int
    request_bytes: int
    head_bytes: int
    body_bytes: int
    by: str | None


_Objects = Callable[[dict[str, Any], str], Iterator[_Entry]]
"""Called with a page load and the page's name; returns the objects of the page."""


def export_har(trace: Trace, path: Path) -> None:
    """Write the page loads of a trace, by ``headway.Pages`` or a browser, as a HAR file.

    Only complete page loads are written. Raises HeadwayError if no page load was complete.
    """
    flows = [n for n, flow in enumerate(trace.experiment.flows) if _has_pages(flow)]
    if not flows:
        raise HeadwayError(
            "har: this trace has no Web pages; a flow loads some with pages=FILE, or if its app is "
            "the generated site named map"
        )
    loads = metrics.page_loads(trace, (0, trace.experiment.duration))
    if loads.is_empty():
        raise HeadwayError("har: no page was loaded completely")
    pages: list[dict[str, Any]] = []
    entries: list[dict[str, Any]] = []
    for flow in flows:
        _add(trace, flow, loads.filter(pl.col("flow") == flow), pages, entries)
    log = {
        "version": "1.2",
        "creator": {"name": "headway", "version": importlib.metadata.version("headway")},
        "pages": pages,
        "entries": entries,
    }
    save_text(path, json.dumps({"log": log}, indent=1) + "\n")


def _has_pages(flow: Flow) -> bool:
    return isinstance(flow.app, Pages) or (isinstance(flow.app, Site) and flow.app.site == "map")


def _add(
    trace: Trace,
    flow: int,
    loads: pl.DataFrame,
    pages: list[dict[str, Any]],
    entries: list[dict[str, Any]],
) -> None:
    described = trace.experiment.flows[flow]
    rtt_ns = trace.experiment.base_rtt_ns + 2 * described.delay
    name = trace.flows[flow].name
    if isinstance(described.app, Pages):
        http, objects = _HTTP[described.app.http], _page_objects(trace, flow, described.app.table())
    else:
        http, objects = _HTTP["1.1"], _visit_objects(trace, flow)
    for load in loads.iter_rows(named=True):
        page, begins_ns = load["page"], load["start_ns"]
        ident = f"{name}/{page}"
        pages.append(
            {
                "startedDateTime": _date(begins_ns),
                "id": ident,
                "title": f"{name}, page {page}",
                "pageTimings": {"onContentLoad": None, "onLoad": _ms(round(load["seconds"] * 1e9))},
            }
        )
        entries += [_har_entry(ident, one, http, rtt_ns) for one in objects(load, ident)]


def _times(trace: Trace, flow: int, count: int) -> tuple[list[int], list[int]]:
    """Times in ns at which each object of a flow was requested and complete; 0 means never."""
    rows = trace["responses"].filter(pl.col("flow") == flow)
    requested = np.zeros(count, dtype=np.int64)
    ended = requested.copy()
    requested[rows["epoch"].to_numpy()] = rows["start_ns"].to_numpy()
    ended[rows["epoch"].to_numpy()] = rows["end_ns"].to_numpy()
    return requested.tolist(), ended.tolist()


def _page_objects(trace: Trace, flow: int, table: PageTable) -> _Objects:
    """A function that returns the objects of a load of a page from a file."""
    requested, ended = _times(trace, flow, table.request_bytes.size)
    counts = table.objects.astype(np.int64)
    firsts = np.cumsum(counts) - counts
    after = table.after.tolist()
    waits = table.start_ns.tolist() or [0] * len(after)
    serves = table.serve_ns.tolist() or [0] * len(after)

    def objects(load: dict[str, Any], ident: str) -> Iterator[_Entry]:
        first = int(firsts[load["page"]])
        for one in range(first, first + load["objects"]):
            revealed = after[one] != AFTER_NONE
            known_ns = (ended[after[one]] if revealed else load["start_ns"]) + waits[one]
            yield _Entry(
                url=_url(ident, one),
                known_ns=known_ns,
                blocked_ns=requested[one] - known_ns,
                took_ns=ended[one] - requested[one],
                serve_ns=serves[one],
                request_bytes=int(table.request_bytes[one]),
                head_bytes=0,
                body_bytes=int(table.response_bytes[one]),
                by=_url(ident, after[one]) if revealed else None,
            )

    return objects


def _visit_objects(trace: Trace, flow: int) -> _Objects:
    """A function that returns the objects of a browser's visit. Raises HeadwayError.

    Each object's time begins with its request, since waits for a connection are unknown.
    """
    visits = trace.meta["visits"][str(flow)]
    if "site" not in visits:
        raise HeadwayError("har: this trace does not list the objects of its pages; run it again")
    site = visits["site"]
    requested, ended = _times(trace, flow, len(site) * len(visits["visits"]))

    def objects(load: dict[str, Any], ident: str) -> Iterator[_Entry]:
        for number, one in enumerate(site, start=load["page"] * len(site)):
            before = one["after"]
            yield _Entry(
                url=_url(ident, one["path"][1:]),
                known_ns=requested[number],
                blocked_ns=None,
                took_ns=ended[number] - requested[number],
                serve_ns=0,
                request_bytes=REQUEST_BYTES,
                head_bytes=HEAD_BYTES,
                body_bytes=one["size_bytes"],
                by=None if before is None else _url(ident, site[before]["path"][1:]),
            )

    return objects


def _har_entry(page: str, one: _Entry, http: str, rtt_ns: int) -> dict[str, Any]:
    wait_ns = min(one.serve_ns + rtt_ns, one.took_ns)
    return {
        "pageref": page,
        "startedDateTime": _date(one.known_ns),
        "time": _ms((one.blocked_ns or 0) + one.took_ns),
        "request": _request(one.url, http, one.request_bytes),
        "response": _response(http, one.head_bytes, one.body_bytes),
        "cache": {},
        "timings": {
            "blocked": -1 if one.blocked_ns is None else _ms(one.blocked_ns),
            "send": 0,
            "wait": _ms(wait_ns),
            "receive": _ms(one.took_ns - wait_ns),
        },
        **({} if one.by is None else {"_initiator": {"type": "other", "url": one.by}}),
    }


def _request(url: str, http: str, size: int) -> dict[str, Any]:
    return {
        "method": "GET",
        "url": url,
        "httpVersion": http,
        "cookies": [],
        "headers": [],
        "queryString": [],
        "headersSize": size,
        "bodySize": 0,
    }


def _response(http: str, head: int, body: int) -> dict[str, Any]:
    return {
        "status": 200,
        "statusText": "OK",
        "httpVersion": http,
        "cookies": [],
        "headers": [],
        "content": {"size": body, "mimeType": "application/octet-stream"},
        "redirectURL": "",
        "headersSize": head,
        "bodySize": body,
    }


def _url(page: str, name: int | str) -> str:
    return f"http://server.invalid/{page}/{name}"


def _ms(ns: int) -> float:
    return ns / _NS_PER_MS


def _date(ns: int) -> str:
    """A time in ISO 8601, as HAR requires, with nanoseconds."""
    at = datetime.datetime.fromtimestamp(ns // NS_PER_S, tz=datetime.UTC)
    return f"{at:%Y-%m-%dT%H:%M:%S}.{ns % NS_PER_S:09d}Z"
