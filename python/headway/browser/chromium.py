"""Controls a headless Chromium through DevTools over a pipe, without a driver program."""

from __future__ import annotations

import base64
import json
import os
import select
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from headway.errors import HeadwayError
from headway.web.parent import end

NAMES = ("chromium", "chromium-browser", "google-chrome")
_ANSWER_S = 30.0
_LAUNCHER = """
import ctypes, os, sys
ctypes.CDLL(None).prctl(1, 9)
reads, writes, *command = sys.argv[1:]
# move both first: either may have the other's number
reads, writes = os.dup(os.dup(int(reads))), os.dup(os.dup(int(writes)))
os.dup2(reads, 3)
os.dup2(writes, 4)
os.execv(command[0], command)
"""
"""With --remote-debugging-pipe Chromium reads from descriptor 3 and writes to descriptor 4."""
_WITHOUT_GPU = ("--disable-gpu",)
SOFTWARE_3D = ("--use-angle=swiftshader", "--enable-unsafe-swiftshader", "--ignore-gpu-blocklist")
"""Flags for drawing in three dimensions without a graphics card."""
WITH_EXTENSIONS = (*_WITHOUT_GPU, "--enable-unsafe-extension-debugging")
"""Flags for loading extensions from a folder."""


def program() -> str | None:
    """Path of the browser; None if none is installed."""
    return next(filter(None, map(shutil.which, NAMES)), None)


