"""The visitor of a site on a host of the testbed: Chromium, and its measurements.

It is a program for ``headwayctl testbed exec``: it opens the site the given number of times, writes
(epoch, start, end) for every object, and prints a summary of each visit. Times are of
CLOCK_MONOTONIC, which is the browser's clock.
"""

from __future__ import annotations

import argparse
import base64
import json
import signal
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from headway.browser import chromium, sites
from headway.browser.chromium import Browser
from headway.errors import HeadwayError
from headway.web.parent import end_with_parent

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
class LoadedObject:
    """An object of a visit: its number in the site, times on CLOCK_MONOTONIC, and its size."""

    number: int
    requested_ns: int
    done_ns: int
    size_bytes: int


def main() -> None:
    """Visit a site; see the module's docstring."""
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
    options = parser.parse_args()
    end_with_parent(signal.SIGKILL)
    try:
        summary = _visit(options)
    except HeadwayError as error:
        sys.exit(f"error: {error}")
    print(json.dumps(summary), flush=True)


def _visit(options: argparse.Namespace) -> dict[str, Any]:
    objects = sites.objects_of(options.root)
    numbers = {one.path: number for number, one in enumerate(objects)}
    visits: list[dict[str, Any]] = []
    loaded: list[LoadedObject] = []
    with (
        # the browser's processes may still write into the profile when it is deleted
        tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile,
        chromium.browser(Path(profile), chromium.SOFTWARE_3D) as window,
    ):
        version = window.ask("Browser.getVersion")["product"]
        time.sleep(max(0, options.start - time.monotonic_ns()) / 1e9)
        for visit in range(options.visits):
            if time.monotonic_ns() >= options.stop:
                break
            begun_ns, found = _one_visit(window, options)
            rows = [
                LoadedObject(
                    visit * len(objects) + numbers[one["path"]],
                    begun_ns + round(1e6 * one["asked_ms"]),
                    begun_ns + round(1e6 * one["done_ms"]),
                    one["bytes"],
                )
                for one in found.pop("objects")
                if one["path"] in numbers
            ]
            loaded += rows
            visits.append({"begun_ns": begun_ns, "objects": len(rows), **found})
            if not visit:
                options.picture.write_bytes(_picture(window))
    _write(options, loaded)
    return {
        "browser": version,
        "site_objects": len(objects),
        "site": [asdict(one) for one in objects],
        "visits": visits,
    }


def _one_visit(window: Browser, options: argparse.Namespace) -> tuple[int, dict[str, Any]]:
    """Visit once; returns the start in ns, and the page's timing in ms since the start."""
    window.new_context()
    window.set_window(WIDTH_PX, "light", HEIGHT_PX)
    window.ask("Network.setCacheDisabled", cacheDisabled=True)
    window.ask("Performance.enable")
    if options.deadline_ms:
        headers = {HEADER: str(options.deadline_ms)}
        window.ask("Network.setExtraHTTPHeaders", headers=headers)
    if options.site == "map":
        window.open(f"http://{options.address}/index.html")
        found = window.value(_LOADED)
    else:
        # Chromium does not add these headers to requests of a worker, so the page passes the target
        # time (the deadline) to its worker
        target = f"&target={options.deadline_ms}" if options.deadline_ms else ""
        window.open(f"http://{options.address}/program/index.html{options.query}{target}")
        _wait_for_walk(window, options.stop)
        found = window.value("city.told()")
    _raise_page_errors(window, options.site)
    metrics = window.ask("Performance.getMetrics")["metrics"]
    begun_s = next(one["value"] for one in metrics if one["name"] == "NavigationStart")
    return round(1e9 * begun_s), found


def _wait_for_walk(window: Browser, stop_ns: int) -> None:
    """Wait until the walk through the city is over and all objects have arrived.

    Raises HeadwayError.
    """
    while not window.value("Boolean(window.city && city.isOver)"):
        _raise_page_errors(window, "city")
        if time.monotonic_ns() >= stop_ns:
            objects = window.value("window.city ? city.told().objects.length : 0")
            raise HeadwayError(
                f"site city: the walk had not ended when the flow ended, with {objects} objects "
                "loaded; use a longer run"
            )
        window.receive_events(_SETTLE_S)


def _raise_page_errors(window: Browser, site: str) -> None:
    """Raise HeadwayError for the page's errors, but not for the software renderer's warnings."""
    wrong = [
        one for one in window.errors_and_warnings if "GPU stall" not in one and "WebGL" not in one
    ]
    if wrong:
        raise HeadwayError(f"site {site}: {wrong[0]}")


def _picture(window: Browser) -> bytes:
    """A screenshot of the page as JPEG."""
    shot = window.ask("Page.captureScreenshot", format="jpeg", quality=82)["data"]
    return base64.b64decode(shot)


def _write(options: argparse.Namespace, loaded: Sequence[LoadedObject]) -> None:
    rows = [(one.number, one.requested_ns, one.done_ns) for one in loaded]
    ended = sorted((one.done_ns, one.size_bytes) for one in loaded)
    at = np.array([one[0] for one in ended], dtype="<i8")
    total = np.cumsum([one[1] for one in ended], dtype="<i8")
    np.stack([at, total], axis=1).tofile(options.received)
    partial = options.out.with_suffix(".partial")
    np.array(rows, dtype="<i8").reshape(-1, 3).tofile(partial)
    partial.rename(options.out)  # once this file exists, the site's server ends


if __name__ == "__main__":
    main()
