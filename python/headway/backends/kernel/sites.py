"""Command lines and requirements of a browser and its server on the testbed."""

from __future__ import annotations

import base64
import os
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from headway.browser import chromium, sites
from headway.errors import KernelCannotError
from headway.experiment import Site

_FPS = 4
"""Frames per second of a city's page. The CPU draws the frames. At a higher rate it would have too
little time left for the network."""
SETUP_NS = 6_000_000_000
"""Time for a browser to start on a busy machine."""


def check(name: str, app: Site) -> None:
    """Build the site, which takes some time. Raises KernelCannotError if a program is missing."""
    if chromium.program() is None:
        raise KernelCannotError(f"kernel backend: {name}: site: chromium is not installed")
    if shutil.which("nginx", path=f"{os.environ['PATH']}:/usr/sbin") is None:
        raise KernelCannotError(f"kernel backend: {name}: site: nginx is not installed")
    sites.site(app.site)


def server(app: Site) -> list[str]:
    """The command line of the site's server."""
    return [
        sys.executable, "-m", "headway.browser.serve", "--root", str(sites.site(app.site)),
        *([] if app.keep_alive else ["--close"]),
    ]  # fmt: skip


def visitor(app: Site) -> list[str]:
    """The command line of the browser that visits the site."""
    return [
        sys.executable, "-m", "headway.browser.visit", "--root", str(sites.site(app.site)),
        "--site", app.site, "--visits", str(app.visits), "--query", _query(app),
    ]  # fmt: skip


def summary_since_start(summary: Mapping[str, Any], start_ns: int, picture: Path) -> dict[str, Any]:
    """A visitor's summary with times since the run's start, and its screenshot (base64 JPEG)."""
    visits = [
        {**visit, "begun_ns": visit["begun_ns"] - start_ns} for visit in summary.get("visits", ())
    ]
    jpeg = picture.read_bytes() if picture.exists() else b""
    return {**summary, "visits": visits, "picture": base64.b64encode(jpeg).decode()}


def _query(app: Site) -> str:
    """The query part of the page's URL; empty for the map."""
    if app.site == "map":
        return ""
    return f"?walk={app.walk or 'whole'}&connections={app.connections or 1}&fps={_FPS}"