class Browser:
    """One page of a running browser, with the commands and events of the DevTools protocol."""

    def __init__(self, to_browser: int, from_browser: int) -> None:
        self._to, self._from = to_browser, from_browser
        self._read = b""
        self._number = 0
        self._session = self._context = ""
        self.events: list[dict[str, Any]] = []
        self.new_context()

    def new_context(self) -> None:
        """Discard the page, its connections and all caches, and show an empty page."""
        self._session = ""
        if self._context:
            self.ask("Target.disposeBrowserContext", browserContextId=self._context)
        self._context = self.ask("Target.createBrowserContext")["browserContextId"]
        self._show_empty(browserContextId=self._context)

    def _show_empty(self, **where: str) -> None:
        target = self.ask("Target.createTarget", url="about:blank", **where)["targetId"]
        attached = self.ask("Target.attachToTarget", targetId=target, flatten=True)
        self._session = attached["sessionId"]
        self.events = []
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.ask(f"{domain}.enable")

    def load_extension(self, folder: Path) -> str:
        """Load an extension, show an empty page with it, and return its id. Raises HeadwayError.

        The browser must have been started with WITH_EXTENSIONS. After ``new_context``, it has no
        extensions.
        """
        self._session = ""
        loaded = self.ask("Extensions.loadUnpacked", path=str(folder.resolve()))
        self._show_empty()
        return str(loaded["id"])

    def ask(self, method: str, **params: Any) -> Any:
        """Send a command, wait for its result, and return it. Raises HeadwayError."""
        self._number += 1
        message = {"id": self._number, "method": method, "params": params}
        if self._session:
            message["sessionId"] = self._session
        try:
            os.write(self._to, json.dumps(message).encode() + b"\0")
        except BrokenPipeError:
            raise HeadwayError(f"chromium: {method}: the browser has ended") from None
        while True:
            answer = self._next()
            if answer.get("id") == self._number:
                if "error" in answer:
                    raise HeadwayError(f"chromium: {method}: {answer['error']['message']}")
                return answer["result"]
            self.events.append(answer)

    def receive_events(self, seconds: float) -> None:
        """Receive events for ``seconds``."""
        until = time.monotonic() + seconds
        while (event := self._message(until)) is not None:
            self.events.append(event)

    def wait_for(self, event: str) -> dict[str, Any]:
        """The first event of this name since ``open``; wait for it if it has not arrived."""
        while not (found := [one for one in self.events if one.get("method") == event]):
            self.events.append(self._next())
        return found[0]

    def open(self, page: Path | str) -> None:
        """Load a file or URL in the page. Raises HeadwayError."""
        self.events = []
        url = page if isinstance(page, str) else page.resolve().as_uri()
        if error := self.ask("Page.navigate", url=url).get("errorText"):
            raise HeadwayError(f"chromium: {url}: {error}")
        self.wait_for("Page.loadEventFired")
        self._wait_until_drawn()

    def set_window(self, width_px: int, scheme: str, height_px: int = 900) -> None:
        """Set the window's size and the preferred colour scheme."""
        self.ask(
            "Emulation.setDeviceMetricsOverride",
            width=width_px, height=height_px, deviceScaleFactor=1, mobile=width_px < 600,
        )  # fmt: skip
        feature = {"name": "prefers-color-scheme", "value": scheme}
        self.ask("Emulation.setEmulatedMedia", features=[feature])
        self._wait_until_drawn()

    def _wait_until_drawn(self) -> None:
        """Wait until charts are drawn, one or two frames after the rest of the page."""
        self.value("new Promise(done => setTimeout(() => requestAnimationFrame(done), 150))")

    def value(self, expression: str) -> Any:
        """The value of a JavaScript expression, after resolving promises. Raises HeadwayError."""
        result = self.ask(
            "Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True
        )
        if wrong := result.get("exceptionDetails"):
            raise HeadwayError(f"chromium: {expression}: {_exception_text(wrong)}")
        return result["result"].get("value")

    def picture(self, path: Path | None = None, *, whole: bool = False) -> bytes:
        """A screenshot as PNG, of the window or of the whole page; saved if a path is given."""
        shot = self.ask("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        picture = base64.b64decode(shot["data"])
        if path is not None:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(picture)
        return picture

    @property
    def errors_and_warnings(self) -> list[str]:
        """Errors and warnings of the page since ``open``: exceptions, console and log messages."""
        found = []
        for event in self.events:
            params = event.get("params", {})
            if event.get("method") == "Runtime.exceptionThrown":
                found.append(_exception_text(params["exceptionDetails"]))
            elif event.get("method") == "Runtime.consoleAPICalled" and params["type"] in (
                "error",
                "warning",
                "assert",
            ):
                found.append(str(params["args"]))
            elif event.get("method") == "Log.entryAdded":
                found.append(str(params["entry"]))
        return found

    @property
    def requests(self) -> list[str]:
        """URLs that the page requested since ``open``, without the page itself and data URLs."""
        sent = [e["params"] for e in self.events if e.get("method") == "Network.requestWillBeSent"]
        return [
            one["request"]["url"]
            for one in sent
            if one["request"]["url"] != one["documentURL"]
            and not one["request"]["url"].startswith(("data:", "blob:"))
        ]

    def _next(self) -> dict[str, Any]:
        answer = self._message(time.monotonic() + _ANSWER_S)
        if answer is None:
            raise HeadwayError(f"chromium: no answer in {_ANSWER_S:g} s")
        return answer

    def _message(self, deadline_s: float) -> dict[str, Any] | None:
        """The next message from the browser; None if none arrives until ``deadline_s``."""
        while b"\0" not in self._read:
            left_s = max(0, deadline_s - time.monotonic())
            ready, _, _ = select.select([self._from], [], [], left_s)
            if not ready:
                return None
            more = os.read(self._from, 1 << 20)
            if not more:
                raise HeadwayError("chromium: the browser has ended")
            self._read += more
        message, _, self._read = self._read.partition(b"\0")
        answer: dict[str, Any] = json.loads(message)
        return answer


def _exception_text(exception: dict[str, Any]) -> str:
    """The text of a page's exception, without its location."""
    text: str = exception.get("exception", {}).get("description") or exception["text"]
    return text.splitlines()[0]


@contextmanager
def browser(profile: Path, flags: Sequence[str] = _WITHOUT_GPU) -> Iterator[Browser]:
    """Run a browser with an empty profile until the block ends. Raises HeadwayError."""
    path = program()
    if path is None:
        raise HeadwayError(f"chromium is not installed; none of {', '.join(NAMES)} is on the PATH")
    for_browser, to_browser = os.pipe()
    from_browser, by_browser = os.pipe()
    command = [
        path, "--headless=new", "--no-sandbox", *flags, "--disable-dev-shm-usage",
        "--no-first-run", "--disable-background-networking", "--hide-scrollbars",
        "--remote-debugging-pipe", f"--user-data-dir={profile}",
    ]  # fmt: skip
    process = subprocess.Popen(
        [sys.executable, "-c", _LAUNCHER, str(for_browser), str(by_browser), *command],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        pass_fds=(for_browser, by_browser),
        env={**os.environ, "HOME": str(profile)},
        process_group=0,
    )
    os.close(for_browser)
    os.close(by_browser)
    try:
        yield Browser(to_browser, from_browser)
    finally:
        os.close(to_browser)
        os.close(from_browser)
        end(process, within_s=20)
