"""The visitor of a site on a host of the testbed: Chromium, and its measurements.

It is a program for ``headwayctl testbed exec``: it opens the site the given number of times, writes
(epoch, start, end) for every object, and prints a summary of each visit. Times are of
CLOCK_MONOTONIC, which is the browser's clock.
"""

from __future__ import annotations

import argparse
import base64
import json
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from headway.browser import chromium, sites
from headway.browser.chromium import Browser, ends_with_parent
from headway.errors import HeadwayError

HEADER = "Response-Deadline"
WIDTH_PX, HEIGHT_PX = 1280, 800
_SETTLE_S = 0.4
_LOADED = """(() => {
  const page = performance.getEntriesByType("navigation")[0];
  const all = [page, ...performance.getEntriesByType("resource")];
  return {
    load_ms: page.loadEventStart,
    objects: all.map(one => ({
      path: new URL(one.name).pathname, bytes: one.encodedBodySize,
      asked_ms: one.startTime, done_ms: one.responseEnd,
    })).filter(one => one.done_ms > 0),
  };
})()"""
"""Reads the browser's timing of a page and of all its objects."""


@dataclass(frozen=True)
class Seen:
    """An object of a visit: its number in the site, times on CLOCK_MONOTONIC, and its size."""

    number: int
    asked_ns: int
    done_ns: int
    size_bytes: int


def main() -> None:
    """Visit a site; see the module."""
    parser = argparse.ArgumentParser(prog="python -m headway.browser.visit")
    parser.add_argument("--site", choices=sites.NAMES, required=True)
    parser.add_argument("--root", type=Path, required=True)
    parser.add_argument("--address", required=True)
    parser.add_argument("--visits", type=int, default=1)
    parser.add_argument("--query", default="")
    parser.add_argument("--deadline-ms", type=int)
    parser.add_argument("--start", type=int, required=True)
    parser.add_argument("--stop", type=int, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--received", type=Path, required=True)
    parser.add_argument("--picture", type=Path, required=True)
    told = parser.parse_args()
    ends_with_parent()
    try:
        summary = _visit(told)
    except HeadwayError as error:
        sys.exit(f"error: {error}")
    print(json.dumps(summary), flush=True)


def _visit(told: argparse.Namespace) -> dict[str, Any]:
    objects = sites.objects_of(told.root)
    numbers = {one.path: number for number, one in enumerate(objects)}
    visits: list[dict[str, Any]] = []
    seen: list[Seen] = []
    with (
        # the browser's processes end a little later, and may still write
        tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile,
        chromium.browser(Path(profile), chromium.SOLID) as window,
    ):
        version = window.ask("Browser.getVersion")["product"]
        time.sleep(max(0, told.start - time.monotonic_ns()) / 1e9)
        for visit in range(told.visits):
            if time.monotonic_ns() >= told.stop:
                break
            begun_ns, found = _one_visit(window, told)
            rows = [
                Seen(
                    visit * len(objects) + numbers[one["path"]],
                    begun_ns + round(1e6 * one["asked_ms"]),
                    begun_ns + round(1e6 * one["done_ms"]),
                    one["bytes"],
                )
                for one in found.pop("objects")
                if one["path"] in numbers
            ]
            seen += rows
            visits.append({"begun_ns": begun_ns, "objects": len(rows), **found})
            if not visit:
                told.picture.write_bytes(_picture(window))
    _write(told, seen)
    return {
        "browser": version,
        "site_objects": len(objects),
        "site": [asdict(one) for one in objects],
        "visits": visits,
    }


def _one_visit(window: Browser, told: argparse.Namespace) -> tuple[int, dict[str, Any]]:
    """The visit's start, and the page's timing in ms from the start."""
    window.anew()
    window.become(WIDTH_PX, "light", HEIGHT_PX)
    window.ask("Network.setCacheDisabled", cacheDisabled=True)
    window.ask("Performance.enable")
    if told.deadline_ms:
        headers = {HEADER: str(told.deadline_ms)}
        window.ask("Network.setExtraHTTPHeaders", headers=headers)
    if told.site == "map":
        window.open(f"http://{told.address}/index.html")
        found = window.value(_LOADED)
    else:
        # a worker's requests do not get the headers above, so the page passes it the target
        target = f"&target={told.deadline_ms}" if told.deadline_ms else ""
        window.open(f"http://{told.address}/program/index.html{told.query}{target}")
        _wait_for_the_walk(window, told.stop)
        found = window.value("city.told()")
    _refuse_what_went_wrong(window, told.site)
    metrics = window.ask("Performance.getMetrics")["metrics"]
    begun_s = next(one["value"] for one in metrics if one["name"] == "NavigationStart")
    return round(1e9 * begun_s), found


def _wait_for_the_walk(window: Browser, stop_ns: int) -> None:
    """Wait until the walk is over and all objects have arrived. Raises HeadwayError on failure."""
    while not window.value("Boolean(window.city && city.isOver)"):
        _refuse_what_went_wrong(window, "city")
        if time.monotonic_ns() >= stop_ns:
            objects = window.value("window.city ? city.told().objects.length : 0")
            raise HeadwayError(
                f"site city: the walk is not over at the flow's end, with {objects} objects there; "
                "it needs a longer run"
            )
        window.listen(_SETTLE_S)


def _refuse_what_went_wrong(window: Browser, site: str) -> None:
    """Raise HeadwayError for the page's errors, but not for the software renderer's warnings."""
    wrong = [one for one in window.complaints if "GPU stall" not in one and "WebGL" not in one]
    if wrong:
        raise HeadwayError(f"site {site}: {wrong[0]}")


def _picture(window: Browser) -> bytes:
    """A screenshot as JPEG."""
    shot = window.ask("Page.captureScreenshot", format="jpeg", quality=82)["data"]
    return base64.b64decode(shot)


def _write(told: argparse.Namespace, seen: Sequence[Seen]) -> None:
    rows = [(one.number, one.asked_ns, one.done_ns) for one in seen]
    ended = sorted((one.done_ns, one.size_bytes) for one in seen)
    at = np.array([one[0] for one in ended], dtype="<i8")
    total = np.cumsum([one[1] for one in ended], dtype="<i8")
    np.stack([at, total], axis=1).tofile(told.received)
    partial = told.out.with_suffix(".partial")
    np.array(rows, dtype="<i8").reshape(-1, 3).tofile(partial)
    partial.rename(told.out)  # the server ends when this file exists


if __name__ == "__main__":
    main()
