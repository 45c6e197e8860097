"""Tests the browser extension in a real Chromium: switch, target time, load times, requests.

Waits for up to 20 s for a condition. Compares load times with those that the browser measures.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest
import uvicorn
from served import ANSWER_S, server
from test_web_extension import FOLDER

from headway.browser.chromium import WITH_EXTENSIONS, Browser, browser, program
from headway.web import target

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(program() is None, reason="needs Chromium"),
]

PAGE = b"<!doctype html><title>page</title><img src=dot.svg><p>here"
SLOW_S = 0.3


@dataclass
class Site:
    """A site with a page and a slow picture; records the target time of each request."""

    url: str = ""
    targets: dict[str, float | None] = field(default_factory=dict)

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        import asyncio

        self.targets[scope["path"]] = target.of_headers(scope["headers"])
        kind, body = (b"text/html", PAGE)
        if scope["path"] == "/dot.svg":
            kind, body = b"image/svg+xml", b"<svg xmlns='http://www.w3.org/2000/svg'/>"
            await asyncio.sleep(SLOW_S)
        headers = [(b"content-type", kind), (b"cache-control", b"no-store")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": body})


@dataclass
class Person:
    """A user of a browser that has the extension."""

    page: Browser
    popup: str
    site: Site

    def opens_popup(self) -> None:
        self.page.open(self.popup)

    @contextmanager
    def popup_over_the_page(self) -> Iterator[None]:
        """Open the extension's popup as its button does, so that the page stays visible."""
        shown, self.page._session = self.page._session, ""
        tab = self.page.ask("Target.createTarget", url=self.popup, background=True)["targetId"]
        attached = self.page.ask("Target.attachToTarget", targetId=tab, flatten=True)
        self.page._session = attached["sessionId"]
        yield
        self.page._session = ""
        self.page.ask("Target.closeTarget", targetId=tab)
        self.page._session = shown

    def sees_load_time(self, expected: str) -> None:
        until = time.monotonic() + ANSWER_S
        said = "import('./popup.js').then(() => document.querySelector('output').textContent)"
        seen = ""
        while seen != expected:  # the extension's worker may still have to store the time
            assert time.monotonic() < until, f"the popup says {seen}"
            with self.popup_over_the_page():
                while not self.page.value("document.querySelector('output') !== null"):
                    assert time.monotonic() < until, "there is no popup"
                seen = self.page.value(said)

    def writes(self, target_ms: str) -> None:
        self.page.value(
            f"(() => {{ const t = document.getElementById('target'); t.value = {target_ms!r};"
            " t.dispatchEvent(new Event('input')); })()"
        )

    def switches(self) -> None:
        self.page.value("document.getElementById('on').click()")

    def until_the_rule_is(self, header: str | None) -> None:
        until = time.monotonic() + ANSWER_S
        while True:
            (said,) = [
                *self.page.value(
                    "chrome.declarativeNetRequest.getDynamicRules().then(rules =>"
                    " rules.map(rule => rule.action.requestHeaders[0].value))"
                )
            ] or [None]
            if said == header:
                return
            assert time.monotonic() < until, f"the rule says {said}"
            time.sleep(0.02)

    def visits(self) -> dict[str, float | None]:
        self.site.targets.clear()
        self.page.open(self.site.url)
        return self.site.targets


@pytest.fixture(scope="module")
def person(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Person]:
    site = Site()
    with (
        server(uvicorn.Config(site, http="h11", lifespan="off")) as (host, port),
        browser(tmp_path_factory.mktemp("profile"), WITH_EXTENSIONS) as page,
    ):
        site.url = f"http://{host}:{port}/"
        extension = page.load_extension(FOLDER)
        yield Person(page, f"chrome-extension://{extension}/popup.html", site)


def test_switched_off_it_sends_nothing(person: Person) -> None:
    person.opens_popup()
    assert person.page.value("document.getElementById('on').checked") is False
    assert set(person.visits().values()) == {None}


def test_switched_on_every_request_has_the_target(person: Person) -> None:
    person.opens_popup()
    person.writes("450")
    person.switches()
    person.until_the_rule_is("450")
    visited = person.visits()
    assert visited["/"] == 450
    assert visited["/dot.svg"] == 450
    person.opens_popup()
    assert person.page.value("document.getElementById('target').value") == "450"
    person.switches()
    person.until_the_rule_is(None)
    assert set(person.visits().values()) == {None}


@pytest.mark.parametrize("written", ["", "0", "-3", "1e3", "fast", "3600001", "99999999"])
def test_what_is_no_target_is_marked_and_changes_nothing(person: Person, written: str) -> None:
    person.opens_popup()
    person.writes("700")
    person.writes(written)
    assert person.page.value("document.getElementById('target').ariaInvalid") == "true"
    assert "unchanged" in person.page.value("document.getElementById('wrong').textContent")
    assert person.page.value("chrome.storage.local.get().then(kept => kept.targetMs)") == 700


def test_the_pages_load_time_stands_beside_it(person: Person) -> None:
    person.visits()
    took_ms = person.page.value("performance.getEntriesByType('navigation')[0].loadEventEnd")
    assert took_ms > SLOW_S * 1e3
    person.sees_load_time(f"{took_ms:,.0f} ms")
    person.opens_popup()
    badge = person.page.value(
        "import('./settings.js').then(({short}) => [5, 999.4, 1234, 87654, 1e6].map(short))"
    )
    assert badge == ["5", "999", "1.2s", "88s", "long"]


def test_a_load_time_is_not_shown_beside_the_next_page(person: Person) -> None:
    person.visits()
    person.page.open("about:blank")  # the extension gets no load event for this page
    person.sees_load_time("–")
    person.visits()
    took_ms = person.page.value("performance.getEntriesByType('navigation')[0].loadEventEnd")
    person.sees_load_time(f"{took_ms:,.0f} ms")


def test_popup_and_background_complain_of_nothing(person: Person) -> None:
    person.opens_popup()
    assert person.page.errors_and_warnings == []
    picture = person.page.picture()
    assert picture.startswith(b"\x89PNG")
