"""Page loads as an HTTP archive (HAR 1.2), which browsers and their tools show.

What a trace does not know is not made up: headers have no lines, and what a response waited is the
server's time and the path's round trip, the rest its way. A run has no wall-clock time, so it
begins with the year 1970.
"""

from __future__ import annotations

import datetime
import importlib.metadata
import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from headway import metrics
from headway.errors import HeadwayError
from headway.experiment import Pages
from headway.files import save_text
from headway.trace import Trace
from headway.units import NS_PER_S
from headway.workloads.exchange_file import AFTER_NONE

_NS_PER_MS = 1_000_000
_HTTP = {"1.0": "http/1.0", "1.1": "http/1.1", "1.1-pipelined": "http/1.1", "2": "h2"}


def export_har(trace: Trace, path: Path) -> None:
    """Write the page loads of a trace, of every flow with :class:`~headway.Pages`, as a HAR file.

    A page is there when all of it was loaded. Raises HeadwayError where there is none.
    """
    flows = [n for n, flow in enumerate(trace.experiment.flows) if isinstance(flow.app, Pages)]
    if not flows:
        raise HeadwayError("har: this trace has no Web pages")
    loads = metrics.page_loads(trace, (0, trace.experiment.duration))
    if loads.is_empty():
        raise HeadwayError("har: no page was loaded whole")
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


def _add(
    trace: Trace,
    flow: int,
    loads: pl.DataFrame,
    pages: list[dict[str, Any]],
    entries: list[dict[str, Any]],
) -> None:
    described = trace.experiment.flows[flow]
    app = described.app
    assert isinstance(app, Pages)
    table = app.table()
    rows = trace["responses"].filter(pl.col("flow") == flow)
    asked = np.zeros(table.request_bytes.size, dtype=np.int64)
    ended = asked.copy()
    asked[rows["epoch"].to_numpy()] = rows["start_ns"].to_numpy()
    ended[rows["epoch"].to_numpy()] = rows["end_ns"].to_numpy()
    counts = table.objects.astype(np.int64)
    firsts = np.cumsum(counts) - counts
    after = table.after.tolist()
    waits = table.start_ns.tolist() or [0] * len(after)
    serves = table.serve_ns.tolist() or [0] * len(after)
    rtt_ns = trace.experiment.base_rtt_ns + 2 * described.delay
    name = trace.flows[flow].name
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
        for one in range(firsts[page], firsts[page] + counts[page]):
            revealed = after[one] != AFTER_NONE
            known_ns = (int(ended[after[one]]) if revealed else begins_ns) + waits[one]
            took_ns = int(ended[one] - asked[one])
            wait_ns = min(serves[one] + rtt_ns, took_ns)
            entries.append(
                {
                    "pageref": ident,
                    "startedDateTime": _date(known_ns),
                    "time": _ms(int(ended[one]) - known_ns),
                    "request": _request(ident, one, app.http, int(table.request_bytes[one])),
                    "response": _response(app.http, int(table.response_bytes[one])),
                    "cache": {},
                    "timings": {
                        "blocked": _ms(int(asked[one]) - known_ns),
                        "send": 0,
                        "wait": _ms(wait_ns),
                        "receive": _ms(took_ns - wait_ns),
                    },
                    **({"_initiator": _by(ident, after[one])} if revealed else {}),
                }
            )


def _request(page: str, number: int, http: str, size: int) -> dict[str, Any]:
    return {
        "method": "GET",
        "url": _url(page, number),
        "httpVersion": _HTTP[http],
        "cookies": [],
        "headers": [],
        "queryString": [],
        "headersSize": size,
        "bodySize": 0,
    }


def _response(http: str, size: int) -> dict[str, Any]:
    return {
        "status": 200,
        "statusText": "OK",
        "httpVersion": _HTTP[http],
        "cookies": [],
        "headers": [],
        "content": {"size": size, "mimeType": "application/octet-stream"},
        "redirectURL": "",
        "headersSize": 0,
        "bodySize": size,
    }


def _by(page: str, number: int) -> dict[str, str]:
    return {"type": "other", "url": _url(page, number)}


def _url(page: str, number: int) -> str:
    return f"http://server.invalid/{page}/{number}"


def _ms(ns: int) -> float:
    return ns / _NS_PER_MS


def _date(ns: int) -> str:
    """To the nanosecond: HAR's times are those of ISO 8601."""
    at = datetime.datetime.fromtimestamp(ns // NS_PER_S, tz=datetime.UTC)
    return f"{at:%Y-%m-%dT%H:%M:%S}.{ns % NS_PER_S:09d}Z"
